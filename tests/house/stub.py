"""Write what type checkers see of `tamis` from its table of public names."""

from pathlib import Path

import tamis

STUB_PATH = Path(tamis.__file__).with_suffix(".pyi")


def stub() -> str:
    """The stub of the package."""
    names_by_module: dict[str, list[str]] = {}
    for name, module in tamis._HOMES.items():
        names_by_module.setdefault(module, []).append(name)
    lines = [
        "from . import datasets as datasets, terms as terms, testing as testing",
    ]
    for module, names in sorted(names_by_module.items()):
        lines += [f"from {module} import {name} as {name}" for name in sorted(names)]
    every = [f'    "{name}",' for name in tamis.__all__]
    return "\n".join(
        [*lines, "", "__version__: str", "_HOMES: dict[str, str]", "__all__ = [", *every, "]", ""]
    )


if __name__ == "__main__":
    STUB_PATH.write_text(stub())
    print(f"{STUB_PATH.name}: {len(tamis._HOMES)} names")
