"""Compiled code: few signatures, a second process compiles nothing, foreign and edited terms,
unwritable caches.
"""

import ast
import ctypes
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from processes import run_process

import tamis

DATA = """
    import json, sys, warnings
    import numpy as np, scipy.sparse as sp
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.6)
    y = (X @ rng.normal(size=6) > 0).astype(int)
"""
COUNT = """
    from numba.core import event

    compilations = event.RecordingListener()
    event.register("numba:compile", compilations)

    def compiled():
        return len([kind for _, kind in compilations.buffer if kind.is_start])

    def loops():
        from tamis.numerics import numba as _jit
        import tamis.numerics.csr
        import tamis.solvers.first_order.loop_weights
        rooms = ("tamis.numerics", "tamis.solvers", "tamis.methods")
        modules = [module for name, module in sys.modules.items() if name.startswith(rooms)]
        things = [thing for module in modules for thing in vars(module).values()]
        return {thing.__name__: thing for thing in things if isinstance(thing, _jit.Loop)}
"""


FITS = (
    DATA
    + COUNT
    + """
    from tamis import FOBOSClassifier, RDARegressor
    one = FOBOSClassifier(random_state=0).fit(X, y)
    three = FOBOSClassifier(random_state=0).fit(sp.csr_array(X), np.arange(40) % 3)
    real = RDARegressor(random_state=0).fit(X, X[:, 0])
    shown = [one.coef_, three.coef_, real.coef_, one.support_, one.predict(X)]
    shown = [array.tolist() for array in shown]
    counts = {name: (loop.signatures(), loop.misses()) for name, loop in loops().items()}
    print(json.dumps([compiled(), counts, shown]))
    """
)
# Loops that are compiled in a moment: with a helper, with a term of tamis, and without either.
SMALL = (
    COUNT
    + """
    import json, sys, warnings
    import numpy as np
    from tamis.numerics.csr import count_nonzeros, decision_scores, has_duplicates
    from tamis.solvers.path.loop import sum_values
    from tamis.terms import Hinge

    def results(loss=Hinge(1.0)):
        rng = np.random.default_rng(0)
        starts, cells = 2 * np.arange(6, dtype=np.uint64), np.arange(10, dtype=np.uint32) % 4
        dense, scores = rng.normal(size=(5, 4)), np.empty((5, 1))
        rows, bias = np.arange(5, dtype=np.uint64), rng.normal(size=1)
        values, weights = rng.normal(size=10), rng.normal(size=(4, 1))
        decision_scores(values, cells, starts, rows, weights, bias, scores)
        pointers = np.zeros(6, np.uint64)
        count_nonzeros(dense, pointers)
        targets = np.sign(dense[:, :1])
        total = sum_values(loss, scores, targets, np.ones(5))
        twice = has_duplicates(starts, cells)
        return [scores.tolist(), total, bool(twice), pointers.tolist()]
    """
)
ONCE = (
    SMALL
    + """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        shown = results()
    counts = compiled(), sum(loop.misses() for loop in loops().values())
    print(json.dumps([*counts, [str(w.message) for w in caught], shown]))
    """
)


@pytest.fixture(scope="module")
def warm():
    """What a process tells whose fits share the folder of all tests; then all its code is there."""
    return json.loads(run_process(FITS))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The folder that a process with small loops has filled, and what it told."""
    folder = tmp_path_factory.mktemp("numba")
    return folder, json.loads(run_process(ONCE, env={"NUMBA_CACHE_DIR": folder}))


def test_a_second_process_compiles_nothing(first):
    folder, first = first
    second = json.loads(run_process(ONCE, env={"NUMBA_CACHE_DIR": folder}))
    assert first[0] > 0, "the listener heard nothing"
    assert first[1] == 4
    assert second[:2] == [0, 0], f"{second[0]} functions were compiled anew"
    assert first[2:] == second[2:], "cached code gives other bits"
    assert not first[2]


def test_fits_in_a_second_process_compile_nothing(warm):
    second = json.loads(run_process(FITS))
    assert second[0] == 0, f"{second[0]} functions were compiled anew"
    assert all(misses == 0 for _, misses in second[1].values()), second[1]
    assert second[1]["learn_one"][0] == 2
    assert second[1]["learn_many"][0] == 1
    assert warm[2] == second[2], "cached code gives other bits"


def test_loading_leaves_numba_unready_to_compile(warm):
    """To learn all that it can compile takes Numba 0.1 s; a process that only loads does not."""
    code = DATA + (
        "    from tamis import FOBOSClassifier\n    FOBOSClassifier(random_state=0).fit(X, y)\n"
        "    print([name for name in ('numba.np.arraymath', 'sklearn.model_selection', "
        "'sklearn.metrics') if name in sys.modules])"
    )
    assert run_process(code).strip() == "[]"


@pytest.mark.parametrize(
    "gone", ["caching.CompileResultCacheImpl", "runtime.rtsys", "registry.CPUDispatcher"]
)
def test_without_private_names_of_numba_loops_give_the_same_bits(first, tmp_path, gone):
    """Another release may have moved them: code is then not stored, takes longer to load, or longer
    to compile.
    """
    module, name = gone.split(".")
    lost = f"""
    import numba, numba.core.{module} as module
    del module.{name}
    """
    folder = tmp_path / "numba"
    if module == "runtime":
        shutil.copytree(first[0], folder)
    compiled, *_, shown = json.loads(run_process(lost + ONCE, env={"NUMBA_CACHE_DIR": folder}))
    assert shown == first[1][-1]
    assert (compiled == 0) == (module == "runtime")
    assert any(folder.rglob("*.nbc")) == (module != "caching")


def test_signatures_are_few_whatever_the_input(tmp_path):
    """Two types of values times two of indices, for one output and for many; nothing else makes a
    new compilation or a new load.
    """
    code = (
        DATA
        + COUNT
        + """
    import os
    import tamis
    from tamis import FOBOSClassifier, FTRLClassifier
    from tamis.terms import Hinge

    def wide(X):
        X = sp.csr_array(X)
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        return X

    def locked(X):
        X = X.copy()
        X.flags.writeable = False
        return X

    small = X.astype(np.float32)
    forms = [X, small, np.asfortranarray(X), X[::-1][::-1], locked(X), X.tolist(),
             (10 * X).astype(int), sp.csr_array(X), sp.csr_array(small), sp.csc_matrix(X),
             sp.coo_array(small), wide(X), wide(small)]
    weights = [np.ones(40), locked(np.ones(40)), np.ones(40, dtype=int)]
    options = [dict(n_jobs=2), dict(class_weight="balanced"), dict(early_stopping=True),
               dict(eta=1, alpha=1), dict(fit_intercept=False)]
    three = np.arange(40) % 3
    for target in (y, three, np.c_[y, three > 0], y.astype(str), y > 0):
        for form in forms:
            FOBOSClassifier(max_iter=1, tol=None).fit(form, target).predict(form)
        for weight in weights:
            model = FOBOSClassifier(max_iter=2, shuffle=False, tol=None)
            model.fit(X, target, sample_weight=weight)
        for given in options:
            if "class_weight" not in given or np.ndim(target) == 1:
                FOBOSClassifier(max_iter=1, tol=None, **given).fit(X, target).predict(X)
        model = FOBOSClassifier(grow=True)
        more = {} if np.ndim(target) == 2 else {"classes": np.unique(target)}
        model.partial_fit(X[:, :4], target, **more).partial_fit(X, target)
        model.sparsify().partial_fit(X, target).coef_
        tamis.save(model, sys.argv[1] + "/model.tamis")
        tamis.load(sys.argv[1] + "/model.tamis").partial_fit(X, target).predict(X)
    print(json.dumps({name: loop.signatures() for name, loop in loops().items()}))
    before = loops()["learn_one"].signatures()
    for loss in (Hinge(1), Hinge(1.0), Hinge(np.float32(1)), "hinge"):
        FOBOSClassifier(loss=loss, max_iter=1, tol=None).fit(X, y)
    print(loops()["learn_one"].signatures() - before)
    counts = loops()["learn_one"].signatures()
    model = FTRLClassifier(max_iter=1, tol=None).fit(X, y)
    tamis.save(model, sys.argv[1] + "/model.tamis")
    tamis.load(sys.argv[1] + "/model.tamis").partial_fit(X, y).predict(X)
    print(loops()["learn_one"].signatures() - counts)
    """
    )
    counts, hinges, leaders = run_process(code, tmp_path).splitlines()
    counts = json.loads(counts)
    assert counts["learn_one"] == 4, counts
    assert counts["learn_many"] == 4, counts
    assert counts["score_rows"] <= 8, counts
    assert counts["inspect_rows"] <= 4, counts
    assert max(counts.values()) <= 8, counts
    assert hinges == "1", "Hinge(1) and Hinge(1.0) are two compilations"
    assert leaders == "1", "a loaded model of two numbers a cell is laid out otherwise"


# --------------------------------------------------------------------------- terms from outside
TERM = '''
from typing import NamedTuple
from tamis.numerics.numba import term

@term
class Mine(NamedTuple):
    """A loss."""

    steep: float = 1.0

    @property
    def smooth(self):
        return False

    def value(self, score, target):
        return FACTOR * self.steep * max(0.0, 1.0 - target * score)

    def gradient(self, score, target):
        return -FACTOR * self.steep * target if target * score < 1.0 else 0.0

    def hessian_bound(self):
        return float("inf")
'''
USE = (
    SMALL
    + """
    sys.path.insert(0, sys.argv[1])
    from my_losses import Mine
    print(json.dumps([results(Mine()), results()]))
    """
)


def test_edited_and_deleted_foreign_terms(tmp_path, first):
    """A module rewritten on disk gives the new results in the next process; once it is gone, other
    processes do not notice.
    """
    home, folder = tmp_path / "home", tmp_path / "numba"
    home.mkdir()
    shutil.copytree(first[0], folder)
    usual = [path.name for path in folder.rglob("*") if path.is_file()]
    by_factor = {}
    for factor in ("1.0", "2.0"):
        (home / "my_losses.py").write_text(TERM.replace("FACTOR", factor))
        shutil.rmtree(home / "__pycache__", ignore_errors=True)
        mine, shipped = json.loads(run_process(USE, home, env={"NUMBA_CACHE_DIR": folder}))
        assert shipped == first[1][-1]
        by_factor[factor] = mine
    assert by_factor["1.0"] == shipped
    assert by_factor["2.0"][1] == 2.0 * shipped[1]
    shutil.rmtree(home)
    after = json.loads(run_process(ONCE, env={"NUMBA_CACHE_DIR": folder}))
    assert after == [0, 0, [], shipped]
    again = [path.name for path in folder.rglob("*") if path.is_file()]
    assert sorted(usual) == sorted(again)


def test_a_fit_with_a_foreign_term_stores_none_of_its_code(tmp_path):
    """And finds the weights of the term of tamis that says the same."""
    code = (
        DATA
        + COUNT
        + """
    from numba.core.caching import NullCache
    from tamis import FOBOSClassifier
    sys.path.insert(0, sys.argv[1])
    from my_losses import Mine
    given = dict(eta=0.1, alpha=0.001, shuffle=False, max_iter=1, tol=None)
    models = [FOBOSClassifier(loss=loss, **given).fit(X, y) for loss in ("hinge", Mine())]
    pairs = [pair for loop in loops().values() for pair in loop.dispatchers.items()]
    stores = [type(twin._cache) is NullCache for kinds, twin in pairs if "Mine" in str(kinds)]
    assert stores and all(stores), stores
    print(json.dumps([model.coef_.tolist() for model in models]))
    """
    )
    (tmp_path / "my_losses.py").write_text(TERM.replace("FACTOR", "1.0"))
    shipped, mine = json.loads(run_process(code, tmp_path))
    assert mine == shipped


def test_redefined_terms_of_one_name_in_one_process(first):
    """Two classes of one name, then the first again: each runs its own code."""
    code = (
        SMALL
        + f"""
    found = []
    for factor in ("1.0", "2.0", "1.0", "2.0"):
        scope = {{"__name__": "notebook"}}
        exec({TERM!r}.replace("FACTOR", factor), scope)
        found.append(results(scope["Mine"]()))
    assert found[0] == found[2] and found[1] == found[3] and found[0] != found[1]
    assert results() == found[0]
    """
    )
    run_process(code, env={"NUMBA_CACHE_DIR": first[0]})


# --------------------------------------------------------------------------- read-only installs
def obey_permissions():
    """Give up root's right to write into read-only folders; for the child process, before it
    starts.
    """
    drop_from_bounding_set, override_permissions = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
    if ctypes.CDLL(None).prctl(drop_from_bounding_set, override_permissions, 0, 0, 0):
        raise OSError("this root cannot give up its rights")


@pytest.mark.parametrize("home", ["writeable", "no folder", "read-only", "planted"])
def test_a_read_only_install_falls_back_to_a_folder_of_the_user(tmp_path, home):
    site, own, scratch = tmp_path / "site", tmp_path / "own", tmp_path / "scratch"
    shutil.copytree(
        Path(tamis.__file__).parent, site / "tamis", ignore=shutil.ignore_patterns("__pycache__")
    )
    own.mkdir()
    scratch.mkdir()
    scratch.chmod(0o1777)
    (own / "file").write_text("no folder")
    if home == "planted":  # links to a folder that another user may own: nothing is cached
        (own / ".cache").mkdir()
        for link in (own / ".cache" / "tamis", scratch / f"tamis-{os.geteuid()}"):
            link.symlink_to(scratch, target_is_directory=True)
    if home == "read-only":
        own.chmod(0o555)
    for folder in (site, *site.rglob("*")):
        folder.chmod(folder.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    keep = {
        k: v
        for k, v in os.environ.items()
        if k not in ("NUMBA_CACHE_DIR", "PYTHONPATH", "XDG_CACHE_HOME")
    }
    env = {
        **keep,
        "PYTHONPATH": str(site),
        "HOME": str(own / "file" / "home" if home == "no folder" else own),
        "TMPDIR": str(scratch),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    code = """
import os, numpy as np, tamis
assert tamis.__file__.startswith(os.environ["PYTHONPATH"]), tamis.__file__
assert not os.access(os.path.dirname(tamis.__file__), os.W_OK)
from tamis.numerics.csr import inspect_rows
rows = np.array([0, 1], dtype=np.uint64), np.zeros(1, dtype=np.uint32), np.ones(1).view(np.uint64)
one, most = np.uint64(1), np.uint64(2**63 - 1)
assert not any(inspect_rows(*rows, most, one, most, one))
assert inspect_rows.misses() == 1
assert "NUMBA_CACHE_DIR" not in os.environ, "other users of Numba are told where to cache"
"""
    first = obey_permissions if os.getuid() == 0 else None
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=env,
            cwd=scratch,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            preexec_fn=first,
        )
    except subprocess.SubprocessError:
        pytest.skip("root that cannot give up its rights")
    finally:
        for folder in (own, site, *site.rglob("*")):
            folder.chmod(0o755)
    assert done.returncode == 0, done.stderr[-3000:]
    assert not list(site.rglob("*.nbi"))
    place = {"writeable": own / ".cache" / "tamis", "planted": None}.get(
        home, scratch / f"tamis-{os.geteuid()}"
    )
    kept = list(tmp_path.rglob("*.nbi"))
    assert bool(kept) == (place is not None), "nothing was cached, or it lies in a planted folder"
    assert all(path.is_relative_to(place) for path in kept)
    if place:
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The folder of the home and the one of the temporary directory that code may lie in, where the
    package cannot be written to.
    """
    from tamis.numerics import code_cache

    own, scratch = tmp_path / "own", tmp_path / "scratch"
    own.mkdir(0o755)
    scratch.mkdir()
    scratch.chmod(0o1777)
    monkeypatch.setattr(code_cache, "_PACKAGE_FOLDER", tmp_path / "read-only")
    monkeypatch.setattr(Path, "home", lambda: own)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    return own / ".cache" / "tamis", scratch / f"tamis-{os.geteuid()}"


def chosen():
    """The folder for code, as a new process finds it."""
    from tamis.numerics import code_cache

    return code_cache.user_cache_folder.__wrapped__()


def someone_else(monkeypatch, path):
    """Let a folder be another user's."""
    seen = os.lstat

    def lstat(at):
        found = seen(at)
        return os.stat_result((*found[:4], 12345, *found[5:10])) if Path(at) == path else found

    monkeypatch.setattr(os, "lstat", lstat)


@pytest.mark.parametrize(
    "trap", ["link", "another's", "group", "others", "another's home", "open home", "a file"]
)
def test_code_lies_in_no_folder_that_others_can_write_to(places, monkeypatch, trap):
    home, scratch = places
    assert chosen() == str(home)
    if trap == "link":
        home.rename(home.with_name("real"))
        home.symlink_to(home.with_name("real"), target_is_directory=True)
    elif trap == "a file":
        home.rmdir()
        home.write_text("")
    elif trap.startswith("another"):
        someone_else(monkeypatch, home.parent if "home" in trap else home)
    elif trap == "open home":
        home.parent.chmod(0o777)
    else:
        home.chmod(0o770 if trap == "group" else 0o702)
    assert chosen() == str(scratch)
    assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
    scratch.chmod(0o777)
    assert chosen() is None


def test_a_user_without_a_home_or_a_name(places, monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    with monkeypatch.context() as patch:
        patch.delattr(os, "geteuid")  # as on Windows
        patch.delattr(os, "getuid")
        assert chosen() == str(places[0])
        patch.setattr(Path, "home", homeless)
        assert chosen() is None
    monkeypatch.setattr(Path, "home", homeless)
    assert chosen() == str(places[1])


# --------------------------------------------------------------------------- damage
DAMAGE = [
    lambda code: b"",
    lambda code: code[:40],
    lambda code: code[: len(code) // 2] + bytes(64) + code[len(code) // 2 + 64 :],
    lambda code: os.urandom(len(code)),
]


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_damaged_code_is_compiled_again(first, tmp_path, kind):
    folder = tmp_path / "numba"
    shutil.copytree(first[0], folder)
    for number, path in enumerate(sorted(folder.rglob(f"*.{kind}"))):
        path.write_bytes(DAMAGE[number % len(DAMAGE)](path.read_bytes()))
    for warned in (1, 0):
        compiled, _, messages, shown = json.loads(
            run_process(ONCE, env={"NUMBA_CACHE_DIR": folder})
        )
        assert shown == first[1][-1]
        assert bool(compiled) == warned
        assert len(messages) == warned, messages
        assert all(str(folder) in message for message in messages)


def test_a_full_disk_ends_no_loop(first, tmp_path):
    full = """
    import errno, numba.core.caching

    def full(path, mode="r", *given):
        if "w" in mode:
            raise OSError(errno.ENOSPC, "No space left on device")
        return open(path, mode, *given)

    numba.core.caching.open = full
    """
    *_, messages, shown = json.loads(run_process(full + ONCE, env={"NUMBA_CACHE_DIR": tmp_path}))
    assert shown == first[1][-1]
    assert len(messages) == 1
    assert str(tmp_path) in messages[0]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_an_unwritable_cache_folder_named_by_the_user_is_no_crash(first, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    told = json.loads(run_process(ONCE, env={"NUMBA_CACHE_DIR": blocked / "inside"}))
    assert told[-1] == first[1][-1]


# --------------------------------------------------------------------------- what a loop comes from
def test_a_loop_is_keyed_by_all_files_it_imports(monkeypatch):
    """However deep they lie: an edit in any of them is another key."""
    from tamis.numerics import code_digests

    home = Path(tamis.__file__).parent
    loop = home / "methods" / "stabilized_sgd" / "loop.py"
    deep = home / "methods" / "stabilized_sgd" / "loop_columns.py"  # imported by `loop_stage` alone
    assert deep not in code_digests._imported(loop)
    before, read = code_digests.source_digest.__wrapped__(str(loop)), Path.read_text
    for file in (deep, home / "numerics" / "random.py", home / "terms" / "methods.py"):
        with monkeypatch.context() as patch:
            patch.setattr(
                Path,
                "read_text",
                lambda path, *a, file=file: read(path, *a) + ("\n#" if path == file else ""),
            )
            assert code_digests.source_digest.__wrapped__(str(loop)) != before, file
    assert code_digests.source_digest.__wrapped__(str(loop)) == before


def test_imports_are_found_as_a_parser_finds_them():
    """A file too many in the key costs nothing; one too few is stale machine code."""
    from tamis.numerics import code_digests

    home = Path(tamis.__file__).parent
    for file in home.rglob("*.py"):
        named = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        places = [home.parent.joinpath(*name.split(".")) for name in named if "tamis" in name]
        files = {f for place in places for f in (place.with_suffix(".py"), place / "__init__.py")}
        assert {f for f in files if f.exists()} <= set(code_digests._imported(file)), file
