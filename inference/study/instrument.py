"""The section ``instrument``: facets of asking that are varied, testing pairs, and anchors asked again."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..tables.limits import PAIRS, SAMPLES
from .study_yaml import Count, Identifier, Part, Probability

Extra = Annotated[int, Field(ge=0, le=PAIRS)]
Parser = Literal["default", "strict", "lenient", "token"]


class Facets(Part):
    """What is varied in putting one question; a facet with one level is held constant."""

    prompt: list[Identifier] = Field(default_factory=list)
    """Prompts of the study that are compared; all by default."""
    option_order: list[Literal["given", "swapped"]] = Field(default=["given"], min_length=1)
    """Order of options: swapped shows the profiles of a pair in exchanged positions, and lists labels in
    reverse."""
    option_labels: list[Literal["letters", "numbers", "first_second"]] = Field(
        default=["letters"], min_length=1
    )
    """What the options of a choice are called: A and B, 1 and 2, or First and Second."""
    scale_direction: list[Literal["ascending", "descending"]] = Field(default=["ascending"], min_length=1)
    """Order of a scale: descending lists it from its highest rating to its lowest."""
    sample: Annotated[Count, Field(le=SAMPLES)] | None = None
    """Answers to the same request; by default those of the judge."""
    parser: list[Parser] = Field(default=["default"], min_length=1)
    """Parsing rules of the same answers; they need no further requests."""


class Instrument(Part):
    """How judges are tested as instruments."""

    facets: Facets = Facets()
    """What is varied in putting one question."""
    fraction: Probability = 1.0
    """Share of the combinations of facets that is asked, such as 1/2."""
    vacuum_pairs: Extra = 0
    """Number of pairs that show one profile twice."""
    same_quality_pairs: Extra = 0
    """Number of pairs of profiles that agree in all attributes but irrelevant ones."""
    irrelevant: list[Identifier] = Field(default_factory=list)
    """Attributes in which same-quality pairs may differ."""
    anchors: Extra = 0
    """Number of pairs or items, the first of the design, that are asked again on later occasions."""

    @property
    def swaps(self) -> bool:
        """Whether every pair is shown in exchanged positions as well."""
        return "swapped" in self.facets.option_order
