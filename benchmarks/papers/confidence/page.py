"""The page: the paper's table and figure beside ours, and a verdict made from the numbers."""

from pathlib import Path

from benchmarks.papers.confidence.beside import table_2, text_sets
from benchmarks.papers.confidence.verdict import against, better_pass, judge
from benchmarks.papers.processes import made_on
from benchmarks.papers.stabilized.page import pipe

OPENING = """\
Table 2 and figure 1 of M. Tan, Y. Yan, L. Wang, A. van den Hengel, I. W. Tsang and Q. Shi,
"Learning Sparse Confidence-Weighted Classifier on Very High Dimensional Data", AAAI 2016, on the
data sets at hand, with ridge regression, LDA and SGD as baselines that the paper does not have.

Parameters were chosen once, on a quarter of the training rows; test rows took no part in any
choice. Times are seconds of one core for the final fit. The verdict column says whether the error
of one pass of BCW (of the loss that did better) is lower than, equal to or higher than that of the
row's method: beyond two standard errors of the difference, taken row by row over the test rows (of
the first order)."""
TABLE = """\
Errors over {orders} orders of the rows (methods that do not depend on the order: one), no
intercept, but a constant column for all methods alike; mean squared norm 1. `solved` means until a
duality gap of 0.001."""
FIGURE = """\
Accuracy of the method's own model / of an SVM learnt on its features (columns kept), over the
wanted number of features. L1-SVM and sparDCA are bisected to the number, and their time is that of
the fit found, the search left out. SBCW and FGM choose C among 1, 10 and 100. Rows of text have
unit norm; no intercept."""


def table(entries: list[dict]) -> list[str]:
    """Table 2, one table a set."""
    lines = []
    for entry in entries:
        mine, rows = better_pass(entry), []
        for row in entry["rows"]:
            word = "-" if row["method"].startswith("BCW") else against(mine, row, entry["test"])
            settings = (
                ", ".join(f"{name}={value:g}" for name, value in row["params"].items()) or "-"
            )
            rows.append(
                [
                    row["method"],
                    f"{row['error']:.4f} ± {row['error_sd']:.4f}",
                    f"{row['seconds']:.3f}",
                    word,
                    settings,
                ]
            )
        head = ["method", "error", "seconds", "BCW is", "setting"]
        lines += [f"### {entry['set']} ({entry['words']})", "", *pipe(head, rows)]
    return lines


def figure(entries: list[dict]) -> list[str]:
    """Figure 1 as tables: accuracy, then time."""
    lines = []
    for entry in entries:
        methods = list(dict.fromkeys(row["method"] for row in entry["rows"]))
        sizes = sorted({row["size"] for row in entry["rows"]})
        at = {(row["method"], row["size"]): row for row in entry["rows"]}
        rows = [
            [
                m,
                *(
                    f"{at[m, s]['accuracy']:.3f} / {at[m, s]['refitted']:.3f} ({at[m, s]['kept']})"
                    for s in sizes
                ),
            ]
            for m in methods
        ]
        times = [[m, *(f"{at[m, s]['seconds']:.2f}" for s in sizes)] for m in methods]
        lines += [
            f"### {entry['set']} ({entry['words']})",
            "",
            *pipe(["accuracy", *(f"{s} features" for s in sizes)], rows),
        ]
        lines += pipe(["seconds", *(f"{s} features" for s in sizes)], times)
    return lines


def draw(entries: list[dict], place: Path) -> list[str]:
    """The figure itself, where matplotlib is there: accuracy above, time below."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return []
    shape = Figure(figsize=(3.2 * len(entries), 5.6), layout="constrained")
    axes = shape.subplots(2, len(entries), squeeze=False, sharex=True)
    for column, entry in enumerate(entries):
        for method in dict.fromkeys(row["method"] for row in entry["rows"]):
            rows = [row for row in entry["rows"] if row["method"] == method]
            for axis, name in zip(axes[:, column], ("accuracy", "seconds"), strict=True):
                axis.plot(
                    [row["kept"] for row in rows],
                    [row[name] for row in rows],
                    marker=".",
                    label=method,
                )
        sizes = sorted({row["size"] for row in entry["rows"]})
        axes[0, column].set(title=entry["set"], xscale="log")
        axes[1, column].set(xlabel="features", yscale="log")
        axes[1, column].set_xticks(sizes, [str(size) for size in sizes])
        axes[1, column].minorticks_off()
    axes[0, 0].set_ylabel("test accuracy")
    axes[1, 0].set_ylabel("seconds of training")
    shape.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=8,
        fontsize="small",
    )
    shape.savefig(place / "confidence.png", dpi=100)
    return [
        "![Test accuracy and training time against the number of features, set by "
        "set](confidence.png)",
        "",
    ]


def write(found: dict, place: Path, command: str) -> str:
    """The whole page."""
    lines = ["# Confidence-weighted learning", "", OPENING, "", "## Verdict", "", *judge(found), ""]
    if found["table"]:
        orders = max(row["runs"] for entry in found["table"] for row in entry["rows"])
        lines += ["## Table 2", "", TABLE.format(orders=orders), "", *table_2(found["table"])]
        lines += table(found["table"])
    if found["figure"]:
        lines += [
            "## Figure 1",
            "",
            FIGURE,
            "",
            *draw(found["figure"], place),
            *text_sets(found["figure"]),
            *figure(found["figure"]),
        ]
    lines += [
        "## How this was made",
        "",
        f"`{command}`, {found['seconds']:.0f} CPU seconds, on:",
        "",
        made_on("confidence"),
        "",
    ]
    return "\n".join(lines)
