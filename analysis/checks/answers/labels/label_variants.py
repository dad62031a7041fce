"""Labels that are another label in another spelling."""

from __future__ import annotations

from difflib import SequenceMatcher

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.reading.cell_rules import label_key

from ....frames.notes import Note
from ...judge_shares import MOST
from ...judged import NotApplicableError
from ...labelled import answers_of, gold_spellings, spellings_of
from ...registry import Check, Question, check, highest

LABEL_VARIANTS = Question(
    code="CJ311",
    name="label_variants",
    title="Spellings of one label",
    text="Are there labels that differ from another one only in case, spaces, accents, marks around it or a "
    "typing error?",
    consequence="One class is counted as two: scores are too low, and macro averages include classes that "
    "are not in the scheme.",
    remedy="Add the spellings as aliases of the label in the study file, or correct them in the table.",
    alarms="never",
)
ALIKE = 0.86  # similarity of two spellings of one label; `witty` and `wit` are less alike
SHORTEST = 5  # shorter labels differ by one letter without being one
MANY_VALUES = 200  # values of a column that contains no labels


@check(LABEL_VARIANTS)
def label_variants(
    judgments: pd.DataFrame, labels: pd.DataFrame | None = None, item_study: ItemStudy | None = None
) -> Check:
    """Find spellings of a label of the scheme, or of a commoner value, by judge and in gold."""
    values = _values(judgments, labels)
    rows, tested = [], 0
    for task, of_task in values.groupby("task", sort=False):
        counts = of_task["value"].value_counts()
        if len(counts) > MANY_VALUES or pd.to_numeric(pd.Series(counts.index), errors="coerce").notna().all():
            continue
        tested += int(of_task["value"].notna().sum())
        variants = spellings([str(v) for v in counts.index], _label_spellings(item_study, str(task)))
        for (judge, prompt), part in of_task.groupby(["judge", "prompt"], sort=False):
            varied = part["value"].map(variants).dropna()
            for key, n in varied.groupby([part["value"], varied], sort=False).size().items():
                rows.append((judge, prompt, task, f"{key[0]} for {key[1]}", int(n), len(part), n / len(part)))  # type: ignore[index]
    if not tested:
        raise NotApplicableError("There are no labels.")
    table = pd.DataFrame(rows, columns=["judge", "prompt", "panel", "label", "n", "of", "estimate"]).head(
        MOST
    )
    if table.empty:
        return LABEL_VARIANTS.answer(
            table,
            "pass",
            Note.of("Every label has one spelling, in {values}.", values=counted(tested, "value")),
        )
    most = highest(table, table["n"])
    number = table[["panel", "label"]].drop_duplicates().shape[0]
    finding = Note.of(
        "{spellings} of other labels, in {n:,} values; the most frequent is {spelling!r} ({times:,} "
        "times, {judge}, {dimension}).",
        spellings=counted(number, "spelling"),
        n=int(table["n"].sum()),
        spelling=most["label"],
        times=int(most["n"]),
        judge=most["judge"],
        dimension=most["panel"],
    )
    return LABEL_VARIANTS.answer(table, "warning", finding, rows=table)


def spellings(values: list[str], scheme: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Values that spell another one, with that one: a label of the scheme, else a value that comes first."""
    # `scheme` are the accepted spellings of each label of the scheme.
    accepted = {text for texts in scheme.values() for text in texts}
    names_by_form = {label_key(text): texts[1] for texts in scheme.values() for text in texts}
    variants: dict[str, str] = {}
    for value in values:
        form = label_key(value)
        if not form or value in accepted:
            continue
        if form in names_by_form:
            variants[value] = names_by_form[form]
            continue
        near = next((name for candidate, name in names_by_form.items() if _is_typo(form, candidate)), None)
        if near is None:
            names_by_form[form] = value
        else:
            variants[value] = near
    return variants


def _is_typo(first: str, second: str) -> bool:
    if min(len(first), len(second)) < SHORTEST or first.startswith(second) or second.startswith(first):
        return False
    return SequenceMatcher(None, first, second).ratio() >= ALIKE


def _label_spellings(study: ItemStudy | None, task: str) -> dict[str, tuple[str, ...]]:
    scheme = {} if study is None else spellings_of(study, task)
    return {**gold_spellings(study), **scheme} if study is not None and scheme else scheme


def _values(judgments: pd.DataFrame, labels: pd.DataFrame | None) -> pd.DataFrame:
    answers = answers_of(judgments)[["judge", "prompt", "task", "value"]].dropna(subset=["value"])
    if labels is None:
        return answers
    gold = pd.DataFrame(
        {
            "judge": "gold",
            "prompt": "",
            "task": as_text(labels["label_set"]),
            "value": as_text(labels["label"]),
        }
    ).dropna(subset=["value"])
    parts = pd.concat([gold.astype("string"), answers], ignore_index=True)
    return parts.assign(task=parts["task"].str.replace(r"^line_\d+$", "line", regex=True))
