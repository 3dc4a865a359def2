"""The house: rooms import only what lies to their left, one door to Numba, light imports, small
files.
"""

import ast
import importlib
from pathlib import Path

import pytest
from processes import run_process

import tamis

HOME = Path(tamis.__file__).parent
WALK = [
    "read",
    "terms",
    "loops",
    "solvers",
    "models",
    "judge",
    "report",
    "persist",
    "training",
    "cli",
]
# Common ground, and the rooms that may stand on it. `terms` and `loops` know nothing of users'
# arrays, checks or screens.
GROUND = {
    "_jit": ["read", "terms", "loops", "solvers", "models", "persist", "_checks"],
    "_checks": ["read", "solvers", "models", "judge", "report", "cli", "persist", "datasets"],
    "contents": ["solvers", "models", "judge", "persist"],
    "_disk": ["read", "report", "persist", "training", "cli"],
    "_screen": ["read", "judge", "persist", "training", "cli", "_disk"],
    "datasets": ["cli"],
    "_threads": ["models", "persist", "training"],
    "_progress": ["read", "solvers", "models", "judge", "report", "training", "cli"],
}
BESIDE = {
    "datasets": ["read"],
    "testing": WALK[:5],
    "_checks": ["loops"],
    "contents": ["_checks"],
    "_jit": [],
    "_disk": [],
    "_threads": [],
    "_screen": [],
    "_progress": [],
    "__init__": ["datasets", "testing", *WALK],
    "__main__": ["cli"],
}
FILES = sorted(HOME.rglob("*.py"))


def room_of(path):
    """The room of a file: its folder in the house, or its own name."""
    first = path.relative_to(HOME).parts[0]
    return first.removesuffix(".py")


def imports_of(path):
    """Absolute names of the modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            yield node.module
            yield from (
                f"{node.module}.{alias.name}" for alias in node.names if node.module == "tamis"
            )


def rooms_used(path):
    """Rooms of tamis that a file imports from, its own left out."""
    used = {name.split(".")[1] for name in imports_of(path) if name.startswith("tamis.")}
    return {name for name in used if (HOME / name).is_dir() or (HOME / f"{name}.py").exists()} - {
        room_of(path)
    }


def allowed(room):
    """Where a room may look."""
    left = BESIDE.get(room, WALK[: WALK.index(room)] if room in WALK else [])
    return {*left, *(ground for ground, users in GROUND.items() if room in users)}


def named(path):
    return str(path.relative_to(HOME))


@pytest.mark.parametrize("path", FILES, ids=named)
def test_imports_go_one_way(path):
    room = room_of(path)
    assert room in WALK or room in GROUND or room in BESIDE, f"{room} is not on the plan"
    wrong = rooms_used(path) - allowed(room)
    assert not wrong, (
        f"{named(path)} imports from {sorted(wrong)}; {room} may import from "
        f"{sorted(allowed(room))}"
    )


def test_the_plan_itself():
    """A guard of the test above: it sees imports, and would see wrong ones."""
    assert rooms_used(HOME / "loops" / "online.py") == {"_jit", "terms"}
    assert rooms_used(HOME / "terms" / "losses.py") == {"_jit"}
    assert "models" not in allowed("loops")
    assert "_checks" not in allowed("terms") | allowed("loops")
    assert allowed("terms") == {"read", "_jit"}
    assert "numba" in set(imports_of(HOME / "_jit.py"))


def test_terms_know_only_the_door():
    for path in (HOME / "terms").glob("*.py"):
        outside = {name.split(".")[0] for name in imports_of(path)} - {"tamis"}
        assert outside <= {"math", "typing"}, path
        assert rooms_used(path) <= {"_jit"}


@pytest.mark.parametrize("path", FILES, ids=named)
def test_only_the_door_imports_numba(path):
    numba = [name for name in imports_of(path) if name.split(".")[0] in ("numba", "llvmlite")]
    assert not numba or path == HOME / "_jit.py"


@pytest.mark.parametrize("room", ["loops", "terms"])
def test_inner_rooms_know_no_libraries_for_users(room):
    for path in (HOME / room).rglob("*.py"):
        assert not {name.split(".")[0] for name in imports_of(path)} & {
            "sklearn",
            "scipy",
            "pandas",
            "polars",
            "rich",
            "matplotlib",
        }, path


@pytest.mark.parametrize("path", FILES, ids=named)
def test_files_are_small_and_say_what_they_are(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    assert not text or ast.get_docstring(ast.parse(text)), "no docstring"


def test_no_room_for_odds_and_ends():
    assert not [
        path
        for path in FILES
        if path.stem in ("utils", "util", "misc", "helpers", "common", "tools")
    ]


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


def test_a_star_import_brings_the_public_names():
    scope = {}
    exec("from tamis import *", scope)
    assert set(tamis.__all__) <= set(scope)


def test_version_and_typing():
    major, minor, patch = tamis.__version__.split(".")[:3]
    assert all(part[0].isdigit() for part in (major, minor, patch))
    assert (HOME / "py.typed").exists()
