"""What ``conjury raters`` does: fit Bayesian models of raters, write draws and tables, print findings."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import listed

from .fit_conjoint import console
from .rating import Judged
from .rating_assumptions import Assumed
from .rating_fits import extend_results, print_notes, refuse_other_data
from .rating_names import file_names
from .rating_tables import Narrowed, in_words, print_frame

if TYPE_CHECKING:
    from conjury.analysis.raters.models.fitted import ModelFit

MODELS = ("auto", "ordinal", "dimensions", "labels")


@dataclass(frozen=True)
class Sampled:
    """How to sample; numbers that are None are those of the model."""

    draws: int | None
    tune: int | None
    chains: int | None
    sampler: str | None
    seed: int
    alpha: float
    target_accept: float | None = None

    def options(self) -> dict[str, Any]:
        """As the models take them, with progress shown."""
        names = ("draws", "tune", "chains", "sampler", "target_accept")
        given = {name: getattr(self, name) for name in names}
        chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        return chosen | {"seed": self.seed, "alpha": self.alpha, "progress": True}


def model_raters(
    judged: Judged,
    results: Path,
    model: str,
    dimensions: Sequence[str] | None,
    covariates: Sequence[str] | None,
    sampled: Sampled,
    assumed: Assumed,
) -> None:
    """Fit one model to each dimension named, or one to all dimensions, and add it to the results folder."""
    if model not in MODELS:
        raise InputError(f"--model {model}: use {listed(MODELS)}.")
    refuse_other_data(results, judged)
    for planned in _plan(judged, results, model, dimensions, covariates, sampled, assumed):
        console.print(f"{planned.title}: {_size(judged.of_dimensions(dimensions))}")
        start = time.perf_counter()
        fit = _recorded(planned.verb(judged.of_dimensions(dimensions), **planned.arguments), assumed)
        found = {planned.name: (planned.title, fit)}
        extend_results(planned.name, judged, results, found, time.perf_counter() - start)
        _print(fit, results)
    console.print(f"Results in {results}; render them with `conjury report raters --results {results}`.")


@dataclass(frozen=True)
class Planned:
    """A model to be fitted, and where its results go."""

    name: str
    title: str
    verb: Callable[..., ModelFit]
    arguments: dict[str, Any]


def _plan(
    judged: Judged,
    results: Path,
    model: str,
    dimensions: Sequence[str] | None,
    covariates: Sequence[str] | None,
    sampled: Sampled,
    assumed: Assumed,
) -> list[Planned]:
    from conjury.analysis.raters import dimension_model, label_model, rater_model
    from conjury.analysis.raters.items import dimension_names
    from conjury.analysis.raters.ratings import read_ratings

    judgments, options = judged.of_dimensions(dimensions), sampled.options()
    names = dimension_names(judgments)
    if model == "dimensions":
        if sampled.target_accept is not None:
            raise InputError(
                "--target-accept goes with --model ordinal and --model labels; the model of dimensions has "
                "a sampler that accepts every draw, so leave it out."
            )
        options |= {"items": judged.items, "covariates": tuple(covariates or ())}
        options |= assumed.given(link=False, scale=True)
        return [Planned("dimensions", "Dimensions of ratings: latent correlations", dimension_model, options)]
    if len(names) > 1 and not dimensions:
        raise InputError(
            f"The judgments have several dimensions ({listed(names)}); name one or more with --dimension, or "
            "model them together with --model dimensions."
        )
    made, files = [], file_names(dimension_names(judged.judgments))
    for name in names:
        told = "" if name in (None, "rating") else f": {in_words(Narrowed([str(name)]), results)[0]}"
        numeric = read_ratings(judgments, dimension=name, scale=assumed.scale).numeric
        if model == "labels" or (model == "auto" and not numeric):
            if covariates:
                raise InputError(
                    "--covariate goes with ratings, and the model of labels takes none; leave it out."
                )
            title, verb = "True classes and confusions", label_model
            own: dict[str, Any] = assumed.given(link=False, scale=False)
        else:
            title, verb = "Severity, discrimination and agreement", rater_model
            own = {"items": judged.items, "covariates": tuple(covariates or ())}
            own |= assumed.given(link=True, scale=True)
        label = f"{'labels' if verb is label_model else 'raters'}_{files[name]}"
        made.append(Planned(label, title + told, verb, {"dimension": name, **own, **options}))
    return made


def _recorded(fit: ModelFit, assumed: Assumed) -> ModelFit:
    """The same fit, with what was assumed among its settings."""
    told = {name: prior.in_words() for name, prior in fit.priors.items()}
    return replace(fit, settings={**fit.settings, "priors": told, **assumed.record()})


def _size(frame: pd.DataFrame) -> str:
    return (
        f"{len(frame):,} judgments of {frame['item_id'].nunique():,} items by "
        f"{frame['judge_id'].nunique():,} judges"
    )


def _print(fit: ModelFit, results: Path) -> None:
    print_frame(fit.frame)
    for name in fit.settings["priors_changed"]:
        console.print(f"  Prior changed, {fit.settings['priors'][name]}")
    for name in ("replacement", "agreement"):
        if name in fit.extra:
            console.print(name.capitalize())
            print_frame(fit.extra[name])
    for sentence in fit.verdict:
        console.print(f"  {sentence}")
    print_notes(fit.notes, results)
