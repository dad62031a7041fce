"""A study of items: what its judgments are scored with, and its analyses of ratings or labels as steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.readers.judgments import (
    load_judgments,
    majority_labels,
    notes_of_majority,
    read_labels,
    scales_of,
)
from conjury.inference.study.models import LINE, ItemStudy
from conjury.inference.tables.columns import as_text, companion, responses_beside
from conjury.inference.tables.files import read_table

from .. import benchmark
from ..audit.compare import HARM, JOKES, KIND
from ..audit.harm_or_humor import compare_harm
from ..audit.multiturn import READ_BY, compare_multiturn
from ..benchmark.data.answered import LabelAnswers, in_order, missing_in_words
from ..benchmark.data.units import conditions_of
from ..correction.bounds import only_missing
from ..frames.vocabulary import HUMAN
from ..raters.agreement import agreement
from ..raters.descriptive import (
    biases,
    bounds,
    correlations,
    dimension_correlations,
    distributions,
    means,
    rating_lines,
    tier_accuracy,
)
from ..raters.descriptive.means import coverage
from ..raters.reading import read_ratings
from ..raters.replacement import alt_test
from ..raters.replacement.decide import with_curve
from ..raters.scales import dimension_names
from ..results import AnalysisStep, Result, steps_of
from .corrections import label_steps, means_steps
from .loading import LoadedStudy, SourceFile, read_judgments_of
from .run import FitOptions, FittedResults, StudySteps

RATING_DRAWS = 1_000  # of the bootstrap, where no number is given


def plan_ratings(
    study: ItemStudy, judgments: pd.DataFrame, items: pd.DataFrame | None, options: FitOptions
) -> StudySteps:
    """Plan the analyses that a study and its judgments allow, in the order of a report."""
    options, scales = options.with_draws(RATING_DRAWS), scales_of(study)
    names = dimension_names(judgments)  # ratings off the scale are refused before anything is computed
    read = [read_ratings(judgments, dimension=name, scale=scales.get(str(name))) for name in names]
    kinds = set(judgments["judge_kind"].astype(str))
    has_both_kinds = kinds >= {HUMAN, "model"}
    planned = [*_corrected(study, judgments, items, options)]
    planned.append(AnalysisStep("coverage", "Judges, items and ratings", partial(coverage, judgments)))
    if study.response.form == "ratings":
        planned += _descriptive(study, judgments, items, options, has_both_kinds)
        planned += _bounded(study, judgments, items, options) if any(len(r.unanswered) for r in read) else ()
    common: dict[str, Any] = {"items": items, "cluster": study.cluster, **options.drawn}
    call: Callable[[], Result] = partial(agreement, judgments, scale=scales, **common)
    planned.append(AnalysisStep("agreement", "Agreement of people, and of people with each model", call))
    if has_both_kinds:
        call = partial(_replacement, judgments, epsilon=options.epsilon, **common)
        planned.append(AnalysisStep("alt_test", "May a model replace a person of the panel?", call))
    return StudySteps(tuple(planned))


def _corrected(
    study: ItemStudy, judgments: pd.DataFrame, items: pd.DataFrame | None, options: FitOptions
) -> tuple[AnalysisStep, ...]:
    """Ratings or labels among people with the help of models, if asked for."""
    if study.response.form != "ratings":
        return label_steps(study, judgments, items, None, options)
    first, title = _first_stratum(study)
    return means_steps(study, judgments, items, options, title, by=first, scale=_one_scale(study))


def _first_stratum(study: ItemStudy) -> tuple[tuple[str, ...], str]:
    """The first column of strata, if any, and the title of mean ratings by it."""
    first = tuple(stratum.id for stratum in study.strata[:1])
    label = study.feature_labels.get(first[0], "") if first else ""
    return first, f"Mean ratings by {label.lower()}" if label else "Mean ratings"


def _replacement(judgments: pd.DataFrame, **options: Any) -> Result:
    return with_curve(alt_test(judgments, **options))


def _descriptive(
    study: ItemStudy,
    judgments: pd.DataFrame,
    items: pd.DataFrame | None,
    options: FitOptions,
    has_both_kinds: bool,
) -> Iterator[AnalysisStep]:
    """Means, correlations, order of tiers, biases: what ratings on scales allow."""
    strata = [stratum.id for stratum in study.strata]
    scale = _one_scale(study)
    where: dict[str, Any] = {**options.drawn, "cluster": study.cluster, "scale": scale}
    first, title = _first_stratum(study)

    def step(name: str, title: str, compute: Callable[..., Result], **arguments: Any) -> AnalysisStep:
        return AnalysisStep(name, title, partial(compute, judgments, items, **arguments))

    yield step("means", title, means, by=first, **where)
    if len(strata) > 1:
        title = f"{title} and {study.feature_labels[strata[1]].lower()}"
        yield step("means_crossed", title, means, by=(strata[1], strata[0]), **where)
    yield step("distributions", "Distribution of ratings", distributions, scale=scale)
    if has_both_kinds:
        title = "Correlation of each model with people"
        yield step("correlations", title, correlations, by=first, **where)
        yield step("lines", "Ratings by people and by each model", rating_lines, by=first, **where)
    if len(study.scales) > 1:
        title = "Correlations between dimensions"
        yield step("dimension_correlations", title, dimension_correlations, main=study.main, **where)
    if study.tiers is not None and study.cluster is not None:
        tiers = {"levels": study.tiers.levels, "column": study.tiers.column, "within": study.cluster}
        tier_options = {**tiers, "dimension": study.main, "scale": scale, **options.drawn}
        yield step("tiers", "Do ratings recover the order of the tiers?", tier_accuracy, **tier_options)
    if has_both_kinds:
        compared = "How models differ from people"
        yield AnalysisStep("biases", compared, partial(_biases, study, judgments, items, where))


def _bounded(
    study: ItemStudy, judgments: pd.DataFrame, items: pd.DataFrame | None, options: FitOptions
) -> Iterator[AnalysisStep]:
    """What missing ratings may do to the means, of those with missing ratings."""
    where: dict[str, Any] = {**options.drawn, "cluster": study.cluster, "scale": scales_of(study)}
    by = tuple(stratum.id for stratum in study.strata[:1])

    def call() -> Result:
        return only_missing(bounds(judgments, items, by=by, **where), ["dimension", "group"])

    yield AnalysisStep("means_bounds", "Mean ratings: bounds", call)


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
        set_aside={
            part.column: [exclusion.level for exclusion in aside if exclusion.column == part.column]
            for part in aside
        },
        **where,
    )


FEWEST_VOTES = 3


ANNOTATIONS = "annotations.csv"  # in the folder of a study


LABELS = "labels"


@dataclass(frozen=True)
class GoldLabels:
    """Gold labels, the file that they are from, and notes on them."""

    labels: pd.DataFrame
    file: Path | None
    notes: tuple[str, ...] = ()


def with_gold(
    loaded: LoadedStudy, gold: Path | None = None, readings: Sequence[Path] = ()
) -> tuple[LoadedStudy, LabelAnswers]:
    """Join the judgments of a study of labels with gold labels, and with other readings of the answers."""
    study = loaded.study
    assert isinstance(study, ItemStudy)
    reading_tables = [read_judgments_of(None, [file]).judgments for file in readings]
    gold_labels = find_gold(study, loaded, gold)
    data = [source.file for source in loaded.files]
    answered = LabelAnswers(
        study,
        loaded.judgments,
        gold_labels.labels,
        loaded.items,
        reading_tables,
        _responses(data),
        _annotations(study, loaded),
    )
    files = list(loaded.files)
    if gold_labels.file is not None:
        files.append(SourceFile(gold_labels.file, len(gold_labels.labels), len(gold_labels.labels), LABELS))
    files += [
        SourceFile(file, len(table), len(table), "readings")
        for file, table in zip(readings, reading_tables, strict=True)
    ]
    loaded_with_gold = replace(
        loaded,
        tables={**loaded.tables, LABELS: gold_labels.labels},
        files=tuple(files),
        notes=(*loaded.notes, *gold_labels.notes),
    )
    return loaded_with_gold, answered


def find_gold(study: ItemStudy, loaded: LoadedStudy, path: Path | None) -> GoldLabels:
    """Gold labels from the file that is named, else beside the data, of the study, or by most people."""
    # Those beside the data, NAME.labels.parquet, are of a simulation. The study's labels are used where they
    # are about the judged items; people's votes where there are three and more of them.
    if path is None and (beside := _labels_beside(study, loaded)) is not None:
        return beside
    file = path or (study.file(study.gold.file) if study.gold is not None else None)
    if file is not None and file.is_file():
        notes: list[str] = []
        labels = read_labels(file, study, notes)
        if path is not None or as_text(labels["item_id"]).isin(_base_item_ids(loaded)).any():
            return GoldLabels(labels, file, tuple(notes))
    elif path is not None:
        raise InputError(f"There is no file {path}; name the gold labels with --gold.")
    judgments = loaded.judgments
    people = judgments[as_text(judgments["judge_kind"]).eq("human").to_numpy(dtype=bool)]
    if people["judge_id"].nunique() < FEWEST_VOTES:
        raise InputError(
            f"{study.name}: there are no gold labels of the judged items; name a table of them with --gold, "
            f"or give judgments of at least {FEWEST_VOTES} people, whose majority counts."
        )
    covers = study.gold.covers if study.gold is not None else None
    tasks = [task for task in study.label_sets if task != LINE]
    votes = pd.concat([majority_labels(people, task, covers=covers) for task in tasks], ignore_index=True)
    first = f"Gold labels are those of the majority of {people['judge_id'].nunique():,} people."
    labels = votes[votes["label"].notna()].reset_index(drop=True)
    return GoldLabels(labels, None, (first, *notes_of_majority(votes)))


def _labels_beside(study: ItemStudy, loaded: LoadedStudy) -> GoldLabels | None:
    """Gold labels beside the data, each once; None where no file of data has any."""
    files = [file for source in loaded.files if (file := companion(source.file, LABELS)).is_file()]
    if not files:
        return None
    notes = [f"Gold labels are from the files next to the data, {listed([file.name for file in files])}."]
    tables = [read_labels(file, study, notes) for file in files]
    labels = pd.concat(tables, ignore_index=True).drop_duplicates()
    return GoldLabels(labels, files[0], tuple(dict.fromkeys(notes)))


def _responses(data: Sequence[Path]) -> pd.DataFrame | None:
    """Raw answers beside judgments, in NAME_responses or in responses.parquet; None without."""
    beside = [responses_beside(file) for file in data]
    tables = [read_table(path) for path in dict.fromkeys(beside) if path is not None]
    return pd.concat(tables, ignore_index=True) if tables else None


def _annotations(study: ItemStudy, loaded: LoadedStudy) -> pd.DataFrame | None:
    """Annotations that ship with a study, of the judged items; None where there are none."""
    file = study.file(ANNOTATIONS)
    if not file.is_file():
        return None
    table = load_judgments(file, study=study)
    mask = as_text(table["item_id"]).isin(_base_item_ids(loaded)).to_numpy(dtype=bool)
    return table[mask] if mask.any() else None


def _base_item_ids(loaded: LoadedStudy) -> set[str]:
    """Ids of judged items, and of the originals of copies."""
    ids = set(as_text(loaded.judgments["item_id"]).dropna())
    for table in (loaded.judgments, loaded.items):
        if table is not None and "base_item_id" in table:
            ids |= set(as_text(table["base_item_id"]).dropna())
    return {str(name) for name in ids}


LABEL_DRAWS = 2_000  # of the bootstrap, where no number is given


def plan_labels(answered: LabelAnswers, options: FitOptions) -> StudySteps:
    """Plan every registered analysis that a study and its judgments allow, in the order of a report."""
    corrected: tuple[AnalysisStep, ...] = ()
    if options.correct is not None:
        if not answered.is_scored:
            raise InputError(
                "--correct ppi needs labels of the study, and these judgments are the strings of a published "
                "evaluation; omit it."
            )
        data = (answered.judgments, answered.items, answered.labels)
        corrected = label_steps(answered.study, *data, options)
    draw_options = options.with_draws(LABEL_DRAWS).drawn
    if answered.items is not None and answered.study.cluster in answered.items:
        draw_options |= {"cluster": answered.study.cluster}
    steps = list(steps_of(benchmark, answered, draw_options))
    published = by_published_rules(answered)
    if published and answered.study.name == JOKES:
        call = partial(compare_multiturn, published, answered.labels, answered.items)
        steps.append(AnalysisStep(KIND, "Published and recomputed numbers", call))
    ordered = [replace(step, call=partial(_ordered, step, answered)) for step in steps]
    return StudySteps((*corrected, *ordered), tuple(_notes(answered)))


def _ordered(step: AnalysisStep, answered: LabelAnswers) -> Result:
    return in_order(step.call(), answered.study)


def _notes(answered: LabelAnswers) -> list[str]:
    notes = []
    if len(answered.of_models) < len(answered.judgments):
        notes.append("Only models are scored, since gold labels are the votes of people.")
    if policy := missing_in_words(answered.study):
        notes.append(policy)
    if unused := answered.other_rules[1:]:
        notes.append(f"Answers parsed by {listed(unused)} are not compared.")
    return notes + list(answered.scored.notes) if answered.is_scored else notes


def by_published_rules(answered: LabelAnswers) -> dict[str, pd.DataFrame]:
    """Judgments that are the strings of a published evaluation, by its rules, with their condition."""
    rules = {rule: name for name, rule in READ_BY.items()}
    return {
        rules[rule]: table.assign(condition=conditions_of(table, answered.items))
        for rule, table in answered.by_rule.items()
        if rule in rules
    }


def add_printed_numbers(answered: LabelAnswers, fitted: FittedResults, source: Mapping[str, Any]) -> None:
    """Add the printed numbers of the harm paper on judges and people that are not simulated."""
    # Notes on printed numbers are about the whole fit.
    study = answered.study
    fitted.notes += [n for entry in fitted.results if entry.name == KIND for n in entry.result.notes]
    if study.name != HARM:
        return
    judges = answered.judgments.drop_duplicates("judge_id")
    person = dict(zip(as_text(judges["judge_id"]), as_text(judges["judge_kind"]).eq("human"), strict=True))
    real = [str(name) for name in (source["real_judges"] if source["simulated"] else person)]
    if not real:
        return
    people = any(person.get(name) for name in real)
    results = {name: result for name, result in fitted.by_name.items() if people or name != "annotators"}
    labels = {name: study.judge_labels[name] for name in real if name in study.judge_labels}
    try:
        printed = compare_harm(results, labels)
    except InputError as error:
        fitted.notes.append(f"Published numbers: not compared. {error}")
        return
    fitted.add(KIND, "Published and recomputed numbers", printed)
