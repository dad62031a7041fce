"""Classes that a judge never gives, or gives far too often."""

from __future__ import annotations

import pandas as pd
from scipy.stats import binom

from conjury.inference.errors import counted
from conjury.inference.study.models import ItemStudy

from ....frames.notes import Note, join_notes
from ....frames.rounding import percentage
from ...judged import NotApplicableError
from ...labelled import labelled
from ...registry import Check, Question, adjusted, check, highest, lowest, show_p, who

CLASS_FREQUENCIES = Question(
    code="CJ313",
    name="class_frequencies",
    title="Classes that are never given or given too often",
    text="Does every judge give each class about as often as it occurs among the gold labels?",
    consequence="A class that is never given has a recall of 0 whatever its items. If one class is given to "
    "almost all items, accuracy depends only on the class shares.",
    remedy="Check that the prompt names the class and that the parser recognises it; report recalls by class "
    "with accuracy.",
    alarms="rule",
)
RARE = 1e-6  # p value below which a class counts as never given, after Holm's adjustment
FEWEST = 20  # answers of one judge
MOSTLY, TIMES = 0.9, 1.5  # share of answers in one class, and how many times its share among gold labels


@check(CLASS_FREQUENCIES)
def class_frequencies(
    judgments: pd.DataFrame, labels: pd.DataFrame, item_study: ItemStudy | None = None
) -> Check:
    """Compare the classes of each judge in its first sample with the gold labels of the same items."""
    answers = labelled(judgments, labels, item_study).dropna(subset=["gold", "value"])
    if answers.empty:
        raise NotApplicableError("No answer with a label has a gold label.")
    answers = answers.assign(task=answers["task"].str.replace(r"^line_\d+$", "line", regex=True))
    table = _frequencies(answers)
    if table.empty:
        raise NotApplicableError(
            Note.of("No judge gave {fewest} labels to items with a gold label.", fewest=FEWEST)
        )
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    never = table[table["p_adjusted"] < RARE]
    mostly = table[(table["estimate"] > MOSTLY) & (table["estimate"] > TIMES * table["gold"])]
    if never.empty and mostly.empty:
        return CLASS_FREQUENCIES.answer(table, "pass", _usual_finding(table))
    parts = [
        *([_never_finding(never)] if len(never) else []),
        *([_mostly_finding(mostly)] if len(mostly) else []),
    ]
    return CLASS_FREQUENCIES.answer(table, "error" if len(mostly) else "warning", join_notes(parts))


def _frequencies(answers: pd.DataFrame) -> pd.DataFrame:
    """Answers and gold labels of each class by judge, prompt and task, with p of a class never given."""
    rows = []
    for (judge, prompt, task), group in answers.groupby(["judge", "prompt", "task"], sort=False):
        first = group[group["sample"] == group["sample"].min()]
        if len(first) < FEWEST:
            continue
        n, gold, predicted = len(first), first["gold"].value_counts(), first["value"].value_counts()
        for label, count in gold.items():
            share, k = count / n, int(predicted.get(label, 0))
            p = float(binom.cdf(k, n, share)) if k == 0 else 1.0
            rows.append((judge, prompt, task, str(label), k, n, k / n, share, p))
    return pd.DataFrame(
        rows, columns=["judge", "prompt", "panel", "label", "n", "of", "estimate", "gold", "p"]
    )


def _usual_finding(table: pd.DataFrame) -> Note:
    row = highest(table, (table["estimate"] - table["gold"]).abs())
    unused = int((table["n"] == 0).sum())
    every: str | Note = "Every judge gives every class"
    if unused:
        every = Note.of(
            "No common class is avoided ({never_given} never given by a judge, as can happen by chance)",
            never_given=counted(unused, "class is", "classes are"),
        )
    return Note.of(
        "{every}; the largest difference is for {label} ({who}): {share} of answers, {gold} of gold labels.",
        every=every,
        label=(row["panel"], row["label"]),
        who=who(row),
        share=percentage(row["estimate"], 1),
        gold=percentage(row["gold"], 1),
    )


def _never_finding(never: pd.DataFrame) -> Note:
    first = lowest(never, -never["gold"])
    return Note.of(
        "{classes} never given by a judge, such as {label} by {who} ({share} of {of} gold labels; {p}).",
        classes=counted(len(never), "class is", "classes are"),
        label=(first["panel"], first["label"]),
        who=who(first),
        share=percentage(first["gold"], 1),
        of=int(first["of"]),
        p=show_p(float(first["p_adjusted"])),
    )


def _mostly_finding(mostly: pd.DataFrame) -> Note:
    first = highest(mostly, mostly["estimate"])
    return Note.of(
        "Answers of {who} are {label} for {share} of items, of which {gold} have this gold label.",
        who=who(first),
        label=(first["panel"], first["label"]),
        share=percentage(first["estimate"], 1),
        gold=percentage(first["gold"], 1),
    )
