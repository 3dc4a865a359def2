"""Sphinx configuration. Build with ``make docs``."""

import os
import sys
from pathlib import Path

import tamis
from tamis.model_files.classes import shipped_terms

sys.path.insert(0, str(Path(__file__).parent))
import gallery_tools

project = "tamis"
author = "the tamis developers"
copyright = "the tamis developers, MIT licence"
version = release = tamis.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas without a network
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
suppress_warnings = ["config.cache"]

# --------------------------------------------------------------------------- pages
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "smartquotes"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
html_theme = "pydata_sphinx_theme"
html_title = f"tamis {release}"
html_static_path = ["_static"]
html_extra_path = ["llms.txt"]
html_css_files = ["tamis.css"]
html_logo = html_favicon = "_static/sieve.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "changes": []}
html_theme_options = {
    "logo": {"text": "tamis"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# --------------------------------------------------------------------------- reference
default_role = "py:obj"  # `SieveClassifier` in a docstring leads to its page
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_use_plots = False
viewcode_follow_imported_members = True


def skip_foreign(app, what, name, thing, skip, options):
    """Leave out what scikit-learn's mix-ins add (metadata routing and the like): it is documented
    there.
    """
    home = getattr(thing, "__module__", None)
    if isinstance(thing, property):
        home = getattr(thing.fget, "__module__", None)
    if home is not None and not home.startswith("tamis"):
        return True
    return True if name.startswith("set_") and name.endswith("_request") else None


# --------------------------------------------------------------------------- gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/(plot|sieve)_",
    "within_subsection_order": "gallery_tools.in_order",
    "reset_argv": "gallery_tools.arguments",
    "min_reported_time": 1_000_000,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "doc_module": ("tamis",),
    "backreferences_dir": "gallery/uses",
    "inspect_global_variables": False,
    "image_srcset": ["2x"],
    "thumbnail_size": (420, 280),
}
os.environ.setdefault("COLUMNS", "96")


def escape_bars(app, what, name, thing, options, lines):
    """The terms' docstrings write absolute values with bars, which reStructuredText takes for
    substitutions.
    """
    if name.startswith("tamis.terms."):
        lines[:] = [line.replace("|", r"\|") for line in lines]


def mark_choice(app, what, name, thing, options, lines):
    """Set apart the paragraph that says when to choose a model."""
    if what == "class":
        for k in range(1, min(len(lines), 12)):
            if lines[k].startswith("Choose ") and not lines[k - 1]:
                lines[k:k] = [".. rst-class:: choose", ""]
                return


def name_terms(app, env, names):
    """Take the digests off the terms' names, once the gallery has run: autodoc would call the terms
    aliases.
    """
    for term in shipped_terms().values():
        term.__name__ = term.__qualname__


def setup(app):
    """Connect the functions above."""
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-process-docstring", mark_choice)
    app.connect("env-before-read-docs", name_terms)
    app.connect("env-before-read-docs", gallery_tools.crop_thumbnails)
