"""Cases of sentences on missing answers, corrections, and published numbers."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from conjury.analysis.frames.rounding import percentage
from conjury.analysis.report.sentences import (
    correction_sentences,
    diagnostic_sentences,
    missing_sentences,
    published_sentences,
)
from conjury.analysis.report.table_format import number
from sentence_cases.drawing import Draws, case, frame, is_missing, out_of


@case("answered_in_words")
def answered(draws: Draws) -> str:
    n = draws.size(1, 12)
    who, n_asked = draws.names(n, "judge", draws.size(1, 8)), draws.counts(n)
    got = n_asked - np.where(draws.rng.random(n) < 0.5, 0, draws.rng.integers(0, n_asked + 1))
    given_by_judge = missing_sentences.answered_by(pd.Series(who), pd.Series(got), pd.Series(n_asked))
    text = missing_sentences.answered_in_words(
        missing_sentences.answers_given(given_by_judge, "judges", "ratings")
    )
    total = {name: [0, 0] for name in who}
    for name, answers, asks in zip(who, got, n_asked, strict=True):
        total[name] = [total[name][0] + answers, total[name][1] + asks]
    lacking = [name for name, (answers, asks) in total.items() if answers < asks]
    if len(total) == 1:
        assert out_of(text) == (sum(got), sum(n_asked))
    elif not lacking:
        assert text.startswith(f"All {len(total)} judges")
    else:
        assert text.startswith(f"Of {len(total)} judges, {len(lacking)} lack{'s' * (len(lacking) == 1)}")
        assert (" and so on" in text) == (len(lacking) > missing_sentences.MOST_NAMED)
        assert ("answered all" in text) == (len(lacking) < len(total))
        assert ("the others" in text) == (len(total) - len(lacking) > 1)
        for name in total:
            assert (
                f"{name} gave" not in text
                or f"{name} gave {total[name][0] or 'none'} of {total[name][1]}" in text
            )
    assert "100.0%" not in text or sum(got) == sum(n_asked)
    return text


@case("turning_in_words")
def turning(draws: Draws) -> str:
    conclusion = pd.Series([draws.one(["turns", "holds", "none"]) for _ in range(draws.size())])
    if draws.flip(0.3):
        conclusion[:] = draws.one(["turns", "holds", "none"])
    tipping, where = draws.shares(len(conclusion)), draws.names(len(conclusion), "row")
    null = "0" if (conclusion != "none").any() else draws.one(["0", ""])
    record = missing_sentences.count_turning(conclusion, pd.Series(tipping), null, pd.Series(where))
    text = missing_sentences.turning_in_words(record)
    n = sum(one != "none" for one in conclusion)
    turns = [k for k, one in enumerate(conclusion) if one == "turns"]
    if not n:
        assert text == ("No interval from the answers given excludes 0." if null else "")
    elif not turns:
        assert ("All" in text) == (n > 1)
        assert "whatever the missing answers" in text
    else:
        assert f"Of {n} interval" in text
        assert f"{len(turns)} would contain it" in text
        values = [tipping[k] for k in turns if not is_missing(tipping[k])]
        assert ("smallest tipping share" in text) == bool(values)
        if values:
            smallest = [where[k] for k in turns if tipping[k] == min(values)]
            assert any(f"(*{name}*)" in text for name in smallest)
    return text


@case("lacking_in_words")
@case("unanswered_in_words")
def unanswered(draws: Draws) -> str:
    status = [draws.one(["ok", "refused", "invalid"]) for _ in range(draws.size())]
    n = draws.counts(len(status), draws.one([5, 5000]))
    counts = missing_sentences.count_unanswered(frame(status=status, n=n))
    text = missing_sentences.unanswered_in_words(counts)
    total = sum(n)
    without = sum(count for one, count in zip(status, n, strict=True) if one != "ok")
    lacking = missing_sentences.lacking_in_words(missing_sentences.LackingAnswers(counts, draws.flip()))
    assert (lacking == "") == (not total or without / total < 0.05)
    if not total:
        assert text == "There are no answers."
    elif not without:
        assert text.startswith(f"Every one of {total:,} answer")
    else:
        assert out_of(text) == (without, total)
        assert ("(100.0%)" in text) == (without == total)
    return f"{text} {lacking}".strip()


@case("gains_in_words")
def gains(draws: Draws) -> str:
    n = draws.size()
    gain = np.where(draws.rng.random(n) < 0.2, np.nan, draws.rng.uniform(0.5, 3, n))
    gain = np.where(draws.rng.random(n) < 0.2, 1.003, gain)
    table = frame(gain=gain, n_effective=100 * gain)
    lengths = np.where(draws.rng.random(n) < 0.3, np.nan, draws.rng.uniform(0.5, 1.2, n))
    text = correction_sentences.gains_in_words(correction_sentences.gains_of(table, lengths, "GPT", "people"))
    values = sorted(x for x in gain if not is_missing(x))
    assert text.startswith("With GPT no estimate") == (not values)
    if values:
        assert "100 people are as precise as " in text
        assert ("median gain" in text) == (len(values) > 1)
        assert f"median gain of {len(values)} estimates" in text or len(values) == 1
        assert ("intervals are" in text or "the interval is" in text) == any(
            not is_missing(x) for x in lengths
        )
        limits = re.search(r"from ([\d.]+) to ([\d.]+)", text)
        assert (limits is not None) == (len(values) > 1)
        if limits is not None:
            assert (float(limits[1]) > 1, float(limits[2]) > 1) == (values[0] > 1, values[-1] > 1)
    return text


@case("useless_in_words")
def useless(draws: Draws) -> str:
    n = draws.size()
    gain = draws.holes(np.array([draws.one([0.9, 1.0, 1.004, 2.0]) for _ in range(n)]))
    rows = draws.names(n, "row")
    text = correction_sentences.useless_in_words(
        correction_sentences.find_useless_gains(frame(gain=gain), rows)
    )
    values = [x for x in gain if not is_missing(x)]
    none = [row for row, x in zip(rows, gain, strict=True) if x <= 1]
    assert (text == "") == (not none)
    if none:
        assert out_of(text) == (len(none), len(values))
        assert all(row in none for row in rows if f"*{row}*" in text)
        assert all(correction_sentences.gain_text(x) != "1.00" for x in values if x not in (1.0,))
    return text


@case("moved_in_words")
def moved(draws: Draws) -> str:
    n = draws.size()
    reported = draws.shares(n, missing=False)
    difference = draws.numbers(n)
    if n == 2 and draws.flip():
        difference = np.array([0.1, -0.1])
    corrected, names = reported + difference, draws.names(n, "class")
    table = frame(reported=reported, corrected=corrected, lower=corrected - 0.1, upper=corrected + 0.1)
    record = correction_sentences.find_largest_shift(table, names)
    values = [abs(c - r) for c, r in zip(corrected, reported, strict=True) if not is_missing(c)]
    assert (record is None) == (not values)
    if record is None:
        return ""
    text = correction_sentences.moved_in_words(record)
    most = [k for k in range(n) if abs(abs(corrected[k] - reported[k]) - max(values)) < 1e-9]
    assert ("moves no rate" in text) == (max(values) < 1e-9)
    if max(values) >= 1e-9:
        assert ("equally" in text) == (len(most) > 1)
        assert f"*{names[most[0]]}*" in text
        assert f"reports {percentage(reported[most[0]], 1)}" in text
        assert all(k in most for k in range(n) if f"*{names[k]}*" in text)
    return text


@case("misfits_in_words")
@case("consistent_in_words")
def consistent(draws: Draws) -> str:
    verdicts = [draws.one(list(published_sentences.COUNTED)) for _ in range(draws.size())]
    counts = diagnostic_sentences.count_verdicts(pd.Series(verdicts), published_sentences.COUNTED)
    text, n_misfits = published_sentences.consistent_in_words(counts), verdicts.count("inconsistent")
    misfits = published_sentences.misfits_in_words(counts)
    assert out_of(misfits) == (n_misfits, len(verdicts)) if n_misfits else misfits == ""
    assert text.startswith(f"Of {len(verdicts)} published number")
    for verdict, forms in published_sentences.COUNTED.items():
        n = verdicts.count(verdict)
        assert re.search(rf"\b{n} {re.escape(forms[n != 1])}", text) or not n
    return f"{text} {misfits}".strip()


@case("chances_in_words")
def chances(draws: Draws) -> str:
    verdicts = [draws.one(["consistent", "untested"]) for _ in range(draws.size())]
    chance = draws.shares(len(verdicts))
    text = published_sentences.chances_in_words(
        published_sentences.chances(frame(verdict=verdicts, chance=chance))
    )
    values = [c for v, c in zip(verdicts, chance, strict=True) if v == "consistent" and not is_missing(c)]
    likely = sum(c > 0.5 for c in values)
    assert (text == "") == (not values)
    assert ("uninformative" in text) == (likely > 0)
    if len(values) > 1:
        assert f"For {len(values)} of the numbers" in text
        assert f"for {likely} it is above one half" in text or not likely
    return text


def differences(draws: Draws) -> tuple[pd.Series, list[float]]:
    """Differences between published numbers and ours, and the sizes of those that are known."""
    gaps = draws.holes(np.array([draws.one([0.0, 0.0004, -0.0004, 0.01, -0.2]) for _ in range(draws.size())]))
    return pd.Series(gaps), [abs(x) for x in gaps if not is_missing(x)]


@case("apart_in_words")
def apart(draws: Draws) -> str:
    gaps, values = differences(draws)
    text = published_sentences.apart_in_words(published_sentences.difference_sizes(gaps))
    assert text.startswith("No") == (not values)
    if values:
        assert text.startswith(f"{len(values)} published number")
        assert f"difference is {number(max(values))}" in text
        assert ("median" in text) == (len(values) > 1)
    return text


@case("exact_in_words")
def exact(draws: Draws) -> str:
    gaps, values = differences(draws)
    text = published_sentences.exact_in_words(published_sentences.difference_sizes(gaps))
    n = sum(bool(gap < published_sentences.CLOSE) for gap in values)
    assert ("all agree" in text) == (n == len(values) > 1)
    if values and n < len(values):
        assert f"{n} agree{'s' * (n == 1)} to the last" in text
        assert f"largest difference is {number(max(values), 4)}" in text
    return text


@case("rerun_in_words")
def rerun(draws: Draws) -> str:
    n = draws.size(0, 5)
    exact_ones = draws.size(0, n)
    text = published_sentences.rerun_in_words(published_sentences.Rerun(exact_ones, n))
    assert ("give the published numbers." in text) == (exact_ones == n > 0)
    if exact_ones < n:
        assert out_of(text) == (exact_ones, n)
    return text
