"""The page: tables in the form of the paper and of the notes, and a verdict from the numbers."""

from benchmarks.pages import machine, versions
from benchmarks.papers.stabilized import matched
from benchmarks.papers.stabilized.methods import LOSSES, PAPER
from benchmarks.papers.stabilized.verdict import judge

OPENING = """\
Error, share of features kept and stability of the selection, as in tables 2, 3 and 4 of Y. Ma and
T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine Learning Research
18, 2018.

Every method with a grid was tuned inside the training rows, on the same {folds} folds, and gives
two picks: *least* (least error over the folds) and *sparse* (fewest features within one standard
error of it). A pick was then fitted {runs} times, on all training rows in new orders and on random
subsamples of 80 % of them, and judged on the test rows, which took no part in any choice. Cells
show test error % ± deviation over the runs / features kept % / kappa. The deviation does not
include the sampling error of the test rows. Averaged SGD is the mean of 16 paths, as is stabilized
SGD. The sieve and stability selection are not tuned. Text has rows of unit norm; all sets have mean
squared norm 1; every model has an intercept. Batch L1 is liblinear's (for hinge its squared hinge;
it has no other with L1). Stability selection is 10 complementary pairs around batch L1, threshold
0.6, at most two false selections expected (r-concave bound), then ridge. On sets above 300,000
nonzeros it was left out, every second value of each grid was tried, on 3 folds, and stabilized SGD
made 4 passes, not 10. The grids of truncated gradient and stabilized SGD were widened after a first
look at a few sets. Stabilized SGD has a burn-in of one pass, which is not in the paper's algorithm
4. The paper's figures are over 50 orders."""

EQUAL = """\
One class against all others of 20 newsgroups, news20, tmc2007, usps, mnist and covtype, SECOM, and
dense pairs; at most 4000 training rows, logistic loss, 5 orders. For each pick of FTRL and
stabilized SGD, tuned inside the training rows, the sieve was asked for as many features
(`n_features_to_select`); its other settings are its defaults. Lower, equal or higher: beyond one
standard error of the orders. The defaults for dense data were chosen on splits of training rows of
these same sets."""


def cell(row: dict) -> str:
    """Error, share kept, kappa."""
    return (
        f"{100 * row['error']:.2f} ±{100 * row['error_sd']:.2f} / {100 * row['kept']:.3g} / "
        f"{row['kappa']:.2f}"
    )


def pipe(head: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def find(entry: dict, kind: str, method: str, pick: str) -> dict | None:
    """The row of a method's pick; a method with one pick has only that."""
    rows = [row for row in entry[kind]["rows"] if row["model"] == method]
    fitting = [row for row in rows if pick in row["pick"]]
    return (fitting or rows or [None])[0]


def order_of(entries: list[dict]) -> list[str]:
    """All methods, as they first come."""
    return list(dict.fromkeys(row["model"] for entry in entries for row in entry["orders"]["rows"]))


def grid(entries: list[dict], kind: str, pick: str) -> list[str]:
    """Methods against sets."""
    names = [entry["set"] for entry in entries]
    rows = []
    for method in order_of(entries):
        found = [find(entry, kind, method, pick) for entry in entries]
        rows.append([method, *("-" if row is None else cell(row) for row in found)])
    return pipe(["method", *names], rows)


def beside_the_paper(entries: list[dict]) -> list[str]:
    """The paper's figures next to ours, for its own sets."""
    lines = []
    for entry in entries:
        paper = PAPER.get((entry["set"], entry["loss"]))
        if not paper:
            continue
        rows = []
        for method in order_of([entry]):
            theirs = paper.get(method)
            text = (
                "-"
                if theirs is None
                else (
                    f"{theirs[0]:.2f} / {theirs[1]:.2f} / "
                    f"{'-' if theirs[2] is None else format(theirs[2], '.2f')}"
                )
            )
            rows.append(
                [
                    method,
                    text,
                    *(cell(find(entry, "orders", method, pick)) for pick in ("least", "sparse")),
                ]
            )
        lines += [
            f"### {entry['set']}, {entry['loss']}",
            "",
            *pipe(["method", "paper", "ours, least", "ours, sparse"], rows),
        ]
    sets = dict.fromkeys(name for name, _ in PAPER)
    missing = [name for name in sets if name not in {entry["set"] for entry in entries}]
    told = f"Of the paper's {len(sets)} sets these are missing here: {', '.join(missing)}."
    return [*([told, ""] if missing else []), *lines]


def planted(entries: list[dict]) -> list[str]:
    """Recall and false discoveries on the synthetic set."""
    lines = []
    for entry in entries:
        if "planted" not in entry:
            continue
        rows = [
            [
                line["model"],
                line["pick"],
                *(f"{line[name]:.2f}" for name in ("rare", "frequent")),
                *(f"{line[name]:.1f}" for name in ("false", "kept")),
            ]
            for line in entry["planted"]
        ]
        head = ["method", "pick", "recall, rare", "recall, frequent", "false features", "kept"]
        lines += [f"### {entry['loss']}", "", *pipe(head, rows)]
    return lines


def promise(found: list[dict]) -> list[str]:
    """The bound of StabilitySelector."""
    rows = []
    for line in found:
        figures = [
            f"{line['false']:.3f} ±{line['error']:.3f}",
            f"{line['bound']:.2f}",
            f"{line['true']:.2f} of 5",
        ]
        rows.append(
            [
                line["kind"],
                f"{line['threshold']:g}",
                line["assumption"],
                *figures,
                "kept" if line["kept"] else "**broken**",
            ]
        )
    return pipe(
        [
            "problem",
            "threshold",
            "assumption",
            "false selections",
            "bound",
            "planted found",
            "promise",
        ],
        rows,
    )


def at_equal_sizes(entries: list[dict]) -> list[str]:
    """The sieve at the sizes that others chose."""
    if not entries:
        return []
    head = [
        "set (share of +1)",
        "rival",
        "kept %",
        "rival's error %",
        "its kappa",
        "sieve's error %",
        "its kappa",
        "sieve",
    ]
    lines = [
        "## Rare classes and dense data, at equal sizes",
        "",
        EQUAL,
        "",
        *pipe(head, [row for entry in entries for row in matched.rows_of(entry)]),
    ]
    own = pipe(
        ["set (share of +1)", "rows", "sieve's error %", "kept %", "kappa"],
        [matched.own_row(entry) for entry in entries],
    )
    return [*lines, "The sieve at the sizes that it chose itself:", "", *own]


def details(entries: list[dict]) -> list[str]:
    """Everything, in the form of the notes."""
    lines = []
    for entry in entries:
        rows = []
        for row in entry["orders"]["rows"]:
            other = next(
                r
                for r in entry["subsamples"]["rows"]
                if (r["model"], r["pick"]) == (row["model"], row["pick"])
            )
            interval = (
                f"{row['stability']:.2f} ({row['stability_low']:.2f} to "
                f"{row['stability_high']:.2f})"
            )
            figures = [
                f"{100 * row['error']:.2f} ±{100 * row['error_sd']:.2f}",
                f"{100 * row['kept']:.3g} ±{100 * row['kept_sd']:.2g}",
            ]
            figures += [
                f"{row['kappa']:.2f}",
                interval,
                cell(other),
                f"{row['tuning_seconds']:.1f}",
                f"{row['seconds']:.2f}",
            ]
            settings = (
                ", ".join(f"{name}={value}" for name, value in row["params"].items()) or "defaults"
            )
            rows.append([row["model"], row["pick"], *figures, settings])
        head = [
            "method",
            "pick",
            "error %",
            "kept %",
            "kappa",
            "Nogueira, 95 %",
            "80 % subsamples",
            "s tuning",
            "s one fit",
            "setting",
        ]
        lines += [f"### {entry['set']}, {entry['loss']} ({entry['words']})", "", *pipe(head, rows)]
    return lines


def write(found: dict, command: str) -> str:
    """The whole page."""
    entries = found["entries"]
    settings = entries[0]["orders"]["settings"]
    lines = [
        "# Stabilized sparse online learning",
        "",
        OPENING.format(folds=settings["folds"], runs=settings["runs"]),
        "",
    ]
    lines += ["## Verdict", "", *judge(found), ""]
    lines += ["## The paper's sets", "", *beside_the_paper(entries)]
    for loss in [loss for loss in LOSSES if any(entry["loss"] == loss for entry in entries)]:
        mine = [entry for entry in entries if entry["loss"] == loss]
        for kind, words in (("orders", "over orders"), ("subsamples", "over 80 % subsamples")):
            for pick in ("least", "sparse"):
                lines += [
                    f"## {loss.capitalize()}, {words}, {pick} picks",
                    "",
                    *grid(mine, kind, pick),
                ]
    lines += at_equal_sizes(found.get("matched", []))
    lines += [
        "## Planted rare features",
        "",
        "40 of 3,000 features are real, equally strong in units of their deviation; rare: in less "
        "than 2 % of the rows.",
        "",
    ]
    lines += planted(entries)
    lines += [
        "## The promise of StabilitySelector",
        "",
        f"Mean over {found['promise'][0]['repeats']} data sets each, max_false = 1, 10 pairs.",
        "",
    ]
    lines += promise(found["promise"])
    lines += [
        "## All figures",
        "",
        *details(entries),
        "## How this was made",
        "",
        f"`{command}` on {machine()}.",
        "",
    ]
    return "\n".join([*lines, f"{versions()}.", ""])
