"""Everything that `conjury fit` computes on the data of a study, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.readers.prepare import judges_by_origin
from conjury.inference.study.models import ItemStudy, Study
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.files import PUBLISHED

from ..audit import compare_moderation, compare_oogiri
from ..benchmark.data.answered import Answered
from ..recovery.conjoint import recovery as effects_recovered
from ..recovery.labels import label_recovery
from ..recovery.ratings import recovery as ratings_recovered
from ..vocabulary import HUMAN
from . import labels, ratings
from .conjoint import answers, groups, plan_conjoint
from .gold import with_gold
from .labels import add_printed_numbers, plan_labels
from .loading import Loaded
from .manifest import describe_labels, describe_study
from .ratings import plan_ratings
from .run import FitOptions, Fitted, Plan, fit
from .settings import Group

Tables = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Work:
    """A fit that is planned: its data, its steps, and the tables that follow from their results.

    ``described`` is what the manifest says of the study; ``groups`` are those of choices.
    """

    loaded: Loaded
    plan: Plan
    draws: int
    follow: Callable[[Fitted], Tables]
    described: dict[str, Any]
    groups: Sequence[Group] = ()

    def run(self, progress: Callable[[str], None] | None = None) -> tuple[Fitted, Tables]:
        """Run all steps; return results, and the tables that follow from them."""
        fitted = fit(self.plan, progress)
        return fitted, self.follow(fitted)


def work_of(
    loaded: Loaded, options: FitOptions, gold: Path | None = None, readings: Sequence[Path] = ()
) -> Work:
    """Plan the fit of a study: a conjoint, ratings, or labels with gold labels."""
    study = loaded.study
    if isinstance(study, Study):
        split = list(groups(loaded.variants))
        options = options.with_draws(study.bootstrap.draws)
        plan = plan_conjoint(study, split, options)
        follow = partial(_of_choices, study, loaded)
        return Work(loaded, plan, options.draws or 0, follow, describe_study(study), split)
    assert isinstance(study, ItemStudy)
    if has_gold(study, gold):
        loaded, answered = with_gold(loaded, gold, readings)
        options = options.with_draws(labels.DRAWS)
        plan = plan_labels(answered, options)
        follow = partial(_of_labels, answered, loaded)
        return Work(loaded, plan, options.draws or 0, follow, describe_labels(study))
    options = options.with_draws(ratings.DRAWS)
    plan = plan_ratings(study, loaded.judgments, loaded.items, options)
    return Work(loaded, plan, options.draws or 0, partial(_of_ratings, study, loaded), describe_study(study))


def has_gold(study: ItemStudy, gold: Path | None) -> bool:
    """Whether the labels of a study are scored against gold labels."""
    return bool(study.label_sets) and (gold is not None or study.gold is not None)


def _of_choices(study: Study, loaded: Loaded, fitted: Fitted) -> Tables:
    """Counts of answers, true values with estimates, and published numbers of judges that are real."""
    tables: Tables = {"answers": answers(loaded.variants[""])}
    if loaded.truth is not None:
        recovered = effects_recovered(loaded.truth, fitted.tables)
        tables |= {"truth": loaded.truth} | ({} if recovered.empty else {"recovery": recovered})
    file, effects = PUBLISHED / f"{study.name}.csv", fitted.by_name.get("amce")
    source = loaded.source()
    if not file.is_file() or effects is None or not source["real_judges"]:
        return tables
    printed = pd.read_csv(file).assign(source="printed")
    ours = effects.frame[effects.frame["judge"].isin(source["real_judges"])]
    if set(ours["judge"]) & set(printed["judge"]):
        return tables | {"published": printed, "published_difference": compare_moderation(printed, ours)}
    return tables if source["simulated"] else tables | {"published": printed}


def _of_ratings(study: ItemStudy, loaded: Loaded, fitted: Fitted) -> Tables:
    """Published numbers with ours, of raters that are real, and true values with estimates."""
    simulated, real = judges_by_origin(loaded.judgments)
    people = loaded.judgments.loc[as_text(loaded.judgments["judge_kind"]).eq(HUMAN), "judge_id"]
    all_real = len(people) > 0 and set(as_text(people)) <= set(real)
    groups_of_raters = {*map(str, real), *([HUMAN] if all_real else [])}
    tables = compare_oogiri(study.name, fitted.by_name, groups_of_raters if simulated else None)
    if loaded.truth is None:
        return tables
    types = study.assignment.across if study.assignment is not None else "response_type"
    recovered = ratings_recovered(fitted.by_name, loaded.truth, types=types)
    return tables | {"truth": loaded.truth} | ({} if recovered.empty else {"recovery": recovered})


def _of_labels(answered: Answered, loaded: Loaded, fitted: Fitted) -> Tables:
    """Adds published numbers to the results; returns true values with estimates."""
    add_printed_numbers(answered, fitted, loaded.source())
    if loaded.truth is None:
        return {}
    recovered = label_recovery(fitted.by_name, loaded.truth)
    return {"truth": loaded.truth} | ({} if recovered.empty else {"recovery": recovered})
