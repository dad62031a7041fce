"""What a comparison of systems found, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from conjury.inference.errors import counted, listed

from ...figures.labels import level_of, p_text, points, source_in_words, true_minus
from ...frames.vocabulary import JUDGE_ALONE
from ...numerics.intervals.bounded import POWER
from ..validation.validation_rows import DIFFERENCES, JUDGES, LEVELS, SUBGROUPS
from ..validation.verdicts.judge_sentences import interval, number
from ..validation.verdicts.notable_rows import Row, TestedDifference, notable
from .borrowed_levels import FAIL, NOT_CHECKED
from .label_gate import BORROWED, FEWEST_PROMPTS, NO_LABELS, NO_LEVEL
from .levels_by_map import STALE
from .system_estimates import decisive_variance, prompts_to_show
from .system_table import WIDTH

MOST_PAIRS = 3  # of more systems, in sentences


def verdict_of_systems(
    frame: pd.DataFrame, extra: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> list[str]:
    """Sentences on the winner, what the judge alone says, levels, segments, weights and labels."""
    if not settings["n_labelled"] and "map" not in extra and not settings["human"]:
        return list(_preference(frame, settings))
    parts = (
        _blocked(extra["labels"]),
        _winner(frame, settings),
        _levels(frame, settings),
        _borrowed(frame, extra, settings),
        _segments(frame, settings),
        _gain(frame),
        sentences_on_judges(frame, extra),
        _widths(frame, settings),
    )
    return [sentence for part in parts for sentence in part]


def state_of_systems(
    frame: pd.DataFrame, extra: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> str:
    """What a comparison has come to, as its procedure calls it."""
    rows = _corrected(frame, DIFFERENCES, settings)
    if rows.empty:
        return "borrowed" if (extra["labels"]["state"] == BORROWED).any() else "no level"
    if len(notable(rows, settings["alpha"])):
        return "clear"
    return "equivalent" if (rows["p_equivalence"] < settings["alpha"]).all() else "undecided"


def _preference(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    """What the scores alone say, where nobody labelled an answer."""
    measure = f"judge_only_{settings['measure']}"
    rows = frame[(frame["part"] == DIFFERENCES) & (frame["measure"] == f"{measure}_difference")]
    levels = frame[(frame["part"] == LEVELS) & (frame["measure"] == measure)]
    text = "No labels of people: what they would say is not estimated"
    basis = source_in_words(JUDGE_ALONE, settings)
    if rows.empty:
        yield f"{text}, and {listed(map(repr, settings['judge']))} scored no two systems."
        return
    what = "mean score" if settings["measure"] == "mean" else _what(settings)
    top, value, tied = _highest(levels, rows, settings)
    end = f"but it cannot be told from {listed(tied)}" if tied else "clearly above every other system"
    yield f"{text}. By {basis}, {top} has the highest {what} ({value}), {end}."
    for _, row in _nearest_first(rows, levels).head(MOST_PAIRS).iterrows():
        difference = TestedDifference.of(row, settings["alpha"])
        limits = f"{level_of(settings)} interval {_limits(row, settings)}, p {p_text(difference.p)}"
        text = f"By {basis}, {_pair(row)} is {_size(row['estimate'], settings)} ({limits})"
        needed = prompts_to_show(row["estimate"], row["std_error"], row["clusters"], settings["alpha"])
        if not difference.clear and np.isfinite(row["lower"]) and np.isfinite(needed):
            text = f"{text}; if that is so, answers to about {needed:,.0f} prompts would show it (power 80%)"
        yield f"{text}."
    yield "`conjury label` draws answers for people; --human names their column, --labels their file."


def _blocked(labels: pd.DataFrame) -> Iterator[str]:
    for state, what in ((NO_LABELS, "has no labels"), (NO_LEVEL, "has labels that do not carry a level")):
        rows = labels[labels["state"] == state]
        for _, row in rows.iterrows():
            reason = f": {row['reason']}" if state == NO_LEVEL else ""
            yield f"{row['system']} {what}{reason}; what people would say of it is not estimated."


def _winner(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    rows = _corrected(frame, DIFFERENCES, settings)
    if rows.empty:
        yield "No reliable winner: no difference of two systems can be corrected by labels of both."
        return
    clear = notable(rows, settings["alpha"])
    if len(rows) == 1:
        yield _difference(rows.iloc[0], settings)
        yield from _judge_alone(frame, rows.iloc[0], settings)
        yield from _to_decide(rows.iloc[0], settings, "the difference")
        return
    top, value, tied = _highest(_corrected(frame, LEVELS, settings), rows, settings)
    text = f"{top} has the highest {_what(settings)} ({value})"
    if tied:
        yield f"No reliable winner: {text}, but it cannot be told from {listed(tied)}."
    else:
        yield f"{text}, clearly above every other system."
    levels = _corrected(frame, LEVELS, settings)
    for _, row in _nearest_first(clear, levels).head(MOST_PAIRS).iterrows():
        yield _difference(row, settings)
        yield from _judge_alone(frame, row, settings)
    if clear.empty:
        yield f"None of {len(rows)} differences is clear after Holm's adjustment."
    unclear = rows[~rows.index.isin(clear.index)]
    for _, row in _nearest_first(unclear, levels).head(MOST_PAIRS).iterrows():
        yield from _to_decide(row, settings, f"{_pair(row)} ({_size(row['estimate'], settings)})")


def _highest(
    levels: pd.DataFrame, rows: pd.DataFrame, settings: Mapping[str, Any]
) -> tuple[str, str, list[str]]:
    """Which system is highest, its level, and which cannot be told from it."""
    levels = levels.sort_values("estimate", ascending=False)
    top = str(levels["system"].iloc[0])
    tied = []
    for name in levels["system"].iloc[1:].astype(str):
        pair = rows[rows["system"].isin([name, top]) & rows["baseline"].isin([name, top])].iloc[0]
        if not TestedDifference.of(pair, settings["alpha"]).clear:
            tied.append(name)
    return top, number(levels["estimate"].iloc[0], settings["measure"]), tied


def _nearest_first(rows: pd.DataFrame, levels: pd.DataFrame) -> pd.DataFrame:
    """Differences, first those of the highest system, from its nearest rival on."""
    names = levels.sort_values("estimate", ascending=False)["system"].tolist()
    places = [sorted(map(names.index, pair)) for pair in zip(rows["system"], rows["baseline"], strict=True)]
    return rows.iloc[sorted(range(len(rows)), key=places.__getitem__)]


def _pair(row: Row) -> str:
    return f"{row['system']} minus {row['baseline']}"


def _difference(row: Row, settings: Mapping[str, Any]) -> str:
    second, first = row["system"], row["baseline"]
    difference = TestedDifference.of(row, settings["alpha"])
    size = _size(row["estimate"], settings)
    margin = (
        number(row["margin"], settings["measure"])
        if settings["measure"] != "rate"
        else f"{row['margin'] * 100:g} points"
    )
    if not np.isfinite(row["lower"]):
        return (
            f"No reliable winner: {second} minus {first} is {size} in {_what(settings)}, without an "
            "interval, since it does not vary between labelled prompts."
        )
    limits = f"{level_of(settings)} interval {_limits(row, settings)}, p {p_text(difference.p)}"
    small = row["p_equivalence"] < settings["alpha"]
    labels = counted(int(row["n"]), "label")
    # A gain of exactly 1 is that of labels which nothing could correct, as where all answers have one.
    basis = f"by {labels} alone" if row["gain"] == 1 else f"corrected for the judge's errors by {labels}"
    if difference.clear:
        more = "higher" if difference.positive else "lower"
        within = f", by less than the margin of {margin}" if small else ""
        return f"{second} has a {more} {_what(settings)} than {first}{within}: {size} ({limits}), {basis}."
    end = f"equivalent within {margin}" if small else f"neither different nor equivalent within {margin}"
    return (
        f"No reliable winner: {second} minus {first} is {size} in {_what(settings)} ({limits}), "
        f"{basis}; {end}."
    )


def _judge_alone(frame: pd.DataFrame, row: Row, settings: Mapping[str, Any]) -> Iterator[str]:
    """What the judge says without labels, and that it is no estimate of what people say."""
    naive = frame[frame["measure"] == f"judge_only_{settings['measure']}_difference"]
    for key in ("part", "system", "baseline"):
        naive = naive[naive[key] == row[key]]
    if naive.empty or not np.isfinite(naive["lower"].iloc[0]):
        return
    alone = naive.iloc[0]
    outside = not alone["lower"] <= row["estimate"] <= alone["upper"]
    end = f", an interval without the corrected {_size(row['estimate'], settings)}" if outside else ""
    size, limits = _size(alone["estimate"], settings), _limits(alone, settings)
    yield f"By the judge alone {_pair(row)} is {size} ({limits}){end}."


def _to_decide(row: Row, settings: Mapping[str, Any], what: str) -> Iterator[str]:
    """How many labels would make a difference clear, if it is as estimated."""
    if TestedDifference.of(row, settings["alpha"]).clear or not np.isfinite(row["lower"]):
        return
    needed = row["prompts_to_decide"]
    if np.isinf(needed):
        text = f"If {what} is as estimated, even labels of all answers would make it clear with a power"
        variance = decisive_variance(row["estimate"], settings["alpha"], POWER)
        yield f"{text} below 80%{_more_prompts(row, variance)}."
    elif np.isfinite(needed):
        yield (
            f"If {what} is as estimated, labels of about {needed:,.0f} prompts instead of "
            f"{int(row['clusters']):,} would make it clear (power 80%)."
        )


def _more_prompts(row: Row, variance: float) -> str:
    """How many prompts with labels of all answers would give a difference that variance."""
    by_labels = row["gain"] * row["std_error"] ** 2 * row["clusters"]  # of one prompt, by labels alone
    if not (np.isfinite(by_labels) and variance > 0):
        return " (collect answers to more prompts)"
    return f" (about {np.ceil(by_labels / variance):,.0f} prompts with labels of all their answers would do)"


def _widths(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    """How many labels give intervals of the width that is wanted."""
    if settings["width"] is None:
        return
    parts, target = list[str](), (settings["width"] / 2 / float(ndtri(1 - settings["alpha"] / 2))) ** 2
    for _, row in _corrected(frame, DIFFERENCES, settings).head(MOST_PAIRS).iterrows():
        if np.isinf(row[WIDTH]):
            parts.append(f"more than all answers for {_pair(row)}{_more_prompts(row, target)}")
        elif np.isfinite(row[WIDTH]):
            n = int(row["clusters"])
            parts.append(f"about {row[WIDTH]:,.0f} prompts in place of {n:,} for {_pair(row)}")
    if parts:
        width = _size(settings["width"], settings).lstrip("+")
        yield f"Intervals that are {width} wide need labels of {', of '.join(parts)}."


def _levels(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    rows = _corrected(frame, LEVELS, settings)
    if not rows.empty:
        texts = [
            f"{listed([row['system']])} {number(row['estimate'], settings['measure'])}"
            + (f" ({interval(row, settings['measure'])})" if interval(row, settings["measure"]) else "")
            for _, row in rows.iterrows()
        ]
        yield f"The {_what(settings)} among people is estimated as {listed(texts, 8)}."


def _borrowed(
    frame: pd.DataFrame, extra: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> Iterator[str]:
    """Levels of systems without labels, and systems for which the judge errs otherwise than for others."""
    measure, margin = settings["measure"], _size(settings["margin"], settings).lstrip("+")
    audit = extra["audit"]
    alike, implied, end = (
        "for the others",
        "those of the others imply",
        "labels of one system must not be used for another",
    )
    if "map" in extra:
        saved = extra["map"].iloc[0]
        yield _age(saved, audit, margin)
        alike, implied, end = (
            f"on {saved['date']}",
            f"the map of {saved['date']} says",
            "label more answers and save a new map",
        )
    for _, row in frame[frame["measure"] == f"borrowed_{measure}"].iterrows():
        needed = audit.set_index("system")["prompts_to_audit"][row["system"]]
        limits = interval(row, measure)
        level = number(row["estimate"], measure) + (f" ({limits})" if limits else ", without an interval")
        if needed > row["clusters"]:
            check = f"its {counted(int(row['clusters']), 'prompt')} are too few to check that within {margin}"
        else:
            check = f"labels of about {needed:,.0f} of its prompts would check that within {margin}"
        yield (
            f"If the judge errs for {row['system']} as {alike}, its {_what(settings)} is {level}: not "
            f"checked; {check}."
        )
    for _, row in audit[(audit["audit"] == FAIL) & (audit["due_to"] == "")].iterrows():
        lenders = [name for name in settings["systems"] if name != row["system"]]
        if "map" not in extra and len(lenders) <= MOST_PAIRS:
            alike, implied = f"for {' and '.join(lenders)}", f"those of {' and '.join(lenders)} imply"
        yield (
            f"The judge errs otherwise for {row['system']} than {alike}: people's labels are "
            f"{_size(row['bias'], settings)} ({_limits(row, settings)}) from what {implied}, so {end}."
        )


def _age(saved: Row, audit: pd.DataFrame, margin: str) -> str:
    """How old a saved map is, and what the labels of this table say of it."""
    text = (
        f"The map of {saved['date']} ({counted(int(saved['labels']), 'label')} of "
        f"{counted(int(saved['prompts']), 'prompt')}) is {counted(int(saved['days']), 'day')} old"
    )
    if saved["state"] == STALE:
        text += " and stale"
    if saved["same_labels"]:
        return f"{text}; the labels of these answers are those it was fitted to, and do not check it."
    checked = [
        f"{row['audit']} for {row['system']}" for _, row in audit.iterrows() if row["audit"] != NOT_CHECKED
    ]
    if not checked:
        return f"{text}; no labels of these answers check it."
    return f"{text}; labels of these answers against it, within {margin}: {listed(checked, 8)}."


def _segments(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    rows = _corrected(frame, SUBGROUPS, settings)
    if rows.empty:
        if settings["by"] and not _corrected(frame, DIFFERENCES, settings).empty:
            segments = listed(settings["by"])
            yield f"No segment of {segments} has labels of {FEWEST_PROMPTS} prompts of two systems."
        return
    clear = notable(rows, settings["alpha"])
    for _, row in clear.head(MOST_PAIRS).iterrows():
        yield (
            f"In {row['by']} {row['level']!r}, {row['system']} minus {row['baseline']} is "
            f"{_size(row['estimate'], settings)} ({_limits(row, settings)}, "
            f"p {p_text(TestedDifference.of(row, settings['alpha']).p)})."
        )
    if clear.empty:
        yield f"No segment of {listed(settings['by'])} has a clear difference after Holm's adjustment."


def _gain(frame: pd.DataFrame) -> Iterator[str]:
    """What the judge adds to the labels."""
    rows = frame[(frame["part"] == DIFFERENCES) & frame["gain"].notna()].sort_values("gain")
    if rows.empty:
        return
    gain, least, most = float(rows["gain"].median()), rows.iloc[0], rows.iloc[-1]
    if gain < 0.95:
        yield "The judge adds nothing to so few labels: people alone are more precise."
    elif gain < 1.05:
        yield "The judge adds little to the labels: people alone are about as precise."
    else:
        text = f"{least['gain']:.1f} times as many for {_pair(least)}"
        more = f", and {most['gain']:.1f} times for {_pair(most)}" if len(rows) > 1 else ""
        yield f"With the judge the labels are worth {text}{more}."


def sentences_on_judges(frame: pd.DataFrame, extra: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """How alike several judges err, and what all of them add to the best one."""
    judges = extra.get("judges")
    if judges is None or judges.empty:
        return
    rows = frame[frame["part"] == JUDGES]
    alike = frame.loc[frame["measure"] == "error_correlation", "estimate"]
    span = f"{number(alike.min(), 'error_correlation')} to {number(alike.max(), 'error_correlation')}"
    correlation = span if len(alike) > 1 else span.partition(" ")[0]
    count = rows[rows["measure"] == "effective_judges"].iloc[0]
    limits = interval(count, "effective_judges")
    yield (
        f"The errors of the {len(judges)} judges have a correlation of {correlation}: their mean errs as "
        f"that of {number(count['estimate'], 'effective_judges')} independent judges"
        f"{f' ({limits})' if limits else ''}."
    )
    for gain in rows.loc[rows["measure"] == "gain_over_best", "estimate"].to_numpy(dtype=float):
        best = judges.loc[judges["best"], "judge"].iloc[0]
        if gain < 1.05:
            yield f"All judges together add little to {best}, the best of them."
        else:
            yield f"Together they make labels worth {gain:.2f} times as many as {best}, the best of them."


def _corrected(frame: pd.DataFrame, part: str, settings: Mapping[str, Any]) -> pd.DataFrame:
    suffix = "" if part == LEVELS else "_difference"
    return frame[(frame["part"] == part) & (frame["measure"] == f"corrected_{settings['measure']}{suffix}")]


def _what(settings: Mapping[str, Any]) -> str:
    return "mean rating" if settings["measure"] == "mean" else f"share of {settings['positive']!r}"


def _size(value: float, settings: Mapping[str, Any]) -> str:
    return (
        f"{points(value, signed=True)} points"
        if settings["measure"] == "rate"
        else true_minus(f"{value:+.3g}")
    )


def _limits(row: Row, settings: Mapping[str, Any]) -> str:
    if settings["measure"] == "rate":
        return f"{points(row['lower'])} to {points(row['upper'])}"
    return true_minus(f"{row['lower']:.3g} to {row['upper']:.3g}")
