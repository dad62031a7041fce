"""Power, sample size and minimum detectable effect of a conjoint design, without simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.study import load_study
from conjury.inference.tables.frames import any_frame

from ...numerics.intervals import check_alpha
from .design_levels import ByFeature, Design, Shares, as_levels, contrasts, level_shares
from .power_model import PowerSetting, Target
from .regressions import cell_contrasts, design_cells, is_restricted
from .result import Numbers, Power, answer, numbers, two_of_three


@any_frame
def power(
    design: Design | str | Path,
    *,
    amce: Numbers = None,
    difference: Numbers = None,
    interaction: Numbers = None,
    of: Target | None = None,
    pairs: Numbers = None,
    profiles: Numbers = None,
    respondents: Numbers = None,
    tasks: float | None = None,
    power: Numbers = None,
    by: str | Shares | None = None,
    features: Sequence[str] | None = None,
    restrictions: Sequence[tuple[str, str]] = (),
    alpha: float = 0.05,
    tests: int = 1,
    groups: tuple[float, float] = (0.5, 0.5),
    same_pairs: float | None = None,
    icc: float = 0.0,
    effect_sd: float = 0.0,
    stimuli: ByFeature = None,
    stimulus_sd: ByFeature = None,
    reliability: float | None = None,
    repeats: float = 0.0,
    estimand: Literal["observed", "corrected"] = "observed",
    samples: int = 1,
    noise: float = 0.0,
    explained: float = 0.0,
    convention: Literal["pair", "cjpowr"] = "pair",
) -> Power:
    """Find power, sample size or minimum detectable effect of a forced choice between two profiles.

    Two of effect (``amce``, ``difference`` or ``interaction``), size (``pairs``, ``profiles`` or
    ``respondents``) and ``power`` are given, and the third is found. Sequences give a row for each
    combination.

    Parameters
    ----------
    design : Study, path, str, mapping, DataFrame or int
        A study, the path of its file or the name of one that ships (its level
        probabilities, restrictions, derived attributes and stimuli are used); a mapping
        from attributes to numbers of levels or level probabilities, the reference first; a table
        of cells or profiles, where features do not combine freely; or the number of levels of one attribute.
        A table has a column for each attribute and may have ``probability``, to which the chance of a row is
        proportional; combinations without a row never occur.
        `conjury.inference.design.profiles.attribute_cells` gives that of a study.
    amce, difference, interaction : float or sequence of float, optional
        The effect: an AMCE; a difference between the AMCEs of two groups (of respondents, prompts or
        models); or the change of an AMCE from the reference to another level of ``by``. Without response
        error where ``reliability`` is given, in the observed choices otherwise.
    of : {"amce", "difference", "interaction"}, optional
        Which effect, where it is the one to find; "amce" by default.
    pairs, profiles, respondents : float or sequence of float, optional
        Size, repeated tasks excluded. A pair is two profiles; ``respondents`` answer ``tasks`` pairs each.
        For ``same_pairs`` the pairs that each of the two judges sees, else all pairs together.
    tasks : float, optional
        Pairs of each respondent, repeats excluded. Respondents are then clusters: tests use Student's t
        with one degree of freedom less than respondents.
    power : float or sequence of float, optional
        Probability of a significant estimate.
    by : str, int, sequence or mapping, optional
        The other feature of an interaction: an attribute of the design, a number of levels, or shares.
    features : sequence of str, optional
        Attributes to plan for; all by default.
    restrictions : sequence of pairs of str, optional
        Attributes of a table or a study that restrict each other, as ``a * b`` in a formula. The AMCE of
        such a level averages with equal weight over the partner's levels that occur both with it and with
        the reference; a level without any has no row, but a note.
    alpha : float
        Two-sided significance level.
    tests : int
        Planning for the smallest p value of that many tests: each is tested at ``alpha / tests``, which is
        Bonferroni's rule and the first step of Holm's.
    groups : pair of float
        Shares of the pairs in the two groups of a difference.
    same_pairs : float, optional
        The two groups of a difference are judges of the same pairs, and their scores (the products of an
        answer's residual with the contrast of levels) have this correlation, below 1.
    icc : float
        Correlation between the scores of two tasks of one respondent; the design effect is
        ``1 + (tasks - 1) icc``. Choices of one respondent are not correlated in themselves, since one
        profile of each pair is chosen; what clusters them is that respondents differ in their effects.
    effect_sd : float
        In place of ``icc``: standard deviation of the effect between respondents; like the effect without
        response error where ``reliability`` is given.
    stimuli : float or mapping from feature to float, optional
        Stimuli that render each level; by default those of the study. They are a random factor: conclusions
        are about all stimuli of their kind.
    stimulus_sd : float or mapping from feature to float, optional
        Standard deviation between stimuli of one level of what is estimated, like the effect without
        response error where ``reliability`` is given; by default 0, which holds for conclusions about
        these very stimuli.
    reliability : float, optional
        Probability that the same pair gets the same choice twice, in 0.5 to 1. With flips of probability
        ``tau`` it is ``(1 - tau)^2 + tau^2``, and observed effects are ``1 - 2 tau`` times the true ones.
    repeats : float
        Repeated tasks for each respondent (for each pair, where ``tasks`` is not given). They add to
        ``tasks_shown`` and ``pairs_shown`` and carry the estimate of the reliability, which only corrected
        effects use; with none it counts as known.
    estimand : {"observed", "corrected"}
        Whether the shrunken effect is tested, or the effect divided by the estimated shrinkage.
    samples : int
        Answers of a model for each pair, averaged before the analysis.
    noise : float
        Share of the outcome's variance that comes from sampling an answer anew; 0 for a deterministic model.
        Two samples of a pair differ with probability ``noise / 2``.
    explained : float
        Share of the outcome's variance that the other attributes explain; 0 is on the safe side.
    convention : {"pair", "cjpowr"}
        Variance of pairs, or of independent rows as in cjpowR with its choice probabilities and its rule
        for sizes, which counts significant estimates of the right sign only. cjpowR's ``n`` is ``profiles``.

    Returns
    -------
    Power
        One row per contrast, with its power or minimum detectable effect, and what was assumed.

    Raises
    ------
    InputError
        Where not exactly one of effect, size and power is omitted, or a value is out of its range.

    Notes
    -----
    With choice probabilities ``mu`` and shares ``p`` of a level and its reference, an AMCE from n profiles
    has the variance ``(mu_1 (1 - mu_1) / p_1 + mu_0 (1 - mu_0) / p_0 - amce^2) / n``; the last term is the
    covariance of the two rows of a pair. It assumes independent profiles and no effect of position. With a
    table or restrictions the variance is that of the least-squares contrast of `amce` under the
    probabilities of the cells, with all attributes of the design in the regression; for attributes that
    combine freely it is the same.

    References
    ----------
    Schuessler, J., Freitag, M. (2020). Power analysis for conjoint experiments. doi:10.31235/osf.io/9yuhp

    Clayton, K., Horiuchi, Y., Kaufman, A. R., King, G., Komisarchik, M. Correcting measurement error bias
    in conjoint survey experiments.

    Westfall, J., Kenny, D. A., Judd, C. M. (2014). Statistical power and optimal design in experiments in
    which samples of participants respond to samples of stimuli. Journal of Experimental Psychology:
    General 143(5), 2020-2045. doi:10.1037/xge0000014

    Examples
    --------
    >>> power({"topic": 5}, amce=0.02, pairs=30000).frame["power"].round(3).tolist()
    [0.873]
    >>> power({"topic": 5}, amce=0.02, power=0.8).frame["pairs"].round().tolist()
    [24510.0]
    >>> power({"topic": 5}, pairs=30000, power=0.8).frame["effect"].round(4).tolist()
    [0.0181]

    No cook has a degree, so that the AMCE of having none rests on clerks:

    >>> cells = pd.DataFrame({"school": ["degree", "none", "none"], "job": ["clerk", "clerk", "cook"]})
    >>> found = power(cells, restrictions=[("school", "job")], amce=0.05, power=0.8, features=["school"])
    >>> found.frame["pairs"].round().tolist()
    [2344.0]
    """
    if isinstance(design, str | Path):
        design = load_study(design)
    effect, target = one_question(
        {"amce": amce, "difference": difference, "interaction": interaction}, of, by is not None
    )
    setting = PowerSetting(
        of=target,
        alpha=alpha,
        tests=tests,
        groups=groups,
        same_pairs=same_pairs,
        tasks=tasks,
        icc=icc,
        effect_sd=effect_sd,
        reliability=reliability,
        repeats=repeats,
        corrected=estimand == "corrected",
        samples=samples,
        noise=noise,
        explained=explained,
        cjpowr=convention == "cjpowr",
    )
    by_cells = bool(restrictions) or isinstance(design, pd.DataFrame) or is_restricted(design)
    check_setting(setting, estimand, convention, stimulus_sd is not None, by_cells)
    size = _size(pairs, profiles, respondents, tasks)
    inputs = two_of_three(effect, size, power)
    table, notes = (
        cell_contrasts(design_cells(design), restrictions, features, by)
        if by_cells
        else (contrasts(level_shares(design), features, by), ())
    )
    return answer(table, as_levels(table, design, stimuli, stimulus_sd), setting, inputs, notes)


def _size(pairs: Numbers, profiles: Numbers, respondents: Numbers, tasks: float | None) -> Numbers:
    names = [
        name
        for name, value in (("pairs", pairs), ("profiles", profiles), ("respondents", respondents))
        if value is not None
    ]
    if len(names) > 1:
        raise InputError(f"The size is given as {' and as '.join(names)}; give one of them.")
    if respondents is not None:
        if tasks is None:
            raise InputError("respondents needs the pairs that each of them judges; give tasks.")
        return [float(value * tasks) for value in numbers("respondents", respondents)]
    if profiles is not None:
        return [float(value / 2) for value in numbers("profiles", profiles)]
    return pairs


TARGETS = ("amce", "difference", "interaction")


def one_question(effects: Mapping[str, Any], of: Target | None, crossed: bool) -> tuple[Any, Target]:
    """Return the effect, if any, and its kind."""
    names = [name for name, value in effects.items() if value is not None]
    if len(names) > 1:
        raise InputError(f"The effect is given as {' and as '.join(names)}; give one of them.")
    if of is not None and of not in TARGETS:
        raise InputError(f"of is {of!r}; use one of {', '.join(TARGETS)}.")
    if names and of is not None and names[0] != of:
        raise InputError(f"of is {of!r}, but the effect is given as {names[0]}; remove one of them.")
    kind = names[0] if names else of or ("interaction" if crossed else "amce")
    target: Target = (
        "interaction" if kind == "interaction" else "difference" if kind == "difference" else "amce"
    )
    if (target == "interaction") != crossed:
        raise InputError(
            "An interaction needs the other feature, as an attribute or a number of levels; name it with by."
            if target == "interaction"
            else f"by belongs to interactions, but the effect is {_article(target)}; remove by."
        )
    return (effects[names[0]] if names else None), target


def check_setting(
    setting: PowerSetting, estimand: str, convention: str, stimuli_vary: bool, cells: bool
) -> None:
    """Raise InputError for the first value out of its range, or without a meaning here."""
    check_alpha(setting.alpha)
    if estimand not in ("observed", "corrected"):
        raise InputError(f"estimand is {estimand!r}; use observed or corrected.")
    if convention not in ("pair", "cjpowr"):
        raise InputError(f"convention is {convention!r}; use pair or cjpowr.")
    for name, low, high in (
        ("icc", 0.0, 1.0),
        ("effect_sd", 0.0, 0.5),
        ("noise", 0.0, 1.0),
        ("explained", 0.0, 1.0),
        ("same_pairs", -1.0, 1.0),
        ("reliability", 0.5, 1.0),
    ):
        value = getattr(setting, name)
        if value is not None and not (isinstance(value, Real) and low <= float(value) <= high):
            raise InputError(f"{name} is {value!r}; give a number from {low:g} to {high:g}.")
    for name in ("tests", "samples"):
        count = getattr(setting, name)
        if not isinstance(count, Integral) or count < 1:
            raise InputError(f"{name} is {count!r}; give a whole number of at least 1.")
    if setting.tasks is not None and not setting.tasks >= 1:
        raise InputError(
            f"tasks is {setting.tasks!r}; give the pairs that each respondent judges, at least 1."
        )
    if not setting.repeats >= 0:
        raise InputError(f"repeats is {setting.repeats!r}; give the repeated tasks of each respondent, or 0.")
    if setting.explained + setting.noise >= 1:
        raise InputError("explained and noise are shares of one variance; let their sum stay below 1.")
    if setting.same_pairs == 1:
        raise InputError("same_pairs is 1, at which a difference has no error; give a number below 1.")
    if setting.reliability == 0.5:
        raise InputError("reliability is 0.5, that of choices at random; no effect can be detected.")
    if len(setting.groups) != 2 or min(setting.groups) <= 0 or abs(sum(setting.groups) - 1) > 1e-9:
        raise InputError(f"groups is {setting.groups!r}; give the shares of two groups, which sum to 1.")
    if setting.cjpowr and cells:
        raise InputError(
            "cjpowR's convention requires features that combine freely; use the convention pair for cells "
            "and restrictions."
        )
    _check_meaning(setting, stimuli_vary)


def _check_meaning(setting: PowerSetting, stimuli_vary: bool) -> None:
    if (setting.icc or setting.effect_sd) and setting.tasks is None:
        raise InputError("icc and effect_sd are about the tasks of one respondent; give tasks.")
    if setting.icc and setting.effect_sd:
        raise InputError("icc and effect_sd are two measures of the same quantity; give one of them.")
    if setting.corrected and setting.reliability is None:
        raise InputError("A corrected estimand needs a reliability; give it.")
    if setting.noise == 0 and setting.samples > 1:
        raise InputError("Several samples help only where answers vary; give the share of noise.")
    if setting.of != "difference" and setting.same_pairs is not None:
        raise InputError("same_pairs belongs to a difference between two judges; remove it.")
    lacking = (
        setting.tasks or setting.reliability or setting.samples > 1 or setting.noise or setting.explained
    )
    if setting.cjpowr and (lacking or stimuli_vary or setting.of == "difference"):
        raise InputError(
            "cjpowR's convention covers only AMCEs and interactions of independent rows; omit tasks, "
            "reliability, samples, noise, explained, stimuli and differences, or use the convention pair."
        )


def _article(target: str) -> str:
    return "an AMCE" if target == "amce" else "a difference"
