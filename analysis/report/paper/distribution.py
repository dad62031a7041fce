"""How profiles of a conjoint are distributed: probabilities of levels, and attributes that are dependent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conjury.inference.study.models import Study
from conjury.inference.study.restrictions import shown_shares, tied_attributes

EQUAL = 5e-4  # difference of probabilities that counts as none: study files round them
Attributes = Mapping[str, Mapping[str, Any]]


def attributes_of(study: Study) -> dict[str, dict[str, Any]]:
    """Label of each attribute and of its levels, by their ids."""
    return {
        attribute.id: {
            "label": attribute.label,
            "levels": {level.id: level.label for level in attribute.levels},
        }
        for attribute in study.attributes
    }


def uneven_shares(study: Study) -> dict[str, dict[str, float]]:
    """Probability that a profile shows each level, of attributes whose levels are not equally likely."""
    shares = shown_shares(study)
    return {
        attribute.id: {
            level.id: round(float(p), 6)
            for level, p in zip(attribute.levels, shares[attribute.id], strict=True)
        }
        for attribute in study.attributes
        if np.ptp(shares[attribute.id]) > EQUAL
    }


def dependent_attributes(study: Study) -> list[list[str]]:
    """Groups of attributes that restrictions tie, directly or through each other; apart from others."""
    groups: list[set[str]] = []
    for pair in tied_attributes(study):
        met = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in met] + [set(pair).union(*met)]
    order = [attribute.id for attribute in study.attributes]
    return sorted(
        (sorted(group, key=order.index) for group in groups), key=lambda names: order.index(names[0])
    )


def distribution_in_words(
    attributes: Attributes, uneven: Mapping[str, Mapping[str, float]], dependent: Sequence[Sequence[str]]
) -> str:
    """State how likely levels are, and which attributes are not independent."""
    if not uneven and not dependent:
        return "All levels of an attribute are equally likely, independently of other attributes."
    groups = [" and ".join(attributes[name]["label"] for name in group) for group in dependent]
    sentences = [f"{group} restrict each other, so they are not independent." for group in groups]
    ending = "otherwise independent" if groups else "independent of each other"
    sentences.append(f"Attributes are {ending}.")
    if not uneven:
        return " ".join([*sentences, "All levels of an attribute are equally likely."])
    shares = [
        f"{attributes[name]['label']}: "
        + ", ".join(f"{attributes[name]['levels'][level]} {p:.3g}" for level, p in of_levels.items())
        for name, of_levels in uneven.items()
    ]
    remainder = " Levels of other attributes are equally likely." if len(uneven) < len(attributes) else ""
    return " ".join([*sentences, f"Probabilities of levels: {'; '.join(shares)}.{remainder}"])
