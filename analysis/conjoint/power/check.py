"""What a power analysis cannot be made from, each in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from conjury.inference.errors import InputError

from ...numerics.intervals import check_alpha
from .model import Setting, Target

TARGETS = ("amce", "difference", "interaction")


def one_question(effects: Mapping[str, Any], of: Target | None, crossed: bool) -> tuple[Any, Target]:
    """Return the effect, if any, and its kind."""
    given = [name for name, value in effects.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"The effect is given as {' and as '.join(given)}; give one of them.")
    if of is not None and of not in TARGETS:
        raise InputError(f"of is {of!r}; use one of {', '.join(TARGETS)}.")
    if given and of is not None and given[0] != of:
        raise InputError(f"of is {of!r}, but the effect is given as {given[0]}; remove one of them.")
    kind = given[0] if given else of or ("interaction" if crossed else "amce")
    target: Target = (
        "interaction" if kind == "interaction" else "difference" if kind == "difference" else "amce"
    )
    if (target == "interaction") != crossed:
        raise InputError(
            "An interaction needs the other feature, as an attribute or a number of levels; name it with by."
            if target == "interaction"
            else f"by belongs to interactions, but the effect is {_article(target)}; remove by."
        )
    return (effects[given[0]] if given else None), target


def check_setting(setting: Setting, estimand: str, convention: str, stimuli_vary: bool, cells: bool) -> None:
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
        raise InputError("reliability is 0.5, that of choices at random; no effect is left to find.")
    if len(setting.groups) != 2 or min(setting.groups) <= 0 or abs(sum(setting.groups) - 1) > 1e-9:
        raise InputError(f"groups is {setting.groups!r}; give the shares of two groups, which sum to 1.")
    if setting.cjpowr and cells:
        raise InputError(
            "cjpowR's convention knows features that combine freely; use the convention pair for cells and "
            "restrictions."
        )
    _check_meaning(setting, stimuli_vary)


def check_study(design: object) -> None:
    """Raise InputError for a design that cannot be drawn, since it is no study."""
    if not hasattr(design, "attributes"):
        raise InputError(
            f"Simulations draw from a study, in which all levels combine freely, but the design is "
            f"{type(design).__name__}; plan a table of cells with power(), which needs no simulation."
        )


def _check_meaning(setting: Setting, stimuli_vary: bool) -> None:
    if (setting.icc or setting.effect_sd) and setting.tasks is None:
        raise InputError("icc and effect_sd are about the tasks of one respondent; give tasks.")
    if setting.icc and setting.effect_sd:
        raise InputError("icc and effect_sd say the same in two ways; give one of them.")
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
            "cjpowR's convention knows AMCEs and interactions of independent rows alone; leave out tasks, "
            "reliability, samples, noise, explained, stimuli and differences, or use the convention pair."
        )


def _article(target: str) -> str:
    return "an AMCE" if target == "amce" else "a difference"
