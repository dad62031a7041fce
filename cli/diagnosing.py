"""What ``conjury diagnose`` does: every check on a study's choices, into the results folder."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import ConjuryError, InputError
from conjury.inference.study.load import load_study
from conjury.inference.study.models import Study
from conjury.inference.tables.columns import did_you_mean

from .comparing import choose
from .fit_conjoint import console, show_progress
from .loading import describe_study

if TYPE_CHECKING:
    from conjury.analysis.diagnostics.check import Check
    from conjury.analysis.pipeline.robustness import Robustness

WORDS = {"pass": "passes", "look": "LOOK", "fail": "FAILS", "not_applicable": "-"}
COUNTED = {
    "pass": ("passes", "pass"),
    "look": ("needs a look", "need a look"),
    "fail": ("fails", "fail"),
    "not_applicable": ("does not apply", "do not apply"),
}


def diagnose_choices(
    study: str,
    results: Path,
    data: Path | None,
    levels: Path | None,
    renames: Sequence[str] | None,
    judge: str | None,
    prompt: str | None,
    filters: Sequence[str] | None,
    alpha: float,
    seed: int,
) -> None:
    """Check a study's choices and add tables and figures of the checks to the results folder."""
    from conjury.analysis.diagnostics.diagnose import NAMES, diagnose
    from conjury.analysis.numerics.intervals import check_alpha
    from conjury.analysis.pipeline.results_folder import ResultsFolder, describe_run

    check_alpha(alpha)
    known = load_study(study)
    folder = ResultsFolder(results)
    if data is None and not folder.manifest:
        raise InputError(
            f"{results} holds no results (manifest.json is missing); run `conjury fit` first, or name the "
            "choices with --data."
        )
    before = folder.manifest
    choices, source = choose(folder, study, data, levels, renames, judge, prompt)
    _check_filters(choices, filters)
    console.print(f"{known.title}: {len(NAMES)} checks of {len(choices):,} rows of {data or results}")
    with show_progress(len(NAMES)) as step:
        checks = diagnose(known, choices, alpha=alpha, seed=seed, filters=filters, progress=step)
    reach = _robustness(known, choices, alpha, seed)
    run = describe_run(["conjury", *sys.argv[1:]])
    manifest = before or {**describe_study(known), **run, **source}
    record: dict[str, Any] = {
        "alpha": alpha,
        "seed": seed,
        "created": run["created"],
        "command": run["command"],
        **source,
        "checks": [check.name for check in checks],
        "robustness": sorted(reach.tables),
        "notes": [*source["notes"], *reach.notes],
    }
    tables = {"diagnosis": summary(checks)} | {
        f"check_{check.name}": check.table for check in checks if check.figure
    }
    with folder.extended("diagnosed") as draft:
        draft.write(tables | reach.tables, manifest | {"diagnosed": record})
        undrawn = _draw(known, checks, draft.path) + _draw_robustness(draft.path)
        noted = {**record, "notes": [*record["notes"], *undrawn]}
        draft.write({}, manifest | {"diagnosed": noted})
    _print(checks)
    for name, table in reach.tables.items():
        console.print(f"  {name}: {len(table):,} rows")
    console.print(
        f"Tables and figures of {sum(c.figure for c in checks)} checks in {results}; render them with "
        f"`conjury report diagnostics --results {results}`."
    )


def _check_filters(choices: pd.DataFrame, filters: Sequence[str] | None) -> None:
    stray = next((name for name in filters or () if name not in choices), None)
    if stray is not None:
        raise InputError(
            f"--filter {stray}: the choices have no column {stray!r}{did_you_mean(stray, choices.columns)}; "
            "name the column of an attention check."
        )


def summary(checks: Sequence[Check]) -> pd.DataFrame:
    """Lay checks out, one row each: ``name, title, question, verdict, finding, remedy, figure``."""
    names = ("name", "title", "question", "verdict", "finding", "remedy")
    columns: dict[str, Any] = {
        name: pd.array([getattr(check, name) for check in checks], dtype="string") for name in names
    }
    return pd.DataFrame({**columns, "figure": [check.figure for check in checks]})


def _draw(study: Study, checks: Sequence[Check], results: Path) -> list[str]:
    """Draw every check that has numbers; return why any could not be drawn."""
    from conjury.analysis.figures import draw, save
    from conjury.analysis.results import Result

    labels: dict[Any, str] = {**study.prompt_labels, **study.judge_labels, **study.feature_labels}
    labels |= {(f, level): word for f, words in study.level_labels.items() for level, word in words.items()}
    notes = []
    drawn = [check for check in checks if check.figure]
    with show_progress(len(drawn)) as step:
        for check in drawn:
            step(f"Figure: {check.title}")
            try:
                save(
                    draw(Result(check.table, check.name), labels=labels),
                    results / "figures" / f"check_{check.name}",
                )
            except ConjuryError as error:
                notes.append(f"Figure check_{check.name}: {error} It was not drawn.")
    return notes


def _robustness(study: Study, choices: pd.DataFrame, alpha: float, seed: int) -> Robustness:
    """Errors under every choice, reliability and detectable effects; where there are none, why."""
    from conjury.analysis.pipeline.robustness import Robustness, robustness
    from conjury.inference.readers.prepare import judge_of

    with show_progress(judge_of(choices).nunique() + 1) as step:
        try:
            return robustness(study, choices, alpha=alpha, seed=seed, progress=step)
        except InputError as error:
            return Robustness({}, (f"Errors, reliability and power were left out: {error}",))


def _draw_robustness(results: Path) -> list[str]:
    """Draw what the reports show of errors, reliability and power; return why any could not be drawn."""
    from conjury.analysis.figures.theme import save
    from conjury.analysis.report import Report

    notes = []
    for name, draw in Report(results).figures("diagnosed"):
        try:
            save(draw(), results / "figures" / name)
        except ConjuryError as error:
            notes.append(f"Figure {name}: {error} It was not drawn.")
    return notes


def _print(checks: Sequence[Check]) -> None:
    for check in checks:
        console.print(f"\n{WORDS[check.verdict]:7} {check.title}")
        console.print(f"        {check.finding}")
        if check.remedy:
            console.print(f"        What to do: {check.remedy}")
    console.print(f"\n{counted(checks)}.")


def counted(checks: Sequence[Check]) -> str:
    """Count the verdicts of checks in words, such as "12 pass, 1 needs a look"."""
    numbers: Counter[str] = Counter(check.verdict for check in checks)
    return ", ".join(f"{numbers[v]} {one if numbers[v] == 1 else more}" for v, (one, more) in COUNTED.items())
