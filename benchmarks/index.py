"""The page that opens the benchmarks: one picture for people who choose a library, then floors and
all goals with their verdicts.
"""

import json
from pathlib import Path

from benchmarks import PARTS, jobs
from benchmarks.jobs import Found
from benchmarks.tried import tried_for

MET = "met"
PICTURE = "jobs.png"
INK, OURS = "#22272e", "#0b6e4f"
# Colours that people who see few of them tell apart, and marks that need none.
LOOKS = {
    "scikit-learn": ("#d55e00", "o"),
    "Vowpal Wabbit": ("#0072b2", "s"),
    "river": ("#cc79a7", "^"),
    "celer": ("#e69f00", "D"),
    "skglm": ("#56b4e9", "v"),
    "adelie": ("#7b3294", "P"),
    "pandas": ("#5c5c5c", "X"),
    "LMNN": ("#a6761d", "p"),
    "SimpleMKL over SVC": ("#8b949e", "h"),
}
OTHER = ("#999999", "p")


def write(place: Path) -> None:
    """Write the index of the pages in a folder anew."""
    known = _beside(place) | json.loads((place / "goals.json").read_text())
    present = [part for part in PARTS if part in known and (place / _path(part, known)).exists()]
    found = jobs.collect(place)
    lines = ["# Performance", ""]
    if found:
        draw(found, place / PICTURE)
        lines += [f"![{in_words(found)}]({PICTURE})", "", *opening(found), ""]
    lines += [*floors(place), *goals({part: known[part] for part in present})]
    here = [part for part in present if "room" not in known[part]]
    lines += ["```{toctree}", ":maxdepth: 1", "", *here, "```", ""]
    (place / "index.md").write_text("\n".join(lines))


def _beside(place: Path) -> dict:
    """Goals of pages among the papers' tables, as they stand there."""
    found = {}
    for part in PARTS:
        page = place.parent / "papers" / f"{part}.md"
        goals = jobs.tables_of(page).get("Goals") if page.exists() else None
        if goals:
            title = page.read_text().splitlines()[0].removeprefix("# ")
            rows = [
                dict(zip(("promise", "figure", "verdict"), row, strict=True)) for row in goals[1:]
            ]
            found[part] = {"title": title, "room": "papers", "goals": rows}
    return found


def _path(part: str, known: dict) -> str:
    """Where a part's page lies, seen from the index."""
    room = known[part].get("room")
    return f"../{room}/{part}.md" if room else f"{part}.md"


def opening(found: list[Found]) -> list[str]:
    """What the picture says, and where to read on."""
    slower = [one for one in found if min(one.ratios.values()) < 1.0]
    said = (
        "Each row is a job: how many times as long as tamis a library takes for it, tamis being "
        "the line at 1, and in the words at the left what tamis itself takes. Marks left of the "
        "line are faster than tamis"
    )
    said += f": {_listed([one.name.lower() for one in slower])}." if slower else "; there are none."
    return [
        f"{said} Same machine and same run in each row, figures and conditions on the pages below; "
        "models are not always the same, and the pages say where they differ. Made by `make bench` "
        "from the pages' own tables.",
    ]


def in_words(found: list[Found]) -> str:
    """The picture for those who cannot see it."""
    rows = [
        f"{one.name}: " + ", ".join(f"{name} {_times(ratio)}" for name, ratio in one.ratios.items())
        for one in found
    ]
    return "Times of peers as multiples of that of tamis, by job. " + "; ".join(rows) + "."


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}" if ratio >= 1.95 else f"{ratio:.2f}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# --------------------------------------------------------------------------- the picture
def draw(found: list[Found], path: Path) -> None:
    """A row a job, a mark a library, on a logarithmic scale; dark on white, so that it can be read
    on any page.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(10.5, 1.7 + 0.52 * len(found)), facecolor="white")
    for at, one in enumerate(found):
        _draw_row(ax, at, one)
    furthest = max(ratio for one in found for ratio in one.ratios.values())
    least = min(0.5, *(ratio / 1.6 for one in found for ratio in one.ratios.values()))
    ax.axvline(1.0, color=OURS, linewidth=2.5, zorder=1)
    ax.set(xscale="log", xlim=(least, 2.2 * furthest), ylim=(len(found) - 0.4, -0.6))
    ax.set_yticks([])
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if least <= t]
    ax.set_xticks([t for t in ticks if t <= 2.2 * furthest])
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_minor_locator(plt.NullLocator())
    ax.tick_params(labelsize=12, colors=INK, length=0)
    ax.grid(axis="x", color="#e6e8eb", linewidth=1.0)
    ax.set_axisbelow(True)
    ax.set_xlabel("times as long as tamis (logarithmic)", fontsize=13, color=INK)
    ax.spines[:].set_visible(False)
    _legend(ax, {name for one in found for name in one.ratios})
    figure.savefig(path, dpi=150, bbox_inches="tight", pad_inches=0.2)
    plt.close(figure)


def _draw_row(ax, at: int, one: Found) -> None:
    """A job's words at the left, a bar to every library, and its figure."""
    if at % 2:
        ax.axhspan(at - 0.5, at + 0.5, color="#f6f8fa", zorder=0)
    words = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center"}
    ax.text(-0.02, at - 0.17, one.name, fontsize=13, color=INK, fontweight="bold", **words)
    said = f"{one.what}: {one.tamis:.3g} {one.unit}"
    ax.text(-0.02, at + 0.22, said, fontsize=10.5, color="#57606a", **words)
    nearest, furthest = min(one.ratios.values()), max(one.ratios.values())
    ax.plot([min(nearest, 1.0), max(furthest, 1.0)], [at, at], color="#c9ced4", linewidth=4,
            solid_capstyle="round", zorder=1)  # fmt: skip
    ax.plot(1.0, at, "o", color=OURS, markersize=11, zorder=3)
    for name, ratio in one.ratios.items():
        colour, mark = LOOKS.get(name, OTHER)
        ax.plot(ratio, at, mark, color=colour, markersize=11, markeredgecolor="white", zorder=4)
    _label(ax, at, nearest, furthest)


def _label(ax, at: int, nearest: float, furthest: float) -> None:
    """The figures of the slowest library and of one that is faster than tamis."""
    style = {"textcoords": "offset points", "va": "center", "fontsize": 11.5, "color": INK}
    if furthest >= 1.0:
        ax.annotate(_times(furthest), (furthest, at), (11, 0), ha="left", **style)
    if nearest < 1.0:
        ax.annotate(_times(nearest), (nearest, at), (-11, 0), ha="right", **style)


def _legend(ax, names: set[str]) -> None:
    """The libraries, above the rows."""
    from matplotlib.lines import Line2D

    shown = [name for name in LOOKS if name in names] + sorted(names - set(LOOKS))
    marks = [Line2D([], [], color=OURS, marker="o", markersize=11, linewidth=2.5, label="tamis")]
    for name in shown:
        colour, mark = LOOKS.get(name, OTHER)
        marks.append(
            Line2D([], [], color=colour, marker=mark, markersize=10, linestyle="", label=name)
        )
    ax.legend(
        handles=marks, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=5, frameon=False,
        fontsize=12, labelcolor=INK, handletextpad=0.3, columnspacing=1.2,
    )  # fmt: skip


# --------------------------------------------------------------------------- floors and goals
def floors(place: Path) -> list[str]:
    """The tables of the pages that hold hand-written loops against those of tamis."""
    lines = []
    for caption, (head, *rows) in jobs.tables_of(place / "speed.md").items():
        if "hand-written" in caption.lower():
            lines += [f"**{caption}**", "", *pipe(head, rows), ""]
    if not lines:
        return []
    about = (
        "What the abstraction costs: a loop of the same rule written by hand, without terms and "
        "without contract, in the same run ([speed](speed.md))."
    )
    return ["## Floors", "", about, "", *lines]


def goals(known: dict) -> list[str]:
    """A line a page, then each goal that is not met, with what was found, and parts that have no
    page: their goals are set and not measured. Checks of a trial itself are no goals.
    """
    found = {
        part: [goal for goal in page["goals"] if not goal.get("check")]
        for part, page in known.items()
    }
    every = [(part, goal) for part, its in found.items() for goal in its]
    met = sum(goal["verdict"] == MET for _, goal in every)
    lines = ["## Goals", "", f"{met} of {len(every)} goals are met.", ""]
    absent = [part for part in PARTS if part not in known]
    if absent:
        said = ", ".join(f"`{part}` ({PARTS[part]})" for part in absent)
        lines += [f"Not measured here yet, and not counted: {said}.", ""]
    titles = {part: f"[{page['title']}]({_path(part, known)})" for part, page in known.items()}
    rows = [
        [titles[part], f"{sum(goal['verdict'] == MET for goal in its)} of {len(its)}"]
        for part, its in found.items()
        if its
    ]
    lines += [*pipe(["page", "goals met"], rows), ""]
    missed = [
        [titles[part], goal["promise"], _outcome(goal), tried_for(part, goal["promise"])]
        for part, goal in every
        if goal["verdict"] != MET
    ]
    if missed:
        head = ["page", "goal", "found", "what was tried"]
        lines += ["### Not met", "", *pipe(head, missed, words=True), ""]
    rows = [
        [known[part]["title"], goal["promise"], goal["figure"], goal["verdict"]]
        for part, goal in every
    ]
    head = ["page", "goal", "found", "verdict"]
    return [*lines, "### All goals", "", *pipe(head, rows, words=True), ""]


def _outcome(goal: dict) -> str:
    """The figure, and the verdict where it says more than that."""
    return goal["figure"] + ("" if goal["verdict"] == "not met" else f" ({goal['verdict']})")


def pipe(head: list[str], rows: list[list[str]], words: bool = False) -> list[str]:
    """A Markdown table; figures to the right, `words` to the left."""
    rule = ["---", *(["---" if words else "---:"] * (len(head) - 1))]
    return [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        for row in [head, rule, *rows]
    ]
