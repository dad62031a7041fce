"""What ``conjury agreement`` and ``conjury alt-test`` do: compute, write, and print the main numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.tables.columns import listed

from .fit_conjoint import console
from .rating import Judged
from .rating_fits import extend_results, print_notes, refuse_other_data
from .rating_names import free_name, plain_name

if TYPE_CHECKING:
    from conjury.analysis.results import Result

Found = dict[str, tuple[str, "Result"]]  # titles and results by name

MOST = 60  # rows of a table that are printed


@dataclass(frozen=True)
class Narrowed:
    """What a run is limited to: dimensions, and models or coefficients; nothing where it takes all."""

    dimensions: Sequence[str] | None = None
    others: Sequence[str] | None = None

    @property
    def all(self) -> list[str]:
        """Everything that was named, in order."""
        return [*(self.dimensions or ()), *(self.others or ())]


def run_agreement(
    judged: Judged,
    results: Path,
    dimensions: Sequence[str] | None,
    coefficients: Sequence[str] | None,
    cluster: str | None,
    drawn: Mapping[str, Any],
) -> None:
    """Compute agreement coefficients, write them and print them; ``drawn`` are draws, seed and alpha."""
    from conjury.analysis.raters.agreement import agreement

    def show(found: Result) -> None:
        keys = ("dimension", "among", "against", "coefficient", "weights")
        print_estimates(found.frame, [name for name in keys if name in found.frame])

    _run(
        ("agreement", "Agreement of people, and of people with each model"),
        judged,
        results,
        Narrowed(dimensions, coefficients),
        lambda judgments: agreement(judgments, coefficients, items=judged.items, cluster=cluster, **drawn),
        show,
    )


def run_alt_test(
    judged: Judged,
    results: Path,
    models: Sequence[str] | None,
    dimensions: Sequence[str] | None,
    epsilon: float,
    scoring: Sequence[str] | None,
    cluster: str | None,
    drawn: Mapping[str, Any],
    *,
    power: bool = False,
) -> None:
    """Test whether models may replace a person, write the results and print them; ``drawn`` as above.

    The winning rates over epsilon are written with them; ``power`` adds that of the test with such a panel.
    """
    from conjury.analysis.raters.replacement import alt_test
    from conjury.analysis.raters.replacement.epsilon_curve import with_curve

    columns = [
        "dimension", "scoring", "model", "winning_rate", "advantage_probability", "passes",
        "smallest_epsilon", "n_annotators",
    ]  # fmt: skip

    def show(found: Result) -> None:
        passes = found.frame["passes"].map({True: "yes", False: "no"})
        print_frame(found.frame.assign(passes=passes)[columns])

    _run(
        ("alt_test", "May a model replace a person of the panel?"),
        judged,
        results,
        Narrowed(dimensions, models),
        lambda judgments: with_curve(
            alt_test(
                judgments,
                list(models) if models else None,
                epsilon=epsilon,
                scoring=list(scoring) if scoring else None,
                items=judged.items,
                cluster=cluster,
                **drawn,
            )
        ),
        show,
        partial(_powers, results=results, drawn=drawn) if power else None,
    )


def _powers(
    name: str, test: Result, judgments: pd.DataFrame, *, results: Path, drawn: Mapping[str, Any]
) -> Found:
    """Power of a test with the panel at hand, for each dimension and scoring, by name."""
    from conjury.analysis.raters.items import dimension_names
    from conjury.analysis.raters.replacement.power_of_panel import panel_power

    made: Found = {}
    asked = list(dict.fromkeys(test.frame["scoring"]))
    names = dimension_names(judgments)
    for dimension in names:
        for scoring in asked:
            told = [dimension] if dimension and len(names) > 1 else []
            told += [scoring] if len(asked) > 1 else []
            words = in_words(Narrowed([dimension] if dimension else None), results)
            title = "Power of the replacement test with this panel" + f" ({listed(words)})" * bool(words)
            console.print(f"  {title}")
            found = panel_power(
                judgments,
                dimension=dimension,
                epsilon=test.settings["epsilon"],
                scoring=scoring,
                alpha=drawn["alpha"],
                seed=drawn["seed"],
            )
            made["_".join([name, "power", *map(plain_name, told)])] = (title, found)
    return made


def _run(
    called: tuple[str, str],
    judged: Judged,
    results: Path,
    narrowed: Narrowed,
    compute: Callable[[pd.DataFrame], Result],
    show: Callable[[Result], None],
    further: Callable[[str, Result, pd.DataFrame], Found] | None = None,
) -> None:
    """Compute, add to the results folder under a name of its own, and print; ``called``: name and title.

    ``further`` makes more results, by name with titles, from the name, the result and the judgments.
    """
    refuse_other_data(results, judged)
    start = time.perf_counter()
    judgments = judged.of_dimensions(narrowed.dimensions)
    found = compute(judgments)
    base, title = called
    if narrowed.all:
        base = "_".join([base, *map(plain_name, narrowed.all)])
        title = f"{title} ({listed(in_words(narrowed, results))})"
    name = free_name(results, base, found.settings)
    more = further(name, found, judgments) if further is not None else {}
    extend_results(name, judged, results, {name: (title, found), **more}, time.perf_counter() - start)
    show(found)
    for _, added in more.values():
        print_frame(added.frame)
    print_notes(found.notes, results)
    console.print(f"Results in {results}; render them with `conjury report raters --results {results}`.")


def in_words(narrowed: Narrowed, results: Path) -> list[str]:
    """What a run is limited to, by the labels of the results folder."""
    from conjury.analysis.figures.raters.naming import Names
    from conjury.analysis.figures.raters.terms import COEFFICIENTS
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.report.data import labels_of

    names = Names(labels_of(ResultsFolder(results).manifest))
    told = names.all("dimension", narrowed.dimensions or ())
    return told + [COEFFICIENTS.get(name) or names.of("judge", name) for name in narrowed.others or ()]


def print_estimates(frame: pd.DataFrame, keys: Sequence[str]) -> None:
    """Print keys with estimates and intervals."""
    bounds = [name for name in ("lower", "upper", "boot_lower", "boot_upper") if name in frame]
    print_frame(frame[[*keys, "estimate", *bounds]])


def print_frame(frame: pd.DataFrame) -> None:
    """Print a table of text and numbers; columns without content are left out."""
    told = frame.dropna(axis=1, how="all")
    told = told.loc[:, [not (told[name].astype("string") == "").all() for name in told]]
    shown = pd.DataFrame({str(name).replace("_", " "): told[name].map(_cell) for name in told}).head(MOST)
    for line in shown.to_string(index=False).splitlines():
        console.print(f"  {line}")
    if len(told) > MOST:
        console.print(f"  {len(told) - MOST:,} more rows in the results folder")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.3f}"
    return "" if pd.isna(value) else str(value)  # type: ignore[call-overload]
