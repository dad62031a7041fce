"""A study of items: what its judgments are scored with, and its analyses of ratings or labels as steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.readers.judged.gold_labels import majority_labels, notes_of_majority, read_labels
from conjury.inference.readers.judgments import load_judgments
from conjury.inference.study.models import LINE, ItemStudy
from conjury.inference.tables.columns import as_text, companion, responses_beside
from conjury.inference.tables.files import read_table

from ..benchmark.data.label_answers import LabelAnswers, in_order, missing_in_words
from ..frames.notes import Note
from ..raters.rated_study import RatedStudy
from ..results import AnalysisStep, Result, steps_of
from .correction_steps import label_steps, means_steps
from .loading import LoadedStudy, SourceFile
from .runner import FitOptions, StudySteps

RATING_DRAWS = 1_000  # of the bootstrap, where no number is given


def plan_ratings(
    study: ItemStudy, judgments: pd.DataFrame, items: pd.DataFrame | None, options: FitOptions
) -> StudySteps:
    """Plan every registered analysis that a study and its judgments allow, in the order of a report."""
    rated = RatedStudy(study, judgments, items, options.epsilon)
    _ = rated.ratings  # ratings off the scale are refused before anything is computed
    draw_options = options.with_draws(RATING_DRAWS).drawn
    if rated.has_scales:
        settings = {"by": rated.strata[:1], "scale": rated.common_scale}
        corrected = means_steps(study, judgments, items, options, rated.title_of_means, **settings)
    else:
        corrected = label_steps(study, judgments, items, None, options)
    # `raters` itself imports the agreement
    return StudySteps((*corrected, *steps_of("raters", rated, draw_options)))


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
    notes: list[str] = []
    reading_tables = [load_judgments(file, study=study, notes=notes) for file in readings]
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
        notes=(*loaded.notes, *dict.fromkeys(notes), *gold_labels.notes),
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
    ids = set(as_text(loaded.judgments["item_id"]).dropna().unique())
    for table in (loaded.judgments, loaded.items):
        if table is not None and "base_item_id" in table:
            ids |= set(as_text(table["base_item_id"]).dropna().unique())
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
    steps = steps_of("benchmark", answered, draw_options)
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
        notes.append(Note.of("Answers parsed by {columns} are not compared.", columns=unused))
    return notes + list(answered.scored.notes) if answered.is_scored else notes
