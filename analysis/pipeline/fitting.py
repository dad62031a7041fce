"""Everything that `conjury fit` computes on the data of a study, and results written to a folder."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.study.models import ItemStudy, Study
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.schema import PAIR_KIND

from ..benchmark.data.label_answers import LabelAnswers
from ..frames.analysis_wings import PUBLISHED
from ..frames.participation import people_flow
from ..results import AnalysisStep, Result, steps_of
from .conjoint_steps import plan_conjoint
from .item_steps import LABEL_DRAWS, RATING_DRAWS, plan_labels, plan_ratings, with_gold
from .loading import CHOICES, JUDGMENTS, LoadedStudy
from .manifest import (
    FIT,
    SAMPLERS,
    describe_file,
    describe_labels,
    describe_run,
    describe_study,
    entries_of,
    results_of,
)
from .recovery import effect_recovery, label_recovery, rating_recovery
from .results_folder import FORMAT, ResultsFolder
from .runner import FitOptions, FittedResults, JudgeGroup, NamedResult, StudySteps, fit
from .steps.group_fits import answers, groups
from .steps.participants import participants_table
from .steps.study_text import judges_text
from .steps.task_question_steps import further_plan

Tables = dict[str, pd.DataFrame]
FLOW, PARTICIPANTS = "people_flow", "participants"
OF_INSTRUMENTS = ("option_order", "option_labels", "scale_direction", "parser", "occasion", PAIR_KIND)


@dataclass(frozen=True)
class PlannedFit:
    """A fit that is planned: its data, its steps, and the tables that follow from their results."""

    # `described` is what the manifest states about the study; `groups` are those of choices.

    loaded: LoadedStudy
    plan: StudySteps
    draws: int
    follow: Callable[[FittedResults], Tables]
    described: dict[str, Any]
    groups: Sequence[JudgeGroup] = ()

    def run(self, progress: Callable[[str], None] | None = None) -> tuple[FittedResults, Tables]:
        """Run all steps; return results, and the tables that follow from them."""
        fitted = fit(self.plan, progress)
        return fitted, self.follow(fitted)

    def limited(self, wishes: Sequence[Sequence[str]]) -> PlannedFit:
        """The same plan with some analyses alone: of several names of a wish, those that the data allow."""
        if not wishes:
            return self
        every = [step.name for step in self.plan.steps]
        lacking = next((names[0] for names in wishes if len(names) == 1 and names[0] not in every), None)
        if lacking is not None:
            raise InputError(
                f"--only {lacking}: these data have no analysis of this name{did_you_mean(lacking, every)}; "
                f"they have {listed(every, len(every))}."
            )
        all_names = {name for names in wishes for name in names}
        steps = tuple(step for step in self.plan.steps if step.name in all_names)
        return replace(self, plan=replace(self.plan, steps=steps))


def work_of(
    loaded: LoadedStudy, options: FitOptions, gold: Path | None = None, readings: Sequence[Path] = ()
) -> PlannedFit:
    """Plan the fit of a study: a conjoint, ratings, or labels with gold labels; people are counted last."""
    work = _work_of(loaded, options, gold, readings)
    data = loaded.variants[""] if isinstance(loaded.study, Study) else loaded.judgments
    excluded = loaded.excluded
    people = data if excluded is None or excluded.empty else pd.concat([data, excluded], ignore_index=True)
    flow = people_flow(people, loaded.respondents)
    steps = []
    if flow is not None:
        steps.append(AnalysisStep(FLOW, "People from recruited to analysed", partial(Result, flow, FLOW)))
    section = None if loaded.study is None else loaded.study.panel
    if loaded.respondents is not None and section is not None:
        described = participants_table(loaded.respondents, section)
        if described is not None:
            steps.append(AnalysisStep(PARTICIPANTS, "Participants", partial(Result, described, PARTICIPANTS)))
    return replace(work, plan=replace(work.plan, steps=(*work.plan.steps, *steps)))


def _work_of(
    loaded: LoadedStudy, options: FitOptions, gold: Path | None, readings: Sequence[Path]
) -> PlannedFit:
    study = loaded.study
    if isinstance(study, Study):
        split = list(groups(loaded.variants))
        options = options.with_draws(study.bootstrap.draws)
        plan = plan_conjoint(study, split, options)
        further = further_plan(study, split, loaded.variants[""], options)
        instrument_data = loaded.variants[""] if loaded.asked is None else loaded.asked
        facets = _steps_of_facets(study, instrument_data, options)
        plan = StudySteps((*plan.steps, *further.steps, *facets), (*plan.notes, *further.notes))
        follow = partial(_tables_of_choices, loaded)
        described = describe_study(study, {group.prompt for group in split})
        return PlannedFit(loaded, plan, options.draws or 0, follow, described, split)
    assert isinstance(study, ItemStudy)
    prompts = (
        set(as_text(loaded.judgments["prompt_id"]).dropna()) if "prompt_id" in loaded.judgments else None
    )
    if has_gold(study, gold):
        loaded, answered = with_gold(loaded, gold, readings)
        options = options.with_draws(LABEL_DRAWS)
        plan = plan_labels(answered, options)
        follow = partial(_tables_of_labels, answered, loaded)
        return PlannedFit(loaded, plan, options.draws or 0, follow, describe_labels(study, prompts))
    options = options.with_draws(RATING_DRAWS)
    plan = plan_ratings(study, loaded.judgments, loaded.items, options)
    instrument_data = loaded.judgments if loaded.asked is None else loaded.asked
    plan = replace(plan, steps=(*plan.steps, *_steps_of_facets(study, instrument_data, options)))
    follow = partial(_tables_of_ratings, study, loaded)
    return PlannedFit(loaded, plan, options.draws or 0, follow, describe_study(study, prompts))


def has_facets(data: pd.DataFrame) -> bool:
    """Whether a table has columns of facets, other than prompts and samples, that vary."""
    return any(name in data and data[name].nunique() > 1 for name in OF_INSTRUMENTS)


def _steps_of_facets(
    study: Study | ItemStudy, data: pd.DataFrame, options: FitOptions
) -> Iterator[AnalysisStep]:
    """Analyses of judges as instruments; none, and nothing loaded, where the data have no facets."""
    if has_facets(data):
        yield from steps_of("facets", (study, data), options.drawn)


def has_gold(study: ItemStudy, gold: Path | None) -> bool:
    """Whether the labels of a study are scored against gold labels."""
    return bool(study.label_sets) and (gold is not None or study.gold is not None)


def _published(loaded: LoadedStudy, fitted: FittedResults, answered: LabelAnswers | None = None) -> Tables:
    """Published numbers with ours, of judges that are real; those of labels are added to the results."""
    compare = None if loaded.study is None else PUBLISHED.get(loaded.study.name)
    tables: Tables = {} if compare is None else compare(loaded, fitted, answered)
    return tables


def _tables_of_choices(loaded: LoadedStudy, fitted: FittedResults) -> Tables:
    """Counts of answers, true values with estimates, and published numbers of judges that are real."""
    tables: Tables = {"answers": answers(loaded.variants[""])}
    if loaded.truth is not None:
        recovered = effect_recovery(loaded.truth, fitted.tables)
        tables |= {"truth": loaded.truth} | ({} if recovered.empty else {"recovery": recovered})
    return tables | _published(loaded, fitted)


def _tables_of_ratings(study: ItemStudy, loaded: LoadedStudy, fitted: FittedResults) -> Tables:
    """Published numbers with ours, of raters that are real, and true values with estimates."""
    tables = _published(loaded, fitted)
    if loaded.truth is None:
        return tables
    types = study.assignment.across if study.assignment is not None else "response_type"
    recovered = rating_recovery(fitted.by_name, loaded.truth, types=types)
    return tables | {"truth": loaded.truth} | ({} if recovered.empty else {"recovery": recovered})


def _tables_of_labels(answered: LabelAnswers, loaded: LoadedStudy, fitted: FittedResults) -> Tables:
    """Adds published numbers to the results; returns true values with estimates."""
    _published(loaded, fitted, answered)
    if loaded.truth is None:
        return {}
    recovered = label_recovery(fitted.by_name, loaded.truth)
    return {"truth": loaded.truth} | ({} if recovered.empty else {"recovery": recovered})


Draw = Callable[[Path, str], list[str]]  # draws the results of a part; returns why any were not drawn


@dataclass(frozen=True)
class Addition:
    """A run that adds to a results folder: its part of the manifest, its data, results and tables."""

    # `record` is what the manifest lists of the run besides its data and software.

    part: str
    loaded: LoadedStudy
    fitted: FittedResults
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)
    engines: Iterable[str] = ()


def command() -> list[str]:
    """The command that is running."""
    return ["conjury", *sys.argv[1:]]


def fit_manifest(work: PlannedFit, fitted: FittedResults, engine: str) -> dict[str, Any]:
    """The manifest of a fit: study, software, data, results and notes."""
    source, described = work.loaded.source(), dict(work.described)
    if work.loaded.study is not None:
        judges = judges_text(work.loaded.study, fitted.by_name)
        described["design"] = f"{described['design']} {judges}".strip()
    return {
        "format": FORMAT,
        **described,
        **describe_run(command(), [engine]),
        **source,
        "results": entries_of(fitted.results),
        "notes": list(dict.fromkeys([*source["notes"], *fitted.notes])),
    }


def write_fit(
    draft: ResultsFolder,
    loaded: LoadedStudy,
    tables: Mapping[str, pd.DataFrame],
    manifest: Mapping[str, Any],
) -> None:
    """Write the tables and data of a fit into the draft of a results folder, and its manifest."""
    other_tables = {name: table for name, table in loaded.tables.items() if name.partition(".")[0] != CHOICES}
    draft.write(tables, manifest, loaded.variants, other_tables)


def add_notes(draft: ResultsFolder, notes: list[str], part: str = FIT) -> None:
    """Add notes to the manifest of a draft, or to a part of it."""
    if not notes:
        return
    manifest = draft.manifest
    run = manifest if part == FIT else manifest["parts"][part]
    run["notes"] = [*run["notes"], *notes]
    draft.write({}, manifest)


def add_results(folder: ResultsFolder, added: Addition, draw: Draw) -> None:
    """Add results to a folder as one part of it; draws of models are kept as NetCDF."""
    models: dict[str, Any] = {
        entry.name: entry.result for entry in added.fitted.results if entry.result.has_draws
    }
    run = describe_run(command(), added.engines, further=SAMPLERS if models else ())
    source = added.source or added.loaded.source()
    record = {
        **{name: run[name] for name in ("created", "command", "packages", "r")},
        **source,
        **added.record,
        "notes": [*source["notes"], *added.fitted.notes],
    }
    before = folder.manifest
    base = before or {"format": FORMAT, **_described(added.loaded), **run, **source, "results": []}
    manifest = {
        **base,
        "results": [*base["results"], *entries_of(added.fitted.results, added.part)],
        "parts": {**base.get("parts", {}), added.part: record},
    }
    with folder.extended(added.part) as draft:
        for name, fit in models.items():
            fit.save(draft.path / "models" / f"{name}.nc")
        draft.write({**added.fitted.tables, **added.tables}, manifest, other_tables=_to_keep(folder, added))
        add_notes(draft, draw(draft.path, added.part), added.part)


def _described(loaded: LoadedStudy) -> dict[str, Any]:
    if loaded.study is not None:
        return describe_study(loaded.study)
    judges = {name: name for name in loaded.models} if JUDGMENTS in loaded.tables else {}
    return {"study": "", "title": "Ratings and raters", "labels": {"judges": judges}}


def _to_keep(folder: ResultsFolder, added: Addition) -> dict[str, pd.DataFrame]:
    """Judgments and items, unless another part of the folder has them."""
    if JUDGMENTS not in added.loaded.tables:
        return {}
    part_files = (folder.manifest.get("parts") or {}).get(added.part, {}).get("files", [])
    has_judgments = folder.held(JUDGMENTS) is not None and "data/judgments.parquet" not in part_files
    return {} if has_judgments else added.loaded.tables


def refuse_other_data(folder: ResultsFolder, loaded: LoadedStudy) -> None:
    """Refuse to add results on a file of judgments to a folder that rests on others."""
    # Files are identified by their checksums and numbers of judgments; where rows are selected or columns
    # renamed, the judgments themselves are compared.
    if not folder.manifest or not loaded.files:
        return
    named = {str(file.get("sha256")) for file in folder.manifest.get("data") or []}
    same = named == {str(file["sha256"]) for file in loaded.described()}
    stored_judgments = folder.held(JUDGMENTS)
    alike = stored_judgments is not None and len(stored_judgments) == len(loaded.judgments)
    if alike and stored_judgments is not None and loaded.changed:
        alike = stored_judgments.equals(loaded.judgments)
    if not same or not alike:
        raise InputError(
            f"{folder.path} contains results on other data; give another folder by --results, or omit the "
            "file to use the judgments of this folder."
        )


def unused_result_name(folder: ResultsFolder, base: str, settings: Mapping[str, Any]) -> str:
    """Name of a result that no other of the folder has; one with the same settings is replaced."""
    # A number is added where the fit of the folder, or a run with other settings, has the name.
    recorded = results_of(folder.manifest)
    fit_names = {entry.name for entry in recorded if entry.part == FIT}
    json_settings = json.loads(json.dumps(dict(settings), default=str))
    for number in itertools.count(1):
        name = base if number == 1 else f"{base}_{number}"
        earlier = [entry for entry in recorded if entry.name == name and entry.part != FIT]
        if name not in fit_names and all(entry.settings == json_settings for entry in earlier):
            return name
    raise AssertionError  # the numbers have no end


TABLES_PART = "published_numbers"  # of `conjury check-table`


def write_trial(folder: Path, name: str, result: Result, seconds: float, draw: Draw) -> None:
    """Write tables and figures of a trial; those of other trials, and blocks of draws, stay."""
    named = NamedResult(name, str(result.settings["title"]), result, seconds)
    _write_alone(folder, named, {"study": "trials", "title": "Simulation studies of estimators"}, {}, draw)


def write_checked_tables(
    folder: Path, result: Result, files: Sequence[Path], seconds: float, draw: Draw
) -> None:
    """Write checks of published tables, in place of earlier ones of the folder."""
    named = NamedResult(TABLES_PART, "Published numbers checked against each other", result, seconds)
    rows = result.settings["rows"]
    data = [describe_file(file, rows[file.name], "", rows[file.name], "published table") for file in files]
    described = {"study": "published_tables", "title": "Published tables"}
    _write_alone(folder, named, described, {"data": data}, draw)


def _write_alone(
    folder: Path, named: NamedResult, described: Mapping[str, Any], record: Mapping[str, Any], draw: Draw
) -> None:
    """Write one result as a part of a folder, with its figures."""
    fitted = FittedResults([named])
    run = describe_run(command())
    part = {key: run[key] for key in ("created", "command", "packages", "r")}
    results = ResultsFolder(folder)
    base = results.manifest or {"format": FORMAT, **described, **run, "data": [], "results": []}
    manifest = {
        **base,
        "results": entries_of(fitted.results, named.name),
        "parts": {**base.get("parts", {}), named.name: {**part, **record, "notes": list(named.result.notes)}},
    }
    with results.extended(named.name) as draft:
        draft.write(fitted.tables, manifest)
        add_notes(draft, draw(draft.path, named.name), named.name)
