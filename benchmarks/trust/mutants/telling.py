"""The page of the mutants: how many were caught, and why the others live."""

from collections import Counter

from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.trust.mutants.modules import MODULES
from benchmarks.trust.mutants.places import Mutant
from benchmarks.trust.mutants.survivors import reason_for

ALLOWED = 0.05
CAUGHT, SURVIVED, EQUIVALENT = "caught", "survived", "equivalent"
HEAD = ["module", "mutants", "caught", "of these after a test was written", "equivalent", "alive"]
OPENING = """
    {count} changes of one token each, drawn at random: a comparison, an operator, a number, `and`
    for `or`, the largest for the least. Each is made in a copy of the tree, and the module's own
    tests are run: first those that ran the changed line, then all, as far as they are fast.
    A module of compiled code runs as Python. A mutant is *caught* if a test fails, dies or does
    not end. Those that live are read: for some a test was written, which is then not a sample any
    more, and the table counts them; others do the same as the source, or the same within what is
    promised, and the last table says why. Looking at them took {cpu:,.0f} s of CPU, on {where}."""


def page(found_of: dict, drawn: dict[str, list[Mutant]], sources: dict[str, str]) -> Page:
    """What was found of modules that are as they were, of the mutants that are drawn of them."""
    rows, lived, totals = [], [], Counter()
    for module, kept in found_of.items():
        figures, source = Counter(), sources[module]
        for mutant in drawn[module]:
            found, why = kept["mutants"].get(str(mutant)), reason_for(module, source, mutant)
            if found is None and not why:
                continue
            how = EQUIVALENT if found is None or why else found["how"]
            figures[how] += 1
            figures["mended"] += how == CAUGHT and found.get("first") == SURVIVED
            if how != CAUGHT:
                line = source.splitlines()[mutant.line - 1].strip()
                change = f"`{mutant.old}` to `{mutant.new or ' '}`"
                lived.append([f"{module}:{mutant.line}", f"`{line}`", change, why or "no test"])
        if figures:
            rows.append([module, *_figures(figures)])
            totals += figures
    tables = [Table("By module", HEAD, [*rows, ["all", *_figures(totals)]])]
    if lived:
        tables.append(Table("Those that lived", ["where", "line", "change", "why"], lived))
    real = totals[SURVIVED] + totals[CAUGHT]
    share = totals[SURVIVED] / max(real, 1)
    whole = len(rows) == len(MODULES)
    goal = Goal(
        f"at most {ALLOWED:.0%} of the mutants that are no equivalents live",
        f"{totals[SURVIVED]} of {real}, {share:.1%}, in {len(rows)} of {len(MODULES)} modules",
        verdict(share <= ALLOWED) if whole else "not finished",
    )
    opening = OPENING.format(
        count=totals[SURVIVED] + totals[CAUGHT] + totals[EQUIVALENT],
        cpu=sum(kept.get("cpu", 0.0) for kept in found_of.values()),
        where=" and ".join(sorted({k["where"] for k in found_of.values() if "where" in k})),
    )
    return Page("mutants", "Mutants", opening, tables, [goal])


def _figures(found: Counter) -> list[str]:
    """Cells of a row of the table."""
    every = found[CAUGHT] + found[EQUIVALENT] + found[SURVIVED]
    return [
        str(n) for n in (every, found[CAUGHT], found["mended"], found[EQUIVALENT], found[SURVIVED])
    ]
