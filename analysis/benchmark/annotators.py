"""Agreement of the people whose votes are the gold labels: on the classes, and on what a class covers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text

from ..frames.vocabulary import HUMAN
from ..raters.agreement import agreement
from ..results import AnalysisStep, Result, analysis

if TYPE_CHECKING:
    from .data.label_answers import LabelAnswers


COEFFICIENTS = ("percent", "fleiss", "krippendorff")
VERSUS = "_vs_"


def annotators(
    judgments: pd.DataFrame,
    *,
    covers: Mapping[str, Sequence[str]] | None = None,
    items: pd.DataFrame | None = None,
    by: Sequence[str] = (),
    coefficients: Sequence[str] = COEFFICIENTS,
    cluster: str | None = None,
    alpha: float = 0.05,
    draws: int = 1_000,
    seed: int = 1,
) -> Result:
    """Agreement of people among themselves on every distinction that gold makes."""
    people = judgments[as_text(judgments["judge_kind"]).eq(HUMAN).to_numpy(dtype=bool)]
    if people["judge_id"].nunique() < 2:
        raise InputError("judgments: agreement needs at least two people; add judgments of others.")
    columns = list(by)
    result = agreement(
        distinctions(people, covers or {}),
        list(coefficients),
        items=items,
        by=columns or None,
        between=[],
        cluster=cluster,
        alpha=alpha,
        draws=draws,
        seed=seed,
    )
    settings = {**result.settings, "covers": {name: list(of) for name, of in (covers or {}).items()}}
    extra = {name: table for name, table in result.extra.items() if name == "pairs"}
    return Result(result.frame, "annotators", result.notes, settings, extra)


def distinctions(judgments: pd.DataFrame, covers: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Judgments of labels as judgments of each distinction: between classes, and within one."""
    # Who calls an item safe says nothing about whether its harm is implicit: further distinctions are among
    # the people who gave one of their labels. A class itself counts between classes only.
    value = as_text(judgments["value"])
    if not covers:
        return judgments
    owner = {label: name for name, labels in covers.items() for label in labels}
    owner |= {name: name for name in covers}
    parts = [judgments.assign(dimension=VERSUS.join(covers), value=value.map(owner))]
    for labels in covers.values():
        if len(labels) > 1:
            within = value.isin(list(labels)).to_numpy(dtype=bool)
            parts.append(judgments[within].assign(dimension=VERSUS.join(labels), value=value[within]))
    return pd.concat(parts, ignore_index=True)


@analysis("benchmark", order=110, when=lambda answered: answered.of_people["judge_id"].nunique() > 1)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    people, items, by = answered.of_people, answered.items, answered.strata[:1]
    covers = answered.study.gold.covers if answered.study.gold is not None else {}
    yield AnalysisStep(
        "annotators",
        "Agreement of annotators",
        lambda: annotators(people, covers=covers, items=items, by=by, **options),
    )
