"""Perturbed items that are the same as their originals."""

from __future__ import annotations

import unicodedata

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.preparation.similar_texts import squeezed
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import UNPERTURBED, as_text

from ...frames.notes import Note, join_notes
from ...frames.rounding import percentage
from ..item_texts import bases, conditions, join_texts, texts_of
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check, highest

UNCHANGED_COPIES = Question(
    code="CJ402",
    name="unchanged_copies",
    title="Unchanged copies",
    text="Do perturbed items differ from their originals in more than white space?",
    consequence="Scores under such a condition are those of originals judged twice, so the effect of the "
    "perturbation is underestimated; where all copies are unchanged, it cannot be estimated.",
    remedy="Exclude these copies, or create them again (`conjury perturb` refuses copies without a change).",
    alarms="rule",
)
NO_COPIES = "There are no perturbed items (columns base_item_id and condition, or perturbed texts)."
NO_ORIGINALS = "The originals of the perturbed items are not in the table of items."
SAME, SPACE = "identical", "white space"
SOME, MANY = 0.02, 0.1  # shares of pairs beyond which the verdict is a warning, or an error
PERTURBED = "perturbed"  # begins the names of columns that contain perturbed texts of the same row


@check(UNCHANGED_COPIES)
def unchanged_copies(items: pd.DataFrame, item_study: ItemStudy | None = None) -> Check:
    """Compare each perturbed item with its original, by condition."""
    pairs = pairs_of(items, item_study)
    pairs["difference"] = [
        describe_change(original, text)
        for original, text in zip(pairs["original"], pairs["text"], strict=True)
    ]
    unchanged = pairs["difference"].ne("")
    counts = pairs.assign(n=1, identical=pairs["difference"].eq(SAME), unchanged=unchanged)
    table = counts.groupby("condition", sort=False)[["n", "identical", "unchanged"]].sum().reset_index()
    table = table.assign(
        judge="", prompt="", label=table["condition"], estimate=table["unchanged"] / table["n"]
    )
    table = table[["judge", "prompt", "condition", "n", "identical", "unchanged", "label", "estimate"]]
    worst = highest(table, table["estimate"])
    if not unchanged.any():
        finding = (
            Note.of("All {n:,} perturbed items differ from their originals in words.", n=len(pairs))
            if len(pairs) > 1
            else Note("The perturbed item differs from its original in words.")
        )
        return UNCHANGED_COPIES.answer(table, "pass", finding)
    space = int(worst["unchanged"] - worst["identical"])
    finding = Note.of(
        "{unchanged:,} of {items} under condition {condition} ({share}) do not differ from "
        "their originals in their words: {identical:,} are identical and {space:,} differ in "
        "white space or invisible characters only.",
        unchanged=int(worst["unchanged"]),
        items=counted(int(worst["n"]), "item"),
        condition=worst["condition"],
        share=percentage(worst["estimate"], 1),
        identical=int(worst["identical"]),
        space=space,
    )
    if len(table) > 1:
        finding = join_notes(
            [
                finding,
                Note.of(
                    "Over all {n_conditions} conditions it is {n:,} of {of:,}.",
                    n_conditions=len(table),
                    n=int(unchanged.sum()),
                    of=len(pairs),
                ),
            ]
        )
    is_rare = worst["estimate"] <= SOME or worst["unchanged"] < 2
    verdict: Verdict = "pass" if is_rare else "error" if worst["estimate"] > MANY else "warning"
    rows = pairs.loc[unchanged, ["item_id", "base_item_id", "condition", "difference"]]
    return UNCHANGED_COPIES.answer(table, verdict, finding, rows=rows.reset_index(drop=True))


def pairs_of(items: pd.DataFrame, study: ItemStudy | None) -> pd.DataFrame:
    """Pairs of a perturbed item and its original: ``item_id, base_item_id, condition, original, text``."""
    names = as_text(items["item_id"])
    columns = [str(name) for name in items if str(name).startswith(f"{PERTURBED}_") and "text" in items]
    condition, base = conditions(items), bases(items)
    copies = condition.ne(UNPERTURBED) & base.ne(names)
    if not columns and not copies.any():
        raise NotApplicableError(NO_COPIES)
    parts = []
    if copies.any():
        texts = join_texts(texts_of(items, study), "\x1f")
        originals = pd.Series(texts.to_numpy(), index=names.to_numpy())
        frame = pd.DataFrame(
            {"item_id": names, "base_item_id": base, "condition": condition, "text": texts}, index=items.index
        )[copies]
        frame["original"] = frame["base_item_id"].map(originals)
        parts.append(frame[frame["original"].notna()])
        if parts[0].empty and not columns:
            raise NotApplicableError(NO_ORIGINALS)
    for name in columns:
        subset = items[items["text"].notna() & items[name].notna()]
        parts.append(
            pd.DataFrame(
                {
                    "item_id": as_text(subset["item_id"]),
                    "base_item_id": as_text(subset["item_id"]),
                    "condition": name.removeprefix(f"{PERTURBED}_"),
                    "text": as_text(subset[name]),
                    "original": as_text(subset["text"]),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def describe_change(original: str, text: str) -> str:
    """Say how little a text differs from its original; empty where its words do."""
    if original == text:
        return SAME
    first, second = ("".join(squeezed(unicodedata.normalize("NFKC", t)).split()) for t in (original, text))
    return SPACE if first == second else ""
