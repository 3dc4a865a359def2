"""The modules whose mutants are drawn, and the tests that are theirs."""

JUDGE = "tests/judge"
DISCOVERY = [
    f"{JUDGE}/discovery/test_{name}.py"
    for name in ("figures", "readings", "parts", "against", "laws", "selector")
]
ANYTIME = [*DISCOVERY[:2], f"{JUDGE}/anytime", f"{JUDGE}/discovery/test_stream.py"]
CLUSTERS = [
    f"tests/clusters/test_{name}.py"
    for name in ("pieces", "sums", "rounds", "staged", "table_files", "faults")
]
# A folder's tests, where a module of it has none of its own.
FOLDERS = {
    "judge/discovery": DISCOVERY,
    "judge/anytime": ANYTIME,
    "judge/verdict": [f"{JUDGE}/test_{name}.py" for name in ("columns", "verdict")],
    "distributed": CLUSTERS,
    "exporting": ["tests/exporting", "tests/against/test_runtimes.py"],
    "methods/thresholding": ["tests/methods/thresholding/test_bounds.py"],
    "methods/metric": ["tests/methods/metric/test_parts.py"],
    "methods/groups": ["tests/methods/groups/test_groups.py"],
    "methods/fourier": ["tests/methods/fourier"],
}
OWN = {
    "judge/bounds": [f"{JUDGE}/test_bounds.py"],
    "judge/stability": [f"{JUDGE}/test_stability.py"],
    "judge/supports": [f"{JUDGE}/test_supports.py"],
    "judge/protocol": [f"{JUDGE}/test_protocol.py"],
    "judge/halves": [f"{JUDGE}/test_selector.py"],
    "judge/verdict/compared": [f"{JUDGE}/test_{name}.py" for name in ("compared", "protocol")],
    "judge/discovery/given": [
        f"{JUDGE}/discovery/test_{name}.py" for name in ("figures", "stream", "readings")
    ],
    "judge/discovery/stream": ANYTIME,
    "distributed/executors": [*CLUSTERS, "tests/clusters/test_dask.py"],
    "distributed/parts": [*CLUSTERS, "tests/clusters/test_dask.py"],
    "methods/metric/rules": [
        f"tests/methods/metric/test_{name}.py" for name in ("rules", "parts", "sdist")
    ],
    "methods/thresholding/certificate": [
        f"tests/methods/thresholding/test_{name}.py" for name in ("bounds", "models")
    ],
    "methods/groups/finding": ["tests/methods/groups/test_groups.py"],
}
MODULES = [
    "judge/bounds",
    "methods/groups/finding",
    "methods/thresholding/bounds",
    "methods/thresholding/certificate",
    "methods/thresholding/loop_rows",
    "methods/metric/steps",
    "methods/metric/rules",
    *(f"judge/discovery/{name}" for name in ("claims", "claiming", "columns", "controls", "given")),
    *(f"judge/discovery/{name}" for name in ("products", "selecting", "stream")),
    *(f"judge/discovery/screening/{name}" for name in ("by_pass", "by_path", "path")),
    *(f"judge/anytime/{name}" for name in ("evidence", "estimator")),
    "judge/stability",
    *(f"distributed/{name}" for name in ("agreement", "checkpoint", "executors", "fitting")),
    *(f"distributed/{name}" for name in ("merging", "parts", "rounds", "visits")),
    *(f"exporting/{name}" for name in ("export", "linear")),
    *(f"exporting/forms/{name}" for name in ("onnx", "onnx_fields", "python", "scorecard")),
    *(f"exporting/forms/{name}" for name in ("sql", "sql_fields", "standalone")),
    *(f"exporting/inputs/{name}" for name in ("encoders", "fields", "pipelines", "texts")),
    *(f"judge/verdict/{name}" for name in ("checks", "columns", "compared", "evidence")),
]


def its_tests(module: str) -> list[str]:
    """Files and folders of a module's own tests."""
    if module in OWN:
        return OWN[module]
    return next(tests for folder, tests in FOLDERS.items() if module.startswith(folder))
