"""The figures: accuracy and F1 by rows, what alpha and gamma do, running times."""

from pathlib import Path

from benchmarks.papers.structured import effects, slides, synthetic, times
from benchmarks.papers.structured.tables import ONLINE


def draw(found: dict, place: Path) -> dict[str, list[str]]:
    """All figures, where matplotlib is there: a name and the lines that show it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return {}
    words = {
        "accuracy": "Accuracy and F1 of five methods against the number of rows, the slides' "
        "figures dashed",
        "effects": "Nonzero weights against alpha, one line a gamma, for School and the computer "
        "survey",
        "seconds": "Seconds of one fit against the number of rows",
    }
    shown = {}
    for name, action, part in (
        ("accuracy", _accuracy, "synthetic"),
        ("effects", _effects, "effects"),
        ("seconds", _seconds, "times"),
    ):
        if any(key.startswith(f"{part}/") for key in found):
            action(Figure, found).savefig(place / f"structured_{name}.png", dpi=100)
            shown[name] = [f"![{words[name]}](structured_{name}.png)", ""]
    return shown


def _accuracy(figure, found: dict):
    shape = figure(figsize=(10.5, 4.4), layout="constrained")
    for axis, key, theirs, title in zip(
        shape.subplots(1, 2),
        ("accuracy", "f1"),
        (slides.ACCURACY, slides.F1),
        ("accuracy %", "F1 % of the kept columns"),
        strict=True,
    ):
        for k, name in enumerate(slides.NAMES):
            mine = [
                (n, s[key][0]) for n in slides.SIZES if (s := synthetic.summary(found, name, n))
            ]
            line = axis.plot(*zip(*mine, strict=True), marker=".", label=name)[0] if mine else None
            axis.plot(
                slides.SIZES,
                [theirs[n][k][0] for n in slides.SIZES],
                "--",
                color=line.get_color() if line else None,
                alpha=0.5,
            )
        axis.set(xscale="log", xlabel="rows", title=title)
    axis.plot([], [], "--", color="grey", label="slides")
    axis.legend(fontsize="small")
    return shape


def _effects(figure, found: dict):
    shape = figure(figsize=(10.5, 6.4), layout="constrained")
    axes = shape.subplots(2, 2)
    for row, (word, gammas) in zip(axes, effects.GAMMAS.items(), strict=True):
        for axis, name in zip(row, effects.NAMES, strict=True):
            for gamma in gammas:
                cell = found.get(f"effects/{word}/{name}/{gamma:g}")
                if cell:
                    rows = [r for r in cell["rows"] if r["nonzeros"] is not None]
                    axis.plot(
                        [r["fraction"] for r in rows],
                        [r["nonzeros"] for r in rows],
                        marker=".",
                        label=f"gamma {gamma:g}",
                    )
            axis.set(
                xscale="log",
                title=f"{word}, {ONLINE[name]}",
                ylabel="nonzero weights",
                ylim=(0, None),
            )
            axis.legend(fontsize="small")
    for axis in axes[-1]:
        axis.set_xlabel("alpha / strongest")
    return shape


def _seconds(figure, found: dict):
    shape = figure(figsize=(6.4, 4.2), layout="constrained")
    axis = shape.subplots()
    for name in times.SHOWN:
        mine = [
            (n, cell["seconds"][name])
            for n in slides.SIZES
            if (cell := found.get(f"times/rows/{n}"))
        ]
        if mine:
            axis.plot(*zip(*mine, strict=True), marker=".", label=name)
    axis.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds of one fit")
    axis.legend(fontsize="small")
    return shape
