"""Some hundred forged models of all classes: refused, or a model that works.

``python -m benchmarks forgeries`` makes more.
"""

import numpy as np
import pytest
from model_files.forging import forge, keep, open_file, outcome, sign_file, survey, tally
from model_files.specimens import estimators

import tamis


@pytest.fixture(autouse=True)
def homes():
    """The public names of tamis themselves, not the toys of the other tests."""


def test_forged_models_are_refused_or_work(tmp_path):
    names = keep(tmp_path, ways=("one output", "stream of several"), further=False)
    outcomes = survey(tmp_path, names, 3 * len(names), seed=0)
    counts, failures = tally(outcomes)
    assert not failures
    assert {cls for cls, _, _ in counts} == {cls.__name__ for cls in estimators()}
    refused = sum(count for (_, _, how), count in counts.items() if how == "refused")
    assert len(outcomes) / 3 < refused < len(outcomes)


def test_the_forger_forges(tmp_path):
    """A guard of the test above: what is written anew loads, what is forged differs, and the same
    seed forges the same.
    """
    model = tamis.FOBOSClassifier().fit(np.eye(6), [0, 1] * 3)
    tamis.save(model, tmp_path / "m")
    (tmp_path / "again").write_bytes(sign_file(*open_file(tmp_path / "m")))
    assert outcome(tmp_path / "again") == "works"
    results = set()
    for seed in range(40):
        kinds = [forge(tmp_path / "m", tmp_path / name, [0, seed]) for name in ("one", "two")]
        assert kinds[0] == kinds[1]
        assert (
            (tmp_path / "one").read_bytes()
            == (tmp_path / "two").read_bytes()
            != (tmp_path / "again").read_bytes()
        )
        results.add(kinds[0])
    assert len(results) > 8


def test_a_child_that_dies_is_counted_and_followed(tmp_path, monkeypatch):
    import model_files.forging as forging

    tamis.save(tamis.FOBOSClassifier(), tmp_path / "FOBOSClassifier-0.tamis")
    ends = iter(
        [
            ['[0, "FOBOSClassifier-0.tamis", "nan"]'],
            ['[1, "FOBOSClassifier-0.tamis", "nan"]', '"works"'],
        ]
    )

    class Child:
        end, stderr = "died (-11)", ""

        def __init__(self, *_):
            self.output = next(ends)

    monkeypatch.setattr(forging, "_run", Child)
    outcomes = survey(tmp_path, ["FOBOSClassifier-0.tamis"], 2)
    assert [how for _, _, how in outcomes] == ["the process died (-11) at number 0", "works"]
