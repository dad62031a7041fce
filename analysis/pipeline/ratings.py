"""Every analysis that a study's judgments can carry, one after the other, for a results folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.readers.judgments import scales_of
from conjury.inference.study.models import ItemStudy

from ..numerics.intervals import check_alpha, check_draws
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
from ..raters.descriptive.coverage import coverage
from ..raters.items import dimension_names
from ..raters.ratings import read_ratings
from ..raters.replacement import alt_test
from ..raters.replacement.epsilon_curve import with_curve
from ..results import Result
from ..vocabulary import HUMAN
from .saved import record_of, tables_of


@dataclass(frozen=True)
class RatingOptions:
    """How to fit: confidence, bootstrap draws, seed, and the advantage that people must have."""

    alpha: float = 0.05
    draws: int = 1000
    seed: int = 1
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what nothing could be fitted with, before any work is done."""
        check_alpha(self.alpha)
        check_draws(self.draws, self.seed)


@dataclass(frozen=True)
class Planned:
    """An analysis to be run: its name in the results folder, its title, and the call."""

    name: str
    title: str
    run: Callable[[], Result]


@dataclass
class FittedRatings:
    """Results by name, what the manifest says of each, and what should be known."""

    results: dict[str, Result] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables, as a results folder names them."""
        made: dict[str, pd.DataFrame] = {}
        for name, result in self.results.items():
            made |= tables_of(name, result)
        return made


def plan_ratings(
    study: ItemStudy, judgments: pd.DataFrame, items: pd.DataFrame | None, options: RatingOptions
) -> list[Planned]:
    """List the analyses that a study and its judgments allow, in the order of a report."""
    kinds = set(judgments["judge_kind"].astype(str))
    both = kinds >= {HUMAN, "model"}
    planned = [Planned("coverage", "Judges, items and ratings", lambda: coverage(judgments))]
    if study.response.form == "ratings":
        planned += _descriptive(study, judgments, items, options, both)
    common: dict[str, Any] = {
        "items": items,
        "alpha": options.alpha,
        "seed": options.seed,
        "draws": options.draws,
    }
    planned.append(
        Planned(
            "agreement",
            "Agreement of people, and of people with each model",
            lambda: agreement(judgments, cluster=study.cluster, scale=scales_of(study), **common),
        )
    )
    if both:
        planned.append(
            Planned(
                "alt_test",
                "May a model replace a person of the panel?",
                lambda: with_curve(
                    alt_test(judgments, epsilon=options.epsilon, cluster=study.cluster, **common)
                ),
            )
        )
    return planned


def fit_ratings(
    study: ItemStudy,
    judgments: pd.DataFrame,
    items: pd.DataFrame | None,
    options: RatingOptions,
    progress: Callable[[str], None] | None = None,
) -> FittedRatings:
    """Run every analysis; one that the judgments cannot carry is left out, and a note says why."""
    scales = scales_of(study)
    for name in dimension_names(judgments):
        read_ratings(judgments, dimension=name, scale=scales.get(str(name)))
    found = FittedRatings()
    for planned in plan_ratings(study, judgments, items, options):
        if progress is not None:
            progress(planned.title)
        start = time.perf_counter()
        try:
            result = planned.run()
        except InputError as error:
            found.notes.append(f"{planned.title}: left out. {error}")
            continue
        seconds = time.perf_counter() - start
        found.results[planned.name] = result
        found.records.append(record_of(planned.name, planned.title, result, seconds))
    return found


def _descriptive(
    study: ItemStudy,
    judgments: pd.DataFrame,
    items: pd.DataFrame | None,
    options: RatingOptions,
    both: bool,
) -> Iterator[Planned]:
    """Means, correlations, order of tiers, biases: what ratings on scales allow."""
    strata = [stratum.id for stratum in study.strata]
    drawn: dict[str, Any] = {"alpha": options.alpha, "draws": options.draws, "seed": options.seed}
    where: dict[str, Any] = {**drawn, "cluster": study.cluster, "scale": _one_scale(study)}
    first = tuple(strata[:1])
    label = study.feature_labels.get(strata[0], "") if strata else ""
    by = f" by {label.lower()}" if label else ""
    yield Planned("means", f"Mean ratings{by}", lambda: means(judgments, items, by=first, **where))
    if len(strata) > 1:
        crossed = (strata[1], strata[0])
        yield Planned(
            "means_crossed",
            f"Mean ratings{by} and {study.feature_labels[strata[1]].lower()}",
            lambda: means(judgments, items, by=crossed, **where),
        )
    scale = where["scale"]
    yield Planned(
        "distributions",
        "How often each rating was given",
        lambda: distributions(judgments, items, scale=scale),
    )
    if both:
        yield Planned(
            "correlations",
            "Correlation of each model with people",
            lambda: correlations(judgments, items, by=first, **where),
        )
        yield Planned(
            "lines",
            "Ratings by people against those by each model",
            lambda: rating_lines(judgments, items, by=first, **where),
        )
    if len(study.scales) > 1:
        yield Planned(
            "dimension_correlations",
            "Which dimensions go together",
            lambda: dimension_correlations(judgments, items, main=study.main, **where),
        )
    if study.tiers is not None and study.cluster is not None:
        tiers, within = study.tiers, study.cluster
        yield Planned(
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
        yield Planned("biases", compared, lambda: _biases(study, judgments, items, where))


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
