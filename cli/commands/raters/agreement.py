"""The command ``conjury agreement``: agreement coefficients among judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ...options import grouped
from ...printing import print_frame
from .adding import Analysis, File, Judged, Resampled, load_judged, run_analysis

if TYPE_CHECKING:
    import pandas as pd

Coefficient = Annotated[list[str] | None, typer.Option(help="Only this coefficient; can be repeated.")]


@grouped
def agreement(
    judged: Judged, resampled: Resampled, file: File = None, coefficient: Coefficient = None
) -> None:
    """Agreement coefficients among people, among models, and of people with each model."""
    from conjury.analysis.raters.agreement import agreement as compute

    loaded = load_judged(file, judged)
    analysis = Analysis(
        "agreement",
        "Agreement of people, and of people with each model",
        coefficient or (),
        lambda judgments: compute(judgments, coefficient or None, items=loaded.items, **resampled.drawn),
    )
    run_analysis(loaded, judged, analysis, _show)


def _show(frame: pd.DataFrame) -> None:
    keys = ("dimension", "among", "against", "coefficient", "weights", "estimate")
    bounds = ("lower", "upper", "boot_lower", "boot_upper")
    print_frame(frame[[name for name in (*keys, *bounds) if name in frame]])
