"""A study of items with its judgments: what the analyses of ratings need to plan their steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.readers.judgments import scales_of

from ..frames.vocabulary import HUMAN
from .ratings import Ratings
from .reading import read_dimensions, read_ratings
from .scales import dimension_names

if TYPE_CHECKING:
    from conjury.inference.study.models import ItemStudy


@dataclass(frozen=True)
class RatedStudy:
    """Judgments of a study of items that are rated, or labelled without gold labels."""

    study: ItemStudy
    judgments: pd.DataFrame
    items: pd.DataFrame | None
    epsilon: float = 0.1  # people's advantage over a model that may replace one of them

    @property
    def has_scales(self) -> bool:
        """Whether answers are ratings, not labels."""
        return self.study.response.form == "ratings"

    @cached_property
    def has_both_kinds(self) -> bool:
        """Whether people and models answered."""
        return set(self.judgments["judge_kind"].astype(str)) >= {HUMAN, "model"}

    @cached_property
    def scales(self) -> dict[str, Sequence[float]]:
        """The ratings that each dimension allows."""
        return dict(scales_of(self.study))

    @property
    def common_scale(self) -> Sequence[float] | None:
        """The ratings that all dimensions allow; None where they differ."""
        scales = {tuple(scale) for scale in self.scales.values()}
        return scales.pop() if len(scales) == 1 else None

    @cached_property
    def ratings(self) -> list[Ratings]:
        """The ratings of each dimension; those off its scale are refused."""
        names = dimension_names(self.judgments)
        return [read_ratings(self.judgments, dimension=n, scale=self.scales.get(str(n))) for n in names]

    @cached_property
    def coded(self) -> list[Ratings]:
        """The ratings of each dimension, on the scale that all dimensions have, if they have one."""
        has_one_scale = self.common_scale is not None or not self.scales
        return self.ratings if has_one_scale else read_dimensions(self.judgments)

    @property
    def strata(self) -> tuple[str, ...]:
        """Columns of strata of items."""
        return tuple(stratum.id for stratum in self.study.strata)

    @property
    def title_of_means(self) -> str:
        """The title of mean ratings by the first stratum, if there is one."""
        label = self.study.feature_labels.get(self.strata[0], "") if self.strata else ""
        return f"Mean ratings by {label.lower()}" if label else "Mean ratings"

    @property
    def common_options(self) -> dict[str, Any]:
        """Options of every analysis of ratings on one scale."""
        return {"cluster": self.study.cluster, "scale": self.common_scale}
