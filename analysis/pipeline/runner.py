"""The one runner of all analyses: steps in order, timed, with what cannot be computed as a note."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError, unknown_name
from conjury.inference.study.study_yaml import RESERVED_TABLES

from ..conjoint.engines.solution import ENGINES
from ..conjoint.estimates import Estimates
from ..conjoint.request import VCOVS, is_independent
from ..correction.correction_methods import CovariateAdjustment, PredictThenDebias
from ..frames.kinds import kind_of
from ..frames.notes import Note, note_of
from ..frames.participation import sample_sizes
from ..frames.vocabulary import HUMAN
from ..numerics.intervals import METHODS, check_alpha, check_draws
from ..results import AnalysisStep, Result

if TYPE_CHECKING:
    from conjury.inference.study.models import ItemStudy, Study
    from conjury.inference.study.study_fields import Analysis

BOOTSTRAPPED = ("amce", "mm", "amce_diffs", "mm_diffs")
COUNTS = ("cj_freqs", "cj_props")
UNWEIGHTED = (*COUNTS, "cj_anova")  # the design as it was shown, and a test that knows no weights


@dataclass(frozen=True)
class JudgeGroup:
    """The choices of one judge under one prompt in one variant of the data."""

    variant: str
    judge: str
    prompt: str
    kind: str
    choices: pd.DataFrame
    repeats: int = 0  # rows of swapped repeats, which are not among the choices

    @property
    def name(self) -> str:
        """Judge, prompt and variant, as far as they have names."""
        return str(self.who)

    @property
    def who(self) -> Note:
        """Judge, prompt and variant as a part of a note."""
        return self.note("")

    def note(self, text: str, result: str = "") -> Note:
        """A note about the answers of the group, in a result."""
        note = note_of(text)
        return replace(note, result=result, judge=self.judge, prompt=self.prompt, condition=self.variant)


def name_groups(frame: pd.DataFrame, group: JudgeGroup) -> pd.DataFrame:
    """A copy of a table that begins with the judge, prompt and variant of a group."""
    named = frame.copy()
    for position, name in enumerate(("judge", "prompt", "variant")):
        named.insert(position, name, getattr(group, name))
    return named


def resampled_unit(study: Study, kind: str) -> str:
    """Name the column whose values the bootstrap draws, for one kind of judge."""
    return study.clusters.of(kind)[0] if kind == "human" else study.bootstrap.unit


def settings_of(
    study: Study, analysis: Analysis, estimated: Sequence[tuple[JudgeGroup, Estimates]], options: FitOptions
) -> dict[str, Any]:
    """Settings of an analysis of one or more groups, and the ``groups`` themselves."""
    # `n_clusters` is missing where groups differ in it; counts and tests have no clusters.
    counting, bootstrapped = analysis.verb in COUNTS, analysis.verb in BOOTSTRAPPED and bool(options.draws)
    runs = [estimates.provenance for _, estimates in estimated]
    clusters = dict.fromkeys(run.id for run in runs if run.id and not counting)
    units = dict.fromkeys(resampled_unit(study, group.kind) for group, _ in estimated)
    counts = {None if counting else run.n_clusters for run in runs}
    return {
        "verb": analysis.verb,
        "formula": analysis.formula,
        "feature": analysis.features[0],
        "by": analysis.by,
        "traits": traits_of(study, analysis),
        "exclude": analysis.exclude,
        "h0": None if counting else runs[0].null,
        "family": None if counting else runs[0].family,
        "weights": next((run.weights for run in runs if run.weights), None),
        "id": " or ".join(clusters) or None,
        "vcov": None if counting else runs[0].vcov,
        "engine": runs[0].engine,
        "alpha": options.alpha,
        "adjusted": "holm" if kind_of(analysis.verb).family else None,
        "interval": options.interval if bootstrapped else "normal",
        "intervals": study.intervals.model_dump() if bootstrapped else None,
        "draws": options.draws if bootstrapped else None,
        "seed": options.seed if bootstrapped else None,
        "unit": " or ".join(units) if bootstrapped else None,
        "n_rows": sum(run.n_rows for run in runs),
        "n_used": sum(run.n_used for run in runs),
        "n_dropped": sum(run.n_rows - run.n_used for run in runs),
        "n_clusters": counts.pop() if len(counts) == 1 else None,
        "repeats_left_out": sum(group.repeats for group, _ in estimated),
        "groups": [
            {
                "judge": group.judge,
                "kind": group.kind,
                "prompt": group.prompt,
                "variant": group.variant,
                "n_rows": estimates.provenance.n_rows,
                "n_used": estimates.provenance.n_used,
                "n_clusters": None if counting else estimates.provenance.n_clusters,
                "id": None if counting else estimates.provenance.id,
                "unit": resampled_unit(study, group.kind) if bootstrapped else None,
                "repeats_left_out": group.repeats,
                **_sample(study, analysis, group, estimates),
            }
            for group, estimates in estimated
        ],
    }


def _sample(study: Study, analysis: Analysis, group: JudgeGroup, estimates: Estimates) -> dict[str, Any]:
    """Choices and respondents of a group, and of weighted ones the column and its design effect."""
    weights = estimates.provenance.weights
    rows = analysis.select(group.choices)
    traits = traits_of(study, analysis)
    rows = rows.dropna(subset=[name for name in traits if name in rows])
    sizes = asdict(sample_sizes(rows, study.outcome, group.kind, weights)) | {
        "n_used": estimates.provenance.n_used
    }
    if traits:
        sizes["subgroups"] = [
            {"levels": dict(zip(traits, map(str, key), strict=True))}
            | asdict(sample_sizes(part, study.outcome, group.kind, weights))
            for key, part in rows.groupby(traits, observed=True)
        ]
    if weights is None:
        return sizes
    return {**sizes, "weights": weights, "design_effect": estimates.provenance.extra.get("design_effect")}


PART = "__"  # between the name of a result and that of a further table of it


@dataclass(frozen=True)
class FitOptions:
    """How to fit, for all kinds of studies; what a kind of study has no use for stays at its default."""

    # `draws` of None are the study's, 0 is no bootstrap; `epsilon` is people's advantage over a model that
    # may replace them.

    alpha: float = 0.05
    draws: int | None = None
    seed: int = 1
    engine: str = "native"
    id: tuple[str, ...] = ()
    vcov: str | None = None
    interval: str = "percentile"
    epsilon: float = 0.1
    correct: PredictThenDebias | CovariateAdjustment | None = None

    def __post_init__(self) -> None:
        """Refuse what nothing could be fitted with, before any work is done."""
        check_alpha(self.alpha)
        if self.engine not in ENGINES:
            raise unknown_name("engine", self.engine, ENGINES)
        if self.engine == "bayes":
            raise InputError(
                "The engine bayes takes minutes per fit and fits one judge at a time, so it is not available "
                "for all analyses of a study; use amce(..., engine='bayes') or choice_model in Python."
            )
        if self.vcov is not None and self.vcov not in VCOVS:
            raise unknown_name("vcov", self.vcov, VCOVS)
        if self.interval not in METHODS:
            raise unknown_name("interval", self.interval, METHODS)
        check_draws(self.draws or 0, self.seed)
        if self.vcov is not None:
            self.check_clusters(self.vcov)
        if self.correct is not None and self.engine != "native":
            raise InputError(
                f"The engine {self.engine} does not support corrections by models; omit the engine or the "
                "correction."
            )

    def check_clusters(self, convention: str) -> None:
        """Refuse clusters (``id``) with standard errors of independent rows, which would not use them."""
        if self.id and is_independent(convention):
            raise InputError(
                f"vcov {convention} treats rows as independent, so the clusters by {', '.join(self.id)} (id) "
                "are not used; omit id, or choose survey, CV3 or one of CR0 to CR2."
            )

    def with_draws(self, usual: int) -> FitOptions:
        """The same options, with the usual number of draws where none is given."""
        return self if self.draws is not None else replace(self, draws=usual)

    @property
    def drawn(self) -> dict[str, Any]:
        """Confidence, draws and seed, as analyses of ratings and labels take them."""
        return {"alpha": self.alpha, "draws": self.draws, "seed": self.seed}


@dataclass(frozen=True)
class NamedResult:
    """A result with its name in the results folder, its title and the time that it took."""

    name: str
    title: str
    result: Result
    seconds: float = 0.0


@dataclass(frozen=True)
class StudySteps:
    """The steps of a study in the order of a report, and what is known before they run."""

    steps: tuple[AnalysisStep, ...]
    notes: tuple[str, ...] = ()


@dataclass
class FittedResults:
    """Results in the order of a report, and notes that are about no single one of them."""

    results: list[NamedResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def by_name(self) -> dict[str, Result]:
        """The results by name."""
        return {named.name: named.result for named in self.results}

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables, as a results folder names them."""
        return {name: table for entry in self.results for name, table in tables_of(entry).items()}

    @property
    def all_notes(self) -> list[str]:
        """All notes, each once: those about no single result come first."""
        return list(dict.fromkeys([*self.notes, *(n for entry in self.results for n in entry.result.notes)]))

    def add(self, name: str, title: str, result: Result) -> None:
        """Add a result that follows from others."""
        self.results.append(NamedResult(name, title, result))


def tables_of(named: NamedResult) -> dict[str, pd.DataFrame]:
    """Tables of a result, as a results folder names them: NAME, and NAME__PART for further ones."""
    further = {f"{named.name}{PART}{part}": table for part, table in named.result.further_tables.items()}
    return {named.name: named.result.frame} | further


def fit(plan: StudySteps, progress: Callable[[str], None] | None = None) -> FittedResults:
    """Run a plan; its notes come first."""
    fitted = run(plan.steps, progress)
    fitted.notes = [*plan.notes, *fitted.notes]
    return fitted


def run(steps: Iterable[AnalysisStep], progress: Callable[[str], None] | None = None) -> FittedResults:
    """Run steps in order; one that the data do not allow is excluded, and a note gives the reason."""
    fitted = FittedResults()
    for step in steps:
        if progress is not None:
            progress(step.title)
        start = time.perf_counter()
        try:
            result = step.call()
        except InputError as error:
            if step.required:
                raise
            fitted.notes.append(f"{step.title}: not computed. {error}")
            continue
        fitted.results.append(NamedResult(step.name, step.title, result, time.perf_counter() - start))
    return fitted


def traits_of(study: Study, analysis: Analysis) -> list[str]:
    """Columns of respondents by which an analysis compares."""
    return [name for name in analysis.by if name in study.group_columns]


def is_grouped(analysis: Analysis) -> bool:
    """Whether effects or means are estimated in each group, by `cj`."""
    return bool(analysis.by) and analysis.verb in ("amce", "mm")


def arguments_of(study: Study, analysis: Analysis, kind: str, options: FitOptions) -> dict[str, Any]:
    """What a verb is called with besides rows and formula: clusters, standard errors, groups, null value."""
    arguments: dict[str, Any] = {}
    vcov = options.vcov or study.clusters.vcov
    if analysis.verb not in COUNTS:
        arguments["id"] = None if is_independent(vcov) else list(options.id or study.clusters.of(kind))
        if analysis.verb != "cj_anova":
            arguments["vcov"] = vcov
    if study.weights is not None and kind == HUMAN and analysis.verb not in UNWEIGHTED:
        arguments["weights"] = study.weights
    if analysis.by:
        arguments["by"] = analysis.by[0] if len(analysis.by) == 1 else analysis.by
    if analysis.verb == "mm":
        arguments["h0"] = analysis.h0
    if is_grouped(analysis):
        arguments["estimate"] = analysis.verb
    if analysis.comparisons:
        arguments["comparisons"] = analysis.comparisons
    return arguments


def unused_name(study: Study | ItemStudy, name: str) -> str:
    """A name for a result that no analysis of the study and no other table has."""
    names = {*RESERVED_TABLES, *(part.name for part in getattr(study, "analyses", ()))}
    while name in names:
        name += "_2"
    return name
