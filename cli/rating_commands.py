"""Commands about ratings and labels of any kind: agreement, replacement test, Bayesian rater models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conjury.inference.tables.bounded import CHAINS, DRAWS

from .bounds import at_most

Judgments = Annotated[
    Path | None,
    typer.Argument(help="Judgments (.parquet, .csv, .csv.gz); by default those of the results folder."),
]
ResultsPath = Annotated[Path, typer.Option("--results", help="Results folder to write to.")]
ItemsFile = Annotated[Path | None, typer.Option("--items", help="Table of items, with their strata.")]
Renames = Annotated[list[str] | None, typer.Option("--rename", help="Column of the file as THEIRS=OURS.")]
Where = Annotated[list[str] | None, typer.Option("--where", help="Only rows with COLUMN=VALUE.")]
Dimension = Annotated[list[str] | None, typer.Option(help="Only this dimension; can be repeated.")]
Alpha = Annotated[float, typer.Option("--alpha", help="One minus the confidence level.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same numbers.")]
Draws = Annotated[int, typer.Option(min=0, help="Bootstrap draws; 0 for none.", callback=at_most(DRAWS))]
Cluster = Annotated[str | None, typer.Option(help="Column of items that belong together, such as topic_id.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("agreement")(agreement)
    app.command("alt-test")(alt_test)
    app.command("raters")(raters)


def agreement(
    file: Judgments = None,
    results: ResultsPath = Path("results"),
    dimension: Dimension = None,
    coefficient: Annotated[
        list[str] | None, typer.Option(help="Only this coefficient; can be repeated.")
    ] = None,
    cluster: Cluster = None,
    items: ItemsFile = None,
    where: Where = None,
    rename: Renames = None,
    draws: Draws = 1000,
    seed: Seed = 1,
    alpha: Alpha = 0.05,
) -> None:
    """Agreement coefficients among people, among models, and of people with each model."""
    from .rating_fits import find_judged
    from .rating_tables import run_agreement

    judged = find_judged(file, results, items, rename, where)
    drawn = {"draws": draws, "seed": seed, "alpha": alpha}
    run_agreement(judged, results, dimension, coefficient, cluster, drawn)


def alt_test(
    file: Judgments = None,
    results: ResultsPath = Path("results"),
    model: Annotated[list[str] | None, typer.Option(help="Only this model; can be repeated.")] = None,
    dimension: Dimension = None,
    epsilon: Annotated[
        float, typer.Option(help="Advantage that people must have: 0.1 crowd, 0.15 skilled, 0.2 experts.")
    ] = 0.1,
    scoring: Annotated[
        list[str] | None,
        typer.Option(help="accuracy, neg_rmse or neg_mae; by default the one that fits; can be repeated."),
    ] = None,
    power: Annotated[
        bool,
        typer.Option(
            "--power", help="Also simulate how often models pass with such a panel; some seconds a dimension."
        ),
    ] = False,
    cluster: Cluster = None,
    items: ItemsFile = None,
    where: Where = None,
    rename: Renames = None,
    draws: Draws = 1000,
    seed: Seed = 1,
    alpha: Alpha = 0.05,
) -> None:
    """May a model replace a person of the panel? The alternative annotator test."""
    from .rating_fits import find_judged
    from .rating_tables import run_alt_test

    judged = find_judged(file, results, items, rename, where)
    drawn = {"draws": draws, "seed": seed, "alpha": alpha}
    run_alt_test(judged, results, model, dimension, epsilon, scoring, cluster, drawn, power=power)


def raters(
    file: Judgments = None,
    results: ResultsPath = Path("results"),
    dimension: Dimension = None,
    model: Annotated[
        str,
        typer.Option(
            "--model", help="auto, ordinal (ratings), dimensions (all at once) or labels (true classes)."
        ),
    ] = "auto",
    covariate: Annotated[
        list[str] | None,
        typer.Option(help="Stratum whose effect on each group is estimated, such as response_type."),
    ] = None,
    prior: Annotated[
        list[str] | None,
        typer.Option(help="Prior as NAME=NUMBERS, such as severity_sd=0.5 or bias=0,0.3; can be repeated."),
    ] = None,
    link: Annotated[str | None, typer.Option(help="logit (default) or probit, of --model ordinal.")] = None,
    scale: Annotated[
        str | None, typer.Option(help="Ratings that are allowed, such as 1,2,3,4,5; by default those given.")
    ] = None,
    items: ItemsFile = None,
    where: Where = None,
    rename: Renames = None,
    draws: Annotated[
        int | None,
        typer.Option(
            min=4,
            help="Draws of a chain; of ordinal 1,600, of small panels 2,500.",
            callback=at_most(DRAWS),
        ),
    ] = None,
    tune: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Draws to adapt in, of a chain; of ordinal 250, of small panels 500.",
            callback=at_most(DRAWS),
        ),
    ] = None,
    chains: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Chains; of ordinal 2, of small panels (up to ten people or 2,000 ratings) 4.",
            callback=at_most(CHAINS),
        ),
    ] = None,
    sampler: Annotated[
        str | None, typer.Option(help="nutpie, or pymc; dimensions have a sampler of their own.")
    ] = None,
    min_count: Annotated[
        int | None,
        typer.Option(min=0, help="Labels that occur less often, and are rare, are set aside (default 10)."),
    ] = None,
    target_accept: Annotated[
        float | None,
        typer.Option(
            help="Acceptance rate of the sampler; 0.95 or 0.99 where draws diverge (default 0.8, of "
            "ordinal 0.9 for up to ten people)."
        ),
    ] = None,
    seed: Seed = 1,
    alpha: Alpha = 0.05,
) -> None:
    """Fit a Bayesian model of raters: severity, discrimination, agreement free of noise."""
    from .modelling import Sampled, model_raters
    from .rating_assumptions import assumed
    from .rating_fits import find_judged

    told = assumed(prior, link, scale, min_count)
    judged = find_judged(file, results, items, rename, where)
    sampled = Sampled(draws, tune, chains, sampler, seed, alpha, target_accept)
    model_raters(judged, results, model, dimension, covariate, sampled, told)
