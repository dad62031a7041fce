"""Fits of choices and labels as the command plans and runs them, without files."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from conjury.analysis.benchmark.data.label_answers import LabelAnswers
from conjury.analysis.pipeline.conjoint_steps import plan_conjoint
from conjury.analysis.pipeline.item_steps import plan_labels
from conjury.analysis.pipeline.runner import FitOptions, FittedResults, fit
from conjury.analysis.pipeline.steps.group_fits import groups
from conjury.inference.study import Study

QUICK = FitOptions(draws=0)


def fit_study(
    study: Study, variants: Mapping[str, pd.DataFrame], options: FitOptions = QUICK
) -> FittedResults:
    return fit(plan_conjoint(study, list(groups(variants)), options))


def fit_labels(answered: LabelAnswers, options: FitOptions = QUICK) -> FittedResults:
    return fit(plan_labels(answered, options))
