"""An analysis of a conjoint study fitted to each group of its choices: one judge, prompt and variant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import judge_of

from ... import conjoint
from ...conjoint.comparisons.multiplicity import adjust
from ...conjoint.estimates import Estimates
from ...conjoint.preferences.by_formula import PREFERENCES
from ...frames.cells import is_repeat
from ...frames.notes import EXCLUSION, Note, noted_warnings
from ...results import Result, stack
from ..runner import (
    BOOTSTRAPPED,
    COUNTS,
    FitOptions,
    JudgeGroup,
    arguments_of,
    is_grouped,
    name_groups,
    resampled_unit,
    settings_of,
    traits_of,
)

if TYPE_CHECKING:
    from conjury.inference.study.models import Study
    from conjury.inference.study.study_fields import Analysis

BOOT_COLUMNS = ("std_error", "p", "lower", "upper")


def groups(variants: Mapping[str, pd.DataFrame]) -> Iterator[JudgeGroup]:
    """Split choices by variant, judge and prompt, in order of appearance; swapped repeats are excluded."""
    for variant, choices in variants.items():
        repeat = is_repeat(choices)
        repeats = choices[repeat].groupby(_judge_and_prompt(choices[repeat]), observed=True).size().to_dict()
        originals = choices[~repeat]
        for key, rows in originals.groupby(_judge_and_prompt(originals), sort=False, observed=True):
            judge, prompt = map(str, key)
            kind = str(rows["judge_kind"].iloc[0])
            yield JudgeGroup(variant, judge, prompt, kind, rows, int(repeats.get((judge, prompt), 0)))


def _judge_and_prompt(choices: pd.DataFrame) -> list[pd.Series[str]]:
    return [judge_of(choices), choices["prompt_id"].astype("string").fillna("").rename("prompt")]


def answers(choices: pd.DataFrame) -> pd.DataFrame:
    """Count answers (pairs, not rows) by judge, prompt and status."""
    first = choices[choices["position"].astype("string") == "A"]
    counted = first.groupby([*_judge_and_prompt(first), first["status"]], sort=False, observed=True).size()
    return counted.rename("n").reset_index()


def fit_all(study: Study, analysis: Analysis, split: Sequence[JudgeGroup], options: FitOptions) -> Result:
    """Run one analysis on all groups; those that it cannot use are noted, with the reason."""
    traits = traits_of(study, analysis)
    complete = [group for group in split if _has_values(group.choices, traits)]
    if not complete:
        raise InputError(
            f"Analysis {analysis.name!r} compares by {' and '.join(map(repr, traits))}, and no judge has "
            "values there; add the column to the choices of people, or correct its name in the study file."
        )
    fitted = estimate_each(complete, analysis, lambda group: fit_group(study, analysis, group, options))
    if not fitted.estimated:
        raise InputError(str(fitted.refused[0]))
    without = [group.who for group in split if not any(group is member for member in complete)]
    if without:
        text = "{groups}: left out, since {columns} describes respondents."
        fitted.warned.append(Note.of(text, groups=without, columns=traits))
    settings = settings_of(study, analysis, fitted.estimated, options)
    extra: dict[str, pd.DataFrame] = {}
    first = fitted.estimated[0][1]
    if analysis.verb in PREFERENCES:
        settings = {**first.settings, **settings}
        extra = {
            part: stack([name_groups(estimates.extra[part], group) for group, estimates in fitted.estimated])
            for part in first.extra
        }
    return Result(stack(fitted.frames), analysis.verb, fitted.notes, settings, extra)


def _has_values(choices: pd.DataFrame, columns: Sequence[str]) -> bool:
    """Whether rows have values in all of some columns."""
    return all(name in choices and choices[name].notna().any() for name in columns)


@dataclass(frozen=True)
class GroupFits:
    """Estimates of each group of an analysis, warnings, and why groups could not be estimated."""

    name: str
    frames: list[pd.DataFrame] = field(default_factory=list)
    estimated: list[tuple[JudgeGroup, Estimates]] = field(default_factory=list)
    warned: list[Note] = field(default_factory=list)
    refused: list[Note] = field(default_factory=list)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes of all groups, with the analysis and the group that they are about."""
        excluded = [
            replace(note, template=f"{note.template} It was excluded.", kind=EXCLUSION)
            for note in self.refused
        ]
        of_estimates = [
            group.note(note, self.name) for group, estimates in self.estimated for note in estimates.notes
        ]
        return (*self.warned, *excluded, *of_estimates)


def estimate_each(
    split: Sequence[JudgeGroup],
    analysis: Analysis,
    estimate: Callable[[JudgeGroup], tuple[pd.DataFrame, Estimates]],
) -> GroupFits:
    """Estimate each group; one that cannot be estimated is noted, with the reason."""
    each = GroupFits(analysis.name)
    for group in split:
        with noted_warnings() as warned:
            try:
                frame, estimates = estimate(group)
                each.frames.append(frame)
                each.estimated.append((group, estimates))
            except InputError as error:
                each.refused.append(group.note(str(error), analysis.name))
        sentences = "\n".join(n for part, result in each.estimated if part is group for n in result.notes)
        each.warned.extend(group.note(text, analysis.name) for text in warned if text not in sentences)
    return each


def fit_group(
    study: Study, analysis: Analysis, group: JudgeGroup, options: FitOptions
) -> tuple[pd.DataFrame, Estimates]:
    """Run one analysis on one group; the table has judge, prompt and variant."""
    options = options.with_draws(study.bootstrap.draws)
    rows = analysis.select(group.choices)
    if rows.empty:
        raise InputError(
            f"Analysis {analysis.name!r} excludes all rows of judge {group.judge!r}; check its exclude rule."
        )
    if rows[study.outcome].isna().all():
        raise InputError(
            f"Judge {group.judge!r} has no answer in column {study.outcome!r}; omit it or "
            "choose another refusal policy."
        )
    verb = PREFERENCES.get(analysis.verb) or getattr(conjoint, analysis.verb)
    if is_grouped(analysis):
        verb = conjoint.cj
    arguments = arguments_of(study, analysis, group.kind, options)
    if analysis.verb in PREFERENCES:
        arguments["alpha"] = options.alpha
    elif analysis.verb not in COUNTS:
        arguments["engine"] = options.engine
        if analysis.verb != "cj_anova":
            arguments["alpha"] = options.alpha
    estimates: Estimates = verb(rows, analysis.formula, **arguments)
    if analysis.compares_prompts:
        estimates = adjust(estimates, "holm")
    frame = estimates.frame.drop(columns="by" if is_grouped(analysis) else [])
    if analysis.verb in BOOTSTRAPPED:
        boot = _bootstrap(verb, rows, study, analysis, group, options) if options.draws else None
        for column in BOOT_COLUMNS:
            frame[f"boot_{column}"] = float("nan") if boot is None else boot.frame[column].to_numpy()
        if boot is not None:
            further = [note for note in boot.notes if note not in estimates.notes]
            resampled = [Note.of("Bootstrap: {note}", note=note) for note in further]
            estimates = replace(estimates, notes=(*estimates.notes, *resampled))
    return name_groups(frame, group), estimates


def _bootstrap(
    verb: Callable[..., Estimates],
    rows: pd.DataFrame,
    study: Study,
    analysis: Analysis,
    group: JudgeGroup,
    options: FitOptions,
) -> conjoint.Bootstrap:
    arguments = arguments_of(study, analysis, group.kind, options)
    for errors in ("id", "vcov"):
        arguments.pop(errors)
    return conjoint.bootstrap(
        verb,
        rows,
        analysis.formula,
        unit=resampled_unit(study, group.kind),
        draws=options.draws or 0,
        seed=options.seed,
        method=options.interval,  # type: ignore[arg-type]
        alpha=options.alpha,
        **arguments,
    )
