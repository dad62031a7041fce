"""What figures draw: a tidy table with its kind and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pandas as pd


class Drawable(Protocol):
    """A result as figures know it; `conjury.analysis.results.Result` is one."""

    @property
    def kind(self) -> str:
        """Which analysis, and so which figure."""

    @property
    def frame(self) -> pd.DataFrame:
        """One row per number."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was excluded or assumed."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What was run."""

    @property
    def extra(self) -> Mapping[str, pd.DataFrame]:
        """Further tables of the same analysis, by name."""
