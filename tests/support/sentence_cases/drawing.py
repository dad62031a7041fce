"""Draws of tables in which conditions are true, false or on their border, and rules for every sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

Case = Callable[["Draws"], str]
CASES: dict[str, Case] = {}
NOUN = r"(?P<noun>[a-z]+)"
PLURAL = re.compile(rf"(?P<n>\d[\d,]*) of (?P<of>\d[\d,]*)(?: {NOUN})?(?: (?P<verb>is|are|has|have)\b)?")
ENDINGS_OF_SINGULARS = ("ss", "series", "triples")


def case(name: str) -> Callable[[Case], Case]:
    """List a case under the name of its sentence; it returns the sentence that it has checked."""

    def listed(function: Case) -> Case:
        assert name not in CASES, f"two cases for {name}"
        CASES[name] = function
        return function

    return listed


class Draws:
    """Random values with what sentences get wrong: ties, missing values, one row, all or none significant."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def size(self, least: int = 1, most: int = 7) -> int:
        """A number of rows; often the smallest."""
        return least if self.rng.random() < 0.25 else int(self.rng.integers(least, most + 1))

    def flip(self, share: float = 0.5) -> bool:
        """A coin."""
        return bool(self.rng.random() < share)

    def one(self, values: Sequence[Any]) -> Any:
        """One of some values."""
        return values[int(self.rng.integers(len(values)))]

    def numbers(self, n: int, scale: float = 0.3, *, missing: bool = True) -> np.ndarray:
        """Numbers of any sign: continuous, tied, all equal, or zeros; some or all missing."""
        kind = self.one(["continuous", "grid", "equal", "zero", "tiny"])
        values = self.rng.normal(0, scale, n)
        if kind == "grid":
            values = np.round(values / scale) * scale
        elif kind == "equal":
            values = np.full(n, values[0])
        elif kind == "zero":
            values = np.zeros(n)
        elif kind == "tiny":
            values *= 1e-3
        return self.holes(values) if missing else values

    def shares(self, n: int, *, missing: bool = True) -> np.ndarray:
        """Shares from 0 to 1, often at the ends, at one half, or close to them."""
        values = np.array(
            [self.one([0.0, 1.0, 0.5, 0.9996, 0.4999, 0.0004, self.rng.random()]) for _ in range(n)]
        )
        if self.flip(0.2):
            values[:] = values[0]
        return self.holes(values) if missing else values

    def p(self, n: int, *, missing: bool = True) -> np.ndarray:
        """P values: all significant, none, or some, and some on the border."""
        kind = self.one(["all", "none", "some", "some"])
        values = self.rng.random(n)
        if kind == "all":
            values *= 0.01
        elif kind == "none":
            values = 0.05 + 0.95 * values
        else:
            values = np.where(self.rng.random(n) < 0.5, values * 0.06, values)
        values[self.rng.random(n) < 0.1] = 0.05
        return self.holes(values) if missing else values

    def limits(self, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Limits around numbers, of which some touch zero or are missing."""
        width = np.abs(self.rng.normal(0, 0.2, len(centre)))
        lower, upper = centre - width, centre + width
        lower[self.rng.random(len(centre)) < 0.1] = 0.0
        gone = self.rng.random(len(centre)) < 0.15
        lower[gone] = upper[gone] = np.nan
        return lower, upper

    def holes(self, values: np.ndarray) -> np.ndarray:
        """The same, with nothing, something or everything missing."""
        share = self.one([0.0, 0.0, 0.3, 1.0 if self.flip(0.3) else 0.0])
        return np.where(self.rng.random(len(values)) < share, np.nan, values)

    def counts(self, n: int, most: int = 50) -> np.ndarray:
        """Counts, often zero or all equal."""
        values = self.rng.integers(0, most, n)
        return np.full(n, values[0]) if self.flip(0.2) else np.where(self.rng.random(n) < 0.3, 0, values)

    def names(self, n: int, stem: str, distinct: int | None = None) -> list[str]:
        """Names, each distinct, or some of a few."""
        if distinct is None:
            return [f"{stem} {chr(97 + k % 26)}{'x' * (k // 26)}" for k in range(n)]
        return [f"{stem} {chr(97 + int(k))}" for k in self.rng.integers(0, max(distinct, 1), n)]


def integers(text: str) -> list[int]:
    """The whole numbers of a sentence, without those of decimals."""
    return [int(one.replace(",", "")) for one in re.findall(r"(?<![\d.,])\d[\d,]*(?![\d.]*\d)(?!\.\d)", text)]


def out_of(text: str) -> tuple[int, int]:
    """The first "N of M" of a sentence."""
    match = re.search(r"(\d[\d,]*|[Nn]one) of (?:the )?(\d[\d,]*)", text)
    if match is None:
        assert re.search(r"\b[Nn]o [a-z]+", text), text
        return 0, 0
    n, total = (re.sub("[Nn]one", "0", part).replace(",", "") for part in match.groups())
    return int(n), int(total)


def is_missing(value: float) -> bool:
    """Whether a number is missing."""
    return value is None or math.isnan(value)


def check_grammar(text: str) -> None:
    """What holds for every sentence: no missing value in words, no part above its whole, numbers agree."""
    assert not re.search(r"\b(nan|None(?! of)|NaN|inf|<NA>)\b", text), text
    assert "  " not in text, text
    text = re.sub(r"\b[Nn]one of", "0 of", text)
    for match in PLURAL.finditer(text):
        n, of = (int(match[name].replace(",", "")) for name in ("n", "of"))
        assert n <= of, text
        if match["noun"] and of == 1 and not match["noun"].endswith(ENDINGS_OF_SINGULARS):
            assert not match["noun"].endswith("s") or match["noun"] in ("is", "has"), text
        if match["verb"] and 1 in (n, of):
            assert match["verb"] in ("is", "has"), text
        if match["verb"] and 1 not in (n, of):
            assert match["verb"] in ("are", "have"), text


def frame(**columns: Any) -> pd.DataFrame:
    """A table."""
    return pd.DataFrame(columns)
