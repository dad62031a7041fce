"""How far results reach: errors under every choice, reliability of answers, detectable effects."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from conjury.inference.errors import InputError

from ..conjoint.power.closed_form import power as plan_power
from ..conjoint.reliability.correction import SwapCorrectedEstimates
from ..conjoint.reliability.reliability_estimate import reliability
from ..conjoint.standard_errors.error_choices import errors_under_choices
from ..conjoint.verbs.amce import amce
from ..correction.correction_methods import SwappingErrors
from ..frames.notes import Note
from ..frames.passport import is_coverage_note
from ..numerics.intervals import check_alpha
from ..results import Result
from .manifest import NO_ERRORS, NO_REPEATS, ROBUSTNESS
from .runner import FittedResults, JudgeGroup, NamedResult, resampled_unit
from .steps.group_fits import groups

if TYPE_CHECKING:
    from conjury.inference.study.models import Study
    from conjury.inference.study.study_fields import Analysis

TITLES = {  # by the name of a table
    "errors": "Standard errors for every choice of clusters",
    "reliability": "Reliability of answers",
    "position": "Effect of the position",
    "corrected": "Effects corrected for unreliable answers",
    "power": "Minimum detectable effects",
}
USUAL_POWER = 0.8


def robustness(
    study: Study,
    choices: pd.DataFrame,
    *,
    alpha: float = 0.05,
    wanted: float = USUAL_POWER,
    draws: int = 999,
    seed: int = 1,
    progress: Callable[[str], None] | None = None,
) -> FittedResults:
    """Compute standard errors under every choice, reliability, corrected effects and detectable effects.

    Standard errors and detectable effects are those of the study's first analysis of effects that excludes
    no level, of every judge under one prompt: the first of the study's that it was asked under. ``wanted``
    is the power at which effects count as detectable; agreement takes ten times as many ``draws``.
    """
    check_alpha(alpha)
    analysis = analysis_of_effects(study)
    tables: dict[str, list[pd.DataFrame]] = {"errors": [], "power": []}
    notes: list[str] = []
    if study.weights is not None:
        text = "Reliability and standard errors under other choices of clusters are not weighted by {column}."
        notes.append(Note.of(text, column=study.weights))
    split = list(groups({"": choices}))
    compared = _one_prompt(study, split)
    if not compared:
        raise InputError(f"No judge has an answer in column {study.outcome!r}; check that column.")
    for group in compared:
        if progress is not None:
            progress(f"Standard errors of {group.name}")
        try:
            errors = errors_under_choices(
                group.choices,
                analysis.formula,
                pair=resampled_unit(study, group.kind),
                stimuli=[stimulus.id for stimulus in study.stimuli],
                slopes=_slopes(study, analysis),
                draws=draws,
                seed=seed,
                alpha=alpha,
            )
            power = detectable_effects(study, analysis, group, errors.frame, alpha, wanted)
        except InputError as error:
            text = "{group}: standard errors and power were not computed. {error}"
            notes.append(replace(Note.of(text, group=group.who, error=error.args[0]), kind=NO_ERRORS))
            continue
        tables["errors"].append(_with_group_names(group, errors.frame))
        tables["power"].append(_with_group_names(group, power))
        text = "{group}, standard errors: {note}"
        notes += [Note.of(text, group=group.who, note=note) for note in errors.notes]
    if progress is not None:
        progress("Reliability")
    repeated, reasons = _tables_of_repeats(
        study, analysis, choices, split, BootstrapSettings(alpha, 10 * draws, seed)
    )
    stacked_tables = {name: pd.concat(frames, ignore_index=True) for name, frames in tables.items() if frames}
    settings = {"alpha": alpha, "seed": seed}
    named = [
        NamedResult(name, TITLES[name], Result(frame, ROBUSTNESS[name], (), settings))
        for name, frame in (stacked_tables | repeated).items()
    ]
    return FittedResults(named, list(dict.fromkeys(notes + reasons)))


def detectable_effects(
    study: Study,
    analysis: Analysis,
    group: JudgeGroup,
    errors: pd.DataFrame,
    alpha: float,
    target_power: float,
) -> pd.DataFrame:
    """Set each effect beside the smallest that could be found, by the design and by the errors found."""
    answered = group.choices[group.choices[study.outcome].notna()]
    unit = resampled_unit(study, group.kind)
    pairs, people = len(answered) / 2, answered[unit].nunique()
    human = group.kind == "human"
    planned = plan_power(
        study,
        features=analysis.features,
        restrictions=analysis.joined if study.design.restrictions else (),
        power=target_power,
        alpha=alpha,
        pairs=None if human else pairs,
        respondents=people if human else None,
        tasks=pairs / people if human else None,
    )
    by_design = planned.frame.astype({"feature": str, "level": str}).set_index(["feature", "level"])["effect"]
    chosen = _widest(errors)
    keys = pd.MultiIndex.from_frame(chosen[["feature", "level"]].astype(str))
    df = chosen["df"].to_numpy(float)
    scale = np.where(
        np.isnan(df),
        ndtri(1 - alpha / 2) + ndtri(target_power),
        stdtrit(df, 1 - alpha / 2) + stdtrit(df, target_power),
    )
    return pd.DataFrame(
        {
            "feature": chosen["feature"],
            "level": chosen["level"],
            "pairs": pairs,
            "respondents": people if human else np.nan,
            "power": target_power,
            "alpha": alpha,
            "estimate": chosen["estimate"],
            "effect_design": by_design.reindex(keys).to_numpy(float),
            "effect_found": scale * chosen["std_error"].to_numpy(float),
            "errors": chosen["choice"].astype("string"),
        }
    )


def _widest(errors: pd.DataFrame) -> pd.DataFrame:
    """Rows of the clustered choice that takes most columns as random; the last among equals."""
    clustered = errors[errors["method"].isin(["survey", "CR1", "CR2"])]
    if clustered.empty:
        raise InputError(
            "No clusters have standard errors; name a column with two or more values as `unit` of `bootstrap`"
            " in the study file, such as pair_id for models."
        )
    crossed = clustered["clusters"].str.count(",")
    last = clustered.loc[crossed == crossed.max(), "choice"].iloc[-1]
    widest: pd.DataFrame = clustered[clustered["choice"] == last].reset_index(drop=True)
    return widest


def analysis_of_effects(study: Study) -> Analysis:
    """The study's first analysis of AMCEs that excludes no level, or the first of all."""
    candidates = [part for part in study.analyses if part.verb == "amce" and not part.by]
    complete = [analysis for analysis in candidates if not analysis.exclude] or candidates
    if not complete:
        raise InputError(f"Study {study.name!r} has no analysis with verb amce; add one to its file.")
    return complete[0]


def _slopes(study: Study, analysis: Analysis) -> str | None:
    """The first feature of the formula that is not the one which stimuli render."""
    rendered = {stimulus.attribute for stimulus in study.stimuli}
    return next((name for name in analysis.features if name not in rendered), None)


def _one_prompt(study: Study, split: Sequence[JudgeGroup]) -> list[JudgeGroup]:
    """Groups with answers: one prompt per judge, the first that the study names."""
    order = [prompt.id for prompt in study.prompts]
    best: dict[str, JudgeGroup] = {}
    for group in split:
        if not group.choices[study.outcome].notna().any():
            continue
        best_group = best.get(group.judge)
        if best_group is None or _place(order, group.prompt) < _place(order, best_group.prompt):
            best[group.judge] = group
    return list(best.values())


def _place(order: Sequence[str], prompt: str) -> int:
    return order.index(prompt) if prompt in order else len(order)


def _with_group_names(group: JudgeGroup, frame: pd.DataFrame) -> pd.DataFrame:
    named = frame.assign(
        judge=pd.array([group.judge] * len(frame), dtype="string"),
        prompt=pd.array([group.prompt] * len(frame), dtype="string"),
    )
    return named[["judge", "prompt", *frame.columns]]


@dataclass(frozen=True)
class BootstrapSettings:
    """Confidence, draws and seed of a bootstrap."""

    alpha: float
    draws: int
    seed: int


def _tables_of_repeats(
    study: Study,
    analysis: Analysis,
    choices: pd.DataFrame,
    split: Sequence[JudgeGroup],
    sampling: BootstrapSettings,
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Tables that need repeated tasks, and why there are none."""
    try:
        identified = choices["profile_id"].notna().all()
        stimuli = [part.id for part in study.stimuli if part.id in choices and choices[part.id].notna().any()]
        content = [*(attribute.id for attribute in study.attributes), *stimuli]
        result = reliability(
            choices,
            **asdict(sampling),
            outcome=study.outcome,
            features=None if identified else content,
        )
    except InputError as error:
        return {}, [Note("Reliability was not estimated: {error}", {"error": error.args[0]}, kind=NO_REPEATS)]
    tables, frames = {"reliability": result.frame, "position": result.position}, []
    coverage = filter(is_coverage_note, result.notes)
    notes: list[str] = [Note.of("Reliability: {note}", note=note) for note in coverage]
    for group in split:
        group_rows = result.frame[
            (result.frame["judge"] == group.judge) & (result.frame["prompt"] == group.prompt)
        ]
        if group_rows.empty:
            continue
        if not group_rows["correctable"].any():
            text = "{group}, effects were not corrected. {verdict}"
            notes.append(Note.of(text, group=group.who, verdict=group_rows["verdict"].iloc[0]))
            continue
        id = resampled_unit(study, group.kind)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                method = SwappingErrors(result)
                fitted = amce(group.choices, analysis.formula, id=id, alpha=sampling.alpha, correct=method)
        except InputError as error:
            text = "{group}, effects were not corrected: {error}"
            notes.append(Note.of(text, group=group.who, error=str(error)))
            continue
        if isinstance(fitted, SwapCorrectedEstimates):
            frames.append(_with_group_names(group, fitted.beside))
    if frames:
        tables["corrected"] = pd.concat(frames, ignore_index=True)
    return tables, notes
