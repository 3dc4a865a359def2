"""Words that predict a word: the function, the files, the command and the page."""

import gzip
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from cli.commands import here
from reporting.browser import Browser, find_browser

from tamis import associations, write_association_page
from tamis.data.rows import ReadError
from tamis.datasets import load_bag_of_words

TERMS = [f"{topic}{k}" for topic in ("sea", "wood", "star") for k in range(6)] + ["the", "rare"]


def make_corpus(n=400, seed=0):
    random = np.random.default_rng(seed)
    topics = random.integers(0, 3, n)
    rates = np.full((n, 20), 0.1)
    for k in range(3):
        rates[topics == k, 6 * k : 6 * k + 6] = 2.0
    rates[:, 18] = 3.0
    rates[:, 19] = 0.0
    X = random.poisson(rates)
    X[0, 19] = 1
    return sp.csr_array(X)


X = make_corpus()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    np.savez(
        folder / "bag.npz",
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
        shape=X.shape,
        terms=np.array(TERMS),
    )
    triples = sp.coo_array(X)
    lines = [
        f"{i + 1} {j + 1} {int(c)}"
        for i, j, c in zip(triples.row, triples.col, triples.data, strict=True)
    ]
    (folder / "docword.bag.txt").write_text(
        "\n".join(["400", "20", str(len(lines)), *lines]) + "\n"
    )
    (folder / "vocab.bag.txt").write_text("\n".join(TERMS) + "\n")
    rows = [
        " ".join(word for word, count in zip(TERMS, row, strict=True) for _ in range(int(count)))
        for row in X.toarray()
    ]
    (folder / "documents.txt").write_text("\n".join(rows).replace("the", "The") + "\n")
    return folder


def test_words_of_a_topic_predict_each_other():
    result = associations(X, TERMS, ["sea0", "wood3", "star5"], n_components=4, top=5)
    assert list(result) == ["sea0", "wood3", "star5"]
    for query, words in result.items():
        topic = re.sub(r"\d", "", query)
        assert 1 <= len(words) <= 5
        assert all(word.startswith(topic) and word != query for word, weight in words if weight > 0)
        assert [abs(weight) for _, weight in words] == sorted(
            (abs(weight) for _, weight in words), reverse=True
        )
    assert result == associations(X, TERMS, ["sea0", "wood3", "star5"], n_components=4, top=5)
    assert dict(
        associations(X.toarray(), TERMS, "sea0", n_components=4, top=5)["sea0"]
    ) == pytest.approx(dict(result["sea0"]))


def test_the_answer_is_the_lasso_on_the_other_columns():
    from tamis import LowRankLasso

    dense = X.toarray().astype(float)
    words = dict(
        associations(
            dense,
            TERMS,
            "sea0",
            n_components=20,
            top=20,
            radius=0.4,
            robustness=0.0,
            weighting="none",
            tol=1e-10,
        )["sea0"]
    )
    model = LowRankLasso(20, radius=0.4, robustness=0.0, tol=1e-10, random_state=0).fit(
        dense[:, 1:], dense[:, 0]
    )
    assert [words.get(term, 0.0) for term in TERMS[1:]] == pytest.approx(model.coef_, abs=1e-5)


def test_unknown_words_raise_and_unexplained_words_warn():
    with pytest.raises(ValueError, match=r"'sea9' .* 20 words.* sea"):
        associations(X, TERMS, ["sea9"], n_components=4)
    with pytest.raises(ValueError, match="terms has 3 words, but X has 20 columns"):
        associations(X, TERMS[:3], ["sea0"])
    with pytest.warns(UserWarning, match=r"1 of 1 queries have no words \(rare\)"):
        assert associations(X, TERMS, ["rare"], n_components=2, robustness=1.0)["rare"] == []
    with pytest.raises(ValueError, match="must not be negative"):
        associations(-X, TERMS, ["sea0"])


def test_float32_gives_the_same_words():
    low, high = (
        associations(X, TERMS, ["sea0"], n_components=4, top=3, dtype=dtype)["sea0"]
        for dtype in ("float32", "float64")
    )
    assert {word for word, _ in low} == {word for word, _ in high}


@pytest.mark.peer
@pytest.mark.skipif(
    find_browser() is None, reason="no Chromium on this machine (chromium, google-chrome)"
)
def test_the_page_shows_the_list_of_a_typed_word(tmp_path):
    lists = {
        "ship": [("sea", 0.5), ("Wave", 0.25), ("tree", -0.1)],
        "sea": [("ship", 0.6)],
        "tree": [],
    }
    write_association_page(tmp_path / "p.html", lists)
    rows = (
        "[...document.querySelectorAll('#association-list tr')].map(row => "
        "row.cells[0].textContent + row.cells[2].textContent)"
    )
    title = "document.getElementById('association-title').textContent"
    with Browser() as tab:
        tab.open(tmp_path / "p.html")
        assert tab.ask(title) == "Words that predict “ship”"
        assert tab.ask(rows) == ["sea0.500", "Wave0.250", "tree−0.100"]
        tab.ask("document.querySelector('#association-list button').click()")
        assert tab.ask(rows) == ["ship0.600"]
        typing = (
            "(() => {{ const box = document.getElementById('association-word'); box.value = "
            "{!r}; box.dispatchEvent(new Event('input')); }})()"
        )
        tab.ask(typing.format("s"))
        assert tab.ask(
            "[...document.querySelectorAll('#association-near button')].map(one => one.textContent)"
        ) == ["sea", "ship"]
        assert tab.ask(title) == "No list for “s”"
        tab.ask(typing.format(" Tree "))
        assert tab.ask(title) == "Nothing predicts “tree”"
        assert tab.complaints() == []
        assert len(tab.requests()) == 1


# --------------------------------------------------------------------------- files
def test_all_files_hold_the_same_corpus(folder):
    for name in ("bag.npz", "docword.bag.txt"):
        counts, terms = load_bag_of_words(folder / name)
        assert terms == TERMS
        assert np.array_equal(counts.toarray(), X.toarray())
    counts, terms = load_bag_of_words(folder / "documents.txt")
    assert sorted(terms) == sorted(TERMS)
    assert np.array_equal(counts.toarray()[:, [terms.index(t) for t in TERMS]], X.toarray())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\n2\n2\n1 1 1\n", "1 entries, .* 2"),
        ("2\n2\n1\n1 1 1\n2 2 2\n", "more entries than its third line promises"),
        ("2\n2\n1\n1 3 1\n", "word 3 beyond the 2"),
        ("2\n2\n1\n4294967297 1 1\n", "entry 1: document 4294967297 beyond the 2"),
        ("2\n2\n2\n1 1 1\n2 1 -3\n", "entry 2: count -3 below the least"),
        ("2\n2\n99999999999999\n1 1 1\n", "its head promises"),
        ("2000000000\n2\n1\n1 1 1\n", "its head promises 2000000000 documents"),
        ("2\n2\n1\n1 x 1\n", "no number"),
        ("2\n2\n1\n1 1\n", "without its three numbers"),
    ],
)
def test_broken_docword_files_are_refused(tmp_path, text, message):
    (tmp_path / "docword.x.txt").write_text(text)
    (tmp_path / "vocab.x.txt").write_text("a\nb\n")
    with pytest.raises(ReadError, match=message):
        load_bag_of_words(tmp_path / "docword.x.txt")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indices": np.array([0, -5])}, "it cannot be read as a bag of words"),
        ({"indices": np.array([0, 1 << 30])}, "it cannot be read as a bag of words"),
        ({"data": np.array([1.0, np.inf])}, "a count is nan or infinite"),
        ({"data": np.array(["a", "b"])}, "no matrix of counts"),
        ({"terms": np.array(["a"])}, "1 words for 2 columns"),
        ({"terms": np.array([None, None])}, "it cannot be read as a bag of words"),
    ],
)
def test_forged_arrays_are_refused(tmp_path, changes, message):
    arrays = {
        "data": np.ones(2),
        "indices": np.array([0, 1]),
        "indptr": np.array([0, 1, 2]),
        "shape": np.array([2, 2]),
        "terms": np.array(["a", "b"]),
    }
    np.savez(tmp_path / "x.npz", **(arrays | changes))
    with pytest.raises(ReadError, match=message):
        load_bag_of_words(tmp_path / "x.npz")


def test_damaged_archives_are_refused(tmp_path):
    for name, content in (
        ("x.npz", b"PK no"),
        ("x.txt.gz", gzip.compress(b"some words\n" * 999)[:-9]),
        ("x.txt.zst", b"\x28\xb5\x2f\xfd????"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ReadError, match=f"{name}: it cannot be read as a bag of words"):
            load_bag_of_words(tmp_path / name)


def test_missing_words_are_named(tmp_path):
    (tmp_path / "docword.x.txt").write_text("1\n2\n1\n1 1 1\n")
    with pytest.raises(ReadError, match="the words of its columns are not there"):
        load_bag_of_words(tmp_path / "docword.x.txt")
    (tmp_path / "words").write_text("a\n")
    with pytest.raises(ReadError, match="1 words for 2 columns"):
        load_bag_of_words(tmp_path / "docword.x.txt", tmp_path / "words")
    with pytest.raises(ReadError, match="no such file"):
        load_bag_of_words(tmp_path / "nothing.npz")


# ------------------------------------------------------------------------- the command and the page
def test_the_command_prints_a_table_or_json(folder, capsys):
    result = here(
        "associate",
        folder / "bag.npz",
        "--query",
        "sea0",
        "--query",
        "wood1",
        "--components",
        4,
        "--top",
        3,
        capsys=capsys,
    )
    assert result.code == 0, result.err
    assert "sea0" in result.out
    assert result.out.count("wood") >= 2
    result = here(
        "associate",
        folder / "docword.bag.txt",
        "--query",
        "sea0",
        "--components",
        4,
        "--top",
        3,
        "--json",
        capsys=capsys,
    )
    output = json.loads(result.out)
    expected = associations(X, TERMS, "sea0", n_components=4, top=3)["sea0"]
    assert {
        line["word"]: line["weight"] for line in output["associations"]["sea0"]
    } == pytest.approx(dict(expected))
    assert output["documents"] == 400


def test_the_command_refuses_in_one_line(folder, capsys):
    result = here("associate", folder / "bag.npz", capsys=capsys)
    assert result.code == 2
    assert "name words with --query" in result.err
    result = here(
        "associate", folder / "bag.npz", "--query", "sae0", "--components", 4, capsys=capsys
    )
    assert result.code == 1
    assert "Near it: sea0" in result.err


def test_the_page_holds_all_lists(folder, tmp_path, capsys):
    page = tmp_path / "words.html"
    result = here(
        "associate",
        folder / "bag.npz",
        "--query",
        "sea0",
        "--components",
        4,
        "--page",
        page,
        "--words",
        12,
        "--title",
        "A & B",
        capsys=capsys,
    )
    assert result.code == 0, result.err
    text = page.read_text(encoding="utf-8")
    assert "<h1>A &amp; B</h1>" in text
    data = json.loads(re.search(r'id="association-data">(.*?)</script>', text, re.S)[1])
    assert len(data["lists"]) in (12, 13)
    assert data["words"][0] == "sea0"
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    first = [data["words"][index] for index, _ in data["lists"]["0"]]
    assert first == [word for word, _ in associations(X, TERMS, "sea0", n_components=4)["sea0"]]


def test_a_page_is_safe_with_any_words(tmp_path):
    write_association_page(
        tmp_path / "p.html", {"</script><b>": [("<i>", 0.5)], "none": []}, title="<x>"
    )
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "<b>" not in text.split("<main>")[1]
    assert "<i>" not in text
    with pytest.raises(ValueError, match="at least one list"):
        write_association_page(tmp_path / "q.html", {})
