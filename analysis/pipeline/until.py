"""Rules of stopping: ``ci(NAME) < WIDTH``, checked on the answers of a run by confidence sequences."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from conjury.inference.errors import ConjuryError, InputError, did_you_mean, listed
from conjury.inference.readers.judgments import scales_of
from conjury.inference.readers.prepare import as_of_study
from conjury.inference.study.models import AnyStudy, ItemStudy, Study
from conjury.inference.study.study_fields import Analysis
from conjury.inference.tables.files import read_table

from ..conjoint.standard_errors.effect_sequences import units_behind
from ..frames.sequences import with_sequence
from ..frames.variables import parse
from ..raters.descriptive import means
from ..raters.rating_sequences import units_behind_means
from .runner import FitOptions
from .steps.group_fits import fit_group, groups

ALPHA = 0.05
DRAWS = 500  # of the bootstrap of ratings
MEAN = "mean"
CONDITION = re.compile(r"\s*ci\(\s*([^()=]+?)\s*(?:=\s*([^()]+?)\s*)?\)\s*<\s*([0-9.eE+-]+)\s*")


@dataclass(frozen=True)
class Condition:
    """An interval that has to become narrower than ``limit``, named as it was written."""

    name: str
    level: str | None
    limit: float

    @property
    def written(self) -> str:
        """The interval, as it was written."""
        return f"ci({self.name})" if self.level is None else f"ci({self.name}={self.level})"


def stopping_rule(
    study: AnyStudy, text: str
) -> Callable[[pd.DataFrame, pd.DataFrame | None, int], tuple[bool, str]]:
    """Make the rule of an expression, which `conjury.inference.collecting.collect` takes as ``until``."""
    # `ci(NAME) < WIDTH` is met when the 95% confidence sequence is narrower than WIDTH: for an attribute
    # those of all its levels, for ratings the mean of a scale, under every prompt. `and` joins conditions.
    conditions = [_read_condition(part, text) for part in re.split(r"\s+and\s+", text.strip())]
    if isinstance(study, ItemStudy):
        if study.response.form != "ratings":
            raise InputError(
                "--until needs ratings or choices between pairs; this study has labels or texts."
            )
        for condition in conditions:
            _check_name(condition, [MEAN, *(scale.id for scale in study.scales)], {})
        return partial(_check_all, conditions, partial(_rating_widths, study))
    assert isinstance(study, Study)
    if study.collect.form != "pair":
        raise InputError("--until needs ratings or choices between pairs; this study has single profiles.")
    levels_by_attribute = {}
    for attribute in study.attributes:
        part = _analysis(study, attribute.id)
        if part is not None:
            excluded = part.exclude.get(attribute.id, [])
            levels_by_attribute[attribute.id] = [
                level.id for level in attribute.levels if level.id not in excluded
            ]
            parse(part.formula)  # what parses formulas takes seconds to load: now, not while answers arrive
    for condition in conditions:
        _check_name(condition, list(levels_by_attribute), levels_by_attribute)
    return partial(_check_all, conditions, partial(_effect_widths, study))


def _read_condition(part: str, text: str) -> Condition:
    match = CONDITION.fullmatch(part)
    limit = float("nan")
    if match is not None:
        try:
            limit = float(match[3])
        except ValueError:
            match = None
    if match is None or not 0 < limit < np.inf:
        raise InputError(
            f"--until {text!r}: conditions are ci(NAME) < WIDTH or ci(NAME=LEVEL) < WIDTH with a width above "
            "0, joined by 'and'; correct it."
        )
    return Condition(match[1], match[2], limit)


def _check_name(condition: Condition, names: Sequence[str], levels: dict[str, list[str]]) -> None:
    """Refuse what the study does not estimate."""
    name, level = condition.name, condition.level
    if name not in names:
        raise InputError(
            f"--until {condition.written}: there is no interval of {name!r}{did_you_mean(name, names)}; name "
            f"one of {listed(names, 40)}."
        )
    level_names = levels.get(name, [""])[1:]
    if level is not None and level not in level_names:
        remedy = f"name one of {listed(level_names, 40)}" if level_names else f"write ci({name})"
        raise InputError(f"--until {condition.written}: there is no interval of this level; {remedy}.")


def _analysis(study: Study, attribute: str) -> Analysis | None:
    """The first analysis of AMCEs with an attribute."""
    fitting = (part for part in study.analyses if part.verb == "amce" and attribute in part.features)
    return next(fitting, None)


Widths = Callable[[Condition, pd.DataFrame, pd.DataFrame | None, int], float]


def _check_all(
    conditions: Sequence[Condition],
    width_of: Widths,
    judgments: pd.DataFrame,
    choices: pd.DataFrame | None,
    n_designed: int,
) -> tuple[bool, str]:
    """Whether all intervals are narrow enough, and how wide each is."""
    widths = []
    for condition in conditions:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                widths.append(width_of(condition, judgments, choices, n_designed))
            except ConjuryError:  # too few answers for an estimate
                widths.append(np.inf)
    pairs = list(zip(conditions, widths, strict=True))
    texts = [
        f"{c.written} is {f'{width:.3g}' if np.isfinite(width) else 'unbounded'} (wanted: < {c.limit:g})"
        for c, width in pairs
    ]
    return all(width < c.limit for c, width in pairs), ", ".join(texts)


def _effect_widths(
    study: Study, condition: Condition, judgments: pd.DataFrame, choices: pd.DataFrame | None, n_designed: int
) -> float:
    """The widest interval of an attribute's effects, under all prompts."""
    part = _analysis(study, condition.name)
    assert part is not None
    assert choices is not None
    widths = []
    prepared, _ = as_of_study(study, choices, "choices of the run")
    for group in groups({"": prepared}):
        _, estimates = fit_group(study, part, group, FitOptions(alpha=ALPHA, draws=0))
        rows = part.select(group.choices)
        rows = rows[rows[study.outcome].notna()]
        order = pd.factorize(rows[study.clusters.of(group.kind)[0]])[0]
        units = units_behind(estimates.frame, rows, order, study.outcome)
        table = with_sequence(estimates.frame, units, ALPHA, n_designed)
        of = table[table["feature"] == condition.name].iloc[1:]  # without the reference level
        if condition.level is not None:
            of = of[of["level"].astype(str) == condition.level]
        widths.append(_widest(of))
    return max(widths, default=np.inf)


def _rating_widths(
    study: ItemStudy, condition: Condition, judgments: pd.DataFrame, choices: None, n_designed: int
) -> float:
    """The widest interval of mean ratings, of all scales or one, under all prompts."""
    items = read_table(study.file(study.items), "items")
    widths = []
    for _, rows in judgments.groupby(judgments["prompt_id"].astype(str)):
        table = means(
            rows,
            items,
            dimensions=None if condition.name == MEAN else condition.name,
            cluster=study.cluster,
            scale=scales_of(study).get(condition.name),
            alpha=ALPHA,
            draws=DRAWS,
        ).frame
        units = units_behind_means(table, rows)
        widths.append(_widest(with_sequence(table, units, ALPHA, n_designed)))
    return max(widths, default=np.inf)


def _widest(table: pd.DataFrame) -> float:
    """The widest interval; infinite where one is missing, or there is none."""
    width = (table["upper"] - table["lower"]).to_numpy(float)
    return float(np.where(np.isnan(width), np.inf, width).max(initial=0.0)) if len(width) else np.inf
