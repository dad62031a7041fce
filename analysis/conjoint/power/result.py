"""What a power analysis found: a row for each level and each combination of what was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from numbers import Real
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, not_percent

from ...results import Result
from .power_model import (
    PowerContrasts,
    PowerSetting,
    behaviour,
    detectable_effect,
    needed_profiles,
    power_limit,
    test_at,
)

Numbers = float | Sequence[float] | None
Solved = Literal["power", "pairs", "effect"]


@dataclass(frozen=True, repr=False)
class Power(Result):
    """Operating characteristics of a planned conjoint study.

    Parameters
    ----------
    frame : DataFrame
        A row for each level against its reference and each combination of what was given: ``statistic,
        feature, level, reference`` (``by, by_level, by_reference`` for interactions), ``effect``,
        ``observed_effect`` (after response error), ``pairs, profiles, respondents`` without repeats,
        ``tasks_shown`` (to each respondent) and ``pairs_shown`` (in all), in which every repeat and sample
        counts, ``n_level, n_reference`` (profiles that show the level and its reference), ``std_error, df``
        (infinite for a normal test), ``power``, ``power_limit`` (which no number of pairs passes), ``type_s,
        type_m`` and ``alpha`` of each test. Sizes are not rounded.
    kind : str
        Always "power".
    notes : tuple of str
        What a reader must know about the rows; which levels have none, and why.
    settings, extra
        As in `conjury.analysis.results.Result`.
    real_judges
        As in `conjury.analysis.results.Result`.
    setting : PowerSetting
        All that was assumed, also in ``settings``.
    contrasts, levels, design_notes
        The contrasts of the design with their numbers, and the notes about them.

    Examples
    --------
    >>> from conjury.analysis.conjoint import power
    >>> planned = power({"tone": 2}, amce=0.05, pairs=1_000)
    >>> planned.solved, planned.frame["power"].round(2).tolist()
    ('power', [0.61])
    >>> planned.at(effect=0.05, power=0.8).frame["pairs"].round().tolist()
    [1562.0]
    """

    setting: PowerSetting = field(kw_only=True)
    contrasts: pd.DataFrame = field(kw_only=True)
    levels: PowerContrasts = field(kw_only=True)
    design_notes: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def solved(self) -> Solved:
        """Which of effect, pairs and power was computed from the other two."""
        return cast(Solved, self.settings["solved"])

    def at(self, *, effect: Numbers = None, pairs: Numbers = None, power: Numbers = None) -> Power:
        """Answer another question about the same design: give two of the three."""
        inputs = two_of_three(effect, pairs, power)
        return answer(self.contrasts, self.levels, self.setting, inputs, self.design_notes)

    def __repr__(self) -> str:
        notes = "\n".join(self.notes)
        return f"Power(solved={self.solved!r})\n{self.frame.to_string()}\n{notes}".rstrip()


def two_of_three(effect: Numbers, pairs: Numbers, power: Numbers) -> dict[str, np.ndarray]:
    """Return the two that are given, checked; raise InputError unless exactly one is omitted."""
    named = {"effect": effect, "pairs": pairs, "power": power}
    absent = [name for name, value in named.items() if value is None]
    if len(absent) != 1:
        which = " and ".join(absent) if absent else "none"
        raise InputError(
            f"Power analyses find one of effect, size and power from the other two, but {which} "
            f"{'are' if len(absent) > 1 else 'is'} missing; omit exactly one."
        )
    return {name: numbers(name, value) for name, value in named.items() if value is not None}


def numbers(name: str, value: Any) -> np.ndarray:
    """Return one number or several as an array; raise InputError for any out of range."""
    values = [value] if isinstance(value, Real) else value
    try:
        array = np.array(list(values), dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; give a number or several.") from None
    if array.ndim != 1 or not len(array) or not np.isfinite(array).all():
        raise InputError(f"{name} is {value!r}; give a finite number or several.")
    if name == "power":
        wrong, remedy = (array <= 0) | (array >= 1), "a number between 0 and 1, such as 0.8"
    elif name == "effect":
        wrong, remedy = array == 0, "a number other than 0"
    else:
        wrong, remedy = array < 1, "a number of at least 1"
    if wrong.any():
        hint = not_percent(float(array[wrong][0])) if name == "power" else ""
        raise InputError(f"{name} is {array[wrong][0]:g}{hint}; give {remedy}.")
    return array


def answer(
    table: pd.DataFrame,
    levels: PowerContrasts,
    setting: PowerSetting,
    inputs: dict[str, np.ndarray],
    design_notes: tuple[str, ...] = (),
) -> Power:
    """Find what is not given, for all combinations of what is, in the order of the levels."""
    first, second = (grid.ravel() for grid in np.meshgrid(*inputs.values(), indexing="ij"))
    copies, m = len(first), len(table)
    rows = np.tile(np.arange(m), copies)
    several = replace(levels, **{name: value[rows] for name, value in vars(levels).items()})
    values = dict(zip(inputs, (np.repeat(first, m), np.repeat(second, m)), strict=True))
    if "effect" in values:
        _refuse_large(values["effect"], setting)
    solved: Solved = "power"
    if "pairs" not in values:
        solved = "pairs"
        values["pairs"] = needed_profiles(several, setting, np.abs(values["effect"]), values["power"]) / 2
    elif "effect" not in values:
        solved = "effect"
        values["effect"] = detectable_effect(several, setting, 2 * values["pairs"], values["power"])
    frame = _frame(table.iloc[rows].reset_index(drop=True), several, setting, values)
    notes = (*design_notes, *_notes(frame, several, solved, setting))
    return Power(
        frame,
        "power",
        notes,
        {"solved": solved, **asdict(setting)},
        setting=setting,
        contrasts=table,
        levels=levels,
        design_notes=design_notes,
    )


def _refuse_large(effect: np.ndarray, setting: PowerSetting) -> None:
    large = np.abs(effect) > setting.largest
    if large.any():
        raise InputError(
            f"An effect of {effect[large][0]:g} is larger than {setting.largest:.3g}, the largest that one "
            "level can have in a choice between two profiles; give a smaller one."
        )


def _frame(
    keys: pd.DataFrame, levels: PowerContrasts, setting: PowerSetting, values: dict[str, np.ndarray]
) -> pd.DataFrame:
    effect, profiles = values["effect"], 2 * values["pairs"]
    tasks = np.nan if setting.tasks is None else setting.tasks
    usable = np.isfinite(effect) & np.isfinite(profiles)
    size = np.where(np.isfinite(effect), np.abs(effect), np.nan)
    test = test_at(levels, setting, size, profiles)
    characteristics = behaviour(levels, setting, size, profiles)
    statistic = {"difference": "amce_difference"}.get(setting.of, setting.of)
    columns = {
        "effect": effect,
        "observed_effect": effect * setting.factor,
        "pairs": values["pairs"],
        "profiles": profiles,
        "respondents": values["pairs"] / tasks,
        "tasks_shown": tasks * setting.shown,
        "pairs_shown": values["pairs"] * setting.shown,
        "n_level": profiles * levels.share,
        "n_reference": profiles * levels.reference,
        "std_error": np.where(usable, test.std_error, np.nan),
        "df": np.where(usable, test.df, np.nan),
        "power": np.where(usable, characteristics.power, np.nan),
        "power_limit": power_limit(levels, setting, size),
        "type_s": np.where(usable, characteristics.type_s, np.nan),
        "type_m": np.where(usable, characteristics.type_m, np.nan),
        "alpha": setting.level_alpha,
    }
    named = keys.drop(columns=[name for name in keys if str(name).endswith(("_share", "_weight", "share"))])
    named.insert(0, "statistic", statistic)
    return named.assign(**columns)


def _notes(
    frame: pd.DataFrame, levels: PowerContrasts, solved: Solved, setting: PowerSetting
) -> tuple[str, ...]:
    notes = (
        _limits_of_effects(frame, levels, setting) if solved == "effect" else _limits_of_power(frame, levels)
    )
    if solved == "effect" and np.isinf(frame["effect"]).any():
        features = _joined(frame.loc[np.isinf(frame["effect"]), "feature"])
        notes.append(f"No possible effect reaches this power for {features}; plan more pairs or stimuli.")
    if setting.corrected and not setting.repeats:
        notes.append("The reliability is treated as known; give repeats to account for its standard error.")
    if setting.repeats and not setting.corrected:
        notes.append(
            "Repeats count among the pairs shown but do not change the power: only corrected effects "
            "use repeats, and these are planned as observed."
        )
    return tuple(notes)


def _limits_of_power(frame: pd.DataFrame, levels: PowerContrasts) -> list[str]:
    """State which power stays out of reach, however many pairs there are."""
    limited = frame.assign(k=levels.stimuli)[frame["power_limit"] < 0.999]
    notes = []
    for key, rows in limited.groupby(["effect", "power_limit", "k"], sort=False):
        effect, limit, k = np.asarray(key, dtype=float)
        notes.append(
            f"No number of pairs brings the power for {_joined(rows['feature'])} above {limit:.2f} at an "
            f"effect of {effect:.3g}: there are {k:g} stimuli per level; add stimuli."
        )
    return notes


def _limits_of_effects(frame: pd.DataFrame, levels: PowerContrasts, setting: PowerSetting) -> list[str]:
    """State which effects stay out of reach, however many pairs there are."""
    limited = levels.stimulus_sd > 0
    if not limited.any():
        return []
    target_power = frame["power"].where(np.isfinite(frame["effect"])).ffill().bfill().to_numpy(float)
    endless = np.full(len(frame), np.inf)
    smallest = np.round(detectable_effect(levels, setting, endless, target_power), 12)
    table = frame.assign(k=levels.stimuli, smallest=smallest)[limited & np.isfinite(smallest)]
    notes = []
    for key, rows in table.groupby(["smallest", "k"], sort=False):
        value, k = np.asarray(key, dtype=float)
        notes.append(
            f"No number of pairs detects effects below {value:.3g} for {_joined(rows['feature'])} with this "
            f"power: there are {k:g} stimuli per level; add stimuli."
        )
    return notes


def _joined(features: pd.Series[Any]) -> str:
    return " and ".join(dict.fromkeys(features.astype(str)))
