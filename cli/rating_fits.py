"""What the commands about ratings do: fit, model, test, and write it all to a results folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import ConjuryError, InputError
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from .commands import console, print_place, show_progress
from .rating import Judged, read_judged, read_results

if TYPE_CHECKING:
    from conjury.analysis.pipeline.ratings import RatingOptions
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.results import Result

NOTES = 20


def fit_of_items(
    study: ItemStudy,
    data: Sequence[Path],
    items: Path | None,
    renames: Sequence[str] | None,
    out: Path,
    conjoint: Mapping[str, object],
    alpha: float,
    draws: int | None,
    seed: int,
    epsilon: float,
    gold: Path | None = None,
    readings: Sequence[Path] = (),
) -> None:
    """Fit a study of items, once options that only a conjoint takes are refused."""
    from conjury.analysis.pipeline.ratings import RatingOptions

    stray = next((option for option, given in conjoint.items() if given), None)
    if stray is not None:
        raise InputError(f"{stray} is an option of conjoint studies, and {study.name} is a study of items.")
    if study.label_sets and (gold is not None or study.gold is not None):
        from conjury.analysis.pipeline.labels import BenchmarkOptions

        from .benchmark_fits import fit_benchmark_study

        chosen = BenchmarkOptions(alpha, 2_000 if draws is None else draws, seed)
        fit_benchmark_study(study, data, gold, readings, items, renames, out, chosen)
        return
    if gold is not None or readings:
        raise InputError(
            f"--gold and --reading are options of studies of labels, and {study.name} is not one."
        )
    options = RatingOptions(alpha, 1000 if draws is None else draws, seed, epsilon)
    fit_judgments(study, data, items, renames, out, options)


def fit_judgments(
    study: ItemStudy,
    data: Sequence[Path],
    items: Path | None,
    renames: Sequence[str] | None,
    out: Path,
    options: RatingOptions,
) -> None:
    """Run every analysis of a study of items and write the results folder."""
    from conjury.analysis.audit.oogiri import beside_printed
    from conjury.analysis.pipeline.ratings import fit_ratings, plan_ratings
    from conjury.analysis.pipeline.results_folder import ResultsFolder, describe_run

    judged = read_judged(data, study=study, items=items, renames=renames)
    planned = plan_ratings(study, judged.judgments, judged.items, options)
    console.print(
        f"{study.title}: {len(judged.judgments):,} judgments, {len(planned)} analyses, {options.draws:,} "
        "bootstrap draws each."
    )
    folder = ResultsFolder(out)
    before = folder.origin
    with folder.replaced(list(data)) as draft:
        with show_progress(len(planned)) as step:
            fitted = fit_ratings(study, judged.judgments, judged.items, options, step)
        source = judged.source()
        manifest: dict[str, Any] = {
            **describe_study(study),
            **describe_run(["conjury", *sys.argv[1:]]),
            **source,
            "results": fitted.records,
            "notes": [*source["notes"], *fitted.notes],
        }
        real = real_raters(source, judged.judgments) if source["simulated"] else None
        tables = fitted.tables | beside_printed(study.name, fitted.results, real)
        if judged.truth is not None:
            types = study.assignment.across if study.assignment is not None else "response_type"
            tables |= {"truth": judged.truth, **beside_truth(fitted.results, judged.truth, types=types)}
        draft.write(tables, manifest, kept=judged.kept)
        for name, result in fitted.results.items():
            console.print(f"  {name}: {len(result.frame):,} rows")
        undrawn = draw_figures(draft.path, fitted.results, manifest)
        draft.write({}, manifest | {"notes": [*manifest["notes"], *undrawn]})
    print_notes([*manifest["notes"], *undrawn], out)
    print_place(out, before)


def real_raters(source: Mapping[str, Any], judgments: pd.DataFrame) -> set[str]:
    """Groups of raters whose judgments are not simulated: models by name, and people together."""
    from conjury.analysis.raters.ratings import HUMAN

    real = set(map(str, source["real_judges"]))
    people = judgments.loc[as_text(judgments["judge_kind"]).eq(HUMAN), "judge_id"]
    return real | ({HUMAN} if len(people) and set(as_text(people)) <= real else set())


def describe_study(study: ItemStudy) -> dict[str, Any]:
    """Name a study of items and its parts in words, as manifests do."""
    from conjury.inference.readers.judgments import dimensions_of

    return {
        "study": study.name,
        "study_argument": study.argument,
        "title": study.title,
        "refusal": study.refusal,
        "main": study.main,
        "labels": {
            "features": {"dimension": "Dimension", **study.feature_labels},
            "levels": {"dimension": dimensions_of(study), **study.level_labels},
            "judges": study.judge_labels,
            "prompts": study.prompt_labels,
        },
    }


def beside_truth(
    results: Mapping[str, Result],
    truth: pd.DataFrame,
    earlier: pd.DataFrame | None = None,
    *,
    types: str = "response_type",
) -> dict[str, pd.DataFrame]:
    """True values beside estimates, those of earlier analyses included; nothing where there are none."""
    from conjury.analysis.recovery.ratings import recovery

    parts = [] if earlier is None else [earlier[~earlier["analysis"].isin(list(results))]]
    made = pd.concat([*parts, recovery(results, truth, types=types)], ignore_index=True)
    return {} if made.empty else {"recovery": made}


def extend_results(
    part: str,
    judged: Judged,
    results: Path,
    found: Mapping[str, tuple[str, Result]],
    seconds: float,
) -> None:
    """Add titles and results by name to a folder as one part of it; draws of models are kept as NetCDF."""
    from conjury.analysis.pipeline.results_folder import SAMPLERS, ResultsFolder, describe_run
    from conjury.analysis.pipeline.saved import record_of, tables_of
    from conjury.analysis.raters.models.fitted import ModelFit
    from conjury.inference.tables.files import read_table

    folder = ResultsFolder(results)
    own = judged.source()
    models = {name: result for name, (_, result) in found.items() if isinstance(result, ModelFit)}
    run = describe_run(["conjury", *sys.argv[1:]], further=SAMPLERS if models else ())
    manifest = folder.manifest or {
        **run,
        **own,
        "study": "",
        "title": "Ratings and raters",
        "labels": {"judges": {name: name for name in judged.models}},
    }
    record = {
        "created": run["created"],
        "command": run["command"],
        "packages": run["packages"],
        "data": own["data"],
        "results": [record_of(name, title, result, seconds) for name, (title, result) in found.items()],
        "notes": own["notes"] if judged.files else [],
    }
    with folder.extended(part) as draft:
        tables: dict[str, pd.DataFrame] = {}
        for name, (_, result) in found.items():
            tables |= tables_of(name, result)
        kept = _to_keep(folder, part, judged)
        if judged.truth is not None:
            earlier = folder.path / "tables" / "recovery.parquet"
            known = read_table(earlier) if earlier.is_file() else None
            tables |= beside_truth({name: result for name, (_, result) in found.items()}, judged.truth, known)
            tables |= {"truth": judged.truth} if kept else {}
        for name, fit in models.items():
            fit.save(draft.path / "models" / f"{name}.nc")
        draft.write(tables, manifest | {part: record}, kept=kept)
        shown = {name: result for name, (_, result) in found.items()}
        undrawn = draw_figures(draft.path, shown, manifest)
        noted = {**record, "notes": [*record["notes"], *undrawn]}
        draft.write({}, manifest | {part: noted})


def _to_keep(folder: ResultsFolder, part: str, judged: Judged) -> dict[str, pd.DataFrame]:
    """Judgments and items, unless another part of the folder holds them."""
    own = (folder.manifest.get(part) or {}).get("files", [])
    held = folder.held("judgments") is not None and "data/judgments.parquet" not in own
    return {} if held else judged.kept


def refuse_other_data(results: Path, judged: Judged) -> None:
    """Refuse to add results on a file of judgments to a folder that rests on others.

    Files are told apart by their checksums, and by how many judgments they hold; where rows are selected or
    columns renamed, the judgments themselves are compared.
    """
    from conjury.analysis.pipeline.results_folder import ResultsFolder

    folder = ResultsFolder(results)
    if not folder.manifest or not judged.files:
        return
    named = {str(file.get("sha256")) for file in folder.manifest.get("data") or []}
    same = named == {str(file["sha256"]) for file in judged.described()}
    if not same or not _alike(folder.held("judgments"), judged):
        raise InputError(
            f"{results} holds results on other data; name another folder with --results, or leave the file "
            "out to go on with its judgments."
        )


def _alike(held: pd.DataFrame | None, judged: Judged) -> bool:
    """Whether the judgments that a folder holds are these, of the same files."""
    if held is None or len(held) != len(judged.judgments):
        return False
    return not judged.changed or held.equals(judged.judgments)


def draw_figures(folder: Path, results: Mapping[str, Result], manifest: Mapping[str, Any]) -> list[str]:
    """Draw every result that has figures; return why any could not be drawn."""
    from conjury.analysis.figures.benchmark import figure_of, further_figures, is_drawn
    from conjury.analysis.figures.theme import save
    from conjury.analysis.report.data import labels_of

    drawn: dict[str, tuple[Result, dict[str, str]]] = {}
    for name, result in results.items():
        if is_drawn(result):
            drawn[name] = (result, {})
        drawn |= {f"{name}_{part}": (result, {"part": part}) for part in further_figures(result)}
    labels, notes = labels_of(manifest), []
    with show_progress(len(drawn)) as step:
        for name, (result, part) in drawn.items():
            step(f"Figure: {name}")
            try:
                save(figure_of(result, labels=labels, **part), folder / "figures" / name)
            except ConjuryError as error:
                notes.append(f"Figure {name}: {error} It was not drawn.")
    count = len(drawn) - len(notes)
    console.print(f"  {count} {'figure' if count == 1 else 'figures'} as PNG, SVG and PDF")
    return notes


def print_notes(notes: Sequence[str], out: Path) -> None:
    """Print what should be known; the rest is in the manifest."""
    for note in notes[:NOTES]:
        console.print(f"  Note: {note}")
    if len(notes) > NOTES:
        console.print(f"  {len(notes) - NOTES} more notes in {out / 'manifest.json'}")


def find_judged(
    file: Path | None,
    results: Path,
    items: Path | None,
    renames: Sequence[str] | None,
    where: Sequence[str] | None,
) -> Judged:
    """Judgments of a file, or those that a results folder rests on."""
    if file is not None:
        return read_judged([file], items=items, renames=renames, where=where)
    for option, given in (("--items", items), ("--rename", renames), ("--where", where)):
        if given:
            raise InputError(f"{option} goes with a file of judgments; name one, or leave it out.")
    return read_results(results)
