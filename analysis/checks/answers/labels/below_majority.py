"""Scores below those of always giving the commonest label."""

from __future__ import annotations

import pandas as pd
from scipy.stats import binom

from conjury.inference.study.models import ItemStudy

from ....frames.notes import Note, join_notes
from ....frames.rounding import percentage
from ....frames.sentences import agreeing_with_part, capitalised, out_of
from ...judged import NotApplicableError
from ...labelled import labelled
from ...registry import Check, Question, adjusted, check, highest, lowest, show_p, who

BELOW_MAJORITY = Question(
    code="CJ314",
    name="below_majority",
    title="Scores below the majority baseline",
    text="Is every judge correct at least as often as a rule that always gives the most frequent gold label?",
    consequence="Differences between such judges are not informative about their understanding of the items.",
    remedy="Report the majority baseline with every score; check for answers shifted against their items, "
    "unparsed answers and labels in another spelling before concluding that the judge performs badly.",
    alarms="test",
)
FEWEST = 20  # answers of a judge; with fewer, nothing is tested


@check(BELOW_MAJORITY)
def below_majority(
    judgments: pd.DataFrame, labels: pd.DataFrame, alpha: float, item_study: ItemStudy | None = None
) -> Check:
    """Exact paired test of each judge against the commonest gold label; missing answers are wrong."""
    answers = labelled(judgments, labels, item_study).dropna(subset=["gold"])
    rows = []
    for (judge, prompt, task), group in answers.groupby(["judge", "prompt", "task"], sort=False):
        first = group[group["sample"] == group["sample"].min()].drop_duplicates("item_id")
        if len(first) < FEWEST or str(task).startswith("line_"):
            continue
        majority = first["gold"].value_counts().index[0]
        right = first["value"].eq(first["gold"]).fillna(False).to_numpy(dtype=bool)
        constant = first["gold"].eq(majority).to_numpy(dtype=bool)
        n_gained, n_lost = int((right & ~constant).sum()), int((~right & constant).sum())
        p = float(binom.cdf(n_gained, n_gained + n_lost, 0.5)) if n_gained + n_lost else 1.0
        rows.append(
            (
                judge,
                prompt,
                task,
                f"commonest: {majority}",
                len(first),
                right.mean(),
                constant.mean(),
                p,
                majority,
            )
        )
    if not rows:
        raise NotApplicableError(
            Note.of("No judge answered {fewest} items with a gold label.", fewest=FEWEST)
        )
    table = pd.DataFrame(
        rows, columns=["judge", "prompt", "panel", "label", "of", "estimate", "baseline", "p", "majority"]
    )
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    p = float(table["p_adjusted"].min())
    below, lower = table[table["p_adjusted"] < alpha], table["estimate"] < table["baseline"]
    worst = lowest(table, table["estimate"] - table["baseline"])
    best = highest(table, table["estimate"] - table["baseline"])
    significantly = Note.of(", {n} of them significantly", n=len(below)) if lower.any() else ""
    comparison = Note.of(
        "Answers of {who} are correct for {share} of {of} items ({dimension}), where {label!r} alone gives "
        "{baseline} (smallest adjusted {p})",
        who=who(worst),
        share=percentage(worst["estimate"], 1),
        of=int(worst["of"]),
        dimension=worst["panel"],
        label=(worst["panel"], worst["majority"]),
        baseline=percentage(worst["baseline"], 1),
        p=show_p(p),
    )
    if len(table) > 1:
        ahead = 100 * (best["estimate"] - best["baseline"])
        gain = Note.of("the best is {who} with {ahead:+.1f} percentage points", who=who(best), ahead=ahead)
        comparison = join_notes([comparison, gain], "; ")
    finding = Note.of(
        "{accuracies} {verb} below the majority baseline{significantly}. {comparison}.",
        accuracies=capitalised(out_of(int(lower.sum()), len(table), "accuracy", "accuracies")),
        verb=agreeing_with_part(int(lower.sum()), len(table), "is", "are"),
        significantly=significantly,
        comparison=comparison,
    )
    table = table.drop(columns="majority")
    return BELOW_MAJORITY.answer(table, "warning" if len(below) else "pass", finding, p=p)
