"""Stimuli with effects of their own: some texts, some authors are chosen more often than their levels say.

Stimulus t of a stimulus factor (one post text, one author profile) adds ``sd * z_t`` to the utility of
every profile that shows it (an intercept), and ``sd_l * z_tl`` where the profile also holds level l of an
attribute (a slope, such as the effect of a slur that differs between texts). All z are independent
standard normal. They belong to the stimuli: all judges of a simulation meet the same z, each scaled by
the standard deviations of that judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...design.profiles import stimulus_ids
from ...study.models import Study
from ...tables.streams import stream
from .judges import RaterModel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class StimulusTerm:
    """One random effect of a stimulus factor.

    Attributes
    ----------
    stimulus : str
        The stimulus factor, such as ``text``.
    feature : str
        The attribute whose effect varies between stimuli; empty for an intercept.
    sd : ndarray, shape (levels,), or (1,) for an intercept
        Standard deviation between stimuli on the utility scale.
    """

    stimulus: str
    feature: str
    sd: Floats

    def codes(self, study: Study, codes: Integers) -> Integers:
        """Entry of ``sd`` for each profile, shape (n,), from attribute codes of shape (n, attributes)."""
        if not self.feature:
            return np.zeros(len(codes), dtype=np.int64)
        return codes[:, [attribute.id for attribute in study.attributes].index(self.feature)]


def stimulus_terms(rater: RaterModel, study: Study) -> list[StimulusTerm]:
    """Random effects of stimuli that a rater responds to, in the order of its truth table.

    A slope without a level applies to all levels but the reference.
    """
    terms: dict[tuple[str, str], Floats] = {}
    for (name, level), sd in rater.stimulus_sd.items():
        stimulus, _, feature = name.partition(":")
        levels = study.levels(feature) if feature else [""]
        values = terms.setdefault((stimulus, feature), np.zeros(len(levels)))
        if feature and not level:
            values[1:] = sd
        else:
            values[levels.index(level)] = sd
    return [StimulusTerm(*key, sd) for key, sd in terms.items()]


def stimulus_effects(study: Study, raters: Sequence[RaterModel], seed: int) -> pd.DataFrame:
    """Effects of the given stimuli on the utility scale."""
    rows = [
        (rater.judge, rater.prompt, term.stimulus, name, term.feature, level, float(effect))
        for rater in raters
        for term in stimulus_terms(rater, study)
        for name, effects in zip(_names(study, term), _standard(study, term, seed) * term.sd, strict=True)
        for level, effect in zip(
            study.levels(term.feature) if term.feature else [""], effects.tolist(), strict=True
        )
    ]
    columns = ["judge", "prompt", "stimulus", "id", "feature", "level", "effect"]
    text: dict[str, str] = dict.fromkeys(columns[:-1], "string")
    return pd.DataFrame(rows, columns=columns).astype({**text, "effect": "float64"})


def stimulus_utility(
    study: Study, rater: RaterModel, profiles: pd.DataFrame, codes: Integers, seed: int
) -> Floats:
    """Utility that the given stimuli add to each of n profiles, shape (n,)."""
    total = np.zeros(len(profiles))
    for term in stimulus_terms(rater, study):
        effects = _standard(study, term, seed) * term.sd
        total += effects[profiles[term.stimulus].cat.codes.to_numpy(), term.codes(study, codes)]
    return total


def difference_variance(term: StimulusTerm, own: Integers, other: Integers, same: bool) -> Floats:
    """Variance between stimuli of the difference of two profiles' utilities, shape (r, c)."""
    variance: Floats = term.sd[own, None] ** 2 + term.sd[other] ** 2
    return variance * (own[:, None] != other) if same else variance


def _standard(study: Study, term: StimulusTerm, seed: int) -> Floats:
    drawn = stream(seed, "stimuli", term.stimulus, term.feature)
    return drawn.standard_normal((len(_names(study, term)), len(term.sd)))


def _names(study: Study, term: StimulusTerm) -> list[str]:
    return stimulus_ids(study, next(part for part in study.stimuli if part.id == term.stimulus))
