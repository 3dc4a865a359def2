"""The law over all saved classes: what they may hold is declared, and every model that can be
fitted holds just that.
"""

import json

import numpy as np
import pytest
from model_files.forging import open_file, sign_file
from model_files.specimens import as_frame, data, estimators, rows_for, specimen, specimens

import tamis
from tamis.model_files import ModelFileError, classes
from tamis.system.schema import NESTED_CLASSES, declared_contents, nested_object

ESTIMATORS = estimators()


@pytest.fixture(autouse=True)
def homes():
    """The public names of tamis themselves, not the toys of the other tests."""


@pytest.mark.parametrize(
    "cls", [*ESTIMATORS, *NESTED_CLASSES.values()], ids=lambda cls: cls.__name__
)
def test_every_saved_class_declares_its_contents(cls):
    assert any("_contents" in vars(base) for base in cls.__mro__)
    assert ... not in declared_contents(cls)
    assert not any(hasattr(base, "_check_loaded") for base in cls.__mro__)


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_every_fitted_model_holds_what_is_declared(cls, tmp_path):
    """Each attribute is declared, each declaration is met by some model, and a file comes back to
    the byte.
    """
    met, fits = set(), 0
    for (way, _), model in specimens(cls).items():
        known, parameters = declared_contents(cls), classes.parameters(cls)
        held = {name for name in vars(model) if name not in parameters}
        assert held <= set(known), way
        met |= held
        fits += way != "unfitted"
        tamis.save(model, tmp_path / "one")
        tamis.save(tamis.load(tmp_path / "one"), tmp_path / "two")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes(), way
    assert fits >= 3
    unmet = (
        set(declared_contents(cls)) - met - {"train_history_", "reading_", "_sklearn_output_config"}
    )
    assert not unmet


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_a_file_names_classes_and_no_module(cls, tmp_path):
    """A module may move, and files written before it are read as ever."""
    for (way, _), model in specimens(cls).items():
        tamis.save(model, tmp_path / "m")
        header = json.dumps(open_file(tmp_path / "m")[0])
        assert "tamis." not in header, way


def test_two_parts_of_one_name_are_refused():
    with pytest.raises(TypeError, match="two parts of models are called FirstOrderState"):
        nested_object(type("FirstOrderState", (), {}))


def test_attributes_of_training_and_of_scikit_learn_are_saved(tmp_path):
    chunk = (rows_for(None), data()["two"])
    model = tamis.train(tamis.FTRLClassifier(), [chunk])
    selector = tamis.DataThresholder().set_output(transform="pandas").fit(as_frame(data()["X"]))
    for thing in (model, selector):
        tamis.save(thing, tmp_path / "m")
        assert set(vars(tamis.load(tmp_path / "m"))) == set(vars(thing))


def test_a_model_whose_fit_failed_is_saved_as_it_is(tmp_path):
    model = tamis.FOBOSClassifier()
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(data()["X"], np.zeros(48))
    tamis.save(model, tmp_path / "m")
    with pytest.raises(ValueError, match="not fitted"):
        tamis.load(tmp_path / "m").predict(data()["X"])


def test_an_attribute_of_the_users_own_is_refused_when_saving(tmp_path):
    model = tamis.FOBOSClassifier()
    model.note = "mine"
    with pytest.raises(TypeError, match=r"FOBOSClassifier\.note"):
        tamis.save(model, tmp_path / "m")


# --------------------------------------------------------------------- forgeries that once did harm
def part_of(header, *names):
    """The attributes of a part inside a header."""
    node = header
    for name in names:
        node = node["attributes"][name]
    return node["attributes"]


def stream_file(tmp_path, several=False):
    """A sieve in mid-stream, with rows that wait: its file, header and arrays."""
    tamis.save(
        specimen(tamis.SieveClassifier, "stream of several" if several else "stream"),
        tmp_path / "m",
    )
    header, arrays = open_file(tmp_path / "m")
    return tmp_path / "m", header, arrays


def widen_targets(stream, arrays):
    at = stream["waiting"][0]["items"][2]["block"]
    arrays[at] = np.repeat(arrays[at], 3, axis=1)


def count_nan(stream, arrays):
    arrays[stream["counts"]["block"]][0] = np.nan


def other_class(stream, arrays):
    arrays[stream["waiting"][0]["items"][2]["block"]][0] = 7.0


def wild_index(stream, arrays):
    arrays[stream["waiting"][0]["items"][0]["indices"]["block"]][0] = 10**6


def short_keys(stream, arrays):
    at = stream["waiting"][1]["items"][1]["block"]
    arrays[at] = arrays[at][:-1]


def not_rows(stream, arrays):
    stream["waiting"][0]["items"][3] = 1.0


HARM = {
    widen_targets: r"_stream\.waiting\[0\]\[2\], axis 1 .* 3 targets.* 1",
    count_nan: r"SieveClassifier\._stream\.counts .* nan",
    other_class: r"SieveClassifier\._stream: .*\[0 1 2\]",
    wild_index: "inconsistent",
    short_keys: r"_stream\.waiting\[1\]\[1\], axis 0 .* 12 .* 13",
    not_rows: r"_stream\.waiting\[0\]\[3\] .*float64",
}


@pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.__name__)
def test_what_waits_in_a_stream_is_not_trusted(harm, tmp_path):
    path, header, arrays = stream_file(tmp_path, several=True)
    harm(part_of(header, "_stream"), arrays)
    path.write_bytes(sign_file(header, arrays))
    with pytest.raises(ModelFileError, match=HARM[harm]):
        tamis.load(path)


def test_targets_narrower_than_the_outputs_are_refused(tmp_path):
    """Loops would read beyond them."""
    tamis.save(specimen(tamis.SieveRegressor, "stream of several"), tmp_path / "m")
    header, arrays = open_file(tmp_path / "m")
    for chunk in part_of(header, "_stream")["waiting"]:
        at = chunk["items"][2]["block"]
        arrays[at] = np.ascontiguousarray(arrays[at][:, :1])
    (tmp_path / "m").write_bytes(sign_file(header, arrays))
    with pytest.raises(
        ModelFileError, match=r"_stream\.waiting\[0\]\[2\], axis 1 .* 1 targets.* 2"
    ):
        tamis.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("rule", "x", "'rule' parameter of SDistClassifier"), ("n_neighbors", -5, "'n_neighbors'")],
)
def test_parameters_of_a_file_follow_the_rules_of_the_class(name, value, words, tmp_path):
    tamis.save(tamis.SDistClassifier(), tmp_path / "m")
    header, arrays = open_file(tmp_path / "m")
    header["parameters"][name] = value
    (tmp_path / "m").write_bytes(sign_file(header, arrays))
    with pytest.raises(ModelFileError, match=words):
        tamis.load(tmp_path / "m")


def test_a_forged_size_takes_no_memory(tmp_path, monkeypatch):
    """Two thousand million columns in one field are refused before any array is made."""
    tamis.save(tamis.FOBOSClassifier().fit(data()["X"], data()["two"]), tmp_path / "m")
    for change in ("state", "n_features_in_"):
        header, arrays = open_file(tmp_path / "m")
        if change == "state":
            at = part_of(header, "_solver_state")["state"]["block"]
            arrays[at] = (
                {"length": 0, "dtype": "<f8", "shape": [1, 2_000_000_000], "width": 1, "rows": 0},
                b"",
            )
        else:
            header["attributes"]["n_features_in_"] = 2_000_000_000
        (tmp_path / "forged").write_bytes(sign_file(header, arrays))
        with monkeypatch.context() as patch:
            patch.setattr(np, "zeros", lambda *_: pytest.fail("memory was taken"))
            patch.setattr(np, "empty", lambda *_: pytest.fail("memory was taken"))
            with pytest.raises(
                ModelFileError, match=r"FOBOSClassifier\._solver_state\.state, axis 1 "
            ):
                tamis.load(tmp_path / "forged")


@pytest.mark.parametrize(
    "cls",
    [
        tamis.LowRankFactorization,
        tamis.SOFSClassifier,
        tamis.SparseBCWClassifier,
        tamis.OnlineGroupLassoClassifier,
    ],
)
def test_sizes_that_only_zeros_speak_for_are_refused(cls, tmp_path, monkeypatch):
    """A length that no other field says, of zeros that are not stored, could be any number."""
    tamis.save(specimen(cls, "one output"), tmp_path / "m")
    _, arrays = open_file(tmp_path / "m")
    for number, array in enumerate(arrays):
        for axis in range(array.ndim):
            header, forged = open_file(tmp_path / "m")
            shape = [
                2_000_000_000 if at == axis else length for at, length in enumerate(array.shape)
            ]
            forged[number] = (
                {"length": 0, "dtype": array.dtype.str, "shape": shape, "width": 1, "rows": 0},
                b"",
            )
            (tmp_path / "m2").write_bytes(sign_file(header, forged))
            with monkeypatch.context() as patch:
                patch.setattr(np, "zeros", lambda *_: pytest.fail("memory was taken"))
                with pytest.raises(ModelFileError):
                    tamis.load(tmp_path / "m2")


@pytest.mark.parametrize("name", ["_solver_state", "_targets", "history_"])
def test_what_a_fitted_model_lacks_is_named(name, tmp_path):
    tamis.save(tamis.FOBOSClassifier().fit(data()["X"], data()["two"]), tmp_path / "m")
    header, arrays = open_file(tmp_path / "m")
    del header["attributes"][name]
    text = json.dumps(header)
    kept = [k for k in range(len(arrays)) if f'"block": {k}}}' in text]
    for place, k in enumerate(kept):
        text = text.replace(f'"block": {k}}}', f'"block": {place}}}')
    (tmp_path / "m").write_bytes(sign_file(json.loads(text), [arrays[k] for k in kept]))
    with pytest.raises(ModelFileError, match=f"FOBOSClassifier lacks the attribute '{name}'"):
        tamis.load(tmp_path / "m")
