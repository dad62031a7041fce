"""The commands ``agreement`` and ``alt-test``, and how commands on raters add results to a folder."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from conjury.inference.errors import listed
from conjury.inference.tables.limits import DRAWS

from ...automation import record
from ...options import (
    Alpha,
    FigureFormats,
    Renames,
    at_most,
    grouped,
    read_pairs,
    refuse_typed,
    split_names,
)
from ...printing import console, draw_figures, figure_formats, print_frame, print_notes, show_steps
from ...reading_options import RatingTableOptions
from ...wishes import details

if TYPE_CHECKING:
    import pandas as pd

    from conjury.analysis.pipeline.loading import LoadedStudy
    from conjury.analysis.results import Result


File = Annotated[
    Path | None,
    typer.Argument(
        help="Judgments, a table with one column per rater, or what an evaluation or annotation program "
        "wrote, in any format of `conjury read`; by default the judgments of the results folder."
    ),
]
ResultsPath = Annotated[Path, typer.Option("--results", help="Results folder to write to.")]
Dimension = Annotated[list[str] | None, typer.Option(help="Only this dimension; can be repeated.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same numbers.")]


@dataclass(frozen=True)
class JudgmentSelection:
    """Which judgments are analysed, and where results go."""

    results: ResultsPath = Path("results")
    dimension: Dimension = None
    items: Annotated[Path | None, typer.Option("--items", help="Table of items, with their strata.")] = None
    rename: Renames = None
    figures: FigureFormats = None
    raters: Annotated[
        list[str] | None,
        typer.Option("--raters", help="Columns with one rater each, COL,COL; otherwise guessed."),
    ] = None
    models: Annotated[
        list[str] | None, typer.Option("--models", help="Those that are models, COL,COL; otherwise by name.")
    ] = None


@dataclass(frozen=True)
class ResamplingOptions:
    """How intervals are drawn."""

    cluster: Annotated[
        str | None, typer.Option(help="Column of items that belong together, such as topic_id.")
    ] = None
    draws: Annotated[
        int, typer.Option(min=0, help="Draws for intervals; 0 for none.", callback=at_most(DRAWS))
    ] = 1000
    seed: Seed = 1
    alpha: Alpha = 0.05

    @property
    def drawn(self) -> dict[str, Any]:
        """Cluster, draws, seed and alpha, as analyses take them."""
        return dict(vars(self))


@dataclass(frozen=True)
class AgreementAnalysis:
    """What a command computes: its name and title, what it is limited to, and the call."""

    # `narrowed` are models or coefficients; `further` makes more results, by name with titles, from the name,
    # the result and the judgments.

    name: str
    title: str
    narrowed: Sequence[str]
    call: Callable[[pd.DataFrame], Result]
    further: Callable[[str, Result, pd.DataFrame], dict[str, tuple[str, Result]]] | None = None


def load_judged(file: Path | None, judged: JudgmentSelection, reading: RatingTableOptions) -> LoadedStudy:
    """Judgments of a file, or those of a results folder; a folder with results on others is refused."""
    from conjury.analysis.pipeline.fitting import refuse_other_data
    from conjury.analysis.pipeline.loading import FileSelection, read_judgments_of, stored_judgments
    from conjury.analysis.pipeline.results_folder import ResultsFolder

    figure_formats(judged.figures)  # refused before anything is computed
    if file is None:
        reason = "applies to a file of judgments; name one, or omit it."
        refuse_typed(reason, judged, only=("items", "rename", "raters", "models"))
        refuse_typed(reason, reading)
        return stored_judgments(judged.results)
    selection = FileSelection(
        read_pairs("--rename", judged.rename),
        reading.rules(),
        raters=split_names(judged.raters),
        models=split_names(judged.models),
    )
    loaded = read_judgments_of(None, [file], judged.items, selection)
    refuse_other_data(ResultsFolder(judged.results), loaded)
    return loaded


def run_analysis(
    loaded: LoadedStudy,
    judged: JudgmentSelection,
    analysis: AgreementAnalysis,
    show: Callable[[pd.DataFrame], None],
) -> None:
    """Compute an analysis, add it to the results folder under a free name, and print it."""
    from conjury.analysis.pipeline.fitting import unused_result_name
    from conjury.analysis.pipeline.results_folder import ResultsFolder

    start = time.perf_counter()
    judgments = loaded.of_dimensions(judged.dimension)
    result = analysis.call(judgments)
    base, title = analysis.name, analysis.title
    limits = [*(judged.dimension or ()), *analysis.narrowed]
    if limits:
        base = "_".join([base, *map(plain_name, limits)])
        title = f"{title} ({listed(labels_of(judged.results, judged.dimension or (), analysis.narrowed))})"
    name = unused_result_name(ResultsFolder(judged.results), base, result.settings)
    more = analysis.further(name, result, judgments) if analysis.further is not None else {}
    add_to_folder(loaded, judged, {name: (title, result), **more}, time.perf_counter() - start)
    record(estimates={name: result.frame} | {each: further.frame for each, (_, further) in more.items()})
    show(result.frame)
    for _, further in more.values():
        print_frame(further.frame)
    print_notes([*(loaded.notes if loaded.files else ()), *result.notes], judged.results)
    print_next(judged.results)


def add_to_folder(
    loaded: LoadedStudy,
    judged: JudgmentSelection,
    analyses: dict[str, tuple[str, Result]],
    seconds: float,
) -> None:
    """Add titles and results by name to a folder, as one part of it with the name of the first."""
    import pandas as pd

    from conjury.analysis.pipeline.fitting import Addition, add_results
    from conjury.analysis.pipeline.recovery import rating_recovery
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.pipeline.runner import FittedResults, NamedResult
    from conjury.inference.tables.files import read_table

    fitted = FittedResults(
        [NamedResult(name, title, result, seconds) for name, (title, result) in analyses.items()]
    )
    tables: dict[str, pd.DataFrame] = {}
    results, formats = judged.results, figure_formats(judged.figures)
    if loaded.truth is not None:
        file = results / "tables" / "recovery.parquet"
        stored_tables = [read_table(file)] if file.is_file() else []
        earlier_rows = [table[~table["analysis"].isin(list(analyses))] for table in stored_tables]
        recovery = pd.concat(
            [*earlier_rows, rating_recovery(fitted.by_name, loaded.truth)], ignore_index=True
        )
        tables |= {} if recovery.empty else {"recovery": recovery}
        tables |= {"truth": loaded.truth} if loaded.files else {}
    source = loaded.source()
    if not loaded.files:  # the notes on these judgments are those of the fit
        source["notes"] = []
    added = Addition(next(iter(analyses)), loaded, fitted, tables, source)
    add_results(ResultsFolder(results), added, partial(draw_figures, formats=formats))


def labels_of(results: Path, dimensions: Sequence[str], codes: Sequence[str]) -> list[str]:
    """Labels of dimensions, and of models or coefficients, as the results folder has them."""
    from conjury.analysis.figures.labels import COEFFICIENTS, ColumnNames
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.report.report_data import labels_of as labels_of_manifest

    names = ColumnNames(labels_of_manifest(ResultsFolder(results).manifest))
    labels = list(names.all("dimension", dimensions))
    return labels + [COEFFICIENTS.get(name) or names.of("judge", name) for name in codes]


def print_next(results: Path) -> None:
    """Print where results are, and how they are rendered."""
    record(results=results)
    console.print(f"Results in {results}; render them with `conjury report raters --results {results}`.")


def plain_name(name: object) -> str:
    """A name that files may have: letters, digits and underscores."""
    return re.sub(r"\W+", "_", str(name).casefold()).strip("_") or "unnamed"


Coefficient = Annotated[list[str] | None, typer.Option(help="Only this coefficient; can be repeated.")]


Interval = Annotated[
    Literal["bootstrap"] | None,
    typer.Option(help="Percentiles of the bootstrap for all; by default each coefficient's own interval."),
]


@grouped
def agreement(
    judged: JudgmentSelection,
    resampled: ResamplingOptions,
    reading: RatingTableOptions,
    file: File = None,
    coefficient: Coefficient = None,
    interval: Interval = None,
) -> None:
    """Agreement among people, and of people with each model.

    With several coefficients, each with its interval, and among models.
    """
    from conjury.analysis.raters.agreement import agreement as compute

    loaded, options = load_judged(file, judged, reading), resampled.drawn
    analysis = AgreementAnalysis(
        "agreement",
        "Agreement of people, and of people with each model",
        coefficient or (),
        partial(compute, coefficients=coefficient or None, items=loaded.items, interval=interval, **options),
    )
    run_analysis(loaded, judged, analysis, _print_agreement)


def _print_agreement(frame: pd.DataFrame) -> None:
    columns = ("dimension", "among", "against", "coefficient", "weights", "estimate", "lower", "upper")
    table = _named_dimensions(frame[[name for name in columns if name in frame]])
    compared = [name for name in columns[:3] if name in table]
    alpha = table[table["coefficient"] == "krippendorff"]
    main = alpha.groupby(compared, sort=False, dropna=False).tail(1) if len(alpha) else table
    if len(main) < len(table):
        with details():
            print_frame(table)
            console.print()
    print_frame(main)


def _named_dimensions(table: pd.DataFrame) -> pd.DataFrame:
    """A table without the column of the dimension, where the file names none."""
    from conjury.inference.readers.judgments import RATING

    is_named = "dimension" in table and set(table["dimension"].astype(str)) != {RATING}
    return table if is_named else table.drop(columns="dimension", errors="ignore")


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
        float,
        typer.Option(help="Margin of the replacement test: 0.1 crowd, 0.15 skilled people, 0.2 experts."),
    ] = 0.1
    scoring: Annotated[
        list[str] | None,
        typer.Option(
            help="accuracy, neg_rmse or neg_mae; by default the one that suits the values; can be repeated."
        ),
    ] = None
    power: Annotated[
        bool,
        typer.Option(
            "--simulate-power",
            help="Also simulate how often models pass with such a panel; some seconds per dimension.",
        ),
    ] = False


@grouped
def alt_test(
    judged: JudgmentSelection,
    testing: Testing,
    resampled: ResamplingOptions,
    reading: RatingTableOptions,
    file: File = None,
) -> None:
    """Test whether a model may replace a person of the panel.

    The alternative annotator test: a model passes if it agrees with the other people better than at least
    half of the people do, up to --epsilon. Columns that --raters and --models do not name are guessed, as
    `conjury judge` guesses them; the authors of the test advise a panel of three people or more.
    """
    from conjury.analysis.raters.replacement import alt_test as test
    from conjury.analysis.raters.replacement.decide import with_curve

    loaded = load_judged(file, judged, reading)

    def compute(judgments: pd.DataFrame) -> Result:
        options: dict[str, Any] = {"epsilon": testing.epsilon, "items": loaded.items, **resampled.drawn}
        return with_curve(test(judgments, testing.model or None, scoring=testing.scoring or None, **options))

    further = partial(_powers, results=judged.results, options=resampled.drawn) if testing.power else None
    analysis = AgreementAnalysis(
        "alt_test", "May a model replace a person of the panel?", testing.model or (), compute, further
    )
    run_analysis(loaded, judged, analysis, _show_test)


def _show_test(frame: pd.DataFrame) -> None:
    from conjury.analysis.frames.rounding import rounded_up

    passes = frame["passes"].map({True: "yes", False: "no"})
    smallest = frame["smallest_epsilon"].map(lambda value: rounded_up(value, 3), na_action="ignore")
    print_frame(_named_dimensions(frame.assign(passes=passes, smallest_epsilon=smallest)[COLUMNS]))


def _powers(
    name: str, test: Result, judgments: pd.DataFrame, *, results: Path, options: Mapping[str, Any]
) -> dict[str, tuple[str, Result]]:
    """Power of a test with this panel, for each dimension and scoring, by name."""
    from conjury.analysis.raters.replacement.power_of_panel import panel_power
    from conjury.analysis.raters.scales import dimension_names

    powers: dict[str, tuple[str, Result]] = {}
    scorings = list(dict.fromkeys(test.frame["scoring"]))
    dimensions = dimension_names(judgments)
    with show_steps(len(dimensions) * len(scorings)) as step:
        for dimension, scoring in product(dimensions, scorings):
            parts = [dimension] if dimension and len(dimensions) > 1 else []
            parts += [scoring] if len(scorings) > 1 else []
            labels = labels_of(results, [dimension] if dimension else [], [])
            title = "Power of the replacement test with this panel" + f" ({listed(labels)})" * bool(labels)
            step(title)
            power = panel_power(
                judgments,
                dimension=dimension,
                epsilon=test.settings["epsilon"],
                scoring=scoring,
                alpha=options["alpha"],
                seed=options["seed"],
            )
            powers["_".join([name, "power", *map(plain_name, parts)])] = (title, power)
    return powers
