"""Cases of sentences on labels compared with gold labels, and on ratings."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.analysis.frames.rounding import percentage
from conjury.analysis.report.sentences import (
    label_sentences,
    missing_sentences,
    ranking_sentences,
    rater_sentences,
    score_sentences,
)
from conjury.analysis.report.table_format import number
from sentence_cases.drawing import Draws, case, frame, is_missing, out_of


def over_baseline(draws: Draws) -> tuple[score_sentences.Baseline, int, int, int]:
    """A comparison with the most frequent label: how many are below, above, and known."""
    judges = draws.names(draws.size(0, 6), "judge", 4)
    lower, upper = draws.limits(draws.numbers(max(len(judges), 1), missing=False)[: len(judges)])
    pairs = [(a, b) for a, b in zip(lower, upper, strict=True) if not is_missing(a)]
    below, above = sum(b < 0 for _, b in pairs), sum(a > 0 for a, _ in pairs)
    over = frame(judge=judges, _who=judges, lower=lower, upper=upper)
    balanced = draws.names(draws.size(0, len(pairs)), "judge")
    record = score_sentences.baseline(over, "the most frequent label", above=balanced, balanced=0.5)
    return record, below, above, len(pairs)


@case("leader_in_words")
def leader(draws: Draws) -> str:
    share = draws.shares(draws.size())
    names, clear = draws.names(len(share), "judge"), draws.rng.random(len(share)) < draws.one([0, 0.5, 1])
    known = draws.flip(0.7)
    record = ranking_sentences.find_leader(
        ("share", "shares"), names, pd.Series(share), [number(x, 2) for x in share],
        lambda _, second: (bool(clear[second]), "0.10, p 0.5") if known else None,
    )  # fmt: skip
    values = [x for x in share if not is_missing(x)]
    assert (record is None) == (not values)
    if record is None:
        return ""
    text = ranking_sentences.leader_in_words(record)
    first = [name for name, x in zip(names, share, strict=True) if x == max(values)]
    level = [n for n, x, c in zip(names, share, clear, strict=True) if known and x < max(values) and not c]
    assert list(record.names) == first
    assert sorted(name for name, *_ in record.level) == level
    assert text.endswith("and do not differ clearly") == bool(level)
    assert ("), before " in text) == (not level and len(first) < len(values))
    then = sorted(set(values))[-2:][0]
    assert "before" not in text or f"({number(then, 2)}" in text.partition("before")[2]
    assert ("same share" in text) == (len(first) == len(values) > 1)
    return text


@case("best_in_words")
def best(draws: Draws) -> str:
    names = draws.names(draws.size(), "judge")
    leading, balanced = (
        ranking_sentences.find_leader(
            (what, what), names, pd.Series(draws.shares(len(names), missing=False)), ["0.5"] * len(names)
        )
        for what in ("share", "weight")
    )
    assert leading is not None
    reference, below, above, compared = over_baseline(draws)
    record = score_sentences.BestJudges(draws.one(["", "Wit"]), leading, reference, draws.flip(), balanced)
    text = score_sentences.best_in_words(record)
    first, beside = text.partition(". ")[0].lower(), text.partition(";")[2]
    assert ("what such" in text) == (compared > 0 and (not above or len(reference.above_balanced) > above))
    assert ("weight" in text) == (compared > 0 == above)
    if compared == 1 == len(names):
        assert ("less often than" in first) == (below == 1)
        assert ("not clearly more" in first) == (not below and not above)
    elif compared and above:
        assert f" all {compared} " in beside or beside.startswith(f" of {compared} ")
        assert ("all " in beside.partition("are correct")[0]) == (above == compared > 1)
        assert above == compared or ("could be either" in beside) == (below + above < compared)
        assert ("series of answers" in text) == (reference.noun[0] != "judge")
    elif compared:
        assert f"none of {compared} " in first or compared == 1
        assert ("as often as" in first) == (below == compared)
    return text


@case("left_out_in_words")
def left_out(draws: Draws) -> str:
    names = draws.names(draws.size(), "place")
    changes = [draws.one(["same", "level", "best"]) for _ in names]
    pairs = tuple(zip(names, changes, strict=True))
    text = score_sentences.left_out_in_words(score_sentences.LeftOut(pairs))
    level, changed = (changes.count(kind) for kind in ("level", "best"))
    assert ("best judge changes" in text, "stays the same" in text) == (changed > 0, changed < len(names))
    assert ("is level" in text) == (level > 0)
    assert len(names) == 1 or all(name in text for name in names)
    return text


@case("copies_scored_in_words")
def copies_scored(draws: Draws) -> str:
    clear = [bool(x < 0.5) for x in draws.shares(draws.size(), missing=False)]
    places = draws.names(len(clear), "place", 2)
    rows = tuple(zip(places, draws.names(len(clear), "kind"), ["+0.1"] * len(clear), clear, strict=True))
    text = score_sentences.copies_scored_in_words(
        score_sentences.CopyScores("accuracy", draws.flip(), 0.05, rows)
    )
    assert text.count(", clear") == sum(clear)
    assert ("none has an adjusted p" in text) == (not any(clear))
    assert all(text.count(f"{place}: ") == 1 for place in set(places))
    return text


@case("places_in_words")
def places(draws: Draws) -> str:
    names = draws.names(draws.size(), "place")
    share = draws.shares(len(names), missing=False) if draws.flip() else [0.5] * len(names)
    highest = tuple((number(x, 2), f"judge {x}") for x in draws.shares(len(names), missing=False))
    text = score_sentences.places_in_words(
        score_sentences.ComparedPlaces(tuple(names), tuple(share), highest)
    )
    assert bool(text) == (len({number(x, 2) for x in share}) > 1)
    assert not text or all(f"{cell} ({who})" in text for cell, who in highest)
    return text


@case("kinds_in_words")
def kinds(draws: Draws) -> str:
    judges, shares = draws.names(draws.size(), "judge"), draws.shares(1000)
    rows = frame(_who=[name for name in judges for _ in range(3)], _label=["a", "b", "c"] * len(judges))
    rows["_kind"] = rows["_label"].map({"a": "recall", "b": "recall", "c": "specificity"})
    rows = rows.assign(estimate=shares[: len(rows)], _cell=[number(x, 2) for x in shares[: len(rows)]])
    record = label_sentences.find_kinds_of_gold(rows, "judge a")
    by_kind = {
        kind: [x for x in rows.loc[rows["_label"] == kind, "estimate"] if not is_missing(x)] for kind in "ab"
    }
    assert (record is None) == all(is_missing(x) for x in rows["estimate"][:2])
    if record is None:
        return ""
    assert record.most == max(by_kind[record.least])
    assert np.median(by_kind[record.least]) == min(np.median(x) for x in by_kind.values() if x)
    text = label_sentences.kinds_in_words(record)
    assert ("the most that" in text) == ("judge a" not in record.whose and record.of > 1)
    return text


@case("attempts_in_words")
def attempts(draws: Draws) -> str:
    judges, guesses = draws.names(draws.size(), "judge"), draws.shares(1, missing=False)[0]
    rows = frame(judge=judges, _who=judges, judge_kind="model", metric="pass_at_k", k=5)
    rows["estimate"] = draws.shares(len(judges), missing=False)
    rows = rows.assign(lower=rows["estimate"] - 0.1, upper=rows["estimate"] + 0.1)
    random = rows.head(1).assign(judge="random", _who="random", judge_kind="baseline", estimate=guesses)
    majority = rows.assign(metric="majority_of_k", estimate=rows["estimate"].to_numpy()[::-1])
    table = pd.concat([rows, random, *[majority] * draws.flip()]).assign(_cell="0.5")
    always = ("the most frequent label", draws.one([0.3, np.nan]))
    record = score_sentences.find_best_attempts(table, draws.one(["", "Wit"]), always)
    assert record is not None
    text = score_sentences.attempts_in_words(record)
    above, most = sum(x - 0.1 > guesses for x in rows["estimate"]), rows["estimate"].max()
    assert ("most frequent of 5" in text) == (len(table) > len(judges) + 1)
    assert ("answering the most frequent label 0.30" in text) == (
        len(table) > len(judges) + 1 and always[1] == 0.3
    )
    assert ("not clearly above" in text) == (not above and most + 0.1 >= guesses)
    assert ("which is below" in text) == (most + 0.1 < guesses)
    assert (f"all {len(judges)} judges are" in text) == (above == len(judges) > 1)
    return text


@case("parsed_in_words")
def parsed(draws: Draws) -> str:
    n = draws.counts(draws.size(), 3000) + 1
    ok = np.array([draws.one([0, count, max(count - 1, 0), count // 2]) for count in n])
    names = draws.names(len(n), "judge")
    text = label_sentences.parsed_in_words(
        label_sentences.find_least_parsed(pd.Series(ok), pd.Series(n), names)
    )
    share = [a / b for a, b in zip(ok, n, strict=True)]
    assert text.startswith("All answers") == (min(share) == 1)
    assert ("100%" in text) == (min(share) == 0)
    if min(share) < 1:
        least = [name for name, x in zip(names, share, strict=True) if abs(x - min(share)) < 1e-9]
        assert percentage(1 - min(share)) in text
        assert ("Most" in text) == (len(least) < len(n))
        if "Most" in text:
            assert all(name in least for name in names if name in text.split())
            assert least[0] in text
            below = sum(x < 0.5 for x in share)
            assert ("more than half" in text) == (below > 0)
            assert not below or f"in {below} of {len(n)} series" in text
    return text


@case("rules_in_words")
def rules(draws: Draws) -> str:
    parts = [int(k) for k in draws.counts(4, 2000)]
    text = label_sentences.rules_in_words(label_sentences.RuleDifferences(sum(parts), *parts[:3]))
    for n, what in zip(parts[:3], ("lenient", "strict", "different"), strict=True):
        assert not text or (what in text and percentage(n / sum(parts), 1) in text)
    return text


@case("copies_in_words")
def copies(draws: Draws) -> str:
    cells = draws.size(1, 6)
    copied = draws.size(0, cells)
    text = label_sentences.copies_in_words(label_sentences.Copies(copied, cells))
    assert (text == "") == (copied == 0)
    if copied:
        assert out_of(text) == (copied, cells)
    return text


@case("overused_in_words")
def overused(draws: Draws) -> str:
    n = draws.size(1, 12)
    judges, prompts = draws.names(n, "judge", 5), draws.names(n, "prompt", draws.size(1, 2))
    several = len(set(prompts)) > 1
    who = [f"{a}, {b}" if several else a for a, b in zip(judges, prompts, strict=True)]
    ratio = np.abs(draws.numbers(n, 3.0, missing=False))
    often = (draws.rng.random(n) < draws.one([0, 0.5, 1])) & (ratio > 0)
    labels = draws.names(n, "label", draws.one([2, 20]))
    table = frame(judge=judges, _who=who, _label=labels, ratio=ratio)
    fewest = label_sentences.FEWEST_GOLD
    table["n_gold"] = np.where(often, fewest, draws.one([0, fewest - 1, fewest]))
    text = label_sentences.overused_in_words(label_sentences.find_overused_labels(table, often))
    guilty = {judge for judge, flag in zip(judges, often, strict=True) if flag}
    if not guilty:
        untested = bool((table["n_gold"] < fewest).all())
        assert text.startswith("No label is gold in" if untested else "No judge gives a label too often")
        return text
    total, giving = len(set(judges)), {pair[:2] for pair in zip(labels, who, often, strict=True) if pair[2]}
    start = "The judge gives" if total == 1 else f"{len(guilty)} of {total} judges "
    if len(set(labels)) == 2 and len(set(who)) > 1:
        start = "Given too often: "
        for label in {label for label, _ in giving}:
            assert f"{label} by {sum(name == label for name, _ in giving)}" in text
    assert text.startswith(start)
    largest: dict[str, float] = {}
    for name, value, flag in zip(who, ratio, often, strict=True):
        if flag:
            largest[name] = max(value, largest.get(name, 0))
    displayed = sorted(largest.values(), reverse=True)[: label_sentences.MOST_NAMED]
    assert [float(part.rpartition("(")[2].rstrip(").")) for part in text.split(": ")[-1].split("; ")] == [
        float(number(value, 1)) for value in displayed
    ]
    assert ("largest of each" in text) == (len(largest) <= label_sentences.MOST_NAMED)
    return text


@case("passed_in_words")
def passed(draws: Draws) -> str:
    rate = draws.shares(draws.size(1, 12))
    passes = [None if is_missing(x) else x >= 0.5 for x in rate]
    names = draws.names(len(rate), "model")
    epsilon = draws.one([0.1, 0.15])
    tests = rater_sentences.count_passed_tests(frame(winning_rate=rate, passes=passes), names, epsilon)
    text = rater_sentences.passed_in_words(tests)
    values = [x for x in rate if not is_missing(x)]
    good = [name for name, flag in zip(names, passes, strict=True) if flag]
    if not values:
        assert text == "No model could be tested against people."
        return text
    if not good:
        start = f"No model passes a replacement test with epsilon {epsilon} ("
        assert text.startswith(f"{start}{len(values)} replacement test")
    else:
        assert out_of(text) == (len(good), len(values))
    assert ("could not be tested" in text) == (len(values) < len(rate))
    if 0 < len(good) <= rater_sentences.MOST_PASSED:
        assert all((name in text.replace(",", " ").replace(".", " ").split("passed")[1]) for name in good)
    return text


@case("ahead_in_words")
def ahead(draws: Draws) -> str:
    n = draws.size()
    line = draws.one([0.0, 0.5])
    lower, upper = draws.limits(draws.numbers(n, missing=False) + line)
    table = frame(dimension=draws.names(n, "dimension", draws.size(1, 2)), lower=lower, upper=upper)
    text = rater_sentences.ahead_in_words(rater_sentences.count_models_ahead(table, pd.Series([line] * n)))
    values = [(a, b) for a, b in zip(lower, upper, strict=True) if not is_missing(a)]
    first, last = sum(a > line for a, _ in values), sum(b < line for _, b in values)
    assert (text == "") == (not values)
    if len(values) == 1:
        assert ("ahead" in text, "behind" in text) == (first == 1, last == 1)
    elif values:
        assert out_of(text) == (first, len(values))
        remainder = len(values) - first - last
        several = table[table["lower"].notna()]["dimension"].nunique() > 1
        assert (f"{last} behind" in text) == (not several)
        assert (f"{remainder} cannot" in text) == (not several)
        assert (f"behind in {last}, and cannot be distinguished from one in {remainder}" in text) == several
    return text


@case("closest_in_words")
def closest(draws: Draws) -> str:
    names = draws.names(draws.size(), "judge")
    values = pd.Series(draws.numbers(len(names), missing=False))
    leader = ranking_sentences.find_leader(("r", "rs"), names, values, [f"{x}" for x in values])
    assert leader is not None
    others = tuple((tuple(names[: draws.size(1, 2)]), ("wit",)) for _ in range(draws.size(0, 2)))
    text = rater_sentences.closest_in_words(rater_sentences.ClosestModels("fun", leader, others, 0.05))
    assert ("on other dimensions" in text) == (len(names) > 1 and bool(others))
    assert ("not differ clearly. " in text) == (len(names) > 1 and any(len(who) > 1 for who, _ in others))
    return text


@case("orders_in_words")
def orders(draws: Draws) -> str:
    share, chance = draws.shares(draws.size()), draws.shares(1, missing=False)[0]
    chances = [chance if draws.flip(0.8) else 0.3 for _ in share]
    names, table = draws.names(len(share), "judge"), frame(estimate=share, chance=chances)
    text = rater_sentences.orders_in_words(rater_sentences.orders(names, table, [f"{x}%" for x in share]))
    values = [(name, x) for name, x in zip(names, share, strict=True) if not is_missing(x)]
    assert (text == "") == (not values)
    assert text.count(" judge ") == len(values)
    assert all(f"{name} {x}%" in text for name, x in values)
    if values:
        low, high = percentage(min(chances), 1), percentage(max(chances), 1)
        assert text.endswith(f"by chance {low}." if low == high else f"by chance {low} to {high}.")
    return text


@case("strongest_in_words")
def strongest(draws: Draws) -> str:
    groups = []
    for who in draws.names(draws.size(), "judge"):
        r = draws.numbers(draws.size())
        table = frame(estimate=r, probability=draws.shares(len(r)))
        others, cells = draws.names(len(r), "other"), [f"{x:.9f}" for x in r]
        first, numbers = rater_sentences.find_strongest_correlates(table, others, cells)
        assert (not first) == all(map(is_missing, r))
        groups.append((who, first, numbers))
        if first:
            at = others.index(first[0])
            assert abs(r[at]) == np.nanmax(np.abs(r))
            sure = table["probability"][at] >= 0.95
            assert not sure or len(first) == 1
            assert all(table["probability"][others.index(name)] >= 0.05 - 1e-9 for name in first[1:])
    text = rater_sentences.strongest_in_words(rater_sentences.StrongestCorrelates("Wit", "", tuple(groups)))
    assert all(f"{who} ({' or '.join(cells)})" in text for who, first, cells in groups if first)
    assert ("none is the strongest" in text) == any(len(first) > 1 for _, first, _ in groups)
    return text


@case("ends_in_words")
def ends(draws: Draws) -> str:
    share = draws.shares(5)
    table = frame(group=["human", *"abcd"], dimension="wit", value=[0, 0, 2, 4, 4], estimate=share)
    record = missing_sentences.find_end_shares(table, lambda _, name: str(name))
    text = missing_sentences.ends_in_words(record)
    extreme = [name for name, x in zip("acd", share[[1, 3, 4]], strict=True) if x >= 0.75]
    assert [name for name in "abcd" if f"{name} on wit" in text] == extreme
    return text


@case("attenuated_in_words")
def attenuated(draws: Draws) -> str:
    reliability, raters = draws.one([0.25, 0.64, 0.81, np.nan]), draws.size() + 1
    table = frame(dimension=["wit", "wit", "wit", "sense"], among=["human", "human", "model", "human"],
                  coefficient=["g_relative", *3 * ["g_absolute"]], raters=raters,
                  estimate=[0.9, reliability, 0.5, 0.5])  # fmt: skip
    text = missing_sentences.attenuated_in_words(missing_sentences.find_mean_reliability(table, "wit", "Wit"))
    factor = {0.25: "2.00", 0.64: "1.25", 0.81: "1.11"}.get(reliability)
    assert ("times as large" in text) == (factor is not None)
    assert factor is None or f"the mean of {raters} people" in text
    assert factor is None or f"would be {factor} times as large" in text
    return text


@case("predicted_in_words")
def predicted(draws: Draws) -> str:
    n = draws.size()
    lower, upper = draws.rng.uniform(0, 0.4, n), draws.rng.uniform(0.5, 1, n)
    prior = draws.holes(np.zeros(n))
    table = frame(lower=lower, upper=upper, prior_lower=prior, prior_upper=draws.holes(prior + 1))
    outside = pd.Series(draws.rng.random(n) < draws.one([0, 0.5, 1]))
    rows = table["prior_lower"].notna() & table["prior_upper"].notna()
    text = rater_sentences.predicted_in_words(
        rater_sentences.count_predicted_shares(table, outside, outside[rows], 0.05)
    )
    assert f"Of {n} observed share" in text
    assert f", {n - sum(outside)} {'is' if n - sum(outside) == 1 else 'are'} within" in text
    assert ("priors alone" in text) == bool(rows.any())
    if rows.any():
        inside = sum(not flag for flag, present in zip(outside, rows, strict=True) if present)
        of = "" if rows.all() else f" of {rows.sum()}"
        assert f"and {inside}{of} in what its priors alone" in text
    return text
