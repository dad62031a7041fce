"""A planned study in numbers: variances before data are collected, and the power that follows from them.

A forced choice between two profiles holds one answer, not two: the outcomes of a pair add up to one.
With both profiles drawn independently, an AMCE of size ``tau`` estimated from ``n`` profiles (``n / 2``
pairs) has the variance

    (mu_1 (1 - mu_1) / p_1 + mu_0 (1 - mu_0) / p_0 - tau^2) / n,

where ``mu`` are the choice probabilities of the level and its reference and ``p`` the shares of profiles
that show them. The first two terms are those of independent rows; the last is twice the covariance
between the two rows of a pair. Any other contrast of least-squares coefficients gives the outcome of a
profile with design row ``x`` the weight ``g = c' E[x x']^-1 x``; then

    (E[g^2 mu (1 - mu)] - tau^2) / n,

which is the sandwich ``c' E[x x']^-1 Omega E[x x']^-1 c / n`` with scores summed by pair, where choices
are additive in the levels. All functions take arrays that broadcast against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...numerics.operating import OperatingCharacteristics, operating, satterthwaite, solve_increasing

LARGEST = 1e14  # profiles: the end of the search for a sample size


def binary_variance(mean: np.ndarray) -> np.ndarray:
    """Variance of a choice with the given probability; NaN outside 0 to 1."""
    return np.where((mean >= 0) & (mean <= 1), mean * (1 - mean), np.nan)


def forced_choice_variance(
    effect: np.ndarray,
    share: np.ndarray,
    level_weight: np.ndarray,
    rest_weight: np.ndarray,
    variance_share: np.ndarray | float = 1.0,
) -> np.ndarray:
    """Variance of an effect per profile in forced choices between two independently drawn profiles."""
    base = 0.5 - share * effect
    rows = binary_variance(base + effect) * level_weight + binary_variance(base) * rest_weight
    return np.asarray(variance_share * rows - effect**2)


def row_amce_variance(effect: np.ndarray, share: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Variance of an AMCE per profile with independent rows whose means lie evenly around one half."""
    base = 0.5 - effect / 2
    return np.asarray(binary_variance(base + effect) / share + binary_variance(base) / reference)


def row_interaction_variance(effect: np.ndarray, cells: tuple[np.ndarray, ...]) -> np.ndarray:
    """Variance of an interaction per profile with independent rows, under cjpowR's cell means."""
    # The means are 1/2 in the two cells without the second level, `1/2 + effect / 2` with the second level
    # alone and `1/2 + 3 effect / 2` with both.
    joint, first, second, neither = cells
    return np.asarray(
        0.25 / neither
        + 0.25 / first
        + binary_variance(0.5 + effect / 2) / second
        + binary_variance(0.5 + 1.5 * effect) / joint
    )


def shrinkage(reliability: np.ndarray) -> np.ndarray:
    """Factor ``1 - 2 tau`` of effects, from the share ``(1 - tau)^2 + tau^2`` of the same choice twice."""
    return np.asarray(np.sqrt(2 * reliability - 1))


def corrected_variance(
    observed: np.ndarray, effect: np.ndarray, reliability: np.ndarray, repeats: np.ndarray
) -> np.ndarray:
    """Variance of an effect divided by its estimated shrinkage, by the delta method."""
    factor = 2 * reliability - 1
    return np.asarray((observed + effect**2 * reliability * (1 - reliability) / (factor * repeats)) / factor)


Target = Literal["amce", "difference", "interaction"]
SMALLEST = 1e-9  # where the search for a detectable effect begins, since its logarithm is searched


@dataclass(frozen=True)
class PowerContrasts:
    """The m contrasts of a design; every array has shape (m,)."""

    share: np.ndarray  # of profiles with the level; for an interaction with that of the second feature too
    reference: np.ndarray  # the same with its reference
    other: np.ndarray  # both again with the reference of the second feature; NaN without one
    other_reference: np.ndarray
    own: np.ndarray  # mean square of the weights of outcomes in the estimate, among profiles with the level
    rest: np.ndarray  # among all others
    stimuli: np.ndarray  # that render each of the two levels; infinite where they do not matter
    stimulus_sd: np.ndarray  # standard deviation between stimuli of one level of what is estimated


@dataclass(frozen=True)
class PowerSetting:
    """What holds for all contrasts of a planned study; see `conjury.analysis.conjoint.power.power`."""

    of: Target = "amce"
    alpha: float = 0.05
    tests: int = 1
    groups: tuple[float, float] = (0.5, 0.5)
    same_pairs: float | None = None
    tasks: float | None = None
    icc: float = 0.0
    effect_sd: float = 0.0
    reliability: float | None = None
    repeats: float = 0.0
    corrected: bool = False
    samples: int = 1
    noise: float = 0.0
    explained: float = 0.0
    cjpowr: bool = False

    @property
    def level_alpha(self) -> float:
        """Significance level of each of the tests."""
        return self.alpha / self.tests

    @property
    def kept(self) -> float:
        """Share of the outcome's variance that other attributes and repeated answers leave."""
        return 1 - self.explained - self.noise * (1 - 1 / self.samples)

    @property
    def factor(self) -> float:
        """Factor by which response error shrinks effects."""
        return 1.0 if self.reliability is None else float(shrinkage(np.array(self.reliability)))

    @property
    def shown(self) -> float:
        """How often a pair is shown on average, samples and repeats counted."""
        return self.samples + self.repeats / (1.0 if self.tasks is None else self.tasks)

    @property
    def largest(self) -> float:
        """Largest effect without response error that the assumed choice probabilities allow."""
        if self.cjpowr:
            return 1 / 3 if self.of == "interaction" else 1.0
        return (1.0 if self.of == "difference" else 0.5) / self.factor


@dataclass(frozen=True)
class Test:
    """What is tested, with its standard error and degrees of freedom; arrays of shape (m,)."""

    effect: np.ndarray
    std_error: np.ndarray
    df: np.ndarray


def per_profile(levels: PowerContrasts, setting: PowerSetting, effect: np.ndarray) -> np.ndarray:
    """Variance per profile of an effect in the observed choices, shape (m,), before clusters and stimuli."""
    if setting.cjpowr and setting.of == "interaction":
        cells = (levels.share, levels.other, levels.reference, levels.other_reference)
        return row_interaction_variance(effect, cells)
    if setting.cjpowr:
        return row_amce_variance(effect, levels.share, levels.reference)

    def variance(size: np.ndarray) -> np.ndarray:
        return forced_choice_variance(size, levels.share, levels.own, levels.rest, setting.kept)

    if setting.of != "difference":
        return variance(effect)
    first, second = variance(effect / 2), variance(-effect / 2)
    if setting.same_pairs is not None:
        return np.asarray(first + second - 2 * setting.same_pairs * np.sqrt(first * second))
    return np.asarray(first / setting.groups[0] + second / setting.groups[1])


def test_at(levels: PowerContrasts, setting: PowerSetting, effect: np.ndarray, profiles: np.ndarray) -> Test:
    """Standard error and degrees of freedom of each contrast."""
    observed = effect * setting.factor
    tasks = 1.0 if setting.tasks is None else setting.tasks
    groups = 1.0
    if setting.of == "difference" and setting.same_pairs is None:
        groups = sum(1 / share for share in setting.groups)
    sampling = per_profile(levels, setting, observed) * (1 + (tasks - 1) * setting.icc)
    sampling = sampling + 2 * (tasks - 1) * (setting.factor * setting.effect_sd) ** 2 * groups
    between = (setting.factor * levels.stimulus_sd) ** 2
    lasting = 2 * between / levels.stimuli
    if setting.of == "amce":
        sampling = sampling - between * (levels.own + levels.rest)
    sampling = sampling / profiles
    respondents = np.inf if setting.tasks is None else profiles / 2 / setting.tasks
    respondent_df = np.maximum(respondents - 1, 1.0)
    df = satterthwaite((sampling, lasting), (respondent_df, np.maximum(2 * levels.stimuli - 2, 1.0)))
    variance = sampling + lasting
    if setting.corrected and setting.reliability is not None:
        repeats = (
            profiles / 2 * setting.repeats / tasks if setting.repeats else np.full(len(profiles), np.inf)
        )
        variance = corrected_variance(variance, effect, np.array(setting.reliability), repeats)
        return Test(effect, np.sqrt(variance), df)
    return Test(observed, np.sqrt(variance), df)


def behaviour(
    levels: PowerContrasts, setting: PowerSetting, effect: np.ndarray, profiles: np.ndarray
) -> OperatingCharacteristics:
    """Power, type S and type M error of each contrast."""
    test = test_at(levels, setting, effect, profiles)
    return operating(test.effect, test.std_error, setting.level_alpha, test.df)


def power_limit(levels: PowerContrasts, setting: PowerSetting, effect: np.ndarray) -> np.ndarray:
    """Power that is approached, and never passed, as the number of profiles grows; shape (m,)."""
    return np.where(
        levels.stimulus_sd > 0, behaviour(levels, setting, effect, np.full(len(effect), np.inf)).power, 1.0
    )


def needed_profiles(
    levels: PowerContrasts, setting: PowerSetting, effect: np.ndarray, power: np.ndarray
) -> np.ndarray:
    """Profiles at which each contrast reaches its power, shape (m,); infinite where none suffice."""
    low = np.full(len(effect), 2.0)
    with np.errstate(invalid="ignore"):
        return solve_increasing(
            _shortfall(setting, power, lambda n: behaviour(levels, setting, effect, n)),
            low,
            np.full(len(effect), LARGEST),
        )


def detectable_effect(
    levels: PowerContrasts, setting: PowerSetting, profiles: np.ndarray, power: np.ndarray
) -> np.ndarray:
    """Smallest effect that each contrast finds with its power, shape (m,); infinite where none is."""
    return solve_increasing(
        _shortfall(setting, power, lambda effect: behaviour(levels, setting, effect, profiles)),
        np.full(len(profiles), SMALLEST),
        np.full(len(profiles), setting.largest * (1 - 1e-12)),
    )


def _shortfall(
    setting: PowerSetting, power: np.ndarray, at: Callable[[np.ndarray], OperatingCharacteristics]
) -> Callable[[np.ndarray], np.ndarray]:
    """Power less the wanted one; cjpowR counts significant estimates of the right sign only."""

    def reached(value: np.ndarray) -> np.ndarray:
        result = at(value)
        return np.asarray((result.right if setting.cjpowr else result.power) - power)

    return reached
