"""Malformed files: every one refused with its place and the reason, or read; never a crash, a hang or a nan."""

import numpy as np
import pytest
from read.corpus import BAD, WHOLE, mutated

from tamis import open_rows
from tamis.read.rows import ReadError

pytestmark = pytest.mark.quick

MUTATIONS = 600  # `python -m benchmarks.mutations` does a hundred thousand


def test_the_corpus_is_large():
    assert len(BAD) >= 60


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_the_reason(tmp_path, name):
    content, words = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReadError) as caught:
        list(open_rows(tmp_path / name))
    assert words in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", BAD)
def test_bad_files_can_be_skipped_through(tmp_path, name):
    """What can be read is read; what is left is counted, or the whole is refused."""
    (tmp_path / name).write_bytes(BAD[name][0])
    rows = None
    try:
        rows = open_rows(tmp_path / name, on_bad="skip")
        found = list(rows)
    except ReadError:
        return
    assert rows.bad.count or any(chunk.X.shape[0] for chunk in found)
    assert len(rows.bad.first) == min(rows.bad.count, 10)


@pytest.mark.parametrize("name", WHOLE)
def test_whole_files_are_read(tmp_path, name):
    (tmp_path / name).write_bytes(WHOLE[name])
    assert sum(chunk.X.shape[0] for chunk in open_rows(tmp_path / name)) in (3, 4, 80)


@pytest.mark.parametrize("name", WHOLE)
def test_mutated_files(tmp_path, name):
    random = np.random.default_rng(len(name))
    for turn in range(MUTATIONS // len(WHOLE)):
        (tmp_path / name).write_bytes(mutated(name, random))
        said = ""
        try:
            for chunk in open_rows(tmp_path / name, on_bad=("error", "skip")[turn % 2]):
                chunk.X.check_format(full_check=True)
                assert np.isfinite(chunk.X.data).all()
        except ReadError as error:
            said = str(error)
        assert not said or name in said
        assert len(said) < 1000
