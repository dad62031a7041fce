"""What the commands do: read, call the layers, write, say what was made."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conjury.inference.errors import InputError
from conjury.inference.paths import PUBLISHED
from conjury.inference.prepare import SIMULATED
from conjury.inference.study import Study, load_study

if TYPE_CHECKING:
    from conjury.analysis.fit import Fitted, Options

console = Console(highlight=False, markup=False, soft_wrap=True)
DIFFERENCE = "published_difference"
FIGURES = (
    "amce",
    "amce_speech",
    "amce_slur",
    "amce_by_identity",
    "mm",
    "frequencies",
    "recovery",
    "published",
)


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
    origin = pd.array([SIMULATED] * len(made.choices), dtype="string")
    write_table(made.choices.assign(origin=origin), out)
    console.print(f"{len(made.choices):,} rows of choices in {out}")
    if made.truth is not None:
        write_table(made.truth, truth_file(out))
        console.print(f"{len(made.truth):,} true values in {truth_file(out)}")


def truth_file(choices: Path) -> Path:
    """Where the true values of simulated choices lie: NAME.truth.parquet beside NAME.parquet."""
    return choices.with_name(re.sub(r"(\.parquet|\.csv|\.csv\.gz)$", r".truth\1", choices.name, flags=re.I))


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
    from conjury.inference.prepare import load_choices, name_or_select

    known = load_study(study)
    files = {"": data} | {name: Path(file) for name, file in _pairs("--variant", variants).items()}
    for name in files:
        if not re.fullmatch(r"\w*", name):
            raise InputError(f"--variant {name!r} is no name for files; use letters, digits and underscores.")
    columns = _pairs("--rename", renames)
    choices = {
        name: name_or_select(load_choices(known, file, levels=levels, renames=columns), judge, prompt)
        for name, file in files.items()
    }
    return Variants(known, choices, files)


def fit_choices(loaded: Variants, out: Path, options: Options) -> None:
    """Fit a study's analyses and write the results folder."""
    from conjury.analysis.fit import fit_study, groups
    from conjury.analysis.store import ResultsFolder, describe_file, describe_run

    study = loaded.study
    n_groups = sum(1 for _ in groups(loaded.choices))
    console.print(
        f"{study.title}: {sum(map(len, loaded.choices.values())):,} rows, {n_groups} judges, prompts and "
        f"variants, {len(study.analyses)} analyses, {options.draws:,} bootstrap draws each."
    )
    simulated = _simulated_note(loaded.choices.values())
    with ResultsFolder(out).replaced() as draft:
        with _progress(n_groups * len(study.analyses)) as step:
            fitted = fit_study(study, loaded.choices, options, step)
        notes = [note for choices in loaded.choices.values() for note in choices.attrs.get("notes", [])]
        beside = _true_values(loaded, fitted) if simulated else _published(study, fitted)
        tables = fitted.tables | beside
        manifest: dict[str, Any] = {
            "study": study.name,
            "title": study.title,
            **describe_run(["conjury", *sys.argv[1:]], _r_versions(options.engine)),
            "simulated": bool(simulated),
            "data": [describe_file(f, len(loaded.choices[name]), name) for name, f in loaded.files.items()],
            "refusal": study.refusal,
            "labels": _labels(study),
            "analyses": fitted.analyses,
            "notes": list(dict.fromkeys(simulated + notes + fitted.notes)),
        }
        draft.write(tables, manifest, loaded.choices)
        for name, table in tables.items():
            console.print(f"  {name}: {len(table):,} rows")
        _draw_figures(draft.path)
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
    group = next(groups({"": select_rows(choices, judge, prompt)}), None)
    if group is None:
        raise InputError("The choices hold no task that is not a repeat, so there is nothing to compare.")
    chosen = known.analyses[0] if analysis is None else known.analysis(analysis)
    named = [name.strip() for name in engines if name.strip()]
    console.print(f"{chosen.title}: {group.judge} {group.prompt}, {len(group.choices):,} rows")
    found = compare_engines(known, chosen, group, named)
    simulated = _simulated_note([choices])
    manifest = folder.manifest or {
        "study": known.name,
        "title": known.title,
        **describe_run(["conjury", *sys.argv[1:]]),
        "simulated": bool(simulated),
        "notes": simulated,
        "labels": _labels(known),
        "data": [describe_file(data, len(choices), "")] if data else [],
    }
    compared: dict[str, Any] = {"analysis": chosen.name, "judge": group.judge, "prompt": group.prompt}
    compared |= {"engines": named, "data": describe_file(data, len(choices), "") if data else None}
    tables = {"engines": found.estimates, "engines_summary": found.summary}
    folder.write(tables, manifest | {"compared": compared})
    for row in found.summary.itertuples():
        if row.available:
            estimate, error = row.max_abs_difference_estimate, row.max_rel_difference_std_error
            console.print(
                f"  {row.engine:13} {row.seconds:8.3f} s   estimates within {estimate:.1e}"
                f"   standard errors within {error:.1e} (relative)"
            )
        else:
            console.print(f"  {row.engine:13} not available: {row.note}")
    console.print(f"Comparison in {results / 'tables'}; render it with `conjury report estimators`.")


def render_report(name: str, results: Path, out: Path, to: str) -> None:
    """Render a report and say with what."""
    from conjury.analysis.render import render

    made = render(name, results, out, to)  # type: ignore[arg-type]
    console.print(made.message)


def _simulated_note(tables: Iterable[pd.DataFrame]) -> list[str]:
    """Say that choices are simulated, where any are."""
    from conjury.inference.prepare import is_simulated

    marked = [is_simulated(choices) for choices in tables]
    count, rows = sum(int(flags.sum()) for flags in marked), sum(map(len, marked))
    if not count:
        return []
    which = (
        "These choices are simulated" if count == rows else f"Of these choices {count:,} rows are simulated"
    )
    return [
        f"{which}: they say nothing about the people and models that they are named after, and they are not "
        "compared with printed numbers."
    ]


def _true_values(loaded: Variants, fitted: Fitted) -> dict[str, pd.DataFrame]:
    """True values that lie beside simulated choices, and how well the estimates find them."""
    from conjury.analysis.recovery import recovery
    from conjury.inference.files import read_table

    file = truth_file(loaded.files[""])
    if not file.is_file():
        return {}
    truth = read_table(file)
    found = recovery(truth, fitted.tables)
    return {"truth": truth} | ({} if found.empty else {"recovery": found})


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
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    terminal = Console(stderr=True)
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task("", total=total)

        def step(what: str) -> None:
            bar.update(task, description=what, advance=1)

        yield step


def _pairs(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise InputError(f"{option} {text!r} is no pair; write NAME=VALUE.")
        if name in pairs:
            raise InputError(f"{option} names {name!r} twice; name it once.")
        pairs[name] = value
    return pairs
