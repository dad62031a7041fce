"""Judges of the family of the models that wrote the items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note
from ..judged import NotApplicableError
from ..registry import Check, Question, check, highest
from .naming import family_of, requested_models

SAME_FAMILY = Question(
    code="CJ504",
    name="same_family",
    title="Judges and generators of one family",
    text="Do models judge texts of their own family?",
    consequence="Models tend to prefer texts of their own family, so these judges' comparisons of "
    "generators are biased in favour of it.",
    remedy="Report comparisons of generators without judges of the same family, or estimate the preference "
    "for their own texts (`self_preference`).",
    alarms="rule",
)
COLUMNS = ("generator", "author_model", "source_model", "model")  # of items, where no study names it
NO_GENERATORS = "The table of items does not state which model wrote them (column generator)."
NO_MODELS = "There are no models among the judges."


@check(SAME_FAMILY)
def same_family(
    items: pd.DataFrame,
    item_study: ItemStudy | None = None,
    judgments: pd.DataFrame | None = None,
    responses: pd.DataFrame | None = None,
    asked: Mapping[str, Mapping[str, Any]] | None = None,
) -> Check:
    """Count the items that models judge of their own family, by judge and generator."""
    named = (item_study.generator,) if item_study is not None else COLUMNS
    column = next((name for name in named if name is not None and name in items), None)
    if column is None:
        raise NotApplicableError(NO_GENERATORS)
    models = requested_models(None, asked)
    wrote = as_text(items[column])
    authors = {
        name: family_of(models.get(name, name))
        for name in map(str, wrote.dropna().unique())
        if name != "human"
    }
    judged = _judged_pairs(items, judgments, responses, list(asked or {}))
    if judged.empty:
        raise NotApplicableError(NO_MODELS)
    declared = item_study is not None and item_study.generator == column
    families = {judge: family_of(models.get(judge, judge)) for judge in judged["judge"].unique()}
    generator = pd.Series(wrote.to_numpy(), index=as_text(items["item_id"]).to_numpy())
    frame = judged.assign(generator=judged["item_id"].map(generator), family=judged["judge"].map(families))
    frame["author_family"] = frame["generator"].map(authors)
    same = frame[frame["family"].notna() & frame["family"].eq(frame["author_family"])]
    n = frame.groupby("judge", sort=False).size()
    table = same.groupby(["judge", "generator", "family"], sort=False).size().rename("n_same").reset_index()
    table = table.assign(prompt="", n=table["judge"].map(n), label=table["generator"])
    table["estimate"] = table["n_same"] / table["n"].astype(float)
    table = table[["judge", "prompt", "generator", "family", "n", "n_same", "label", "estimate"]]
    unknown = sorted(judge for judge, family in families.items() if family is None)
    notes: list[str] = [Note.of("The family of {judges:5} is not known.", judges=unknown)] if unknown else []
    if same.empty:
        return SAME_FAMILY.answer(
            table,
            "pass",
            Note.of(
                "None of {models} judges texts of its own family.", models=counted(len(families), "model")
            ),
            notes,
        )
    most, n_judges = highest(table, table["estimate"]), table["judge"].nunique()
    finding = Note.of(
        "{models} of {n:,} {verb} texts of {whose} own family; {judge} has the largest share, "
        "{n_same:,} of {items} by {judge2} ({family}).",
        models=counted(n_judges, "model"),
        n=len(families),
        verb="judges" if n_judges == 1 else "judge",
        whose="its" if n_judges == 1 else "their",
        judge=most["judge"],
        n_same=int(most["n_same"]),
        items=counted(int(most["n"]), "item"),
        judge2=most["generator"],
        family=most["family"],
    )
    if declared and (_has_people(item_study, judgments) or n_judges < len(families)):
        notes.append(
            "The study states who wrote the items and has other judges, so the preference can be estimated."
        )
        return SAME_FAMILY.answer(table, "pass", finding, notes)
    return SAME_FAMILY.answer(table, "warning", finding, notes)


def _has_people(study: ItemStudy | None, judgments: pd.DataFrame | None) -> bool:
    """Whether there are people among the judges."""
    if judgments is not None:
        return bool((as_text(judgments["judge_kind"]) == "human").any())
    return study is not None and any(judge.kind == "human" for judge in study.judges)


def _judged_pairs(
    items: pd.DataFrame, judgments: pd.DataFrame | None, responses: pd.DataFrame | None, judges: list[str]
) -> pd.DataFrame:
    """Pairs of models and items: those judged, else those that the study's models are to judge."""
    table = judgments if judgments is not None else responses
    if table is None:
        names = as_text(items["item_id"])
        return pd.DataFrame(
            [(judge, item) for judge in judges for item in names], columns=["judge", "item_id"]
        )
    model = table[(as_text(table["judge_kind"]) == "model").to_numpy(dtype=bool)]
    pairs = pd.DataFrame({"judge": as_text(model["judge_id"]), "item_id": as_text(model["item_id"])})
    return pairs.drop_duplicates()
