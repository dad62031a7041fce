"""What ``conjury agreement`` and ``conjury alt-test`` do: compute, write, and print the main numbers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from .commands import console
from .rating import Judged
from .rating_fits import extend_results, print_notes, refuse_other_data


def run_agreement(
    judged: Judged,
    results: Path,
    dimensions: Sequence[str] | None,
    coefficients: Sequence[str] | None,
    cluster: str | None,
    draws: int,
    seed: int,
    alpha: float,
) -> None:
    """Compute agreement coefficients, write them and print them."""
    from conjury.analysis.raters.coefficients import agreement

    refuse_other_data(results, judged)
    start = time.perf_counter()
    found = agreement(
        judged.of_dimensions(dimensions),
        coefficients,
        items=judged.items,
        cluster=cluster,
        draws=draws,
        seed=seed,
        alpha=alpha,
    )
    seconds = time.perf_counter() - start
    title = "Agreement of people, and of people with each model"
    extend_results("agreement", judged, results, {"agreement": (title, found)}, seconds)
    keys = [
        name for name in ("dimension", "among", "against", "coefficient", "weights") if name in found.frame
    ]
    print_estimates(found.frame, keys)
    print_notes(found.notes, results)
    console.print(f"Results in {results}; render them with `conjury report raters --results {results}`.")


def run_alt_test(
    judged: Judged,
    results: Path,
    models: Sequence[str] | None,
    dimensions: Sequence[str] | None,
    epsilon: float,
    scoring: Sequence[str] | None,
    cluster: str | None,
    draws: int,
    seed: int,
    alpha: float,
) -> None:
    """Test whether models may replace a person, write the results and print them."""
    from conjury.analysis.raters.replacement import alt_test

    refuse_other_data(results, judged)
    start = time.perf_counter()
    found = alt_test(
        judged.of_dimensions(dimensions),
        list(models) if models else None,
        epsilon=epsilon,
        scoring=list(scoring) if scoring else None,
        items=judged.items,
        cluster=cluster,
        draws=draws,
        seed=seed,
        alpha=alpha,
    )
    seconds = time.perf_counter() - start
    title = "May a model replace a person of the panel?"
    extend_results("alt_test", judged, results, {"alt_test": (title, found)}, seconds)
    shown = found.frame.assign(passes=found.frame["passes"].map({True: "yes", False: "no"}))
    print_frame(
        shown[
            [
                "dimension", "scoring", "model", "winning_rate", "advantage_probability", "passes",
                "smallest_epsilon", "n_annotators",
            ]
        ]
    )  # fmt: skip
    print_notes(found.notes, results)
    console.print(f"Results in {results}; render them with `conjury report raters --results {results}`.")


def print_estimates(frame: pd.DataFrame, keys: Sequence[str]) -> None:
    """Print keys with estimates and intervals."""
    bounds = [name for name in ("lower", "upper", "boot_lower", "boot_upper") if name in frame]
    print_frame(frame[[*keys, "estimate", *bounds]])


def print_frame(frame: pd.DataFrame, most: int = 60) -> None:
    """Print a table of text and numbers; columns without content are left out."""
    told = frame.dropna(axis=1, how="all")
    told = told.loc[:, [not (told[name].astype("string") == "").all() for name in told]]
    shown = pd.DataFrame({str(name).replace("_", " "): told[name].map(_cell) for name in told}).head(most)
    for line in shown.to_string(index=False).splitlines():
        console.print(f"  {line}")
    if len(told) > most:
        console.print(f"  {len(told) - most:,} more rows in the results folder")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.3f}"
    return "" if pd.isna(value) else str(value)  # type: ignore[call-overload]
