"""The modules whose mutants are drawn, and the tests that are theirs."""

SELECTION, EVALUATION = "tests/selection", "tests/evaluation"
DISCOVERY = [
    f"{SELECTION}/false_discovery/test_{name}.py"
    for name in ("figures", "readings", "parts", "against", "laws", "selector")
]
ANYTIME = [*DISCOVERY[:2], f"{SELECTION}/anytime", f"{SELECTION}/false_discovery/test_stream.py"]
CLUSTERS = [
    f"tests/clusters/test_{name}.py"
    for name in ("units", "sums", "rounds", "staged", "table_files", "faults")
]
# A folder's tests, where a module of it has none of its own.
FOLDERS = {
    "selection/false_discovery": DISCOVERY,
    "selection/anytime": ANYTIME,
    "evaluation": [f"{EVALUATION}/test_{name}.py" for name in ("columns", "verdict")],
    "distributed": CLUSTERS,
    "exporting": ["tests/exporting", "tests/against/test_runtimes.py"],
    "methods/data_thresholding": ["tests/methods/data_thresholding/test_bounds.py"],
    "methods/metric_learning": ["tests/methods/metric_learning/test_parts.py"],
    "methods/group_lasso": ["tests/methods/group_lasso/test_groups.py"],
    "methods/sparse_fourier": ["tests/methods/sparse_fourier"],
}
OWN = {
    "selection/error_bounds": [f"{SELECTION}/test_bounds.py"],
    "selection/agreement": [f"{SELECTION}/test_stability.py"],
    "selection/supports": [f"{SELECTION}/test_supports.py"],
    "evaluation/compare": [f"{EVALUATION}/test_protocol.py"],
    "selection/half_samples": [f"{SELECTION}/test_selector.py"],
    "evaluation/comparison_checks": [
        f"{EVALUATION}/test_{name}.py" for name in ("compared", "protocol")
    ],
    "selection/false_discovery/inputs": [
        f"{SELECTION}/false_discovery/test_{name}.py" for name in ("figures", "stream", "readings")
    ],
    "selection/false_discovery/stream": ANYTIME,
    "distributed/executors": [*CLUSTERS, "tests/clusters/test_dask.py"],
    "distributed/inputs": [*CLUSTERS, "tests/clusters/test_dask.py"],
    "methods/sieve/partitions": ["tests/clusters/test_staged.py"],
    "methods/stabilized_sgd/partitions": ["tests/clusters/test_staged.py"],
    "methods/metric_learning/rules": [
        f"tests/methods/metric_learning/test_{name}.py" for name in ("rules", "parts", "sdist")
    ],
    "methods/data_thresholding/certificate": [
        f"tests/methods/data_thresholding/test_{name}.py" for name in ("bounds", "models")
    ],
    "methods/group_lasso/group_detection": ["tests/methods/group_lasso/test_groups.py"],
}
MODULES = [
    "selection/error_bounds",
    "methods/group_lasso/group_detection",
    "methods/data_thresholding/bounds",
    "methods/data_thresholding/certificate",
    "methods/data_thresholding/loop_rows",
    "methods/metric_learning/steps",
    "methods/metric_learning/rules",
    "selection/false_discovery/multiple_testing",
    "selection/false_discovery/base_selector",
    "selection/false_discovery/standardized_columns",
    "selection/false_discovery/controls",
    "selection/false_discovery/inputs",
    "selection/false_discovery/conditional_test",
    "selection/false_discovery/fit",
    "selection/false_discovery/stream",
    "selection/false_discovery/screening/by_pass",
    "selection/false_discovery/screening/by_path",
    "selection/false_discovery/screening/path",
    "selection/anytime/evidence",
    "selection/anytime/estimator",
    "selection/agreement",
    *(f"distributed/{name}" for name in ("schema", "checkpoint", "executors", "fitting")),
    *(f"distributed/{name}" for name in ("merging", "inputs", "schedule", "worker_tasks")),
    *(f"exporting/{name}" for name in ("export", "linear")),
    *(f"exporting/forms/{name}" for name in ("onnx", "onnx_fields", "python", "scorecard")),
    *(f"exporting/forms/{name}" for name in ("sql", "sql_fields", "standalone")),
    *(f"exporting/inputs/{name}" for name in ("encoders", "fields", "pipelines", "texts")),
    "evaluation/checks",
    "evaluation/columns",
    "evaluation/comparison_checks",
    "evaluation/evaluation",
]


def its_tests(module: str) -> list[str]:
    """Files and folders of a module's own tests."""
    if module in OWN:
        return OWN[module]
    return next(tests for folder, tests in FOLDERS.items() if module.startswith(folder))
