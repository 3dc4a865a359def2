"""What the gallery needs from Python: the order of the examples, what of a figure its thumbnail
shows, and arguments for the example that writes a file.
"""

import tempfile
from pathlib import Path

# Of figures with several panels the one that answers the question: left, top, right and bottom end,
# as shares of the figure. A thumbnail of all of it would show lines and no words.
PANELS = {
    "plot_associations": (0.49, 0.0, 1.0, 1.0),
    "plot_believe": (0.665, 0.0, 1.0, 1.0),
    "plot_confidence": (0.675, 0.0, 1.0, 1.0),
    "plot_groups": (0.0, 0.0, 0.51, 0.56),
    "plot_harm": (0.0, 0.485, 0.5, 1.0),
    "plot_kernels": (0.345, 0.0, 0.655, 1.0),
    "plot_metric_digits": (0.0, 0.0, 0.55, 1.0),
    "plot_metric_interactions": (0.0, 0.12, 0.52, 0.88),
    "plot_metric_surface": (0.0, 0.0, 0.5, 1.0),
    "plot_price": (0.0, 0.0, 0.49, 1.0),
    "plot_stabilized": (0.0, 0.5, 0.49, 1.0),
    "plot_thresholding": (0.5, 0.5, 1.0, 1.0),
    "plot_trust": (0.0, 0.0, 0.45, 0.465),
}
ORDER = ("sieve_words.py", "plot_trust.py", "plot_chunks.py", "plot_price.py", "plot_growing.py")


def in_order(folder_or_name, *_):
    """Sort key of an example, by its place in ORDER."""
    name = Path(folder_or_name).name
    return ORDER.index(name) if name in ORDER else len(ORDER)


def arguments(gallery_conf, script_vars):
    """Arguments of an example: the demo writes its figure to a folder of its own, not among the
    sources.
    """
    if Path(script_vars["src_file"]).name != "sieve_words.py":
        return []
    return [str(Path(tempfile.mkdtemp()) / "demo.png")]


def crop_thumbnails(app, env, names):
    """Make the thumbnails of PANELS anew, once the gallery has run."""
    from PIL import Image

    folder, size = Path(app.srcdir) / "gallery" / "images", app.config.sphinx_gallery_conf
    for name, ends in PANELS.items():
        drawn = folder / f"sphx_glr_{name}_001_2_00x.png"
        if not drawn.exists():  # built without running the examples
            continue
        with Image.open(drawn) as figure:
            sides = (figure.width, figure.height, figure.width, figure.height)
            panel = figure.convert("RGB").crop([e * s for e, s in zip(ends, sides, strict=True)])
        panel.thumbnail(size["thumbnail_size"], Image.Resampling.LANCZOS)
        thumb = Image.new("RGB", size["thumbnail_size"], "white")
        thumb.paste(panel, tuple((a - b) // 2 for a, b in zip(thumb.size, panel.size, strict=True)))
        thumb.save(folder / "thumb" / f"sphx_glr_{name}_thumb.png")
