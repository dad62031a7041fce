"""What ``conjury raters`` is told of a model: priors, link, scale, rare labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import did_you_mean

LINKS = ("logit", "probit")


@dataclass(frozen=True)
class Assumed:
    """What a model assumes in place of its defaults; nothing where a field is empty."""

    priors: dict[str, tuple[float, ...]]
    link: str | None = None
    scale: tuple[float, ...] | None = None
    min_count: int | None = None

    def given(self, *, link: bool, scale: bool) -> dict[str, Any]:
        """As a model takes them; InputError for what it has not: a ``link``, or a ``scale``."""
        if self.link is not None and not link:
            raise InputError(f"--link {self.link} goes with --model ordinal; leave it out.")
        if self.scale is not None and not scale:
            raise InputError("--scale goes with ratings, and the model of labels takes none; leave it out.")
        if self.min_count is not None and scale:
            raise InputError("--min-count goes with labels, and ratings have none; leave it out.")
        told = {
            "priors": self.priors or None,
            "link": self.link,
            "scale": self.scale,
            "min_count": self.min_count,
        }
        return {name: value for name, value in told.items() if value is not None}

    def record(self) -> dict[str, Any]:
        """What the manifest says of it."""
        changed = {name: list(numbers) for name, numbers in self.priors.items()}
        return {"scale": None if self.scale is None else list(self.scale), "priors_changed": changed}


def assumed(
    priors: Sequence[str] | None, link: str | None, scale: str | None, min_count: int | None = None
) -> Assumed:
    """Read the options ``--prior NAME=NUMBERS``, ``--link``, ``--scale`` and ``--min-count``."""
    if link is not None and link not in LINKS:
        raise InputError(
            f"--link {link}: there is no such link{did_you_mean(link, LINKS)}; use logit or probit."
        )
    return Assumed(_priors(priors or ()), link, None if scale is None else _scale(scale), min_count)


def _priors(given: Sequence[str]) -> dict[str, tuple[float, ...]]:
    made: dict[str, tuple[float, ...]] = {}
    for text in given:
        name, equals, numbers = (part.strip() for part in text.partition("="))
        if not (name and equals):
            raise InputError(f"--prior {text}: write NAME=NUMBERS, such as severity_sd=0.5 or bias=0,0.6.")
        if name in made:
            raise InputError(f"--prior {text}: '{name}' is given twice; give it once.")
        made[name] = _numbers(f"--prior {text}", numbers, "severity_sd=0.5 or bias=0,0.6")
    return made


def _scale(given: str) -> tuple[float, ...]:
    made = _numbers(f"--scale {given}", given, "1,2,3,4,5")
    if len(made) < 2:
        raise InputError(f"--scale {given}: a scale has two ratings at least, such as 1,2,3,4,5.")
    if len(set(made)) < len(made):
        raise InputError(f"--scale {given}: a rating is named twice; name each once.")
    return made


def _numbers(option: str, given: str, example: str) -> tuple[float, ...]:
    try:
        made = tuple(float(part) for part in given.split(","))
    except ValueError:
        made = ()
    if not made or not all(map(math.isfinite, made)):
        raise InputError(
            f"{option}: '{given}' is no list of numbers; write them with commas, such as {example}."
        )
    return made
