"""What the gallery needs from Python: the order of the examples, and arguments for the one that
writes a file.
"""

import tempfile
from pathlib import Path

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
