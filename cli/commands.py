"""What the commands do: read, call the layers, write, say what was made."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conjury.inference.errors import InputError
from conjury.inference.paths import PUBLISHED
from conjury.inference.study import Study, load_study

if TYPE_CHECKING:
    from conjury.analysis.fit import Fitted, Options

console = Console(highlight=False, soft_wrap=True)
DIFFERENCE = "published_difference"
FIGURES = ("amce", "amce_speech", "amce_slur", "amce_by_identity", "mm", "published")


@dataclass(frozen=True)
class Variants:
    """A study with its choices by variant, and the files they were read from."""

    study: Study
    choices: dict[str, pd.DataFrame]
    files: dict[str, Path]


def simulate_study(
    study: str,
    out: Path,
    seed: int,
    respondents: int | None,
    pairs: int | None,
    judges: Sequence[str] | None,
    prompts: Sequence[str] | None,
) -> None:
    """Simulate choices and write them with the true values beside them."""
    from conjury.inference.files import write_table
    from conjury.inference.simulate import simulate

    for name, number in (("respondents", respondents), ("pairs", pairs)):
        if number is not None and number < 1:
            raise InputError(f"--{name} is {number}; give a whole number above 0.")
    made = simulate(
        load_study(study), seed, respondents=respondents, pairs=pairs, judges=judges, prompts=prompts
    )
    write_table(made.choices, out)
    console.print(f"{len(made.choices):,} rows of choices in {out}")
    if made.truth is not None:
        stem, _, ending = out.name.partition(".")
        truth = out.with_name(f"{stem}.truth.{ending}")
        write_table(made.truth, truth)
        console.print(f"{len(made.truth):,} true values in {truth}")


def load_variants(
    study: str,
    data: Path,
    variants: Sequence[str] | None,
    levels: Path | None,
    renames: Sequence[str] | None,
    judge: str | None,
    prompt: str | None,
) -> Variants:
    """Read the main choices and any further variants of them."""
    from conjury.inference.prepare import load_choices

    known = load_study(study)
    files = {"": data} | {name: Path(file) for name, file in map(_pair("--variant"), variants or ())}
    columns = dict(map(_pair("--rename"), renames or ()))
    choices = {}
    for name, file in files.items():
        found = load_choices(known, file, levels=levels, renames=columns)
        notes = found.attrs.get("notes", [])
        if judge is not None:
            notes = [note for note in notes if "judge_id" not in note]
            found = found.assign(judge_id=pd.array([judge] * len(found), dtype="string"))
        if prompt is not None:
            found = found.assign(prompt_id=pd.array([prompt] * len(found), dtype="string"))
        found.attrs["notes"] = notes
        choices[name] = found
    return Variants(known, choices, files)


def fit_choices(loaded: Variants, out: Path, options: Options) -> None:
    """Fit a study's analyses and write the results folder."""
    from conjury.analysis.fit import fit_study, groups
    from conjury.analysis.store import ResultsFolder, describe_file, describe_run

    study = loaded.study
    if options.draws < 0:
        options = replace(options, draws=study.bootstrap.draws)
    folder = ResultsFolder(out)
    n_groups = sum(1 for _ in groups(loaded.choices))
    console.print(
        f"{study.title}: {sum(map(len, loaded.choices.values())):,} rows, {n_groups} judges, prompts and "
        f"variants, {len(study.analyses)} analyses, {options.draws:,} bootstrap draws each."
    )
    with _progress(n_groups * len(study.analyses)) as step:
        fitted = fit_study(study, loaded.choices, options, step)
    notes = [note for choices in loaded.choices.values() for note in choices.attrs.get("notes", [])]
    tables = fitted.tables | _published(study, fitted)
    manifest: dict[str, Any] = {
        "study": study.name,
        "title": study.title,
        **describe_run(["conjury", *sys.argv[1:]], _r_versions(options.engine)),
        "data": [describe_file(f, len(loaded.choices[name]), name) for name, f in loaded.files.items()],
        "refusal": study.refusal,
        "labels": _labels(study),
        "analyses": fitted.analyses,
        "notes": list(dict.fromkeys(notes + fitted.notes)),
    }
    folder.write(tables, manifest, loaded.choices)
    for name, table in tables.items():
        console.print(f"  {name}: {len(table):,} rows")
    _draw_figures(out)
    console.print(f"Results in {out}")


def compare_on_group(
    study: str,
    engines: Sequence[str],
    results: Path,
    data: Path | None,
    analysis: str | None,
    judge: str | None,
    prompt: str | None,
) -> None:
    """Compare engines on one judge and prompt and add the tables to the results folder."""
    from conjury.analysis.compare import compare_engines
    from conjury.analysis.fit import groups
    from conjury.analysis.store import ResultsFolder, describe_file, describe_run
    from conjury.inference.prepare import load_choices, select_rows

    known = load_study(study)
    folder = ResultsFolder(results)
    choices = folder.choices() if data is None else load_choices(known, data)
    group = next(groups({"": select_rows(choices, judge, prompt)}))
    chosen = known.analyses[0] if analysis is None else known.analysis(analysis)
    named = [name.strip() for name in engines if name.strip()]
    console.print(f"{chosen.title}: {group.judge} {group.prompt}, {len(group.choices):,} rows")
    found = compare_engines(known, chosen, group, named)
    manifest = folder.manifest or {
        "study": known.name,
        "title": known.title,
        **describe_run(["conjury", *sys.argv[1:]]),
        "labels": _labels(known),
        "data": [describe_file(data, len(choices), "")] if data else [],
    }
    compared = {"analysis": chosen.name, "judge": group.judge, "prompt": group.prompt, "engines": named}
    folder.write({"engines": found.estimates, "engines_summary": found.summary}, manifest | {"compared": compared})
    for row in found.summary.itertuples():
        if row.available:
            console.print(
                f"  {row.engine:13} {row.seconds:8.3f} s   estimates within {row.max_abs_difference_estimate:.1e}"
                f"   standard errors within {row.max_rel_difference_std_error:.1e} (relative)"
            )
        else:
            console.print(f"  {row.engine:13} not available: {row.note}")
    console.print(f"Comparison in {results / 'tables'}; render it with `conjury report estimators`.")


def render_report(name: str, results: Path, out: Path, to: str) -> None:
    """Render a report and say with what."""
    from conjury.analysis.render import render

    made = render(name, results, out, to)  # type: ignore[arg-type]
    console.print(made.message)


def _published(study: Study, fitted: Fitted) -> dict[str, pd.DataFrame]:
    """Printed numbers of the study, and ours beside them, where judges of both overlap."""
    from conjury.analysis.figures import beside_published

    file = PUBLISHED / f"{study.name}.csv"
    if not file.is_file() or "amce" not in fitted.tables:
        return {}
    printed = pd.read_csv(file).assign(source="printed")
    judges = set(fitted.tables["amce"]["judge"].astype(str))
    if not judges & set(printed["judge"]):
        return {"published": printed}
    return {"published": printed, DIFFERENCE: beside_published(printed, fitted.tables["amce"])}


def _labels(study: Study) -> dict[str, Any]:
    return {
        "features": study.feature_labels,
        "levels": study.level_labels,
        "judges": study.judge_labels,
        "prompts": study.prompt_labels,
    }


def _r_versions(engine: str) -> dict[str, Any] | None:
    if engine not in ("survey", "cregg"):
        return None
    from conjury.analysis.r import available

    found = available()
    return {"R": found.r, **{name: v for name, v in found.packages.items() if v}}


def _draw_figures(results: Path) -> None:
    from conjury.analysis.figures import save
    from conjury.analysis.report import Results

    found = Results(results)
    drawn = [name for name in FIGURES if found.has(name) and (name != "published" or found.has(DIFFERENCE))]
    for name in drawn:
        save(found.build_figure(name), results / "figures" / name)
    console.print(f"  {len(drawn)} figures as PNG, SVG and PDF")


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def step(what: str) -> None:
            bar.update(task, description=what, advance=1)

        yield step


def _pair(option: str) -> Any:
    def split(text: str) -> tuple[str, str]:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise InputError(f"{option} {text!r} is no pair; write NAME=VALUE.")
        return name, value

    return split
