"""What `conjury fit` does with a study of labels that has gold: score judges, and write it all down."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.study.models import LINE, ItemStudy
from conjury.inference.tables.columns import as_text, listed

from .fit_conjoint import console, print_place, show_progress
from .rating import Judged, labels_file, read_judged
from .rating_fits import describe_study, draw_figures, print_notes

if TYPE_CHECKING:
    from conjury.analysis.pipeline.labels import BenchmarkOptions
    from conjury.analysis.pipeline.ratings import FittedRatings

FEWEST_VOTES = 3
ANNOTATIONS = "annotations.csv"  # beside the file of a study


@dataclass(frozen=True)
class Gold:
    """Gold labels, where they come from, and what should be known of them."""

    labels: pd.DataFrame
    file: Path | None
    notes: tuple[str, ...] = ()


def fit_benchmark_study(
    study: ItemStudy,
    data: Sequence[Path],
    gold: Path | None,
    readings: Sequence[Path],
    items: Path | None,
    renames: Sequence[str] | None,
    out: Path,
    options: BenchmarkOptions,
) -> None:
    """Run every analysis of a benchmark and write the results folder."""
    from conjury.analysis.pipeline.labels import Answered, fit_benchmark, plan_benchmark
    from conjury.analysis.pipeline.results_folder import ResultsFolder, describe_file, describe_run

    judged = read_judged(data, study=study, items=items, renames=renames)
    others = [read_judged([file], renames=renames).judgments for file in readings]
    found = find_gold(study, judged, gold)
    answered = Answered(
        study,
        judged.judgments,
        found.labels,
        judged.items,
        others,
        responses_of(data),
        annotations_of(study, judged),
    )
    console.print(
        f"{study.title}: {len(judged.judgments):,} judgments, {len(found.labels):,} gold labels, "
        f"{len(plan_benchmark(answered, options))} analyses, {options.draws:,} bootstrap draws each."
    )
    folder = ResultsFolder(out)
    before = folder.origin
    with folder.replaced([*data, *readings, *([gold] if gold else [])]) as draft:
        with show_progress(len(plan_benchmark(answered, options))) as step:
            fitted = fit_benchmark(answered, options, step)
        source = judged.source()
        beside_print(study, judged, fitted, source)
        further = [("labels", found.file, found.labels)] if found.file is not None else []
        further += [("readings", file, table) for file, table in zip(readings, others, strict=True)]
        files = [describe_file(file, len(table), "", len(table), name) for name, file, table in further]
        manifest: dict[str, Any] = {
            **describe_benchmark(study),
            **describe_run(["conjury", *sys.argv[1:]]),
            **source,
            "data": [*source["data"], *files],
            "benchmark": True,
            "results": fitted.records,
            "notes": [*source["notes"], *found.notes, *fitted.notes],
        }
        tables = fitted.tables | beside_truth(judged, fitted)
        draft.write(tables, manifest, kept=judged.kept | {"labels": found.labels})
        for name, result in fitted.results.items():
            console.print(f"  {name}: {len(result.frame):,} rows")
        undrawn = draw_figures(draft.path, fitted.results, manifest)
        draft.write({}, manifest | {"notes": [*manifest["notes"], *undrawn]})
    print_notes([*manifest["notes"], *undrawn], out)
    print_place(out, before)


def beside_print(study: ItemStudy, judged: Judged, fitted: FittedRatings, source: Mapping[str, Any]) -> None:
    """Add what the harm paper printed of judges and people who are not simulated."""
    from conjury.analysis.audit.compare import HARM
    from conjury.analysis.audit.harm_or_humor import compare_harm
    from conjury.analysis.pipeline.saved import record_of

    if study.name != HARM:
        return
    asked = judged.judgments.drop_duplicates("judge_id")
    person = dict(zip(as_text(asked["judge_id"]), as_text(asked["judge_kind"]).eq("human"), strict=True))
    real = [str(name) for name in (source["real_judges"] if source["simulated"] else person)]
    if not real:
        return
    people = any(person.get(name) for name in real)
    results = {name: found for name, found in fitted.results.items() if people or name != "annotators"}
    labels = {name: study.judge_labels[name] for name in real if name in study.judge_labels}
    try:
        found = compare_harm(results, labels)
    except InputError as error:
        fitted.notes.append(f"Printed numbers: left out. {error}")
        return
    fitted.results["beside_print"] = found
    fitted.records.append(record_of("beside_print", "Printed numbers beside ours", found, 0.0))


def beside_truth(judged: Judged, fitted: FittedRatings) -> dict[str, pd.DataFrame]:
    """True values that lie beside simulated judgments, and estimates beside them."""
    from conjury.analysis.recovery.labels import label_recovery

    if judged.truth is None:
        return {}
    made = label_recovery(fitted.results, judged.truth)
    return {"truth": judged.truth} | ({} if made.empty else {"recovery": made})


def describe_benchmark(study: ItemStudy) -> dict[str, Any]:
    """Name a study, its tasks and their labels in words, as manifests do."""
    from conjury.analysis.pipeline.labels import task_in_words

    made = {**describe_study(study), "missing": study.missing}
    tasks = {task: task_in_words(study, task) for task in study.label_sets}
    gold = {level.id: level.label for level in study.gold.levels} if study.gold is not None else {}
    levels = made["labels"]["levels"]
    levels |= {
        task: {label.id: label.label for label in response.labels} | gold
        for task, response in study.label_sets.items()
    }
    levels |= {"task": tasks, "gold": {**{k: v for task in tasks for k, v in levels[task].items()}, **gold}}
    return made


def find_gold(study: ItemStudy, judged: Judged, given: Path | None) -> Gold:
    """Gold labels from the file that is named, else beside the data, of the study, or by most people.

    Those beside the data, NAME.labels.parquet, are of a simulation. The study's labels are taken where they
    are about the judged items; people's votes where there are three and more of them.
    """
    from conjury.inference.readers.labels import majority_labels, notes_of_majority, read_labels

    if given is None and (made := _labels_beside(study, judged)) is not None:
        return made
    file = given or (study.folder / study.gold.file if study.gold is not None else None)
    if file is not None and file.is_file():
        labels = read_labels(file, study)
        known = as_text(labels["item_id"])
        if given is not None or known.isin(_bases(judged)).any():
            return Gold(labels, file, tuple(labels.attrs.get("notes", [])))
    elif given is not None:
        raise InputError(f"There is no file {given}; name the gold labels with --gold.")
    people = judged.judgments[as_text(judged.judgments["judge_kind"]).eq("human").to_numpy(dtype=bool)]
    if people["judge_id"].nunique() < FEWEST_VOTES:
        raise InputError(
            f"{study.name}: there are no gold labels of the judged items; name a table of them with --gold, "
            f"or give judgments of at least {FEWEST_VOTES} people, whose majority counts."
        )
    tasks = [task for task in study.label_sets if task != LINE]
    covers = study.gold.covers if study.gold is not None else None
    votes = pd.concat([majority_labels(people, task, covers=covers) for task in tasks], ignore_index=True)
    notes = [f"Gold labels are those of the majority of {people['judge_id'].nunique():,} people."]
    notes += notes_of_majority(votes)
    return Gold(votes[votes["label"].notna()].reset_index(drop=True), None, tuple(notes))


def _labels_beside(study: ItemStudy, judged: Judged) -> Gold | None:
    """Gold labels that lie beside the data, each once; None where no file of data has any."""
    from conjury.inference.readers.labels import read_labels

    files = [file for data, _ in judged.files if (file := labels_file(data)).is_file()]
    if not files:
        return None
    tables = [read_labels(file, study) for file in files]
    labels = pd.concat(tables, ignore_index=True).drop_duplicates()
    notes = [f"Gold labels are those beside the data, {listed([file.name for file in files])}."]
    told = [note for table in tables for note in table.attrs.get("notes", [])]
    return Gold(labels, files[0], tuple(dict.fromkeys([*notes, *told])))


def responses_of(data: Sequence[Path]) -> pd.DataFrame | None:
    """Raw answers that lie beside judgments as NAME_responses or as responses.parquet; None without."""
    from conjury.inference.tables.files import read_table

    beside = [next((path for path in _beside(file) if path.is_file()), None) for file in dict.fromkeys(data)]
    found = [read_table(path) for path in dict.fromkeys(beside) if path is not None]
    return pd.concat(found, ignore_index=True) if found else None


def annotations_of(study: ItemStudy, judged: Judged) -> pd.DataFrame | None:
    """Annotations that ship with a study, of the judged items; None where there are none."""
    from conjury.inference.readers.judgments import load_judgments

    file = study.folder / ANNOTATIONS
    if not file.is_file():
        return None
    table = load_judgments(file, study=study)
    kept = as_text(table["item_id"]).isin(_bases(judged)).to_numpy(dtype=bool)
    return table[kept] if kept.any() else None


def _beside(file: Path) -> list[Path]:
    stem, dot, ending = file.name.partition(".")
    return [file.with_name(f"{stem}_responses{dot}{ending}"), file.with_name("responses.parquet")]


def _bases(judged: Judged) -> set[str]:
    """Ids of judged items, and of the originals of copies."""
    ids = set(as_text(judged.judgments["item_id"]).dropna())
    for table in (judged.judgments, judged.items):
        if table is not None and "base_item_id" in table:
            ids |= set(as_text(table["base_item_id"]).dropna())
    return {str(name) for name in ids}
