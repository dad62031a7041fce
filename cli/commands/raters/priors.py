"""What the models of ``conjury raters`` assume: priors, link, scale, covariates, rare labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from conjury.inference.errors import InputError, did_you_mean

LINKS = ("logit", "probit")


@dataclass(frozen=True)
class Assuming:
    """The model, and the options on its assumptions."""

    model: Annotated[
        str,
        typer.Option(
            "--model", help="auto, ordinal (ratings), dimensions (all at once) or labels (true classes)."
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
    link: Annotated[str | None, typer.Option(help="logit (default) or probit, of --model ordinal.")] = None
    scale: Annotated[
        str | None, typer.Option(help="Ratings that are allowed, such as 1,2,3,4,5; by default those given.")
    ] = None
    min_count: Annotated[
        int | None,
        typer.Option(min=0, help="Labels that occur less often, and are rare, are excluded (default 10)."),
    ] = None

    def read(self) -> Assumptions:
        """The assumptions as numbers."""
        if self.link is not None and self.link not in LINKS:
            hint = did_you_mean(self.link, LINKS)
            raise InputError(f"--link {self.link}: there is no such link{hint}; use logit or probit.")
        scale = None if self.scale is None else _scale(self.scale)
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
            raise InputError(f"--link {self.link} goes with --model ordinal; leave it out.")
        if self.scale is not None and not scale:
            raise InputError("--scale goes with ratings, and the model of labels takes none; leave it out.")
        if self.min_count is not None and scale:
            raise InputError("--min-count goes with labels, and ratings have none; leave it out.")
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


def _priors(given: Sequence[str]) -> dict[str, tuple[float, ...]]:
    priors: dict[str, tuple[float, ...]] = {}
    for text in given:
        name, equals, numbers = (part.strip() for part in text.partition("="))
        if not (name and equals):
            raise InputError(f"--prior {text}: write NAME=NUMBERS, such as severity_sd=0.5 or bias=0,0.6.")
        if name in priors:
            raise InputError(f"--prior {text}: '{name}' is given twice; give it once.")
        priors[name] = _numbers(f"--prior {text}", numbers, "severity_sd=0.5 or bias=0,0.6")
    return priors


def _scale(given: str) -> tuple[float, ...]:
    scale = _numbers(f"--scale {given}", given, "1,2,3,4,5")
    if len(scale) < 2:
        raise InputError(f"--scale {given}: a scale has two ratings at least, such as 1,2,3,4,5.")
    if len(set(scale)) < len(scale):
        raise InputError(f"--scale {given}: a rating is named twice; name each once.")
    return scale


def _numbers(option: str, given: str, example: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in given.split(","))
    except ValueError:
        numbers = ()
    if not numbers or not all(map(math.isfinite, numbers)):
        raise InputError(
            f"{option}: '{given}' is no list of numbers; write them with commas, such as {example}."
        )
    return numbers
