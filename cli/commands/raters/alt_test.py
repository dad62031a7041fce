"""The command ``conjury alt-test``: whether a model may replace a person of the panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.errors import listed

from ...options import grouped
from ...printing import console, print_frame
from .adding import Analysis, File, Judged, Resampled, labels_of, load_judged, plain_name, run_analysis

if TYPE_CHECKING:
    import pandas as pd

    from conjury.analysis.results import Result

COLUMNS = [
    "dimension",
    "scoring",
    "model",
    "winning_rate",
    "advantage_probability",
    "passes",
    "smallest_epsilon",
    "n_annotators",
]


@dataclass(frozen=True)
class Testing:
    """What is tested."""

    model: Annotated[list[str] | None, typer.Option(help="Only this model; can be repeated.")] = None
    epsilon: Annotated[
        float, typer.Option(help="Advantage that people must have: 0.1 crowd, 0.15 skilled, 0.2 experts.")
    ] = 0.1
    scoring: Annotated[
        list[str] | None,
        typer.Option(help="accuracy, neg_rmse or neg_mae; by default the one that fits; can be repeated."),
    ] = None
    power: Annotated[
        bool,
        typer.Option(
            "--power",
            help="Also simulate how often models pass with such a panel; some seconds per dimension.",
        ),
    ] = False


@grouped
def alt_test(judged: Judged, testing: Testing, resampled: Resampled, file: File = None) -> None:
    """May a model replace a person of the panel? The alternative annotator test."""
    from conjury.analysis.raters.replacement import alt_test as test
    from conjury.analysis.raters.replacement.epsilon_curve import with_curve

    loaded = load_judged(file, judged)

    def compute(judgments: pd.DataFrame) -> Result:
        options: dict[str, Any] = {"epsilon": testing.epsilon, "items": loaded.items, **resampled.drawn}
        return with_curve(test(judgments, testing.model or None, scoring=testing.scoring or None, **options))

    further = partial(_powers, results=judged.results, drawn=resampled.drawn) if testing.power else None
    analysis = Analysis(
        "alt_test", "May a model replace a person of the panel?", testing.model or (), compute, further
    )
    run_analysis(loaded, judged, analysis, _show)


def _show(frame: pd.DataFrame) -> None:
    passes = frame["passes"].map({True: "yes", False: "no"})
    print_frame(frame.assign(passes=passes)[COLUMNS])


def _powers(
    name: str, test: Result, judgments: pd.DataFrame, *, results: Path, drawn: Mapping[str, Any]
) -> dict[str, tuple[str, Result]]:
    """Power of a test with this panel, for each dimension and scoring, by name."""
    from conjury.analysis.raters.items import dimension_names
    from conjury.analysis.raters.replacement.power_of_panel import panel_power

    powers: dict[str, tuple[str, Result]] = {}
    scorings = list(dict.fromkeys(test.frame["scoring"]))
    dimensions = dimension_names(judgments)
    for dimension in dimensions:
        for scoring in scorings:
            parts = [dimension] if dimension and len(dimensions) > 1 else []
            parts += [scoring] if len(scorings) > 1 else []
            labels = labels_of(results, [dimension] if dimension else [], [])
            title = "Power of the replacement test with this panel" + f" ({listed(labels)})" * bool(labels)
            console.print(f"  {title}")
            power = panel_power(
                judgments,
                dimension=dimension,
                epsilon=test.settings["epsilon"],
                scoring=scoring,
                alpha=drawn["alpha"],
                seed=drawn["seed"],
            )
            powers["_".join([name, "power", *map(plain_name, parts)])] = (title, power)
    return powers
