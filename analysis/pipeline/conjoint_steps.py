"""A conjoint study's analyses as steps: one per analysis, and the comparisons of models with people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import judge_of
from conjury.inference.study.study_fields import Analysis
from conjury.inference.tables.schema import PROBABILITY

from .. import conjoint
from ..conjoint.comparisons.multiplicity import adjust
from ..conjoint.estimates import Estimates
from ..conjoint.prediction_powered import PredictionPowered
from ..conjoint.preferences.by_formula import PREFERENCES
from ..conjoint.request import is_independent
from ..conjoint.verbs.people_diffs import PairCounts, people_diffs
from ..correction.correction_methods import PredictThenDebias
from ..correction.sources import AT_MOST_HALF
from ..frames.cells import is_repeat
from ..frames.notes import EXCLUSION, Note, excluding, noted_warnings
from ..frames.participation import sample_sizes
from ..frames.vocabulary import HUMAN
from ..results import AnalysisStep, Result, stack
from .correction_steps import check_sources, title_of
from .runner import (
    BOOTSTRAPPED,
    COUNTS,
    FitOptions,
    JudgeGroup,
    StudySteps,
    arguments_of,
    is_grouped,
    name_groups,
    resampled_unit,
    settings_of,
    traits_of,
    unused_name,
)
from .steps.bounds_steps import bounds_steps

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


def plan_conjoint(study: Study, split: Sequence[JudgeGroup], options: FitOptions) -> StudySteps:
    """Plan every analysis of a study for the groups of its choices."""
    options = options.with_draws(study.bootstrap.draws)
    options.check_clusters(options.vcov or study.clusters.vcov)
    answered = [group for group in split if group.choices[study.outcome].notna().any()]
    silent = [group.who for group in split if group.choices[study.outcome].isna().all()]
    quantity = "probability" if study.outcome == PROBABILITY else "choice"
    without = "{groups}: excluded, since no answer has a {quantity}."
    notes = [excluding(without, groups=silent, quantity=quantity)] if silent else []
    if not answered:
        raise InputError(
            f"No judge has an answer in column {study.outcome!r} outside of repeated tasks; "
            "check that column and the statuses, or choose another refusal policy."
        )
    steps = [
        AnalysisStep(
            part.name,
            part.title,
            partial(_fit_all, study, part, answered, options),
            required=part.verb not in PREFERENCES,
        )
        for part in study.analyses
        if not part.crosses_groups
    ]
    prompts = prompt_steps(study, answered, options)
    compared = people_steps(study, answered, options)
    corrected = correction_steps(study, split, options)
    bounded = bounds_steps(study, split, options)
    every_step = (*corrected, *steps, *prompts.steps, *compared.steps, *bounded)
    return StudySteps(every_step, (*notes, *prompts.notes, *compared.notes))


def _fit_all(study: Study, analysis: Analysis, split: Sequence[JudgeGroup], options: FitOptions) -> Result:
    """Run one analysis on all groups; those that it cannot use are noted, with the reason."""
    traits = traits_of(study, analysis)
    complete = [group for group in split if _has_values(group.choices, traits)]
    if not complete:
        raise InputError(
            f"Analysis {analysis.name!r} compares by {' and '.join(map(repr, traits))}, and no judge has "
            "values there; add the column to the choices of people, or correct its name in the study file."
        )
    fitted = _estimate_each(complete, analysis, lambda group: fit_group(study, analysis, group, options))
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
class _EachGroup:
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


def _estimate_each(
    split: Sequence[JudgeGroup],
    analysis: Analysis,
    estimate: Callable[[JudgeGroup], tuple[pd.DataFrame, Estimates]],
) -> _EachGroup:
    each = _EachGroup(analysis.name)
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


_CORRECTED = ("amce", "mm", "amce_diffs", "mm_diffs")


def correction_steps(
    study: Study, split: Sequence[JudgeGroup], options: FitOptions
) -> tuple[AnalysisStep, ...]:
    """Plan the estimates among people with the help of models, for every analysis that has them."""
    # The first of them is required, since what the data lack for one they most often lack for all.
    if options.correct is None:
        return ()
    vcov = options.vcov or study.clusters.vcov
    if is_independent(vcov):
        raise InputError(
            f"vcov {vcov} treats rows as independent, but a correction by models needs clusters of people; "
            "choose survey, CV3 or one of CR0 to CR2."
        )
    choices = pd.concat([group.choices for group in split if not group.variant])
    remedy = "add them with --data, or include them with --judge"
    check_sources(choices, options.correct, "choices", remedy)
    parts = [
        part
        for part in study.analyses
        if part.verb in _CORRECTED
        and not part.crosses_groups
        and not is_grouped(part)
        and not traits_of(study, part)  # models have none
    ]
    if not parts:
        raise InputError(
            f"The study {study.name} has no analysis for which a correction by models is defined "
            f"({', '.join(_CORRECTED)}); add one to the study file."
        )
    repeats = sum(group.repeats for group in split if group.kind == HUMAN and not group.variant)
    return tuple(
        AnalysisStep(
            unused_name(study, f"{part.name}_corrected"),
            title_of(part.title),
            partial(_correct, study, part, choices, repeats, options),
            required=part is parts[0],
        )
        for part in parts
    )


def _correct(
    study: Study, analysis: Analysis, choices: pd.DataFrame, repeats: int, options: FitOptions
) -> Result:
    """Run one analysis on people's answers with the help of models; ``repeats`` of people are excluded."""
    method = options.correct
    if isinstance(method, PredictThenDebias):
        method = replace(method, seed=options.seed)
    rows = analysis.select(choices)
    verb: Callable[..., PredictionPowered] = getattr(conjoint, analysis.verb)
    with noted_warnings() as warned:
        result = verb(
            rows,
            analysis.formula,
            **arguments_of(study, analysis, HUMAN, options),
            alpha=options.alpha,
            correct=method,
        )
    provenance = result.provenance.extra
    people = JudgeGroup("", ", ".join(provenance["human"]), "", HUMAN, rows, repeats)
    settings = settings_of(study, analysis, [(people, result)], replace(options, draws=0))
    notes: list[str] = [replace(warning, result=analysis.name) for warning in warned]
    notes += [
        note if note == AT_MOST_HALF else Note("corrected: {note}", {"note": note}, analysis.name)
        for note in result.notes
        if note not in warned
    ]
    return Result(result.frame, result.kind, tuple(notes), settings | provenance, result.extra)


def prompt_analyses(study: Study) -> list[Analysis]:
    """Comparisons of prompts: those of the study, or one that every study gets."""
    compared = [part for part in study.analyses if part.compares_prompts]
    first = next((part for part in study.analyses if part.verb == "amce" and not part.by), None)
    if compared or first is None:
        return compared
    changed = {
        "name": unused_name(study, "amce_prompts"),
        "verb": "amce_diffs",
        "title": f"{first.title}: differences between prompts",
        "by": ["prompt_id"],
    }
    return [first.model_copy(update=changed)]


def prompt_steps(study: Study, split: Sequence[JudgeGroup], options: FitOptions) -> StudySteps:
    """Plan how far the effects of each judge under one prompt are from those under its first."""
    order = {prompt.id: place for place, prompt in enumerate(study.prompts)}
    by_judge: dict[tuple[str, str], list[JudgeGroup]] = {}
    for group in split:
        if group.kind != HUMAN:
            by_judge.setdefault((group.variant, group.judge), []).append(group)
    several = []
    for (variant, judge), parts in by_judge.items():
        parts.sort(key=lambda group: order.get(group.prompt, len(order)))
        choices = pd.concat([group.choices for group in parts])
        names = pd.CategoricalDtype(list(dict.fromkeys(group.prompt for group in parts)))
        choices = choices.assign(prompt_id=choices["prompt_id"].astype("string").astype(names))
        if len(parts) > 1:
            repeats = sum(group.repeats for group in parts)
            several.append(JudgeGroup(variant, judge, "", parts[0].kind, choices, repeats))
    if not several:
        text = "{result}: excluded, since choices of a model under several prompts are needed."
        parts_of_study = (part for part in study.analyses if part.compares_prompts)
        return StudySteps((), tuple(excluding(text, result=part.name) for part in parts_of_study))
    steps = [
        AnalysisStep(part.name, part.title, partial(_compare_prompts, study, part, several, options))
        for part in prompt_analyses(study)
    ]
    return StudySteps(tuple(steps))


def _compare_prompts(
    study: Study, analysis: Analysis, several: Sequence[JudgeGroup], options: FitOptions
) -> Result:
    """Each prompt of each judge minus its first; the column ``prompt`` has the one that is compared."""
    result = _fit_all(study, analysis, several, replace(options, draws=0))
    frame = result.frame.drop(columns=["by", "prompt_id", *(f"boot_{name}" for name in BOOT_COLUMNS)])
    frame["prompt"] = result.frame["prompt_id"].astype("string")
    against = dict.fromkeys(str(group.choices["prompt_id"].cat.categories[0]) for group in several)
    settings = {**result.settings, "by": [], "against": " or ".join(against), "adjusted": "holm"}
    return Result(frame, "prompt_diffs", result.notes, settings, result.extra)


POOLED = "The panels {judges} are pooled as one group of people for the comparison with models."
_DEFAULTS = {"amce": "amce_diffs", "mm": "mm_diffs"}


def people_analyses(study: Study) -> list[Analysis]:
    """Comparisons of models with people: those of the study, and those that every study gets."""
    # Unless the study has its own, these are one of effects and one of means, about the formula of its first
    # analysis of either that excludes no level, and of effects one more for whatever the study asks besides.
    compared = [analysis for analysis in study.analyses if analysis.compares_people]
    verbs = {part.verb for part in compared if len(part.by) == 1}
    for verb, difference in _DEFAULTS.items():
        candidates = sorted(
            (part for part in study.analyses if part.verb == verb and not part.by),
            key=lambda part: bool(part.exclude),
        )
        if not candidates or difference in verbs:
            continue
        asked_of = [[part for part in candidates if name in part.features] for name in study.focus]
        further = [parts[0] for parts in asked_of if parts] if verb == "amce" else []
        for part in {part.name: part for part in (candidates[0], *further)}.values():
            name = unused_name(study, f"{verb if part is candidates[0] else part.name}_people")
            changed = {"name": name, "verb": difference, "title": f"{part.title}: models minus people"}
            compared.append(part.model_copy(update={**changed, "by": ["judge_id"], "h0": None}))
    return compared


def people_steps(study: Study, split: Sequence[JudgeGroup], options: FitOptions) -> StudySteps:
    """Plan what each model minus people comes to, under each prompt in each variant."""
    humans = [group for group in split if group.kind == "human"]
    people = {
        variant: pd.concat([group.choices for group in humans if group.variant == variant])
        for variant in dict.fromkeys(group.variant for group in humans)
    }
    models = [group for group in split if group.kind != "human" and group.variant in people]
    if not models:
        notes = [
            excluding(
                "{result}: excluded, since choices of both people and models are needed.",
                result=analysis.name,
            )
            for analysis in study.analyses
            if analysis.compares_people
        ]
        return StudySteps((), tuple(notes))
    panels = list(dict.fromkeys(group.judge for group in humans))
    notes = [Note.of(POOLED, judges=panels)] if len(panels) > 1 else []
    steps = [
        AnalysisStep(part.name, part.title, partial(_compare_all, study, part, people, models, options))
        for part in people_analyses(study)
    ]
    return StudySteps(tuple(steps), tuple(notes))


def _compare_all(
    study: Study,
    analysis: Analysis,
    people: Mapping[str, pd.DataFrame],
    models: Sequence[JudgeGroup],
    options: FitOptions,
) -> Result:
    """Compare every model with the people of its variant; those that cannot be compared are noted."""
    compared = _estimate_each(
        models, analysis, lambda group: _compare(study, analysis, people[group.variant], group, options)
    )
    if not compared.estimated:
        raise InputError(" ".join(compared.refused))
    settings = _settings(study, analysis, people, compared.estimated, options)
    kind = "people_by" if analysis.by[1:] else "people"
    return Result(stack(compared.frames), kind, compared.notes, settings)


def _compare(
    study: Study, analysis: Analysis, people: pd.DataFrame, group: JudgeGroup, options: FitOptions
) -> tuple[pd.DataFrame, Estimates]:
    estimates = people_diffs(
        analysis.select(pd.concat([people, group.choices])),
        analysis.formula,
        estimate="amce" if analysis.verb == "amce_diffs" else "mm",
        human=options.id or study.clusters.of("human"),
        model=options.id or study.clusters.of("model"),
        profile=[attribute.id for attribute in study.attributes],
        engine=options.engine,
        vcov=options.vcov or study.clusters.vcov,  # type: ignore[arg-type]
        alpha=options.alpha,
        weights=study.weights,
        by=next(iter(analysis.by[1:]), None),
    )
    return name_groups(estimates.frame, group), estimates


def _settings(
    study: Study,
    analysis: Analysis,
    people: Mapping[str, pd.DataFrame],
    compared: Sequence[tuple[JudgeGroup, Estimates]],
    options: FitOptions,
) -> dict[str, Any]:
    """Settings of a comparison; rows of people count in every group, whose sides have their own sizes."""
    settings = settings_of(study, analysis, compared, replace(options, draws=0))

    def sizes(rows: pd.DataFrame, kind: str) -> dict[str, Any]:
        return asdict(sample_sizes(analysis.select(rows), study.outcome, kind, study.weights))

    of_people = {
        variant: sizes(people[variant], HUMAN) for variant in {group.variant for group, _ in compared}
    }
    for entry, (group, estimates) in zip(settings["groups"], compared, strict=True):
        counts: PairCounts = estimates.provenance.extra["pairs"]
        entry["pairs"] = asdict(counts)
        entry |= {"people": of_people[group.variant], "model": sizes(group.choices, group.kind)}
    kinds = () if is_independent(options.vcov or study.clusters.vcov) else ("human", "model")
    clusters = {kind: list(options.id or study.clusters.of(kind)) for kind in kinds}
    return settings | {"against": "people", "adjusted": "holm", "clusters": clusters}
