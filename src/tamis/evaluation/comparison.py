"""The record of a comparison: plain data, to print, store as JSON, and rebuild."""

import io
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, overload

from tamis.system.terminal import for_output, for_terminal

FORMAT = 1
COLUMNS = ("model", "pick", "error", "kept", "kappa", "stability", "seconds")
_PACKAGES = ("tamis", "numpy", "scipy", "scikit-learn", "numba")


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "absent"
    return versions


def to_plain(value: object) -> Any:
    """Return the value as JSON types; any other object as its repr."""
    if isinstance(value, dict):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | range):
        return [to_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


@dataclass
class Record:
    """Results of a comparison, as plain data.

    Parameters
    ----------
    rows : list of dict
        One per model and pick: `model`, `pick`, `params`, means over the runs (`error`, `kept`,
        `seconds`) with deviations (`error_sd`, `kept_sd`), `kappa`, `stability` with
        `stability_low` and `stability_high`, and cost and result of tuning.
    runs : list of dict
        One per model, pick and run: `seed`, `error`, `kept`, `seconds`, and `support` with
        ``keep_supports=True``.
    settings : dict
        Protocol: runs, subsample, folds, rows, features and so on.
    seeds : list of int
        Seed of each run, the same for all models.
    versions : dict
        Versions of Python and packages.
    checks : list of dict
        Checks of the data: `code`, `title`, `severity`, `state`, `said`, `advice`.

    See Also
    --------
    compare : Makes one.

    Examples
    --------
    >>> from tamis import Record
    >>> row = {"model": "FTRL", "pick": "given", "error": 0.1, "error_sd": 0.01}
    >>> row |= {"kept": 0.02, "kept_sd": 0.001}
    >>> record = Record(rows=[{**row, "kappa": 0.9, "stability": 0.9, "seconds": 0.1}])
    >>> print(record.table())
    model  pick   error %      kept %      kappa  stability  seconds
    ----------------------------------------------------------------
    FTRL   given  10.00 ±1.00  2.000 ±0.1   0.90       0.90     0.10
    >>> Record.from_dict(record.to_dict()) == record
    True
    """

    rows: list[dict] = field(default_factory=list)
    runs: list[dict] = field(default_factory=list)
    settings: dict = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=installed_versions)
    checks: list[dict] = field(default_factory=list)

    def to_dict(self) -> dict:
        """Return the record as numbers, strings, lists and dicts, for JSON.

        Returns
        -------
        record : dict
        """
        return {"format": FORMAT, **to_plain(asdict(self))}

    @classmethod
    def from_dict(cls, record: dict) -> "Record":
        """Rebuild a record.

        Parameters
        ----------
        record : dict
            Output of `to_dict`.

        Returns
        -------
        record : Record
        """
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            actual = record.get("format") if isinstance(record, dict) else type(record).__name__
            raise ValueError(
                f"this is no record of format {FORMAT}, as Record.to_dict makes them: found "
                f"{actual!r}."
            )
        unknown = set(record) - {"format", *cls.__dataclass_fields__}
        if unknown:
            known = ", ".join(cls.__dataclass_fields__)
            raise ValueError(f"a record has no {sorted(unknown)[0]!r}; it has {known}.")
        return cls(**{name: value for name, value in record.items() if name != "format"})

    @overload
    def table(self, *, rich: Literal[False] = False) -> str: ...
    @overload
    def table(self, *, rich: bool) -> Any: ...
    def table(self, *, rich: bool = False) -> Any:
        """The rows as a table.

        Parameters
        ----------
        rich : bool, default=False
            Whether to return a `rich.table.Table` instead of plain text.

        Returns
        -------
        table : str or rich.table.Table
        """
        head, cells = self.cells()
        if rich:
            from rich.table import Table
            from rich.text import Text

            grid = Table()
            for number, name in enumerate(head):
                grid.add_column(name, justify="left" if number < 2 else "right")
            for line in cells:
                grid.add_row(*map(Text, line))
            return grid
        return _format_table(head, cells)

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
        """
        try:
            import pandas
        except ImportError as failure:
            raise ImportError(
                "Record.to_frame needs pandas, which is not installed; `rows` holds the same as a "
                "list of dicts."
            ) from failure
        return pandas.DataFrame(self.rows)

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and cells of the table; errors are in percent for classes.

        Returns
        -------
        head : list of str
        lines : list of list of str
        """
        is_classification = self.settings.get("task", "classification") == "classification"
        error = "error %" if is_classification else "squared error"
        head = ["model", "pick", error, "kept %", "kappa", "stability", "seconds"]
        lines = []
        for row in self.rows:
            error = f"{row['error']:.4g} ±{row['error_sd']:.2g}"
            if is_classification:
                error = f"{100 * row['error']:.2f} ±{100 * row['error_sd']:.2f}"
            kept_text = (
                f"{100 * row['kept']:.4g}" if row["kept"] >= 0.1 else f"{100 * row['kept']:.3f}"
            )
            measures = [f"{row['kappa']:.2f}", f"{row['stability']:.2f}", f"{row['seconds']:.2f}"]
            names = [for_terminal(row["model"]), for_terminal(row["pick"])]
            lines.append([*names, error, f"{kept_text} ±{100 * row['kept_sd']:.2g}", *measures])
        return head, lines

    def found(self) -> list[str]:
        """Sentences about the checks that found an issue.

        Returns
        -------
        sentences : list of str
        """
        return [
            f"{check['code']} {check['title'].lower()}: {check['said']} {check['advice']}"
            for check in self.checks
            if check["state"] == "found"
        ]

    def __str__(self) -> str:
        return for_output("\n".join([self.table(), *map(for_terminal, self.found())]))


def _format_table(head, lines) -> str:
    """Format a table as text: the first four columns aligned left, the others right."""
    widths = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
    text = io.StringIO()
    for number, line in enumerate([head, *lines]):
        padded = [
            cell.ljust(width) if k < 4 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.write("  ".join(padded).rstrip() + "\n")
        if number == 0:
            text.write("-" * (sum(widths) + 2 * (len(widths) - 1)) + "\n")
    return text.getvalue().rstrip("\n")
