"""Processes and threads: a fork after a fit, two fits at once, joblib's workers, and a Python
without compilation.
"""

import json

from processes import run_process

DATA = """
    import json, sys, warnings
    import numpy as np, scipy.sparse as sp
    warnings.simplefilter("ignore")
    from tamis import FOBOSClassifier, FTRLClassifier, FTRLRegressor
    from tamis import RDAClassifier, RDARegressor, TruncatedGradientRegressor
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)) * (rng.random((60, 6)) < 0.6)
    y = (X @ rng.normal(size=6) > 0).astype(int)
    three = np.arange(60) % 3

    def fit(seed=0, cls=FOBOSClassifier, target=None):
        model = cls(random_state=seed, max_iter=5, tol=None, n_jobs=2)
        return model.fit(X, three if target is None else target).coef_.tolist()
"""


FORKS = """
    import multiprocessing, os

    def by_os():
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.write(write, json.dumps([fit(1), fit(2, RDAClassifier)]).encode())
            finally:
                os._exit(0)
        os.close(write)
        told = b"".join(iter(lambda: os.read(read, 1 << 16), b""))
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        return json.loads(told)

    def by_multiprocessing():
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=lambda: queue.put([fit(1), fit(2, RDAClassifier)]))
        child.start()
        result = queue.get(timeout=120)
        child.join(60)
        assert child.exitcode == 0, child.exitcode
        return result

    def by_pool():
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return [pool.apply_async(fit, given).get(120) for given in ((1,), (2, RDAClassifier))]

    wanted = [fit(1), fit(2, RDAClassifier)]
    for way in (by_os, by_multiprocessing, by_pool):
        assert way() == wanted, way
        assert fit(1) == wanted[0], way
"""


def test_a_fork_after_a_fit():
    """The parent has compiled code, threads and locks; the child must be able to go on fitting with
    them.
    """
    run_process(DATA + FORKS, timeout=240)


def test_fits_in_several_threads_at_once(tmp_path):
    """Compilation, cache and loops under four threads; the cache is cold, so that they also compile
    at once.
    """
    code = (
        DATA
        + """
    from concurrent.futures import ThreadPoolExecutor
    jobs = [(seed, cls) for seed in range(4) for cls in (FOBOSClassifier, RDAClassifier)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: fit(*job), jobs))
    assert together == [fit(*job) for job in jobs]
    """
    )
    run_process(code, env={"NUMBA_CACHE_DIR": tmp_path}, timeout=240)


def test_joblib_workers():
    """Models travel to joblib's processes and back, fitted there or here."""
    run_process(
        DATA
        + """
    from joblib import Parallel, delayed
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_predict
    model = FOBOSClassifier(random_state=0, max_iter=3, tol=None)
    models = [clone(model).set_params(random_state=seed) for seed in range(3)]
    here = [clone(one).fit(X, y) for one in models]
    there = Parallel(n_jobs=2, backend="loky")(delayed(one.fit)(X, y) for one in models)
    for a, b in zip(here, there):
        assert np.array_equal(a.coef_, b.coef_)
        assert np.array_equal(a.partial_fit(X, y).coef_, b.partial_fit(X, y).coef_)
    a, b = (cross_val_predict(model, X, three, cv=3, n_jobs=n) for n in (1, 2))
    assert np.array_equal(a, b)
    grid = {"alpha": ["auto", 1e-3, 0.1], "fit_intercept": [True, False]}
    a, b = (GridSearchCV(model, grid, cv=3, n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(a.cv_results_["mean_test_score"], b.cv_results_["mean_test_score"])
    """,
        timeout=280,
    )


FITS = (
    DATA
    + """
    import tempfile, os, tamis
    found = []
    for model, target in (
        (FOBOSClassifier(), y), (FOBOSClassifier(), three), (FTRLClassifier(), y),
        (RDARegressor(), X[:, 0]), (TruncatedGradientRegressor(), X[:, :2]),
        (FTRLRegressor(), X[:, 0]),
    ):
        if hasattr(model, "class_weight"):
            model.set_params(class_weight="balanced")
        model.set_params(random_state=0, max_iter=2, tol=None).fit(sp.csr_array(X), target)
        with tempfile.TemporaryDirectory() as folder:
            tamis.save(model, os.path.join(folder, "model.tamis"))
            model = tamis.load(os.path.join(folder, "model.tamis"))
        model.partial_fit(X, target)
        arrays = [model.coef_, model.intercept_, model.support_, model.predict(X)]
        found.append([*(array.tolist() for array in arrays), model.t_])
    print(json.dumps(found))
    """
)


def test_without_compilation_the_same_bits():
    """NUMBA_DISABLE_JIT=1, numba's own switch: fit, save, load, go on, predict."""
    compiled, interpreted = (
        json.loads(run_process(FITS, env={"NUMBA_DISABLE_JIT": switch}, timeout=240))
        for switch in "01"
    )
    assert compiled == interpreted


def test_results_are_printed_where_output_is_ascii():
    code = """
    import numpy as np, tamis
    X = np.random.default_rng(0).normal(size=(80, 4))
    y = np.where(X[:, 0] > 0, "j\\xe4", "\\u5426")
    model = tamis.FTRLClassifier(random_state=0).fit(X, y)
    print(tamis.report(model, X, y, names=["gr\\xf6\\xdfe", "b", "c", "\\u4e2d\\u6587"]))
    print(model.explain(X[:2]))
    print(tamis.compare({"\\xe9": model}, X, y, runs=2))
    """
    printed = run_process(code, env={"LC_ALL": "C", "PYTHONUTF8": "0"})
    assert "+-" in printed
    assert "gr\\xf6\\xdfe" in printed


def test_without_what_windows_lacks(tmp_path):
    """Libraries are loaded first: they look for the same functions, and have ways of their own."""
    code = r"""
    import multiprocessing, os, signal, subprocess, sys, tempfile
    import joblib, numba.core.caching, rich.console, sklearn.linear_model, threadpoolctl

    for name in ("chown fchmod fork geteuid getgid getpgid getuid killpg mkfifo register_at_fork "
                 "sched_getaffinity statvfs sysconf uname O_DIRECTORY O_NOFOLLOW").split():
        vars(os).pop(name, None)
    for name in "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1".split():
        vars(signal).pop(name, None)
    for name in ("fcntl", "grp", "pwd", "resource", "termios"):
        sys.modules[name] = None
    from pathlib import Path
    import warnings
    import numpy as np, tamis
    from tamis.cli.main import main
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    model = tamis.FTRLClassifier(random_state=0).fit(X, y)
    for _ in range(2):
        tamis.save(model, "a\\b.tamis")
    assert (tamis.load("a\\b.tamis").predict(X) == model.predict(X)).all()
    tamis.BCWClassifier().fit(X, y)
    rows = "".join(f"{a:.3f},{b:.3f},{t}\n" for (a, b), t in zip(X[:, :2], y))
    Path("c\\d.csv").write_text("a,b,y\n" + rows)
    tamis.train(tamis.FTRLClassifier(), tamis.open_rows("c\\d.csv"), checkpoint="e\\f")
    for line in ("fit c\\d.csv --method ftrl --out g", "predict g c\\d.csv -o h", "check c\\d.csv",
                 "predict g c\\d.csv -o h", "fit c\\d.csv --method ftrl --out g --report i"):
        assert main(line.split()) == 0, line
    print(*sorted(path.name for path in Path().iterdir()))
    """
    told = run_process(code, cwd=tmp_path).splitlines()[-1]
    assert told.split() == ["a\\b.tamis", "c\\d.csv", "e\\f", "g", "h", "i"]


def test_a_library_that_is_loaded_later_works_alone_too():
    code = """
        from tamis.system.threads import single_threaded_blas
        with single_threaded_blas():
            pass
        import scipy.linalg
        from threadpoolctl import threadpool_info
        before = [one["num_threads"] for one in threadpool_info()]
        with single_threaded_blas():
            print(before, all(one["num_threads"] == 1 for one in threadpool_info()))
    """
    before, alone = run_process(code, env={"OPENBLAS_NUM_THREADS": "2"}).rsplit(maxsplit=1)
    assert "2" in before
    assert alone == "True"
