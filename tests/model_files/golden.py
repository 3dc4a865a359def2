"""Golden model files: one of every public class, as text, that later versions must load.

``python tests/model_files/golden.py`` writes those that are missing. Their names are those of the
public class and of the format. Before the first release a change of what the files of a class hold
deletes its golden file and writes it anew; files of a release stay.
"""

import base64
import json
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path[:0] = [str(Path(__file__).parents[1])]

from model_files.specimens import estimators, rows_for, specimen, task_arguments  # noqa: E402

from tamis import save  # noqa: E402
from tamis.model_files import container  # noqa: E402

FOLDER = Path(__file__).parent / "golden"
METHODS = ("decision_function", "predict", "transform")
ROWS = 6  # that predictions are kept of


def golden_name(cls: type) -> str:
    """The golden file of a class."""
    return f"{cls.__name__}.format_{container.FORMAT}.txt"


def predict_all(model) -> dict[str, list]:
    """What a model answers about the first rows."""
    predictions = {}
    for name in METHODS:
        if hasattr(model, name):
            method = getattr(model, name)
            values = method(rows_for(model)[:ROWS], **task_arguments(method, slice(ROWS)))
            predictions[name] = np.asarray(
                values.toarray() if sp.issparse(values) else values
            ).tolist()
    return predictions


def packed(model) -> str:
    """A model's file, and its answers, as text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save(model, path)
        text = base64.b85encode(zlib.compress(path.read_bytes(), 9)).decode()
    lines = [text[at : at + 100] for at in range(0, len(text), 100)]
    return "\n".join([json.dumps(predict_all(model)), *lines, ""])


def unpacked(text: str) -> tuple[dict, bytes]:
    """Answers, and the bytes of the file."""
    line, *lines = text.splitlines()
    return json.loads(line), zlib.decompress(base64.b85decode("".join(lines)))


def main() -> None:
    """Write what is missing."""
    FOLDER.mkdir(exist_ok=True)
    for cls in estimators():
        path = FOLDER / golden_name(cls)
        if not path.exists():
            path.write_text(packed(specimen(cls, "one output")))
            print(path.name)


if __name__ == "__main__":
    main()
