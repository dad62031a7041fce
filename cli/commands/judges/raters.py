"""The command ``conjury raters``: Bayesian models of raters, and what they assume."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.tables.limits import CHAINS, DRAWS

from ...automation import record
from ...options import Alpha, at_most, grouped
from ...printing import console, print_frame, print_notes, warn
from ...reading_options import RatingTableOptions
from .agreement import (
    File,
    JudgmentSelection,
    Seed,
    add_to_folder,
    labels_of,
    load_judged,
    plain_name,
    print_next,
)

if TYPE_CHECKING:
    import pandas as pd

    from conjury.analysis.pipeline.loading import LoadedStudy
    from conjury.analysis.raters.models.model_fit import ModelFit

LINKS = ("logit", "probit")
MODELS = ("auto", "ordinal", "dimensions", "labels")
OF_RATINGS = "Severity, discrimination and agreement"


@dataclass(frozen=True)
class ModelAssumptions:
    """The model, and the options on its assumptions."""

    model: Annotated[
        str,
        typer.Option(
            "--rater-model",
            help="auto, ordinal (ratings), dimensions (all at once) or labels (true classes).",
        ),
    ] = "auto"
    covariate: Annotated[
        list[str] | None,
        typer.Option(help="Stratum whose effect on each group is estimated, such as response_type."),
    ] = None
    prior: Annotated[
        list[str] | None,
        typer.Option(help="Prior as NAME=NUMBERS, such as severity_sd=0.5 or bias=0,0.3; can be repeated."),
    ] = None
    link: Annotated[str | None, typer.Option(help="logit (default) or probit, of --rater-model ordinal.")] = (
        None
    )
    min_count: Annotated[
        int | None,
        typer.Option(min=0, help="Minimum count per label; rare labels below it are excluded (default 10)."),
    ] = None

    def read(self, levels: Sequence[str] = ()) -> Assumptions:
        """The assumptions as numbers; ``levels`` that are numbers are the ratings that are allowed."""
        from conjury.inference.tables.reading.cell_rules import number_of

        if self.link is not None and self.link not in LINKS:
            hint = did_you_mean(self.link, LINKS)
            raise InputError(f"--link {self.link}: there is no such link{hint}; use logit or probit.")
        numbers = [number_of(text) for text in levels]
        scale = None if not levels or None in numbers else tuple(number or 0.0 for number in numbers)
        return Assumptions(_priors(self.prior or ()), self.link, scale, self.min_count)


@dataclass(frozen=True)
class Assumptions:
    """What a model assumes in place of its defaults; nothing where a field is empty."""

    priors: dict[str, tuple[float, ...]]
    link: str | None = None
    scale: tuple[float, ...] | None = None
    min_count: int | None = None

    def given(self, *, link: bool, scale: bool) -> dict[str, Any]:
        """As a model takes them; InputError for a link or a scale that it does not have."""
        if self.link is not None and not link:
            raise InputError(f"--link {self.link} applies to --rater-model ordinal; omit it.")
        if self.scale is not None and not scale:
            raise InputError(
                "--levels of numbers apply to models of ratings, and this is a model of labels; omit them."
            )
        if self.min_count is not None and scale:
            raise InputError(
                "--min-count applies to models of labels, and this is a model of ratings; omit it."
            )
        options = {
            "priors": self.priors or None,
            "link": self.link,
            "scale": self.scale,
            "min_count": self.min_count,
        }
        return {name: value for name, value in options.items() if value is not None}

    def record(self) -> dict[str, Any]:
        """What the manifest records of them."""
        changed = {name: list(numbers) for name, numbers in self.priors.items()}
        return {"scale": None if self.scale is None else list(self.scale), "priors_changed": changed}


@dataclass(frozen=True)
class DrawOptions:
    """How to sample; numbers that are None are those of the model."""

    draws: Annotated[
        int | None,
        typer.Option(
            min=4,
            help="Draws per chain; 1,600 for ordinal models, 2,500 for small panels.",
            callback=at_most(DRAWS),
        ),
    ] = None
    tune: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Warm-up draws per chain; 250 for ordinal models, 500 for small panels.",
            callback=at_most(DRAWS),
        ),
    ] = None
    chains: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Chains; 2 for ordinal models, 4 for small panels (up to ten people or 2,000 ratings).",
            callback=at_most(CHAINS),
        ),
    ] = None
    sampler: Annotated[
        str | None, typer.Option(help="nutpie or pymc; the model of dimensions uses its own sampler.")
    ] = None
    target_accept: Annotated[
        float | None,
        typer.Option(
            help="Target acceptance rate of the sampler; use 0.95 or 0.99 if draws diverge (default "
            "0.8; of ordinal 0.9 for up to ten people)."
        ),
    ] = None
    seed: Seed = 1
    alpha: Alpha = 0.05

    def options(self) -> dict[str, Any]:
        """As the models take them, with progress shown."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None} | {"progress": True}


FURTHER = ("replacement", "agreement")  # tables of a fit that are printed below its estimates


@dataclass(frozen=True)
class RequestedModel:
    """A model to be fitted: the name and title of its results, and the call."""

    name: str
    title: str
    fit: Callable[..., ModelFit]
    arguments: dict[str, Any]


@grouped
def raters(
    judged: JudgmentSelection,
    assuming: ModelAssumptions,
    sampling: DrawOptions,
    reading: RatingTableOptions,
    file: File = None,
) -> None:
    """Fit a Bayesian model of raters.

    Severity, discrimination, and agreement corrected for noise.
    """
    if reading.scale is not None and "," in reading.scale:
        warn("--scale with the ratings that are allowed is called --levels now.")
        reading = replace(reading, scale=None, levels=[*(reading.levels or ()), reading.scale])
    levels = reading.rules().order_of("")
    assumptions = assuming.read(levels)
    if assuming.model not in MODELS:
        raise InputError(f"--rater-model {assuming.model}: use {listed(MODELS)}.")
    loaded = load_judged(file, judged, reading)
    judgments = loaded.of_dimensions(judged.dimension)
    for model in list(_plan(loaded, judged, assuming, assumptions, sampling)):
        console.print(f"{model.title}: {_size(judgments)}")
        start = time.perf_counter()
        fit = _record_assumptions(model.fit(judgments, **model.arguments), assumptions)
        add_to_folder(loaded, judged, {model.name: (model.title, fit)}, time.perf_counter() - start)
        record(estimates={model.name: fit.frame}, verdict={model.name: list(fit.verdict)})
        record(further={model.name: {name: fit.extra[name] for name in FURTHER if name in fit.extra}})
        _print(fit)
        print_notes(fit.notes, judged.results)
    print_next(judged.results)


def _plan(
    loaded: LoadedStudy,
    judged: JudgmentSelection,
    assuming: ModelAssumptions,
    assumptions: Assumptions,
    sampling: DrawOptions,
) -> Iterator[RequestedModel]:
    """One model for each dimension that is named, or one for all dimensions."""
    from conjury.analysis.raters import dimension_model
    from conjury.analysis.raters.scales import dimension_names

    judgments, options = loaded.of_dimensions(judged.dimension), sampling.options()
    names = dimension_names(judgments)
    if assuming.model == "dimensions":
        if sampling.target_accept is not None:
            raise InputError(
                "--target-accept applies to --rater-model ordinal and --rater-model labels; the sampler of "
                "the model of dimensions accepts every draw, so omit it."
            )
        options |= {"items": loaded.items, "covariates": tuple(assuming.covariate or ())}
        options |= assumptions.given(link=False, scale=True)
        yield RequestedModel(
            "dimensions", "Dimensions of ratings: latent correlations", dimension_model, options
        )
        return
    if len(names) > 1 and not judged.dimension:
        raise InputError(
            f"The judgments have several dimensions ({listed(names)}); name one or more with --dimension, or "
            "model them together with --rater-model dimensions."
        )
    files = file_names(dimension_names(loaded.judgments))
    for name in names:
        prefix, title, fit, arguments = _model_of_dimension(loaded, judgments, name, assuming, assumptions)
        if name not in (None, "rating"):
            title += f": {labels_of(judged.results, [str(name)], [])[0]}"
        yield RequestedModel(
            f"{prefix}_{files[name]}", title, fit, {"dimension": name, **arguments, **options}
        )


def _model_of_dimension(
    loaded: LoadedStudy,
    judgments: pd.DataFrame,
    name: str | None,
    assuming: ModelAssumptions,
    assumptions: Assumptions,
) -> tuple[str, str, Callable[..., ModelFit], dict[str, Any]]:
    """The model of one dimension: of ratings where values are numbers, else of labels."""
    from conjury.analysis.raters import label_model, rater_model
    from conjury.analysis.raters.reading import read_ratings

    numeric = read_ratings(judgments, dimension=name, scale=assumptions.scale).numeric
    if assuming.model != "labels" and (assuming.model != "auto" or numeric):
        arguments = {"items": loaded.items, "covariates": tuple(assuming.covariate or ())}
        return "raters", OF_RATINGS, rater_model, arguments | assumptions.given(link=True, scale=True)
    if assuming.covariate:
        raise InputError("--covariate applies to models of ratings, and this is a model of labels; omit it.")
    title = "True classes and confusions"
    return "labels", title, label_model, assumptions.given(link=False, scale=False)


def _record_assumptions(fit: ModelFit, assumptions: Assumptions) -> ModelFit:
    """The same fit, with what was assumed among its settings."""
    priors = {name: prior.in_words() for name, prior in fit.priors.items()}
    return replace(fit, settings={**fit.settings, "priors": priors, **assumptions.record()})


def _size(frame: pd.DataFrame) -> str:
    return (
        f"{len(frame):,} judgments of {frame['item_id'].nunique():,} items by "
        f"{frame['judge_id'].nunique():,} judges"
    )


def _print(fit: ModelFit) -> None:
    print_frame(fit.frame)
    for name in fit.settings["priors_changed"]:
        console.print(f"  Prior changed, {fit.settings['priors'][name]}")
    for name in FURTHER:
        if name in fit.extra:
            console.print(name.capitalize())
            print_frame(fit.extra[name])
    for sentence in fit.verdict:
        console.print(f"  {sentence}")


def file_names(names: Sequence[str | None]) -> dict[str | None, str]:
    """Plain names of several, with numbers where they are equal."""
    names_of_files: dict[str | None, str] = {}
    for name in names:
        first = plain_name(name or "rating")
        free = (first if k == 1 else f"{first}_{k}" for k in itertools.count(1))
        names_of_files[name] = next(
            candidate for candidate in free if candidate not in names_of_files.values()
        )
    return names_of_files


def _priors(texts: Sequence[str]) -> dict[str, tuple[float, ...]]:
    priors: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, equals, numbers = (part.strip() for part in text.partition("="))
        if not (name and equals):
            raise InputError(f"--prior {text}: write NAME=NUMBERS, such as severity_sd=0.5 or bias=0,0.6.")
        if name in priors:
            raise InputError(f"--prior {text}: '{name}' is given twice; give it once.")
        priors[name] = _numbers(f"--prior {text}", numbers, "severity_sd=0.5 or bias=0,0.6")
    return priors


def _numbers(option: str, text: str, example: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or not all(map(math.isfinite, numbers)):
        raise InputError(
            f"{option}: '{text}' is not a list of numbers; separate numbers by commas, such as {example}."
        )
    return numbers
