"""A golden file of every class loads, and its model answers as it did."""

import numpy as np
import pytest
from model_files.golden import FOLDER, golden_name, predict_all, unpacked
from model_files.specimens import estimators

from tamis import load

PUBLIC = estimators()  # before other tests put classes of their own beside them
FILES = sorted(FOLDER.glob("*.txt"))
KILOBYTES = 300
pytestmark = pytest.mark.own_seeds


@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_loads_and_answers_as_it_did(path, tmp_path):
    expected, content = unpacked(path.read_text())
    (tmp_path / "model").write_bytes(content)
    model = load(tmp_path / "model")
    assert type(model).__name__ == path.name.split(".")[0]
    actual = predict_all(model)
    assert set(actual) == set(expected)
    for name, answer in expected.items():
        if np.asarray(answer).dtype.kind == "U":
            assert np.array_equal(actual[name], answer)
        else:
            np.testing.assert_allclose(actual[name], answer, rtol=1e-9, atol=1e-12)


def test_every_class_has_one_of_the_present_format():
    names = {path.name for path in FILES}
    expected = {golden_name(cls) for cls in PUBLIC}
    assert expected <= names, "run python tests/model_files/golden.py"


def test_they_are_small():
    assert sum(path.stat().st_size for path in FILES) < KILOBYTES * 1000
