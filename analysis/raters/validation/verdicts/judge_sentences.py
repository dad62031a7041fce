"""What a validation found, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import counted

from ....figures.labels import level_of, p_text, points, true_minus
from ....frames.rounding import rounded_up
from ....numerics.intervals import SAME
from ....numerics.intervals.bounded import POWER
from ....numerics.metrics.agreement_measures import measure_of
from ..gates import range_of
from ..validation_rows import ERRORS, RATES, SUBGROUPS, row_of
from .notable_rows import Replacement, Row, TestedDifference, notable

SUBGROUP_WORDS = {  # who does what, more, and less than elsewhere, by the measure that differs
    "accuracy_difference": ("the judge agrees with people", "more", "less"),
    "bias_difference": ("the judge rates, relative to people,", "higher", "lower"),
    "win_rate_difference": ("{} wins", "more often", "less often"),
    "judge_win_rate_difference": ("{} wins by the judge", "more often", "less often"),
}


def in_words(measure: str) -> str:
    """A measure in a sentence."""
    return measure_of(measure).in_sentences or measure_of(measure).label


def number(value: float, measure: str) -> str:
    """A value as it is printed: shares in percent, their differences in points, others with decimals."""
    if _is_difference_of_shares(measure):
        return f"{_scaled(value, measure)} points"
    record = measure_of(measure)
    if record.is_rounded_up:
        return true_minus(rounded_up(value, record.digits))
    return true_minus(f"{value:.1%}" if record.is_share else f"{value:.{record.digits}f}")


def _is_difference_of_shares(measure: str) -> bool:
    return measure.endswith("_difference") and measure_of(measure).is_share


def _scaled(value: float, measure: str) -> str:
    """A number without the unit of a difference of shares."""
    if _is_difference_of_shares(measure):
        return points(value)
    return number(value, measure)


def interval(row: Row, measure: str) -> str:
    """The limits of a row as "0.52 to 0.70"; empty where there are none."""
    if not np.isfinite(row["lower"]):
        return ""
    return f"{_scaled(row['lower'], measure)} to {number(row['upper'], measure)}"


def labels_needed(n: float, labelled: float, settings: Mapping[str, Any]) -> str:
    """How many labelled rows are needed, how many more, and whether the table has them."""
    more, unlabelled = n - labelled, settings["n_answered"] - settings["n_both"]
    lack = f"; the table has {unlabelled:,} without a label" if unlabelled else " than the table has"
    return f"{n:,.0f} labelled rows ({more:,.0f} more{lack if more > unlabelled else ''})"


def verdict_of(
    frame: pd.DataFrame, extra: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> list[str]:
    """Sentences on agreement, people, base rates, errors, subgroups, replacement, rates and precision."""
    parts = (
        _ratings(frame, settings) if settings["scale"] == "interval" else _agreement(frame, settings),
        _against_threshold(frame, settings),
        _people(frame, settings),
        _rates(frame, settings),
        _errors(frame),
        subgroup_sentences(frame, settings),
        _replacement(frame, extra, settings),
        _corrected(frame, settings),
        _precision(extra["precision"], settings),
    )
    return [sentence for part in parts for sentence in part]


def _agreement(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    main = settings["main"]
    accuracy, coefficient = row_of(frame, "accuracy"), row_of(frame, main)
    baseline = row_of(frame, "always_most_frequent")
    if accuracy is None or coefficient is None:
        return
    limits = interval(accuracy, "accuracy")
    limits = f" ({level_of(settings)} interval {limits})" if limits else ""
    people = "people's label" if len(settings["human"]) == 1 else "label of a random person"
    most = number(baseline["estimate"], "accuracy") if baseline is not None else ""
    rows = counted(int(accuracy["n"]), "row")
    if settings["weighted"]:
        rows = f"all judged rows, weighted from {counted(int(accuracy['n']), 'labelled row')}"
    yield (
        f"The judge gives the {people} in {number(accuracy['estimate'], 'accuracy')} of "
        f"{rows}{limits}; by chance it would in "
        f"{number(accuracy['chance'], 'accuracy')}, and the most frequent label alone in {most}."
    )
    name = in_words(main).capitalize()
    if not np.isfinite(coefficient["estimate"]):
        yield f"{name} has no value: with only one label, agreement cannot be distinguished from chance."
    elif not np.isfinite(coefficient["lower"]):
        why = "; one item has no interval" if coefficient["clusters"] == 1 else ", without an interval"
        yield f"{name} is {number(coefficient['estimate'], main)}{why}."
    else:
        estimate, limits = number(coefficient["estimate"], main), interval(coefficient, main)
        yield f"{name} is {estimate} ({limits}): {_beyond_chance(coefficient)}."


def _beyond_chance(row: Row) -> str:
    if row["lower"] > 0:
        return "better than chance"
    return "worse than chance" if row["upper"] < 0 else "not clearly better than chance"


def _ratings(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    icc, bias, error = (row_of(frame, name) for name in ("icc", "bias", "absolute_error"))
    if icc is None or bias is None or error is None:
        return
    limits = f" ({interval(icc, 'icc')})" if interval(icc, "icc") else ""
    if np.isfinite(icc["estimate"]):
        yield (
            "The intraclass correlation of the judge with people is "
            f"{number(icc['estimate'], 'icc')}{limits} over {counted(int(icc['n']), 'row')}; the mean "
            f"absolute difference is {number(error['estimate'], '')}."
        )
    else:
        yield f"The intraclass correlation has no value over {counted(int(icc['n']), 'row')}."
    difference = TestedDifference.of(bias, settings["alpha"])
    size = (
        f"{number(abs(difference.estimate), '')} {'higher' if difference.positive else 'lower'} than people"
    )
    limits = f" (difference {interval(bias, '')})" if interval(bias, "") else ""
    if difference.constant:
        yield f"The judge rates {size} in every row."
    elif abs(difference.estimate) <= SAME:
        yield f"The judge's ratings have the same mean as those of people{limits}."
    else:
        yield f"The judge rates {size} on average{limits}" + (
            "." if difference.clear else ", not a clear difference."
        )


def _against_threshold(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    threshold, main = settings["threshold"], settings["main"]
    coefficient = row_of(frame, main)
    if threshold is None or coefficient is None or not np.isfinite(coefficient["lower"]):
        return
    name, value = in_words(main).capitalize(), number(threshold, main)
    if coefficient["lower"] > threshold:
        yield f"{name} is above {value} with confidence."
    elif coefficient["upper"] < threshold:
        yield f"{name} is below {value} with confidence."
    else:
        yield f"Whether {in_words(main)} is above {value} is undecided."


def _people(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    main = settings["main"]
    people, contrast = row_of(frame, f"people_{main}"), row_of(frame, f"{main}_difference")
    if people is None or not np.isfinite(people["estimate"]):
        return
    limits = f" ({interval(people, main)})" if interval(people, main) else ""
    text = f"Among people {in_words(main)} is {number(people['estimate'], main)}{limits}"
    if contrast is None or not np.isfinite(contrast["lower"]):
        yield f"{text}."
        return
    lower = "lower" if contrast["estimate"] < 0 else "higher"
    if TestedDifference.of(contrast, settings["alpha"]).clear:
        yield (
            f"{text}; on the same items the judge's is {lower} by "
            f"{number(abs(contrast['estimate']), f'{main}_difference')} "
            f"(difference {interval(contrast, f'{main}_difference')})."
        )
    else:
        limits = interval(contrast, f"{main}_difference")
        yield f"{text}; on the same items the judge's does not clearly differ ({limits})."


def _rates(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    differences = frame[(frame["part"] == RATES) & (frame["measure"] == "rate_difference")]
    if differences.empty:
        return
    clear = notable(differences, settings["alpha"])
    if clear.empty:
        detectable = differences["detectable"].astype(float).max()
        missed = _note_on_power(detectable, "rate_difference")
        yield f"The judge gives no class clearly more or less often than people{missed}."
        return
    for _, row in clear.head(3).iterrows():
        rate, people = (row_of(frame, f"{name}[{row['class']}]") for name in ("judge_rate", "people_rate"))
        assert rate is not None
        assert people is not None
        often = "more" if TestedDifference.of(row, settings["alpha"]).positive else "less"
        limits = f" (difference {interval(row, 'rate_difference')})" if interval(row, "rate") else ""
        yield (
            f"The judge gives {row['class']!r} {often} often than people: {number(rate['estimate'], 'rate')} "
            f"against {number(people['estimate'], 'rate')}{limits}."
        )


def _note_on_power(detectable: float, measure: str) -> str:
    """Which differences a test could have missed: all that are possible, those below one, or unknown ones."""
    if not np.isfinite(detectable):
        return ""
    which = f"differences below {number(detectable, measure)}"
    if detectable > range_of(measure)[1]:
        which = "any difference"
    return f"; {which} could have been missed"


def _errors(frame: pd.DataFrame) -> Iterator[str]:
    recalls = frame[(frame["part"] == ERRORS) & (frame["measure"] == "recall") & (frame["n"] >= 1)]
    if len(recalls) < 2 or not (recalls["estimate"] < 1).any():
        return
    values = recalls["estimate"].to_numpy(dtype=float)
    worst = recalls.iloc[int(values.argmin())]
    if (values <= values.min() + SAME).all():
        missed = number(1 - worst["estimate"], "rate")
        yield f"The judge misses every label of people equally often, in {missed} of its rows."
        return
    text = (
        f"Errors are most frequent on {worst['class']!r}: of rows with this label by people "
        f"({int(worst['n']):,} labels), the judge misses {number(1 - worst['estimate'], 'rate')}"
    )
    if np.isfinite(worst["lower"]):
        text += f" ({number(1 - worst['upper'], 'rate')} to {number(1 - worst['lower'], 'rate')})"
    yield f"{text}."


def subgroup_sentences(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on subgroups that differ from the others, or that none clearly does."""
    tested = frame[(frame["part"] == SUBGROUPS) & frame["measure"].isin(SUBGROUP_WORDS)]
    if tested.empty:
        return
    clear = notable(tested, settings["alpha"])
    if clear.empty:
        largest = tested["detectable"].astype(float).max()
        measure = str(tested["measure"].iloc[0])
        note = _note_on_power(largest, measure)
        yield f"No subgroup clearly differs from the others after Holm's adjustment{note}."
    for _, row in clear.head(3).iterrows():
        words, more, less = SUBGROUP_WORDS[str(row["measure"])]
        what = words.format(settings.get("systems", ("",))[0])
        unit = "" if row["measure"] == "bias_difference" else str(row["measure"])
        size = number(abs(row["estimate"]), unit)
        yield (
            f"For {row['by']} {row['level']!r} {what} {size} {more if row['estimate'] > 0 else less} than "
            f"elsewhere{tested_in_words(row)}."
        )


def tested_in_words(row: Row) -> str:
    """The limits and the p value of a difference that a sentence is about."""
    if not np.isfinite(row["p_adjusted"]):
        return " (not tested, since values of some group do not vary)"
    return f" (difference {interval(row, row['measure'])}, adjusted p {p_text(row['p_adjusted'])})"


def _replacement(
    frame: pd.DataFrame, extra: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> Iterator[str]:
    row = row_of(frame, "winning_rate")
    if row is None or not np.isfinite(row["estimate"]):
        return
    people = int(extra["annotators"]["wins"].notna().sum())  # others have too few items
    result = Replacement(float(row["estimate"]), float(row["lower"]), float(row["upper"]), people)
    yield replacement_in_words(result, f"{settings['epsilon']:g}", level_of(settings))


def replacement_in_words(result: Replacement, epsilon: str, level: str) -> str:
    """Whether a judge passes the replacement test, and whether that is decided."""
    text = (
        f"The judge {'passes' if result.passes else 'does not pass'} the replacement test at epsilon "
        f"{epsilon}: it beats {result.beaten:,} of {counted(result.people, 'person', 'people')}, and at "
        "least half is needed"
    )
    if not result.bounded:
        return f"{text}; with so few people or items that share has no interval, so that this is not certain."
    text = f"{text} ({level} interval of the share {result.lower:.1%} to {result.upper:.1%})"
    return f"{text}." if result.decided else f"{text}; with other items the result could be the opposite."


def _corrected(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    missing = settings["n_rows"] - settings["n_answered"]
    left_out = f" (without {counted(missing, 'row')} that it did not answer)" if missing else ""
    over = f"Over all judged rows{left_out}"
    if settings["scale"] != "nominal":
        mean, naive = row_of(frame, "corrected_mean"), row_of(frame, "judge_only_mean")
        if mean is not None and naive is not None and interval(mean, ""):
            yield (
                f"{over} people's mean would be {number(mean['estimate'], '')} "
                f"({interval(mean, '')}); the judge alone gives {number(naive['estimate'], '')}."
            )
        return
    rows = frame[frame["measure"] == "corrected_rate"]
    for _, row in rows.head(1).iterrows():
        naive, people = (row_of(frame, f"{name}_only_rate[{row['class']}]") for name in ("judge", "people"))
        if naive is not None and people is not None and interval(row, "rate"):
            yield (
                f"{over} people would give {row['class']!r} in {number(row['estimate'], 'rate')} "
                f"({interval(row, 'rate')}); the judge gives it in {number(naive['estimate'], 'rate')}, and "
                f"people in {number(people['estimate'], 'rate')} of the rows that they labelled."
            )


def _precision(table: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    main = table[table["measure"] == settings["main"]]
    if main.empty:
        return
    row, name = main.iloc[0], in_words(settings["main"])
    if np.isfinite(row["detectable"]):
        yield (
            f"With these labels, the minimum detectable difference of {name} from a fixed value (power "
            f"{POWER:.0%}) is {number(row['detectable'], settings['main'])}."
        )
    if np.isfinite(row["n_for_threshold"]) and row["n_for_threshold"] > row["n"]:
        yield (
            f"If {name} stays as it is, about {labels_needed(row['n_for_threshold'], row['n'], settings)} "
            f"would decide with a power of {POWER:.0%} on which side of "
            f"{number(row['threshold'], settings['main'])} it is."
        )
    if np.isfinite(row["n_for_width"]) and row["n_for_width"] > row["n"]:
        yield (
            f"About {labels_needed(row['n_for_width'], row['n'], settings)} would make its interval "
            f"{number(row['wanted_width'], settings['main'])} wide; it is "
            f"{number(row['width'], settings['main'])} wide now."
        )
