"""Checks of the section ``instrument`` of a study file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import listed
from ..tables.limits import CELLS
from ..tables.schema import INSTRUMENT
from .asking import Choice, Label, LineLabels, Ratings
from .study_yaml import Location, Problem, duplicates, suggestion

if TYPE_CHECKING:
    from .instrument import Facets, Instrument
    from .models import ItemStudy, Study

PUT = ("option_order", "option_labels", "scale_direction")  # facets besides prompt and sample


def instrument_problems(study: Study | ItemStudy) -> Iterator[Problem]:
    """Report what is wrong with the section ``instrument``, if there is one."""
    if study.instrument is None:
        return
    facets = list(_facets(study, study.instrument.facets))
    yield from facets
    yield from _forms(study, study.instrument.facets)
    if not facets:
        yield from _fraction(study, study.instrument)
    yield from _pairs(study, study.instrument)


def _facets(study: Study | ItemStudy, facets: Facets) -> Iterator[Problem]:
    at: Location = ("instrument", "facets")
    for name in ("prompt", "option_order", "option_labels", "scale_direction", "parser"):
        levels = getattr(facets, name)
        for position, level in enumerate(levels):
            if level in levels[:position]:
                yield Problem((*at, name, position), f"{name}: '{level}' is given twice; remove one of them.")
    for position, name in enumerate(facets.prompt):
        if name not in study.prompt_labels:
            yield Problem((*at, "prompt", position), f"prompt: {suggestion(name, study.prompt_labels)}")
    if "given" not in facets.option_order:
        yield Problem((*at, "option_order"), "option_order: 'swapped' is relative to 'given'; name both.")


def _forms(study: Study | ItemStudy, facets: Facets) -> Iterator[Problem]:
    """Report facets that the form of the answers does not have."""
    at: Location = ("instrument", "facets")
    responses = [prompt.response or study.response for prompt in study.instrument_prompts]
    forms = list(dict.fromkeys(response.form for response in responses))
    if len(forms) > 1:
        yield Problem(
            (*at, "prompt"),
            f"prompt: the prompts ask for answers of the forms {listed(forms)}; name prompts of one form.",
        )
        return
    response = responses[0] if responses else study.response
    if len(facets.option_labels) > 1 and not isinstance(response, Choice):
        yield Problem((*at, "option_labels"), "option_labels: only a choice has two options; remove it.")
    elif isinstance(response, Choice) and response.options != ["A", "B"]:
        yield Problem(
            (*at, "option_labels"),
            f"option_labels: the response has options of its own, {listed(response.options)}, and an "
            "instrument calls them A and B or otherwise; remove 'options' of the response.",
        )
    if len(facets.scale_direction) > 1 and not isinstance(response, Ratings):
        yield Problem((*at, "scale_direction"), "scale_direction: only ratings have scales; remove it.")
    if len(facets.option_order) > 1 and not isinstance(response, Choice | Label | LineLabels):
        yield Problem((*at, "option_order"), "option_order: only choices and labels have options; remove it.")
    if len(facets.option_order) > 1 and study.collect.shuffle_options:
        yield Problem(
            (*at, "option_order"),
            "option_order: collect.shuffle_options draws the order of labels; remove one of the two.",
        )
    if "token" in facets.parser and not isinstance(response, Choice):
        yield Problem((*at, "parser"), "parser: 'token' is about choices; use strict, lenient or default.")


def _fraction(study: Study | ItemStudy, instrument: Instrument) -> Iterator[Problem]:
    """Report a fraction that cannot tell the main effects of the facets apart, or too many combinations."""
    for samples in _samples(study, instrument.facets):
        levels = [len(study.instrument_prompts), samples]
        levels += [len(getattr(instrument.facets, name)) for name in PUT]
        cells = math.prod(levels)
        if cells > CELLS:
            yield Problem(
                ("instrument", "facets"),
                f"facets: their levels have {cells:,} combinations, and the limit is {CELLS:,}; name fewer.",
            )
            return
        needed = 1 + sum(size - 1 for size in levels)
        if round(instrument.fraction * cells) < needed:
            yield Problem(
                ("instrument", "fraction"),
                f"fraction: of {cells:,} combinations of facets {round(instrument.fraction * cells):,} would "
                f"be asked, and their main effects need {needed:,}; write "
                f"{math.ceil(100 * needed / cells) / 100:g} or more.",
            )
            return


def _samples(study: Study | ItemStudy, facets: Facets) -> list[int]:
    if facets.sample is not None:
        return [facets.sample]
    return sorted({judge.ask.samples for judge in study.judges if judge.ask is not None}) or [1]


def _pairs(study: Study | ItemStudy, instrument: Instrument) -> Iterator[Problem]:
    paired = study.kind == "conjoint" and study.collect.form == "pair"
    for field in ("vacuum_pairs", "same_quality_pairs", "irrelevant"):
        if getattr(instrument, field) and not paired:
            yield Problem(("instrument", field), f"{field}: only a conjoint of pairs has pairs; remove it.")
    if study.kind != "conjoint":
        return
    attribute_ids = [attribute.id for attribute in study.attributes]
    yield from duplicates(instrument.irrelevant, ("instrument", "irrelevant"), "attribute")
    for position, name in enumerate(instrument.irrelevant):
        if name not in attribute_ids:
            yield Problem(
                ("instrument", "irrelevant", position), f"irrelevant: {suggestion(name, attribute_ids)}"
            )
    is_identical = not instrument.irrelevant and all(part.count == 1 for part in study.stimuli)
    if instrument.same_quality_pairs and is_identical:
        yield Problem(
            ("instrument", "same_quality_pairs"),
            "same_quality_pairs: profiles with the same levels are identical here; name attributes that "
            "should make no difference under 'irrelevant'.",
        )
    columns = [*study.features, *(part.id for part in study.stimuli)]
    for name in columns:
        if name in INSTRUMENT:
            yield Problem(
                ("instrument",),
                f"instrument: '{name}' is an attribute and a column of the instrument; rename the attribute.",
            )
    if instrument.anchors > study.design.pairs:
        yield Problem(
            ("instrument", "anchors"),
            f"anchors: the design has {study.design.pairs:,} pairs; write at most as many.",
        )
