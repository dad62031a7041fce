"""Missing answers and missing gold labels that count as agreement."""

from __future__ import annotations

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.columns import as_text

from ....frames.notes import Note, join_notes
from ....frames.rounding import percentage
from ...judge_shares import evidence, shares
from ...labelled import NO_GOLD, answers_of
from ...registry import Check, Question, check, highest, who

MISSING_AS_RIGHT = Question(
    code="CJ309",
    name="missing_as_right",
    title="Missing answers that can count as correct",
    text="Are there blank gold labels, which a missing answer can match?",
    consequence="Missing answers are scored as correct, and the number of scored units is too large.",
    remedy="Exclude units without a gold label, or label them; count a missing answer as wrong, whatever "
    "the gold label.",
    alarms="never",
)


LINES = r"^line_\d+$"


@check(MISSING_AS_RIGHT)
def missing_as_right(judgments: pd.DataFrame, labels: pd.DataFrame) -> Check:
    """Count blank gold labels, and answers without a value to the units that have them."""
    gold = as_text(labels["label"]).fillna("").str.strip().str.casefold()
    blank = gold.isin(NO_GOLD).to_numpy(dtype=bool)
    if not blank.any():
        none = pd.DataFrame(columns=["judge", "prompt", "n", "of", "estimate"])
        return MISSING_AS_RIGHT.answer(
            none, "pass", Note.of("All {n:,} gold labels state a class.", n=len(labels))
        )
    units = pd.DataFrame({"item_id": as_text(labels["item_id"]), "task": as_text(labels["label_set"])})[blank]
    answers = answers_to_units(answers_of(judgments), units)
    blanks = Note.of(
        "{n_blank} blank, of {n:,}",
        n_blank=counted(int(blank.sum()), "gold label is", "gold labels are"),
        n=len(labels),
    )
    rows = evidence(labels, blank, ("label_set", "label"))
    if answers.empty:
        table = pd.DataFrame([("gold", "", int(blank.sum()), len(labels), float(blank.mean()))])
        table.columns = pd.Index(["judge", "prompt", "n", "of", "estimate"])
        return MISSING_AS_RIGHT.answer(
            table,
            "warning",
            join_notes([blanks, "no judge was asked about these units."], "; "),
            rows=rows,
        )
    credited = answers["value"].isna().to_numpy(dtype=bool)
    table = shares(answers.rename(columns={"judge": "judge_id", "prompt": "prompt_id"}), credited)
    most = highest(table, table["estimate"])
    credits = Note.of(
        "{n:,} of {answers} to these units have no value either, at most {share} of {of:,} "
        "({who}); they count as correct where blanks are compared.",
        n=int(credited.sum()),
        answers=counted(len(answers), "answer"),
        share=percentage(most["estimate"], 1),
        of=int(most["of"]),
        who=who(most),
    )
    finding = join_notes([blanks, credits], "; ")
    return MISSING_AS_RIGHT.answer(table, "error" if credited.any() else "warning", finding, rows=rows)


def answers_to_units(answers: pd.DataFrame, units: pd.DataFrame) -> pd.DataFrame:
    """What each judge, prompt and sample gave to units of items that it was asked about."""
    # A line without a row counts as asked where other lines of the item have one, since an answer may have
    # fewer labels than lines.
    runs = answers.assign(family=answers["task"].str.replace(LINES, "line", regex=True))
    runs = runs[["judge", "prompt", "sample", "item_id", "family"]].drop_duplicates()
    targets = units.assign(family=units["task"].str.replace(LINES, "line", regex=True))
    requests = runs.merge(targets, on=["item_id", "family"], how="inner")
    keys = ["judge", "prompt", "sample", "item_id", "task"]
    return requests.merge(answers[[*keys, "value"]].drop_duplicates(keys), on=keys, how="left")
