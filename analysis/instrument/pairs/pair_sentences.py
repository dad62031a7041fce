"""What a comparison of pairs found, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import counted, listed

from ...figures.labels import level_of, p_text, points, true_minus
from ...numerics.intervals.bounded import POWER
from ...raters.systems.system_estimates import prompts_to_show
from ...raters.validation.validation_rows import RANKS, row_of
from ...raters.validation.verdicts.judge_sentences import interval, number, subgroup_sentences
from ...raters.validation.verdicts.notable_rows import Row
from .paired_models import HALVES, MODELLED
from .verdict_reading import HALF

TIES_IN_WORDS = {HALVES: "ties as half a win", "out": "ties excluded", MODELLED: "ties modelled"}
MOST = 5  # systems that a sentence names


def verdict_of_pairs(frame: pd.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Sentences on the winner or the ranking, the judge next to people, position and length."""
    parts = (
        _winner(frame, settings),
        _by_judge(frame, settings),
        _ranking(frame, settings),
        _to_decide(frame, settings),
        subgroup_sentences(frame, settings),
        _position(frame, settings),
        _length(frame, settings),
    )
    return [sentence for part in parts for sentence in part]


def _winner(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    row = row_of(frame, "win_rate")
    if row is None:
        return
    first, second = settings["systems"]
    limits = interval(row, "win_rate")
    how = [TIES_IN_WORDS[settings["ties"]]]
    if settings["by_people"]:
        how.append("by people's verdicts on every pair")
    elif settings["averaged"]:
        how.append("averaged over both orders")
    if settings["corrected"]:
        how.append(f"corrected by people's verdicts on {counted(settings['n_people'], 'pair')}")
    if not np.isfinite(row["estimate"]):
        n_pairs = counted(settings["n_pairs"], "pair")
        yield f"No reliable winner: all verdicts on {n_pairs} are ties ({how[0]})."
        return
    text = (
        f"{first} wins {number(row['estimate'], 'win_rate')} of {counted(settings['n_pairs'], 'pair')} "
        f"against {second}"
    )
    if not limits:
        yield f"No reliable winner{_whose(settings)}: {text}, without an interval ({', '.join(how)})."
        return
    text += f" ({level_of(settings)} interval {limits}; {', '.join(how)})"
    if row["lower"] > HALF:
        yield f"{first} is better than {second}{_whose(settings)}: {text}."
    elif row["upper"] < HALF:
        yield f"{second} is better than {first}{_whose(settings)}: {text}."
    else:
        yield f"No reliable winner{_whose(settings)}: {text}; the interval includes 50%."


def _to_decide(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    """How many prompts would show which of two systems is better, or the best of more and the next."""
    row, names, null = row_of(frame, "win_rate"), settings["systems"], HALF
    ranks = frame[frame["measure"] == "rank"].sort_values("estimate")
    if row is None and len(ranks) > 1:
        names, null = ranks["class"].astype(str).tolist()[:2], 0.0
        row = row_of(frame, f"strength_difference[{' against '.join(names)}]")
    if row is None or not row["lower"] <= null <= row["upper"]:
        return
    difference = row["estimate"] - null
    needed = prompts_to_show(difference, row["std_error"], row["clusters"], settings["alpha"])
    if np.isfinite(needed):
        units = "prompts" if settings["id"] else "pairs"
        side = "ahead of" if difference > 0 else "behind"
        yield (
            f"If {names[0]} is {side} {names[1]} as estimated, verdicts on about {needed:,.0f} {units} "
            f"instead of {int(row['clusters']):,} would show it (power {POWER:.0%})."
        )


def _whose(settings: Mapping[str, Any]) -> str:
    """That it is the judge's preference and not people's, where people move no number."""
    of_people = settings["corrected"] or settings["by_people"] or settings.get("ranking_corrected")
    return "" if of_people else ", by the judge's preference alone"


def _by_judge(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    """The judge alone, where people move its win rate, and the rate at people's taste for length."""
    row, people = row_of(frame, "judge_win_rate"), row_of(frame, "people_win_rate")
    first = settings["systems"][0]
    if row is not None and np.isfinite(row["lower"]):
        rate = f"{number(row['estimate'], 'win_rate')} ({interval(row, 'win_rate')})"
        text = f"By the judge alone {first} wins {rate}"
        if people is not None and np.isfinite(people["lower"]):
            text += (
                f", by people alone, on their {counted(int(people['n']), 'pair')}, "
                f"{number(people['estimate'], 'win_rate')} ({interval(people, 'win_rate')})"
            )
        yield f"{text}."
    adjusted = row_of(frame, "length_adjusted_win_rate")
    if adjusted is not None and np.isfinite(adjusted["lower"]):
        yield (
            f"With no more taste for length than people have, the judge would let {first} win "
            f"{number(adjusted['estimate'], 'win_rate')} ({interval(adjusted, 'win_rate')})."
        )


def _ranking(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    ranks = frame[(frame["part"] == RANKS) & (frame["measure"] == "rank")]
    if ranks.empty:
        return
    names = ranks["class"].astype(str).tolist()
    groups = [group for group in settings["groups"] if len(group) > 1]
    tied = [name for name in names[1:] if any({name, names[0]} <= set(group) for group in groups)]
    basis = (
        f", corrected by people's verdicts on {counted(settings['n_people'], 'pair')}"
        if settings.get("ranking_corrected")
        else _whose(settings)
    )
    where = f"of {len(names):,} systems in {counted(settings['n_pairs'], 'pair')}{basis}"
    rate = row_of(frame, f"win_rate[{names[0]}]")
    against = (
        f" and wins {number(rate['estimate'], 'win_rate')} ({interval(rate, 'win_rate')}) against the others"
        if rate is not None and np.isfinite(rate["lower"])
        else ""
    )
    if tied:
        yield (
            f"No reliable winner {where}: {names[0]} is first{against}, and cannot be told apart from "
            f"{listed(tied, MOST)}."
        )
    else:
        yield f"{names[0]} is the best {where}{against}."
    if groups and len(names) > 2:
        more = f"; and {counted(len(groups) - MOST, 'further group')}" if len(groups) > MOST else ""
        lists = "; ".join(listed(group, MOST) for group in groups[:MOST]) + more
        yield f"Systems that cannot be told apart, after Holm's adjustment: {lists}."
    elif len(names) > 2:
        yield "All systems differ from each other, after Holm's adjustment."


def _position(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    share, flips, net = (row_of(frame, name) for name in ("first_share", "order_flips", "net_first"))
    if share is not None and np.isfinite(share["lower"]):
        clear = not share["lower"] <= HALF <= share["upper"]
        side = "first" if share["estimate"] > HALF else "second"
        finding = f"The judge prefers the {side} position" if clear else "No clear preference for a position"
        yield (
            f"{finding}: it chooses the first answer in {number(share['estimate'], 'first_share')} of its "
            f"choices ({interval(share, 'first_share')})."
        )
    if flips is not None and net is not None:
        limits = f" ({interval(flips, 'order_flips')})" if interval(flips, "order_flips") else ""
        # With several verdicts in each order a pair counts as often.
        what = "pair" if flips["n"] <= settings["n_pairs"] else "verdict"
        text = (
            f"Of {counted(int(flips['n']), what)} decided in both orders, "
            f"{number(flips['estimate'], 'order_flips')} change with the order{limits}"
        )
        if np.isfinite(net["lower"]):
            low, high = (points(net[name]) for name in ("lower", "upper"))
            size = points(net["estimate"], signed=True)
            text += f"; always first minus always second is {size} points ({low} to {high})"
        yield f"{text}."


def _length(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    beyond, alone = row_of(frame, "length_beyond_people"), row_of(frame, "length_slope")
    row = beyond if beyond is not None else alone
    if row is None or not np.isfinite(row["lower"]):
        return
    clear = row["p"] < settings["alpha"]
    doubled = float(np.log(2)) * float(row["estimate"])
    more = "more" if doubled > 0 else "less"
    than = " than people do" if beyond is not None else ""
    text = f"{number(abs(doubled), 'rate_difference')} {more} often{than}"
    per = f"{true_minus(f'{row.estimate:+.3f}')} per log unit, {_limits(row)}, p {p_text(float(row['p']))}"
    if clear:
        yield f"The judge chooses an answer of twice the length {text} ({per})."
    else:
        yield f"No clear preference for length{' beyond that of people' if than else ''} ({per})."
    if beyond is None:
        yield "Without people's verdicts on the same pairs it is unknown how much of it is their taste, too."


def _limits(row: Row) -> str:
    return true_minus(f"{row['lower']:.3f} to {row['upper']:.3f}")
