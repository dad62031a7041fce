"""What ``conjury compare`` does: one judge's choices, several engines, a record of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.study.models import load_study

from .commands import console
from .loading import describe_study, load_variants, origins, simulated_note


def compare_on_group(
    study: str,
    engines: Sequence[str],
    results: Path,
    data: Path | None,
    levels: Path | None,
    renames: Sequence[str] | None,
    analysis: str | None,
    judge: str | None,
    prompt: str | None,
    alpha: float,
) -> None:
    """Compare engines on one judge and prompt and add the tables to the results folder."""
    from conjury.analysis.pipeline.conjoint import groups
    from conjury.analysis.pipeline.engines import compare_engines, record_comparison
    from conjury.analysis.pipeline.results_folder import ResultsFolder, describe_run

    known = load_study(study)
    folder = ResultsFolder(results)
    before = folder.manifest
    choices, source = choose(folder, study, data, levels, renames, judge, prompt)
    group = next(groups({"": choices}), None)
    if group is None:
        raise InputError("The choices hold no task that is not a repeat, so there is nothing to compare.")
    chosen = known.analyses[0] if analysis is None else known.analysis(analysis)
    named = [name.strip() for name in engines if name.strip()]
    console.print(
        f"{chosen.title}: {group.judge} {group.prompt}, {len(group.choices):,} rows of {data or results}"
    )
    found = compare_engines(known, chosen, group, named, alpha)
    ran = found.summary.loc[found.summary["available"], "engine"]
    run = describe_run(["conjury", *sys.argv[1:]], ran)
    compared = record_comparison(known, chosen, group, found, alpha) | run | source
    manifest = before or {**describe_study(known), **run, **source}
    tables = {"engines": found.estimates, "engines_summary": found.summary}
    with folder.extended("compared") as draft:
        draft.write(tables, manifest | {"compared": compared})
    _print_summary(found.summary)
    console.print(
        f"Comparison in {results / 'tables'}; render it with `conjury report estimators --results {results}`."
    )


def choose(
    folder: Any,
    study: str,
    data: Path | None,
    levels: Path | None,
    renames: Sequence[str] | None,
    judge: str | None,
    prompt: str | None,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read choices from a file, or those of a folder; also say which they are, as manifests do."""
    from conjury.inference.readers.prepare import select_rows

    if data is not None:
        loaded = load_variants(study, [data], None, levels, renames, judge, prompt)
        choices, described, notes = loaded.choices[""], loaded.described(), loaded.notes()
    else:
        if levels is not None or renames:
            raise InputError("--levels and --rename are about the columns of a file; name it with --data.")
        choices = select_rows(folder.choices(), judge, prompt)
        described = [item for item in folder.manifest.get("data", []) if item.get("variant") == ""]
        notes = simulated_note([choices])
    return choices, {"data": described, **origins([choices]), "notes": notes}


def _print_summary(summary: pd.DataFrame) -> None:
    for row in summary.itertuples():
        if row.available:
            estimate, error = row.max_abs_difference_estimate, row.max_rel_difference_std_error
            console.print(
                f"  {row.engine:13} {row.seconds:8.3f} s   estimates within {estimate:.1e}"
                f"   standard errors within {error:.1e} (relative)"
            )
        else:
            console.print(f"  {row.engine:13} not available: {row.note}")
