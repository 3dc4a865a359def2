"""Random dirty tables: the same answers in every container and export, or a refusal."""

import pytest

for package in ("polars", "pyarrow", "duckdb", "onnx", "onnxruntime"):
    pytest.importorskip(package, reason=f"{package} is not installed (extra test)")

from exporting.tables import outcome  # noqa: E402

TABLES = 60  # `python -m benchmarks tables` does ten thousand


def test_dirty_tables_are_answered_alike_or_refused():
    trials = {number: outcome(number, seed=0) for number in range(TABLES)}
    assert {number: trial.wrong for number, trial in trials.items() if trial.wrong} == {}
    assert sum(trial.counts["compared"] for trial in trials.values()) > TABLES
