"""Write what type checkers see of `tamis` from its table of public names."""

from pathlib import Path

import tamis

PLACE = Path(tamis.__file__).with_suffix(".pyi")


def stub() -> str:
    """The stub of the package."""
    homes: dict[str, list[str]] = {}
    for name, home in tamis._HOMES.items():
        homes.setdefault(home, []).append(name)
    lines = [
        "from . import datasets as datasets, terms as terms, testing as testing",
    ]
    for home, names in sorted(homes.items()):
        lines += [f"from {home} import {name} as {name}" for name in sorted(names)]
    every = [f'    "{name}",' for name in tamis.__all__]
    return "\n".join(
        [*lines, "", "__version__: str", "_HOMES: dict[str, str]", "__all__ = [", *every, "]", ""]
    )


if __name__ == "__main__":
    PLACE.write_text(stub())
    print(f"{PLACE.name}: {len(tamis._HOMES)} names")
