"""The page: the slides' tables beside ours, figures, and a verdict made from the numbers."""

from pathlib import Path

from benchmarks.papers.processes import made_on
from benchmarks.papers.structured import figures, tables
from benchmarks.papers.structured.slides import ACCURACY, F1
from benchmarks.papers.structured.verdict import judge

OPENING = """\
The tables of H. Yang's slides "Sparse Learning Under Regularization Framework" (online group lasso,
ICML 2010; online multi-task feature selection, CIKM 2010) done again: accuracy and F1 on synthetic
groups, School, the computer survey, splice sites, what alpha and gamma do, and running times. All
settings are chosen inside the training rows; the slides do not say how theirs were. *Strongest* is
the smallest penalty that keeps nothing. The *most accurate* pick has the best held-out figure; the
*sparse* pick has the fewest weights within one standard error of it. Deviations are over runs. In
the verdict, lower, equal and higher mean beyond two standard errors, between methods run by run;
the slides are taken to have as many runs as we."""
SYNTHETIC = """\
Ten groups of ten columns, in which 10, 8, 6, 4, 2, 1, 0, 0, 0 and 0 weights are ±1 and the rest 0,
drawn anew in every run; noise of deviation 4; as many test rows as training rows. No linear rule
can do better than 80.1 % on average. Logistic loss, no intercept; alpha is 0.5, 0.2, 0.1 or 0.05 of
the method's own strongest, chosen by five-fold cross-validation (above 1,000 rows on a held-out
fifth). Online methods make one pass with the published update (gamma 5, t0 0); the enhanced variant
also chooses rho, 0.02 or 0.05. SGL (batch) and ten passes with automatic steps are not in the
slides."""
SCHOOL = """\
Exam scores of 15,362 pupils of 139 schools, 27 columns divided by their largest value, ten public
splits. Explained variance over all test rows, as the slides' formula has it, and of what varies
within schools, as other work on these data counts it. The strength is one of five fractions of the
strongest, chosen on a fifth of each school's training rows. Online: rounds of one row of every
school, 50 passes of the longest school, which is 114 times the rows (the slides: 120 passes),
automatic gamma, t0 of 0.3 times the rounds; DA-iMTFS also with the published update, gamma 1 or 3
chosen with the strength. MTFTS weighs L1 0.3. *Kept* are nonzero weights; alpha
is the mean fraction of the strongest that was chosen."""
PATH = """\
Batch solutions along alpha, in fractions of the strongest: explained variance % over all rows /
within schools (nonzeros), with and without intercepts, means over the splits. The slides' nonzeros,
815 for aMTFS and 583 for iMTFS, can be looked up here: a figure near theirs belongs to a model far
more strongly penalised than the best."""
APPROACH = """\
Share of the way from zero weights to the batch solution that is left in the objective / explained
variance % of the test rows (nonzeros), at one strength, on the first split. The automatic steps
hardly shrink as passes are added, since their horizon grows with them, and a weight that is
thresholded by itself then keeps the noise of single rows. In the shared penalties a feature's
weights are scaled by the norm of all schools' sums, which grows with the rounds, so that the same
steps do fade there. The published update, whose divisor grows with the root of the rounds, comes to
the solution."""
COMPUTER = """\
Ratings of 20 computers by 190 persons (the slides have 180 of them; which, is not known), root mean
squared error. The first 16 computers, an orthogonal plan, are learnt from, the last four tested.
The strength comes from the batch model, one computer held out in turn; online models take the same
strength, as held-out computers break the plan that a single pass lives on; this was settled after a
first look at these figures, so what online models choose by themselves (own pick) stands beside it.
*Kept* are nonzero weights. Deviations are over ten orders of the rows."""
SPLICE = """\
Donor splice sites: 7 positions, all words of up to three positions as columns (2,604 in 63 groups),
400 balanced rows in place of the slides' 11,220 (which are not to be had here), so that figures are
not comparable, only their course. Ten random splits, 300 rows to learn from, 10 passes, gamma 1, 5
or 20 chosen on a quarter of them, alpha on a path to the wanted share of nonzeros. Maximal
correlation as the slides define it, over all thresholds on the test rows, / correlation at a
threshold chosen inside the training rows (share of nonzeros found). DA-SGL weighs L1 by the root of
the group's size, as in the slides."""
EFFECTS = """\
Nonzeros after 20 passes of the published update (t0 0, no intercept, first split), over fractions
of the strongest alpha; in brackets explained variance % (School) or error (survey). The slides show
curves without numbers."""
SECONDS = """\
CPU seconds of one fit at a tenth of the strongest penalty, least of three, contestants in turn;
multi-task methods without intercepts. The slides' seconds are of a PC of 2.13 GHz, with Matlab and
R; their curves by rows carry no numbers."""


def write(found: dict, place: Path, command: str) -> str:
    """The whole page."""
    shown = figures.draw(found, place)
    lines = ["# Structured sparsity", "", OPENING, "", "## Verdict", "", *judge(found), ""]
    lines += [
        "## Accuracy on synthetic groups",
        "",
        SYNTHETIC,
        "",
        *shown.get("accuracy", []),
        *tables.by_rows(found, "accuracy", ACCURACY),
    ]
    lines += [
        "## F1 on synthetic groups",
        "",
        "F1 % of the kept columns, at the most accurate picks.",
        "",
        *tables.by_rows(found, "f1", F1),
    ]
    lines += ["The sparse picks, accuracy % / F1 %:", "", *tables.sparse_picks(found)]
    lines += [
        "At fixed fractions of the strongest penalty, accuracy % / F1 %:",
        "",
        *tables.fixed(found),
    ]
    lines += [
        "## School",
        "",
        SCHOOL,
        "",
        *tables.school(found),
        "### How DA-iMTFS comes to its solution",
        "",
        APPROACH,
        "",
        *tables.approach(found),
        "### Along alpha",
        "",
        PATH,
        "",
        *tables.school_path(found),
    ]
    lines += [
        "## Computer survey",
        "",
        COMPUTER,
        "",
        *tables.computer(found),
        "## Splice sites",
        "",
        SPLICE,
        "",
        *tables.sites(found),
    ]
    lines += [
        "## What alpha and gamma do",
        "",
        EFFECTS,
        "",
        *shown.get("effects", []),
        *tables.grids(found),
    ]
    lines += [
        "## Running times",
        "",
        SECONDS,
        "",
        *shown.get("seconds", []),
        *tables.seconds(found),
    ]
    cost = sum(cell["cost"] for cell in found.values())
    lines += [
        "## How this was made",
        "",
        f"`{command}`, {cost:.0f} CPU seconds, on:",
        "",
        made_on("structured"),
        "",
    ]
    return "\n".join(lines)
