"""The analyses that the judgments of a study of items allow, as steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from conjury.inference.readers.judgments import scales_of
from conjury.inference.study.models import ItemStudy

from ..raters.agreement import agreement
from ..raters.descriptive import (
    biases,
    correlations,
    dimension_correlations,
    distributions,
    means,
    rating_lines,
    tier_accuracy,
)
from ..raters.descriptive.means import coverage
from ..raters.ratings import read_ratings
from ..raters.replacement import alt_test
from ..raters.replacement.decide import with_curve
from ..raters.scales import dimension_names
from ..results import Result, Step
from ..vocabulary import HUMAN
from .run import FitOptions, Plan

DRAWS = 1000  # of the bootstrap, where no number is given


def plan_ratings(
    study: ItemStudy, judgments: pd.DataFrame, items: pd.DataFrame | None, options: FitOptions
) -> Plan:
    """Plan the analyses that a study and its judgments allow, in the order of a report."""
    options, scales = options.with_draws(DRAWS), scales_of(study)
    for name in dimension_names(judgments):  # refuses ratings off the scale before anything is computed
        read_ratings(judgments, dimension=name, scale=scales.get(str(name)))
    kinds = set(judgments["judge_kind"].astype(str))
    both = kinds >= {HUMAN, "model"}
    planned = [Step("coverage", "Judges, items and ratings", lambda: coverage(judgments))]
    if study.response.form == "ratings":
        planned += _descriptive(study, judgments, items, options, both)
    common: dict[str, Any] = {"items": items, **options.drawn}
    planned.append(
        Step(
            "agreement",
            "Agreement of people, and of people with each model",
            lambda: agreement(judgments, cluster=study.cluster, scale=scales, **common),
        )
    )
    if both:
        planned.append(
            Step(
                "alt_test",
                "May a model replace a person of the panel?",
                lambda: with_curve(
                    alt_test(judgments, epsilon=options.epsilon, cluster=study.cluster, **common)
                ),
            )
        )
    return Plan(tuple(planned))


def _descriptive(
    study: ItemStudy,
    judgments: pd.DataFrame,
    items: pd.DataFrame | None,
    options: FitOptions,
    both: bool,
) -> Iterator[Step]:
    """Means, correlations, order of tiers, biases: what ratings on scales allow."""
    strata = [stratum.id for stratum in study.strata]
    drawn = options.drawn
    where: dict[str, Any] = {**drawn, "cluster": study.cluster, "scale": _one_scale(study)}
    first = tuple(strata[:1])
    label = study.feature_labels.get(strata[0], "") if strata else ""
    by = f" by {label.lower()}" if label else ""
    yield Step("means", f"Mean ratings{by}", lambda: means(judgments, items, by=first, **where))
    if len(strata) > 1:
        crossed = (strata[1], strata[0])
        yield Step(
            "means_crossed",
            f"Mean ratings{by} and {study.feature_labels[strata[1]].lower()}",
            lambda: means(judgments, items, by=crossed, **where),
        )
    scale = where["scale"]
    yield Step(
        "distributions",
        "How often each rating was given",
        lambda: distributions(judgments, items, scale=scale),
    )
    if both:
        yield Step(
            "correlations",
            "Correlation of each model with people",
            lambda: correlations(judgments, items, by=first, **where),
        )
        yield Step(
            "lines",
            "Ratings by people against those by each model",
            lambda: rating_lines(judgments, items, by=first, **where),
        )
    if len(study.scales) > 1:
        yield Step(
            "dimension_correlations",
            "Which dimensions go together",
            lambda: dimension_correlations(judgments, items, main=study.main, **where),
        )
    if study.tiers is not None and study.cluster is not None:
        tiers, within = study.tiers, study.cluster
        yield Step(
            "tiers",
            "Do ratings recover the order of the tiers?",
            lambda: tier_accuracy(
                judgments,
                items,
                levels=tiers.levels,
                column=tiers.column,
                within=within,
                dimension=study.main,
                scale=scale,
                **drawn,
            ),
        )
    if both:
        compared = "How models differ from people"
        yield Step("biases", compared, lambda: _biases(study, judgments, items, where))


def _one_scale(study: ItemStudy) -> Sequence[float] | None:
    """The ratings that all dimensions of a study allow; None where they differ."""
    scales = {tuple(scale) for scale in scales_of(study).values()}
    return scales.pop() if len(scales) == 1 else None


def _biases(
    study: ItemStudy, judgments: pd.DataFrame, items: pd.DataFrame | None, where: dict[str, Any]
) -> Result:
    unrelated, aside = study.unrelated, study.set_aside
    return biases(
        judgments,
        items,
        generator=study.generator,
        unrelated=None if unrelated is None else (unrelated.column, unrelated.level),
        set_aside={part.column: [one.level for one in aside if one.column == part.column] for part in aside},
        **where,
    )
