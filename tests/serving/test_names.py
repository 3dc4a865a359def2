"""Rows by name: hashed as Vowpal Wabbit's text is, listed, or as the fields of a table; each the
bits of the same rows read from a file or a DataFrame.
"""

import numpy as np
import pandas as pd
import pytest

import tamis
from tamis import FTRLClassifier, FTRLRegressor

RNG = np.random.default_rng(0)
WORDS = [f"w{k}" for k in range(30)] + ["é", "long name"[:4], "a^b", "a^w1", "c^d^e"]


def some_rows(n=60):
    """Mappings of a few words each, and their targets."""
    rows = []
    for _ in range(n):
        chosen = RNG.choice(len(WORDS), RNG.integers(1, 9), replace=False)
        rows.append({WORDS[k]: float(RNG.normal()) for k in chosen})
    return rows, RNG.integers(0, 2, n)


ROWS, Y = some_rows()


def as_vowpal(row, y):
    """A line of Vowpal Wabbit's text."""
    unnamed = " ".join(f"{name}:{value!r}" for name, value in row.items() if "^" not in name)
    spaces = "".join(
        f" |{name.partition('^')[0]} {name.partition('^')[2]}:{value!r}"
        for name, value in row.items()
        if "^" in name
    )
    return f"{y} | {unnamed}{spaces}\n"


@pytest.mark.parametrize("bits", [3, 18], ids=["collisions", "wide"])
def test_hashed_names_are_those_of_a_file(tmp_path, bits):
    path = tmp_path / "few.vw"
    path.write_text("".join(as_vowpal(*pair) for pair in zip(ROWS, Y, strict=True)))
    model = FTRLClassifier()
    (chunk,) = tamis.open_rows(path, hash_bits=bits)
    X = chunk.X.copy()
    X.sort_indices()  # as a service takes them; files give them as they lie
    for i in range(len(Y)):
        model.partial_fit(X[[i]], chunk.targets[i : i + 1], classes=[0, 1])
    service = tamis.live(FTRLClassifier(), classes=[0, 1], hash_bits=bits)
    for row, y in zip(ROWS, Y, strict=True):
        service.learn(row, y)
    np.testing.assert_allclose(service.model.coef_, model.coef_, rtol=1e-12, atol=0.0)
    if bits == 18:
        assert np.array_equal(service.model.coef_, model.coef_)
    trained = tamis.train(FTRLClassifier(), tamis.open_rows(path, hash_bits=bits), progress=False)
    restored = tamis.live(trained)  # it knows by itself how its columns came about
    assert restored.score(ROWS[0]) == trained.decision_function(X[[0]])[0]


def test_a_list_of_names_grows():
    service = tamis.live(FTRLClassifier(grow=True))
    names: list = []
    for row, y in zip(ROWS, Y, strict=True):
        service.learn(row, y)
        names += [name for name in row if name not in names]
        assert service.model.feature_names_in_.tolist() == names
        assert service.model.n_features_in_ == len(names) == service.model.coef_.shape[1]
    frame = pd.DataFrame(ROWS, columns=names).fillna(0.0)
    model = FTRLClassifier(grow=True)
    for i in range(len(Y)):
        model.partial_fit(frame[i : i + 1], Y[i : i + 1])
    assert np.array_equal(model.coef_, service.model.coef_)
    assert service.score(ROWS[3]) == service.model.decision_function(frame[3:4])[0]
    assert service.score({**ROWS[3], "unheard of": 5.0}) == service.score(ROWS[3])
    with pytest.raises(ValueError, match="index 99 is a new column without a name"):
        service.learn([99], [1.0], 1)


def test_names_of_a_frame():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "height": [0.0, 1.0, 0.0, 2.0]})
    y = np.array([0, 1, 0, 1])
    one, other = (FTRLClassifier(max_iter=2, tol=None, random_state=0).fit(frame, y) for _ in "ab")
    service = tamis.live(other)
    for i in (1, 2):
        one.partial_fit(frame[i : i + 1], y[i : i + 1])
        service.learn({"height": frame["height"][i], "age": frame["age"][i]}, y[i])
    assert np.array_equal(one.coef_, service.model.coef_)
    before = service.model.coef_
    with pytest.raises(ValueError, match=r"'weight' .* 2 names"):
        service.learn({"age": 1.0, "weight": 2.0}, 1)
    with pytest.raises(ValueError, match="'weight' is none of"):
        service.score({"weight": 2.0})
    assert np.array_equal(service.model.coef_, before)


@pytest.mark.parametrize("options", [{}, {"hash_bits": 6}, {"missing": "indicator"}], ids=str)
def test_fields_of_a_table(tmp_path, options):
    table = tmp_path / "few.csv"
    rows = [(1.5, "red", 2, 0.5), (2.0, "blue", 3, 1.5), (0.0, "red", 4, 2.5), (3.0, "green", 5, 1)]
    text = "".join(f"{a},{b},{c},{y}\n" for a, b, c, y in rows)
    table.write_text("size,colour,legs,y\n" + text)
    source = tamis.open_rows(table, **options)
    model = tamis.train(FTRLRegressor(), source, progress=False)
    X = next(iter(tamis.open_rows(table, schema=model.reading_))).X
    service = tamis.live(model)
    for i, (a, b, c, y) in enumerate(rows):
        score = service.score({"size": a, "colour": b, "legs": c, "y": y, "unknown": 1.0})
        assert score == model.predict(X[[i]])[0]
    names = [name for name, _ in service.explain({"size": 1.5, "colour": "red"}).contributions]
    assert sorted(names) == ["colour=red", "size"]
    if options.get("missing"):
        service.learn({"colour": None}, 50.0)
        assert service.score({"colour": None}) > service.score({})
        assert service.explain({"colour": None}).contributions[0][0] == "colour=missing"
        column = list(service._served_model.naming.layout.names()).index("colour=missing")
        assert model.coef_[column] != 0.0
    else:
        with pytest.raises(ValueError, match="the field 'size' is None"):
            service.score({"size": None})
    assert service.score({"colour": "red"}) != service.score({})


def test_numbers_as_names():
    service = tamis.live(FTRLClassifier(), classes=[0, 1], n_features=9)
    other = tamis.live(FTRLClassifier(), classes=[0, 1], n_features=9)
    for _ in range(5):
        service.learn({7: 1.0, 2: 0.5}, 1)
        other.learn([2, 7], [0.5, 1.0], 1)
    assert np.array_equal(service.model.coef_, other.model.coef_)
    with pytest.raises(ValueError, match=r"no names.*'x'"):
        service.learn({"x": 1.0}, 1)


def test_odd_names_and_values():
    service = tamis.live(FTRLClassifier(), classes=[0, 1], hash_bits=10)
    with pytest.raises(TypeError, match="names must be words; got 3"):
        service.learn({"x": 1.0, 3: 1.0}, 1)
    with pytest.raises(ValueError, match="holds a zero byte"):
        service.learn({"x\0y": 1.0}, 1)
    with pytest.raises(TypeError, match=r"values must be numbers. Got \['red'\]"):
        service.learn({"colour": "red"}, 1)
    service.learn({}, 1)
    assert service.model.t_ == 1
    growing = tamis.live(FTRLClassifier(grow=True))
    with pytest.raises(ValueError, match="a growing model"):
        growing.learn({}, 1)
    with pytest.raises(TypeError, match="names must be words; got 3"):
        growing.learn({3: 1.0}, 1)
    growing.learn([4], [1.0], 1)
    with pytest.raises(ValueError, match="'x' is a name"):
        growing.learn({"x": 1.0}, 1)
    assert growing.model.n_features_in_ == 5


def test_a_refused_row_adds_no_name():
    service = tamis.live(FTRLClassifier(grow=True))
    service.learn({"a": 1.0}, 1)
    for row, y in (({"b": np.nan}, 1), ({"b": 1.0}, [1, 2])):
        with pytest.raises(ValueError, match=r"finite|1d|shape|labels|inhomogeneous"):
            service.learn(row, y)
    assert service.model.feature_names_in_.tolist() == ["a"]
    assert service.model.coef_.shape == (1, 1)


def test_a_list_of_names_is_saved_and_follows_the_model(tmp_path):
    service = tamis.live(FTRLClassifier(grow=True, random_state=0))
    for row, y in zip(ROWS, Y, strict=True):
        service.learn(row, y)
        service.save(tmp_path / "names.tamis")
    restored = tamis.live(tamis.load(tmp_path / "names.tamis"))
    for one in (service, restored):
        one.learn({"w1": 1.0, "fresh": 2.0}, 1)
    assert restored.model.feature_names_in_.tolist() == service.model.feature_names_in_.tolist()
    assert np.array_equal(restored.model.coef_, service.model.coef_)
    service.model.fit(pd.DataFrame({"fresh": [1.0, -1.0], "old": [0.0, 1.0]}), [1, 0])
    assert service.score({"old": 1.0}) == service.score([1], [1.0])
    service.learn({"new": 1.0}, 1)
    assert service.model.feature_names_in_.tolist() == ["fresh", "old", "new"]
