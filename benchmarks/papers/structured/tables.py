"""The tables of the page, the slides' figures beside ours."""

import numpy as np

from benchmarks.papers.stabilized.page import pipe
from benchmarks.papers.structured import effects, slides, splice, synthetic, tasks, times
from benchmarks.papers.structured.cells import under

ONLINE = {"iMTFS": "DA-iMTFS", "aMTFS": "DA-aMTFS", "MTFTS": "DA-MTFTS"}
WORDS = {"intercepts": "a free intercept a task", "columns": "the slides' columns alone"}
SHORT = {"intercepts": "intercepts", "columns": "none"}
PICKS = {"least": "most accurate", "sparse": "sparse"}


def pm(pair, digits: int = 1) -> str:
    """Mean and deviation."""
    return "-" if pair is None else f"{pair[0]:.{digits}f}±{pair[1]:.{digits}f}"


def by_rows(found: dict, key: str, theirs: dict) -> list[str]:
    """Accuracy or F1 against the number of rows: the slides' line above ours for their five
    methods, then ours alone.
    """
    runs = [
        max(
            (s["runs"] for name in synthetic.METHODS if (s := synthetic.summary(found, name, n))),
            default=0,
        )
        for n in slides.SIZES
    ]
    lines = [["runs", *map(str, runs)]]
    for name in (*slides.NAMES, *(name for name in synthetic.METHODS if name not in slides.NAMES)):
        if name in slides.NAMES:
            lines.append(
                [
                    f"{name}, slides",
                    *(pm(theirs[n][slides.NAMES.index(name)]) for n in slides.SIZES),
                ]
            )
        mine = [synthetic.summary(found, name, n) for n in slides.SIZES]
        lines.append([f"**{name}**", *(pm(s and s[key]) for s in mine)])
    return pipe(["rows", *(f"{n:,}" for n in slides.SIZES)], lines)


def sparse_picks(found: dict) -> list[str]:
    """Accuracy and F1 of the picks of fewest columns within one standard error."""
    lines = []
    for name in synthetic.METHODS:
        mine = [synthetic.summary(found, name, n, "sparse") for n in slides.SIZES]
        lines.append(
            [
                name,
                *("-" if s is None else f"{s['accuracy'][0]:.1f} / {s['f1'][0]:.1f}" for s in mine),
            ]
        )
    return pipe(["rows", *(f"{n:,}" for n in slides.SIZES)], lines)


def fixed(found: dict) -> list[str]:
    """Accuracy and F1 at fixed fractions."""
    rows = []
    for n in (1000, 10_000, 100_000):
        for name in synthetic.METHODS:
            cells = [
                synthetic.at_fixed(found, name, n, fraction) for fraction in synthetic.FRACTIONS
            ]
            if all(cells):
                theirs = (
                    f"{slides.F1[n][slides.NAMES.index(name)][0]:.1f}"
                    if name in slides.NAMES
                    else "-"
                )
                rows.append([f"{n:,}", name, *(f"{a:.1f} / {f:.1f}" for a, f in cells), theirs])
    return pipe(["rows", "method", *(f"{f:g}" for f in synthetic.FRACTIONS), "slides' F1"], rows)


def school(found: dict) -> list[str]:
    """Explained variance and nonzeros, batch and online, both settings and picks."""
    lines = []
    for setting, words in WORDS.items():
        rows = []
        for passes in (0, tasks.SCHOOL_PASSES, "published"):
            for name in ("aMTFS", "iMTFS", "MTFTS"):
                shown = ONLINE[name] if passes else name
                theirs = slides.SCHOOL.get(shown)
                shown = f"{shown}, published update" if passes == "published" else shown
                for pick, word in PICKS.items():
                    mine = tasks.summary(found, setting, name, passes, pick)
                    if mine:
                        beside = (
                            [pm(theirs[0]), pm(theirs[1], 0)]
                            if theirs and pick == "least"
                            else ["-", "-"]
                        )
                        figures = [
                            pm(mine["ev"]),
                            pm(mine["within"]),
                            pm(mine["nonzeros"], 0),
                            f"{mine['features'][0]:.1f}",
                        ]
                        rows.append([shown, word, *beside, *figures, f"{mine['fraction'][0]:.3g}"])
        head = [
            "method",
            "pick",
            "slides, %",
            "kept",
            "ours, %",
            "within, %",
            "kept",
            "features",
            "alpha",
        ]
        lines += [f"### With {words}", "", *pipe(head, rows)]
    return lines


def school_path(found: dict) -> list[str]:
    """Explained variance over all rows and within schools, and nonzeros, of the batch solutions
    along alpha.
    """
    paths = {
        (setting, name): effects.path_of(found, setting, name)
        for setting in WORDS
        for name in tasks.PENALTIES
    }
    paths = {key: path for key, path in paths.items() if len(path)}
    rows = []
    for place, fraction in enumerate(effects.PATH):
        cells = (path[place] for path in paths.values())
        rows.append(
            [
                f"{fraction:g}",
                *(f"{ev:.1f} / {within:.1f} ({nonzeros:.0f})" for _, within, ev, nonzeros in cells),
            ]
        )
    return pipe(["alpha", *(f"{name}, {SHORT[setting]}" for setting, name in paths)], rows)


def approach(found: dict) -> list[str]:
    """How near DA-iMTFS comes to its solution."""
    rows = []
    for setting in SHORT:
        cell = found.get(f"effects/approach/{setting}")
        if cell is None:
            continue
        for name in effects.STEPS:
            mine = [row for row in cell["rows"] if row["steps"] == name]
            texts = [f"{row['left']:.2g} / {row['ev']:.1f} ({row['nonzeros']})" for row in mine]
            rows.append([SHORT[setting], name, *texts, f"{cell['batch']:.1f}"])
    head = ["intercepts", "steps", *(f"{passes} passes" for passes in effects.APPROACH), "batch"]
    return pipe(head, rows) if rows else []


def computer(found: dict) -> list[str]:
    """Errors and nonzeros of the survey."""
    rows = []
    for setting in SHORT:
        for passes in tasks.SURVEY_PASSES:
            for name in ("aMTFS", "iMTFS", "MTFTS"):
                cell, shown = (
                    found.get(f"computer/{setting}/{name}"),
                    ONLINE[name] if passes else name,
                )
                if cell is None:
                    continue
                theirs = slides.COMPUTER.get((shown, passes))
                beside = [f"{theirs[0]:.2f}", str(theirs[1])] if theirs else ["-", "-"]
                picks = []
                for pick in ("least", "own") if passes else ("least",):
                    figures = cell[pick][str(passes)]
                    picks += [
                        pm(figures["rmse"], 2) if passes else f"{figures['rmse'][0]:.2f}",
                        f"{figures['nonzeros'][0]:.0f}",
                    ]
                picks += [] if passes else ["-", "-"]
                rows.append(
                    [SHORT[setting], shown, str(passes) if passes else "batch", *beside, *picks]
                )
    head = ["intercepts", "method", "passes", "slides", "kept", "ours", "kept", "own pick", "kept"]
    return pipe(head, rows)


def sites(found: dict) -> list[str]:
    """Maximal correlation against the share of nonzeros."""
    rows, batch = [], []
    for place, share in enumerate(slides.SHARES):
        line = [f"{share} %"]
        for name in splice.METHODS:
            texts = _correlation([cell[str(share)] for cell in under(found, "splice", name)])
            line += [f"{slides.SPLICE[name][place]:.4f}", f"{texts[0]} ({texts[1]})"]
        rows.append(line)
    for name in splice.METHODS.values():
        theirs = f"{slides.SPLICE_BATCH:.4f}" if name == "GL" else "-"
        batch.append(
            [name, theirs, *_correlation([cell["batch"] for cell in under(found, "splice", name)])]
        )
    head = [
        "nonzeros",
        *(text for name in splice.METHODS for text in (f"{name}, slides", f"{name}, ours")),
    ]
    return [
        *pipe(head, rows),
        *pipe(["batch model, its strength chosen", "slides", "ours", "nonzeros"], batch),
    ]


def _correlation(cells: list[dict]) -> list[str]:
    """Both correlations and the share of nonzeros."""
    if not cells:
        return ["-", "-"]
    maximal, at_chosen, share = (
        (np.mean(v), np.std(v))
        for key in ("maximal", "chosen", "share")
        for v in [[cell[key] for cell in cells]]
    )
    return [f"{pm(maximal, 3)} / {pm(at_chosen, 3)}", f"{share[0]:.1f} %"]


def grids(found: dict) -> list[str]:
    """Nonzeros against alpha and gamma."""
    rows = []
    for word, gammas in effects.GAMMAS.items():
        for name in effects.NAMES:
            for gamma in gammas:
                cell = found.get(f"effects/{word}/{name}/{gamma:g}")
                if cell:
                    key, digits = ("ev", 1) if word == "school" else ("rmse", 2)
                    texts = [
                        "blown up"
                        if r["nonzeros"] is None
                        else f"{r['nonzeros']} ({r[key]:.{digits}f})"
                        for r in cell["rows"]
                    ]
                    rows.append([word, ONLINE[name], f"{gamma:g}", *texts])
    return pipe(
        ["set", "method", "gamma", *(f"{fraction:g}" for fraction in effects.FRACTIONS)], rows
    )


def seconds(found: dict) -> list[str]:
    """Running times."""
    rows = []
    for n in slides.SIZES:
        cell = found.get(f"times/rows/{n}")
        if cell:
            rows.append([f"{n:,}", *(f"{cell['seconds'][name]:.4f}" for name in times.SHOWN)])
    lines = pipe(["rows", *times.SHOWN], rows)
    rows = []
    for word, (title, _) in times.TASKS.items():
        for name, value in found.get(f"times/tasks/{word}", {}).get("seconds", {}).items():
            method, passes = name.split("/")
            shown = ONLINE[method] if passes != "0" else method
            theirs = slides.SECONDS.get((title, shown))
            rows.append(
                [
                    title,
                    shown,
                    passes if passes != "0" else "batch",
                    f"{theirs:.3g}" if theirs else "-",
                    f"{value:.4f}",
                ]
            )
    return [*lines, *pipe(["set", "method", "passes", "slides", "ours"], rows)]
