"""Cases of sentences on labels compared with gold labels, and on ratings."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from conjury.analysis.frames.rounding import percentage
from conjury.analysis.report.sentences import label_sentences, rater_sentences
from conjury.analysis.report.table_format import number
from sentence_cases.drawing import Draws, case, frame, is_missing, out_of


def over_baseline(draws: Draws) -> tuple[pd.DataFrame, int, int, int]:
    """Differences from the most frequent label: how many are below, above, and known."""
    judges = draws.names(draws.size(0, 6), "judge", 4)
    lower, upper = draws.limits(draws.numbers(max(len(judges), 1), missing=False)[: len(judges)])
    pairs = [(a, b) for a, b in zip(lower, upper, strict=True) if not is_missing(a)]
    below, above = sum(b < 0 for _, b in pairs), sum(a > 0 for a, _ in pairs)
    return frame(judge=judges, lower=lower, upper=upper), below, above, len(pairs)


@case("best_in_words")
def best(draws: Draws) -> str:
    share = draws.shares(draws.size())
    names = draws.names(len(share), "judge")
    over, below, above, compared = over_baseline(draws)
    reference = label_sentences.baseline(over, "the most frequent label") if draws.flip(0.8) else None
    cells = [number(x, 2) for x in share]
    later = draws.flip()
    record = label_sentences.find_best_judges(
        frame(_who=names, estimate=share), cells, draws.one(["", "Wit"]), reference, later
    )
    values = [x for x in share if not is_missing(x)]
    assert (record is None) == (not values)
    if record is None:
        return ""
    text = label_sentences.best_in_words(record)
    first = [name for name, x in zip(names, share, strict=True) if x == max(values)]
    assert list(record.names) == first
    assert ("highest" in text) == ("), before " in text) == (len(first) < len(values) and len(values) > 1)
    then = sorted(set(values))[-2:][0]
    assert "before" not in text or f"({number(then, 2)})" in text.partition("before")[2].partition(";")[0]
    assert ("ll " in text.split(";")[0] and "same share" in text) == (len(first) == len(values) > 1)
    if reference is not None and compared > 0 and (compared > 1 or len(values) > 1):
        beside = text.partition(";")[2]
        if not below and not above:
            assert beside.startswith(f" of {compared} ")
            assert "without 0" in beside
        every = next((how for n, how in ((below, "less"), (above, "more")) if n == compared > 1), "")
        assert not every or f" all {compared} " in beside
        assert not every or f"correct {every} often than" in beside
        if (below or above) and not every:
            counts = re.findall(
                r"(none|\d+) (?:is correct more|are correct more|less|could be) (?:often|either)", text
            )
            unclear = compared - below - above
            assert counts == [str(n or "none") for n in (above, below)] + [str(unclear)] * bool(unclear)
        judged = over[over["lower"].notna()]["judge"]
        assert ("series of answers" in text) == judged.duplicated().any()
    if reference is not None and compared == len(values) == 1:
        assert ("less often than" in text, "more often than" in text) == (below == 1, above == 1)
        assert ("contains 0" in text) == (not below and not above)
    return text


@case("compared_in_words")
def compared(draws: Draws) -> str:
    record = []
    for later in range(draws.size(0, 3)):
        share = draws.shares(draws.size(1, 3))
        over, *_ = over_baseline(draws)
        reference = label_sentences.baseline(over, "the most frequent label") if draws.flip(0.8) else None
        names, cells = draws.names(len(share), "judge"), ["0.5"] * len(share)
        record.append(
            label_sentences.find_best_judges(
                frame(_who=names, estimate=share), cells, "", reference, later > 0
            )
        )
    described = [one for one in record if one is not None]
    before = [label_sentences.best_in_words(one) for one in described]
    text = label_sentences.compared_in_words(label_sentences.compare_with_baseline(described, "95%"))
    single = sum(one.count("it is correct") + one.count("contains 0") for one in before)
    counts = any(" of " in one.partition(";")[2].replace("interval of", "") for one in before)
    assert ("counts are" in text) == counts
    assert ("comparison is" in text) == (single == 1 and not counts)
    assert ("comparisons are" in text) == (single > 1 and not counts)
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
    assert ("100%" in text) is False
    if min(share) < 1:
        least = [name for name, x in zip(names, share, strict=True) if abs(x - min(share)) < 1e-9]
        assert percentage(min(share)) in text
        assert ("Fewest" in text) == (len(least) < len(n))
        if "Fewest" in text:
            assert all(name in least for name in names if name in text.split())
            assert least[0] in text
            below = sum(x < 0.5 for x in share)
            assert ("fewer than half" in text) == (below > 0)
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
    table = frame(judge=judges, _who=who, _label=draws.names(n, "label"), ratio=ratio)
    fewest = label_sentences.FEWEST_GOLD
    table["n_gold"] = np.where(often, fewest, draws.one([0, fewest - 1, fewest]))
    text = label_sentences.overused_in_words(label_sentences.find_overused_labels(table, often))
    guilty = {judge for judge, flag in zip(judges, often, strict=True) if flag}
    if not guilty:
        untested = bool((table["n_gold"] < fewest).all())
        assert text.startswith("No label is gold in" if untested else "No judge gives a label too often")
        return text
    assert out_of(text) == (len(guilty), len(set(judges)))
    assert f"of {len(set(judges))} judge{'s' * (len(set(judges)) != 1)} " in text
    largest: dict[str, float] = {}
    for name, value, flag in zip(who, ratio, often, strict=True):
        if flag:
            largest[name] = max(value, largest.get(name, 0))
    displayed = sorted(largest.values(), reverse=True)[: label_sentences.MOST_NAMED]
    assert [float(part.rpartition("(")[2].rstrip(").")) for part in text.split(": ")[1].split("; ")] == [
        float(number(value, 1)) for value in displayed
    ]
    assert ("largest ratio of each" in text) == (len(largest) <= label_sentences.MOST_NAMED)
    return text


@case("longest_in_words")
def longest(draws: Draws) -> str:
    n = draws.size()
    p, estimate = draws.p(n), draws.numbers(n, missing=False)
    judges, strata = draws.names(n, "judge", 6), draws.one([[], ["language"]])
    table = frame(judge=judges, p_adjusted=p, estimate=estimate)
    text = label_sentences.longest_in_words(
        label_sentences.count_length_differences(table, draws.one(["", "Wit"]), strata, 0.05)
    )
    values = [k for k in range(n) if not is_missing(p[k])]
    if not values:
        assert "could be tested" in text
        return text
    less = sum(p[k] < 0.05 and estimate[k] < 0 for k in values)
    more = sum(p[k] < 0.05 and estimate[k] > 0 for k in values)
    assert out_of(text) == (less, len(values))
    assert f"more often in {more or 'none'}," in text
    assert ("cannot be computed" in text) == (len(values) < n)
    assert (f"{len(values)} judge" in text) == (not strata and len(set(judges)) == n)
    return text


@case("perturbed_in_words")
def perturbed(draws: Draws) -> str:
    n = draws.size()
    p, estimate = draws.p(n), draws.numbers(n)
    adjusted = draws.flip()
    table = frame(estimate=estimate, **{"p_adjusted" if adjusted else "p": p})
    text = label_sentences.perturbed_in_words(
        label_sentences.count_perturbation_effects(table, "accuracy", 0.05)
    )
    values = [k for k in range(n) if not is_missing(p[k]) and not is_missing(estimate[k])]
    clear = [k for k in values if p[k] < 0.05]
    assert ("after adjustment" in text) == (adjusted and bool(values))
    if clear:
        assert out_of(text) == (len(clear), len(values))
        assert f"{sum(estimate[k] < 0 for k in clear)} of them negative" in text
    elif values:
        assert text.startswith(f"None of {len(values)} difference")
    return text


@case("same_items_in_words")
def same_items(draws: Draws) -> str:
    n = draws.size()
    table = frame(left=draws.names(n, "a", 3), right=draws.names(n, "b", 3), metric=draws.names(n, "m", 2))
    has = draws.flip(0.8)
    if has:
        table["n_left_only"], table["n_right_only"] = draws.counts(n), draws.counts(n)
    text = label_sentences.same_items_in_words(
        label_sentences.same_items(table, ["left", "right"], draws.one(["", "Holm"]))
    )
    single: dict[tuple[str, str], int] = {}
    for row in table.to_dict("records"):
        pair = (row["left"], row["right"])
        extra = int(row.get("n_left_only", 0)) + int(row.get("n_right_only", 0))
        single[pair] = single.get(pair, 0) + extra
    same = sum(extra == 0 for extra in single.values())
    assert ("same items" in text) == has
    if has and same < len(single):
        assert out_of(text) == (same, len(single))
    if has and same == len(single):
        assert (f"all {same} comparisons" in text) == (same > 1)
    return text


@case("passed_in_words")
def passed(draws: Draws) -> str:
    rate = draws.shares(draws.size(1, 12))
    passes = [None if is_missing(x) else x >= 0.5 for x in rate]
    names = draws.names(len(rate), "model")
    text = rater_sentences.passed_in_words(
        rater_sentences.count_passed_tests(frame(winning_rate=rate, passes=passes), names)
    )
    values = [x for x in rate if not is_missing(x)]
    good = [name for name, flag in zip(names, passes, strict=True) if flag]
    if not values:
        assert text == "No model could be tested against people."
        return text
    if not good:
        assert text.startswith(f"No model passes a replacement test ({len(values)} replacement test")
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
    r = draws.numbers(draws.size())
    lower, upper = draws.limits(np.nan_to_num(r))
    single = draws.flip()
    names = [(f"c{k}", f"judge {k}", f"dimension {0 if single else k}") for k in range(len(r))]
    record = rater_sentences.find_highest_correlation(frame(estimate=r, lower=lower, upper=upper), names)
    values = [x for x in r if not is_missing(x)]
    assert (record is None) == (not values)
    if record is None:
        return ""
    text = rater_sentences.closest_in_words(record)
    at = names.index((record.coefficient, record.judge, record.dimension))
    assert r[at] == max(values)
    assert ("highest" in text) == (len(values) > 1)
    assert text.startswith("For ") == (single or len(values) == 1)
    return text


@case("orders_in_words")
def orders(draws: Draws) -> str:
    share, chance = draws.shares(draws.size()), draws.shares(1, missing=False)[0]
    chances = pd.Series([chance if draws.flip(0.8) else 0.3 for _ in share])
    names = draws.names(len(share), "judge")
    text = rater_sentences.orders_in_words(rater_sentences.orders(names, pd.Series(share), chances))
    values = [(name, x) for name, x in zip(names, share, strict=True) if not is_missing(x)]
    assert (text == "") == (not values)
    for name, x in values:
        assert f"{name} {percentage(x, 1)}" in text
    if values:
        low, high = percentage(min(chances), 1), percentage(max(chances), 1)
        assert text.endswith(f"chance is {low}." if low == high else f"chance is {low} to {high}.")
    return text


@case("strongest_in_words")
def strongest(draws: Draws) -> str:
    r = draws.numbers(draws.size())
    share, others = draws.shares(len(r)), draws.names(len(r), "other")
    record = rater_sentences.find_strongest_correlate(frame(estimate=r, probability=share), "People", others)
    values = [x for x in r if not is_missing(x)]
    assert (record is None) == (not values)
    if record is None:
        return ""
    assert abs(r[others.index(record.other)]) == max(map(abs, values))
    text = rater_sentences.strongest_in_words(record)
    assert ("of draws" in text) == (not is_missing(record.probability))
    assert ("100%" in text) == (record.probability == 1)
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
