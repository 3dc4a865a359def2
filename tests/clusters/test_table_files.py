"""Tables in many files: one layout of all, merged from what was seen of each."""

import pytest
from clusters.helpers import bits

import tamis.distributed as td
from tamis import FTRLClassifier, open_rows, train
from tamis.data.tables.layout import Layout


def write(rows, line):
    """A table of many kinds of columns."""
    lines = [line.format(d=d, c=d % 4) for d in range(1, rows + 1)]
    return "\n".join(["day,say,city,id,ok,n,y", *lines, ""])


TABLES = {
    "a level that only the last file has": [
        "city,n,y\n" + "rome,1,u\nbern,2,v\n" * 10,
        "city,n,y\n" + "bern,4,u\nrome,2,v\n" * 10,
        "city,n,y\n" + "oslo,3,v\nbern,4,u\n" * 10,
    ],
    "a number that is a word in the second": [
        "code,n,y\n" + "1,1,u\n2,2,v\n" * 10,
        "code,n,y\n" + "1,3,v\nx7,4,u\n" * 10,
    ],
    "a number that is a word late in the second": [
        "city,code,y\n" + "rome,1,u\nbern,2,v\n" * 150,
        "city,code,y\n" + "rome,1,v\nbern,2,u\n" * 150 + "rome,x7,v\n" * 9,
    ],
    "dates, texts, gaps, rare levels, flags, numbers of rows": [
        write(30, "2024-01-{d:02},good sun {d} rain,c{c},{d},true,{d},u"),
        write(28, "2024-02-{d:02},bad rain wind {d},c{c},{d}9,false,{d},v"),
        write(30, "2024-03-{d:02},wind {d} sun,d{d},{d}8,true,,v"),
    ],
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("words", TABLES)
def test_columns_of_tables_are_those_of_all_files(words, kind, tmp_path):
    """Kinds and levels are merged over the files, whoever reads them."""
    for k, text in enumerate(TABLES[words]):
        (tmp_path / f"{k}.csv").write_text(text)
        if kind == "parquet":
            pytest.importorskip("pyarrow")
            from pyarrow import csv, parquet

            parquet.write_table(csv.read_csv(tmp_path / f"{k}.csv"), tmp_path / f"{k}.parquet")
    given = {"missing": "indicator"}
    model = td.fit(FTRLClassifier(), str(tmp_path / f"*.{kind}"), paths=1, **given)
    rows = open_rows(tmp_path / f"*.{kind}", **given)
    whole = train(FTRLClassifier(), rows)
    assert model.reading_ == whole.reading_
    assert bits(model) == bits(whole)
    if "level that" in words:
        assert "city=oslo" in rows.names
    elif "number that" in words:
        assert {"code=1", "code=x7"} <= set(rows.names)


def test_figures_of_tables_are_merged(tmp_path):
    """Units, which are sums, to the last digits; on parts of which one has gaps alone."""
    for k, rows in enumerate(["1,5,u\n2,5,v\n" * 9, ",5,u\n,5,v\n", "3,5,u\n9,5,v\n" * 4]):
        (tmp_path / f"{k}.csv").write_text("a,b,y\n" + rows)
    given = {"missing": "zero", "units": "spread"}
    model = td.fit(FTRLClassifier(), str(tmp_path / "*.csv"), paths=1, **given)
    whole = open_rows(tmp_path / "*.csv", **given)
    (mine, other) = (Layout.from_dict(one["layout"]) for one in (model.reading_, whole.schema))
    assert [c.role for c in mine.columns] == [c.role for c in other.columns]
    for fact in ("centre", "spread"):
        assert mine.columns[0].facts[fact] == pytest.approx(other.columns[0].facts[fact], rel=1e-14)


def test_tables_have_one_layout(tmp_path):
    (tmp_path / "a.csv").write_text("city,n,y\n" + "rome,1,u\nbern,2,v\n" * 10)
    (tmp_path / "b.csv").write_text("city,n,y\n" + "oslo,3,v\nbern,4,u\n" * 10)
    model = td.fit(FTRLClassifier(), str(tmp_path / "*.csv"), paths=1)
    whole = train(FTRLClassifier(), open_rows(tmp_path / "*.csv"))
    assert bits(model) == bits(whole)
    assert model.reading_ == whole.reading_
