"""The order of imports, the one import of Numba, what `import tamis` loads, public names."""

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from house.stub import stub
from processes import run_process
from sklearn.base import BaseEstimator

import tamis

HOME = Path(tamis.__file__).parent
# Every folder may import from those above it, and from itself; a method from no other method.
ORDER = [
    "numerics",
    "system",
    "terms",
    "solvers",
    "base",
    "data",
    "methods",
    "selection",
    "evaluation",
    "reporting",
    "model_files",
    "training",
    "exporting",
    "serving",
    "distributed",
    "cli",
]
BESIDE = {
    "datasets": ["data"],
    "testing": [],
    "__init__": ["datasets", "testing", *ORDER],
    "__main__": ["cli"],
}
MAY_SEE_DATASETS = ["cli"]
FILES = sorted(HOME.rglob("*.py"))
KINDS = {"solvers", "methods"}


def room_of(name):
    """The room of a module of tamis: its first folder, for methods the second as well."""
    parts = name.split(".")[1:]
    if parts[0] == "methods" and len(parts) > 1:
        return f"methods.{parts[1]}"
    return parts[0] if parts else "__init__"


def module_of(path):
    """The dotted name of a file."""
    parts = path.relative_to(HOME.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def imports_of(path):
    """Absolute names of the modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
            inside = [name for name in found if exists(name)]
            yield from inside
            if len(inside) < len(found):
                yield node.module


def exists(name):
    """Whether a dotted name is a module of tamis."""
    place = HOME.parent.joinpath(*name.split("."))
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


def file_of(name):
    """The file of a module of tamis."""
    place = HOME.parent.joinpath(*name.split("."))
    return place.with_suffix(".py") if place.with_suffix(".py").exists() else place / "__init__.py"


def inside_a_method(name):
    """Whether a module lies among solvers or methods."""
    return name.startswith(("tamis.solvers.", "tamis.methods."))


def rooms_used(path):
    """Rooms of tamis that a file imports from, its own left out."""
    used = {room_of(name) for name in imports_of(path) if name.startswith("tamis.")}
    return used - {room_of(module_of(path))}


def may_import(room, other):
    """Whether a room may look into another."""
    first, second = room.split(".")[0], other.split(".")[0]
    if first in BESIDE:
        return second in BESIDE[first]
    if second == "datasets":
        return first in MAY_SEE_DATASETS
    if second not in ORDER:
        return False
    return ORDER.index(second) < ORDER.index(first)


def named(path):
    return str(path.relative_to(HOME))


@pytest.mark.parametrize("path", FILES, ids=named)
def test_imports_go_one_way(path):
    room = room_of(module_of(path))
    assert room.split(".")[0] in [*ORDER, *BESIDE], f"{room} is not on the plan"
    wrong = [other for other in rooms_used(path) if not may_import(room, other)]
    assert not wrong, f"{named(path)} imports from {sorted(wrong)}"


def kind_of(path):
    """What lies in a file of solvers or methods: 0 a loop, 1 a solver, 2 an estimator."""
    if path.stem == "loop" or path.stem.startswith("loop_"):
        return 0
    name = module_of(path)
    own = [v for v in vars(importlib.import_module(name)).values() if isinstance(v, type)]
    return 2 if any(issubclass(v, BaseEstimator) and v.__module__ == name for v in own) else 1


@pytest.mark.parametrize(
    "path", [p for p in FILES if KINDS & {*p.relative_to(HOME).parts}], ids=named
)
def test_loops_know_no_solver_and_solvers_no_estimator(path):
    kinds = {name: kind_of(file_of(name)) for name in imports_of(path) if inside_a_method(name)}
    mine = 2 if module_of(path) in tamis._HOMES.values() else kind_of(path)  # for users to call
    above = [name for name, kind in kinds.items() if kind > mine]
    assert not above, f"{named(path)} imports {above}"


def test_solvers_hold_no_estimators():
    assert not [named(path) for path in (HOME / "solvers").rglob("*.py") if kind_of(path) == 2]


def test_the_plan_itself():
    """A guard of the tests above: they see imports, and would see wrong ones."""
    loop = HOME / "solvers" / "first_order" / "loop.py"
    assert rooms_used(loop) == {"numerics", "terms"}
    assert rooms_used(HOME / "terms" / "losses.py") == {"numerics"}
    assert not may_import("methods.sieve", "methods.group_lasso")
    assert not may_import("solvers", "base")
    assert may_import("methods.sieve", "solvers")
    assert "numba" in set(imports_of(HOME / "numerics" / "numba.py"))
    assert kind_of(loop) == 0
    assert kind_of(HOME / "methods" / "sieve" / "estimator.py") == 2
    assert kind_of(HOME / "methods" / "sieve" / "size_choice.py") == 1


def test_terms_know_only_the_door():
    for path in (HOME / "terms").glob("*.py"):
        outside = {name.split(".")[0] for name in imports_of(path)} - {"tamis"}
        assert outside <= {"math", "typing"}, path
        tamis_names = {name for name in imports_of(path) if name.startswith("tamis.")}
        assert all(name.startswith(("tamis.numerics.", "tamis.terms")) for name in tamis_names)


@pytest.mark.parametrize("path", FILES, ids=named)
def test_only_the_door_imports_numba(path):
    numba = [name for name in imports_of(path) if name.split(".")[0] in ("numba", "llvmlite")]
    assert not numba or path == HOME / "numerics" / "numba.py"


def test_loops_and_terms_know_no_libraries_for_users():
    heavy = {"sklearn", "scipy", "pandas", "polars", "rich", "matplotlib"}
    for path in [*(HOME / "terms").rglob("*.py"), *HOME.rglob("loop*.py")]:
        assert not {name.split(".")[0] for name in imports_of(path)} & heavy, path


ROOT = Path(__file__).parents[2]
TOLD = [
    path
    for folder in ("benchmarks", "docs", "examples", "tests")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md", ".rst") and "_build" not in path.parts
]


@pytest.mark.parametrize("path", TOLD, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_that_are_named_exist(path):
    """In strings too: a name that is looked up at run time may be missed in silence."""
    for name in set(re.findall(r"(?<![\w./~-])tamis(?:\.[a-z]\w*)+", path.read_text())):
        place, public = HOME, name.split(".")[1] in tamis.__all__
        for word in name.split(".")[1:3]:  # a folder, and what lies in it
            found = (place / word).is_dir() or (place / f"{word}.py").exists()
            assert found or public or word == "css", name
            if not (place / word).is_dir():
                break
            place /= word


def test_names_of_the_reference_resolve():
    """A name that does not ends the build of the documentation."""
    module = "tamis"
    for line in (ROOT / "docs/api.rst").read_text().splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r"   [A-Za-z_][\w.]*", line):
            assert pkgutil.resolve_name(f"{module}.{line.strip()}"), line


# --------------------------------------------------------------------------- the front door
HEAVY = ("numba", "llvmlite", "sklearn", "scipy", "pandas", "joblib", "rich", "numpy")


@pytest.mark.parametrize(
    "statement",
    ["import tamis", "import tamis; dir(tamis); tamis.__version__", "import tamis.testing"],
)
def test_the_front_door_is_light(statement):
    loaded = run_process(f"import sys\n{statement}\nprint(*sys.modules)").split()
    assert not [name for name in HEAVY if name in loaded]


def test_terms_load_numba_but_no_scikit_learn():
    loaded = run_process("import sys\nimport tamis.terms\nprint(*sys.modules)").split()
    assert "numba" in loaded
    assert not [name for name in ("sklearn", "pandas", "joblib", "rich") if name in loaded]


def test_all_public_names_are_listed_and_resolve():
    listed = dir(tamis)
    assert set(tamis.__all__) <= set(listed)
    assert set(tamis._HOMES) <= set(tamis.__all__)
    for name in tamis.__all__:
        thing = getattr(tamis, name)
        assert thing is getattr(tamis, name)
        home = tamis._HOMES.get(name)
        if home:
            assert thing is getattr(importlib.import_module(home), name)
            assert thing.__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        tamis.Nothing


def test_type_checkers_see_the_same_names():
    text = (HOME / "__init__.pyi").read_text()
    assert text == stub(), "run python tests/house/stub.py"


def test_a_star_import_brings_the_public_names():
    scope = {}
    exec("from tamis import *", scope)
    assert set(tamis.__all__) <= set(scope)


def test_version_and_typing():
    major, minor, patch = tamis.__version__.split(".")[:3]
    assert all(part[0].isdigit() for part in (major, minor, patch))
    assert (HOME / "py.typed").exists()
