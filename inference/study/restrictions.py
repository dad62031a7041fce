"""Which combinations of levels a design leaves out, and what that does to the shares of levels.

Levels are drawn independently, and a combination that a restriction names is drawn again. Profiles thus
follow the product of the level probabilities over the combinations that are left, divided by its sum. What
goes with a restricted level becomes rarer than the study file states, and attributes that a restriction names
together are no longer independent. Restrictions and implausible combinations have the same form; they may
name derived attributes, which stand for the source levels that imply their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import combinations
from math import log10, prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, listed
from ..tables.limits import PROFILES

if TYPE_CHECKING:
    from .models import Study
    from .study_fields import Analysis, Combination

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def drawn_shares(study: Study) -> dict[str, Floats]:
    """Probability with which each level of each attribute is drawn, before any combination is excluded."""
    return {
        attribute.id: np.array([level.probability or 1 / len(attribute.levels) for level in attribute.levels])
        for attribute in study.attributes
    }


def shown_shares(study: Study) -> dict[str, Floats]:
    """Probability with which a profile has each level of each attribute, once restrictions are observed."""
    names = restricted_attributes(study)
    joint = joint_shares(study, names)
    return {
        name: joint.sum(axis=tuple(np.flatnonzero([axis_name != name for axis_name in names])))
        if name in names
        else shares
        for name, shares in drawn_shares(study).items()
    }


def joint_shares(study: Study, names: Sequence[str]) -> Floats:
    """Joint distribution of some attributes among the profiles that restrictions leave."""
    restricted = restricted_attributes(study)
    involved = [part.id for part in study.attributes if part.id in names or part.id in restricted]
    shares = _allowed_shares(study, involved)
    if not shares.any():
        raise InputError(f"The restrictions of study {study.name} leave no combination; remove one of them.")
    summed_axes = tuple(axis for axis, name in enumerate(involved) if name not in names)
    axis_names = [name for name in involved if name in names]
    return np.transpose(
        shares.sum(axis=summed_axes) / shares.sum(), [axis_names.index(name) for name in names]
    )


def refuse_too_many(study: Study, sizes: Sequence[int], what: str = "attributes and stimuli") -> None:
    """Refuse to enumerate more combinations than the limit."""
    if (count := prod(sizes)) > PROFILES:
        total = f"{count:,}" if count < 10**15 else f"about 10^{int(log10(count))}"
        raise InputError(
            f"Study {study.name}: {what} have {total} combinations, and the limit is {PROFILES:,}; use fewer "
            "levels, attributes or stimuli."
        )


def share_left(study: Study) -> float:
    """Probability that restrictions leave in what is drawn: that a draw need not be repeated."""
    return float(_allowed_shares(study, restricted_attributes(study)).sum())


def _allowed_shares(study: Study, names: Sequence[str]) -> Floats:
    """Probability with which combinations of attributes are drawn, 0 for those that restrictions name."""
    level_shares = drawn_shares(study)
    refuse_too_many(study, [len(level_shares[name]) for name in names], f"the attributes {listed(names)}")
    shares = reduce(np.multiply.outer, [level_shares[name] for name in names], np.ones(()))
    grid = dict(zip(names, np.indices(shares.shape), strict=True))
    return np.where(is_allowed(study, grid), shares, 0.0)


def is_allowed(study: Study, codes: Mapping[str, Integers]) -> Flags:
    """Flag the profiles that no restriction leaves out, in the shape of the ``codes`` of their attributes."""
    shape = np.broadcast_shapes(*(code.shape for code in codes.values()))
    mask = np.ones(shape, dtype=bool)
    for restriction in study.design.restrictions:
        mask &= ~shows_combination(study, restriction, codes)
    return mask


def shows_combination(study: Study, combination: Combination, codes: Mapping[str, Integers]) -> Flags:
    """Flag the profiles that show a combination."""
    flags = [
        np.isin(codes[name], level_codes) for name, level_codes in named_levels(study, combination).items()
    ]
    mask: Flags = np.logical_and.reduce(flags)
    return mask


def named_levels(study: Study, combination: Combination) -> dict[str, list[int]]:
    """Codes of the levels that a combination names, by attribute, derived attributes by their source."""
    # A list is empty where a derived attribute and its source are named with levels that exclude each other.
    derived = {part.id: part for part in study.derived}
    level_codes: dict[str, list[int]] = {}
    for feature, levels in combination.levels.items():
        source, names = feature, set(levels)
        if feature in derived:
            source = derived[feature].source
            names = {name for level in derived[feature].levels if level.id in levels for name in level.covers}
        codes = [code for code, name in enumerate(study.levels(source)) if name in names]
        level_codes[source] = [code for code in level_codes.get(source, codes) if code in codes]
    return level_codes


def restricted_attributes(study: Study) -> list[str]:
    """Name the attributes that restrictions are about, in the order of the study file."""
    names = {name for part in study.design.restrictions for name in named_levels(study, part)}
    return [attribute.id for attribute in study.attributes if attribute.id in names]


def chance(study: Study, combination: Combination) -> float:
    """Probability that a profile shows a combination, once restrictions are observed."""
    names = list(named_levels(study, combination))
    joint = joint_shares(study, names)
    grid = dict(zip(names, np.indices(joint.shape), strict=True))
    return float(joint[shows_combination(study, combination, grid)].sum())


def count_cells(study: Study) -> tuple[int, int]:
    """Count the combinations of all attributes: those that restrictions leave, and those without them."""
    sizes = {attribute.id: len(attribute.levels) for attribute in study.attributes}
    names = restricted_attributes(study)
    shape = tuple(sizes[name] for name in names)
    refuse_too_many(study, shape, f"the attributes {listed(names)}")
    mask = is_allowed(study, dict(zip(names, np.indices(shape), strict=True))) if names else np.ones(())
    total = prod(sizes.values())
    return int(mask.sum()) * (total // prod(shape)), total


def count_removed(study: Study, combination: Combination) -> tuple[int, float]:
    """Count the combinations of all attributes that a restriction names, and how likely one is drawn."""
    sizes = {attribute.id: len(attribute.levels) for attribute in study.attributes}
    level_shares, level_codes = drawn_shares(study), named_levels(study, combination)
    multiplier = prod(size for name, size in sizes.items() if name not in level_codes)
    cells = prod(len(codes) for codes in level_codes.values()) * multiplier
    return cells, float(prod(level_shares[name][codes].sum() for name, codes in level_codes.items()))


def tied_attributes(study: Study) -> list[tuple[str, str]]:
    """Pairs of attributes that a restriction names together, in the order of the study file."""
    order = [attribute.id for attribute in study.attributes]
    pairs = {
        pair
        for part in study.design.restrictions
        for pair in combinations(sorted(named_levels(study, part), key=order.index), 2)
    }
    return sorted(pairs, key=lambda pair: [order.index(name) for name in pair])


def ties_without_interaction(study: Study, analysis: Analysis) -> list[tuple[str, str]]:
    """Pairs of an analysis's features that a restriction ties and its formula does not join by ``*``."""
    # An AMCE of such a feature has no meaning of its own: a profile with the level and one with the reference
    # do not meet the same levels of the other feature. Joined, they are compared where both occur.
    if analysis.verb not in ("amce", "amce_diffs", "importance", "share_preferring"):
        return []
    source = {part.id: part.source for part in study.derived}
    tied_pairs = {frozenset(pair) for pair in tied_attributes(study)}
    joined = {frozenset(pair) for pair in analysis.joined}
    return [
        pair
        for pair in combinations(dict.fromkeys(analysis.features), 2)
        if frozenset(source.get(name, name) for name in pair) in tied_pairs and frozenset(pair) not in joined
    ]


def advice(study: Study) -> list[str]:
    """State which analyses must join features that restrictions tie; a sentence for each way to mend them."""
    names_by_remedy: dict[tuple[tuple[tuple[str, str], ...], str], list[str]] = {}
    for analysis in study.analyses:
        unjoined_pairs = ties_without_interaction(study, analysis)
        if unjoined_pairs:
            names_by_remedy.setdefault(
                (tuple(unjoined_pairs), _remedy(unjoined_pairs, analysis.joined)), []
            ).append(analysis.name)
    sentences = []
    for (pairs, remedy), names in names_by_remedy.items():
        tied_pairs = " and ".join(f"{first} with {second}" for first, second in pairs)
        sentences.append(
            f"{'Analyses' if len(names) > 1 else 'Analysis'} {listed(names)}: restrictions tie {tied_pairs}, "
            f"and effects without their interaction mix them; {remedy}."
        )
    return sentences


def _remedy(pairs: Sequence[tuple[str, str]], joined: Sequence[tuple[str, str]]) -> str:
    names = [name for pair in {*pairs, *joined} for name in pair]
    if len(set(names)) < len(names):
        return "make one attribute of their combinations, since * joins two features, each of them once"
    return f"write {' and '.join(f'{first} * {second}' for first, second in pairs)} in the formula"
