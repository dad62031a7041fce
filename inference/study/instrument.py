"""The section ``instrument``: facets of asking that are varied, testing pairs, and anchors asked again."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..tables.limits import PAIRS, SAMPLES
from .base import Count, Identifier, Part, Probability

Extra = Annotated[int, Field(ge=0, le=PAIRS)]
Parser = Literal["default", "strict", "lenient", "token"]


class Facets(Part):
    """What is varied in putting one question; a facet with one level is held constant.

    ``prompt`` names prompts of the study, all by default. ``option_order`` swapped shows the two profiles of
    a pair in exchanged positions, as a swapped repeat, and lists labels in reverse. ``option_labels`` are
    what the options of a choice are called: A and B, 1 and 2, or First and Second. A descending
    ``scale_direction`` lists a scale from its highest rating to its lowest. ``sample`` is the number of
    answers to the same request, that of the judge by default. ``parser`` names parsing rules of the same
    answers, which need no further requests.
    """

    prompt: list[Identifier] = Field(default_factory=list)
    option_order: list[Literal["given", "swapped"]] = Field(default=["given"], min_length=1)
    option_labels: list[Literal["letters", "numbers", "first_second"]] = Field(
        default=["letters"], min_length=1
    )
    scale_direction: list[Literal["ascending", "descending"]] = Field(default=["ascending"], min_length=1)
    sample: Annotated[Count, Field(le=SAMPLES)] | None = None
    parser: list[Parser] = Field(default=["default"], min_length=1)


class Instrument(Part):
    """How judges are tested as instruments.

    ``fraction`` is the share of the combinations of facets that is asked. Vacuum pairs show one profile
    twice. Same-quality pairs show two profiles that agree in all attributes but those named
    ``irrelevant``, and differ in one of these or in a stimulus. ``anchors`` is the number of pairs or
    items, the first of the design, that are asked again on later occasions.
    """

    facets: Facets = Facets()
    fraction: Probability = 1.0
    vacuum_pairs: Extra = 0
    same_quality_pairs: Extra = 0
    irrelevant: list[Identifier] = Field(default_factory=list)
    anchors: Extra = 0

    @property
    def swaps(self) -> bool:
        """Whether every pair is shown in exchanged positions as well."""
        return "swapped" in self.facets.option_order
