"""Cases of sentences on effects, preferences, diagnostics, and judges as instruments."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from conjury.analysis.report.sentences import (
    diagnostic_sentences,
    effect_sentences,
    focus_sentences,
    instrument_sentences,
    preference_sentences,
    ranking_sentences,
)
from conjury.analysis.report.table_format import number
from sentence_cases.drawing import Draws, case, frame, is_missing, out_of


@case("checks_in_words")
def checks(draws: Draws) -> str:
    verdicts = [draws.one(list(diagnostic_sentences.COUNTED)) for _ in range(draws.size())]
    counts = diagnostic_sentences.count_verdicts(pd.Series(verdicts), diagnostic_sentences.COUNTED)
    text = diagnostic_sentences.checks_in_words(counts)
    assert text.startswith(f"Of {len(verdicts)} check{'s' * (len(verdicts) > 1)}, ")
    for verdict, forms in diagnostic_sentences.COUNTED.items():
        n = verdicts.count(verdict)
        assert (f"{n} {forms[n != 1]}" in text) == (n > 0)
    return text


@case("reliability_in_words")
def reliability(draws: Draws) -> str:
    judges = draws.names(draws.size(1, 9), "judge", 4)
    mine = [judge for judge in judges if draws.flip(0.8)] or judges[:1]
    values = diagnostic_sentences.RepeatVerdict("Agrees.", tuple(mine), len(set(mine)), len(judges))
    text = diagnostic_sentences.reliability_in_words(values)
    if text.startswith("All"):
        assert sorted(mine) == sorted(judges)
        assert text.startswith(f"All {len(set(judges))} judges")
        assert ("prompts" in text) == (len(set(judges)) < len(judges))
    else:
        assert text.count(";") == min(len(mine), diagnostic_sentences.MOST_NAMED + 1) - 1
    return text


@case("detectability_in_words")
def detectability(draws: Draws) -> str:
    n, alpha = draws.size(), draws.one([0.05, 0.1])
    estimate, least = draws.numbers(n), np.abs(draws.numbers(n))
    p, power = draws.p(n), 0.8
    keys = {"judge": "gpt", "feature": "tone", "level": draws.names(n, "level")}
    table = frame(**keys, estimate=estimate, effect_found=least, power=power)
    tests = frame(**keys, p=p) if draws.flip(0.8) else pd.DataFrame()
    text = diagnostic_sentences.detectability_in_words(
        diagnostic_sentences.detectability(table, tests, alpha)
    )
    n_tested, significant, not_significant = 0, 0, 0
    for k in range(n):
        if is_missing(estimate[k]) or is_missing(least[k]):
            continue
        n_tested += 1
        if not abs(estimate[k]) < least[k]:
            continue
        if len(tests) and not is_missing(p[k]):
            clear = p[k] < alpha
        else:
            z = norm.ppf(1 - alpha / 2)
            clear = abs(estimate[k]) > least[k] * z / (z + norm.ppf(power))
        significant, not_significant = significant + clear, not_significant + (not clear)
    of = f"of {n_tested} estimate{'s' * (n_tested != 1)}"
    assert (f"{not_significant} {of}" in text and "uninformative" in text) == (not_significant > 0) or (
        not_significant == significant
    )
    assert ("not significant" in text) == (not_significant > 0)
    assert ("exaggerate" in text) == (significant > 0)
    assert not significant or f"{significant} {of}" in text
    assert ("at least as large" in text) == (n_tested > 0 and not significant and not not_significant)
    return text


@case("widest_in_words")
def widest(draws: Draws) -> str:
    n = draws.size()
    ratio = np.abs(draws.numbers(n, 2.0))
    method = [draws.one(["CR1", "CR2", "pigeonhole", "mixed", "wild"]) for _ in range(n)]
    clusters, names = draws.counts(n) + 2, draws.names(n, "level")
    table = frame(ratio=ratio, method=method, n_clusters=clusters)
    text = diagnostic_sentences.widest_in_words(
        diagnostic_sentences.find_largest_ratios(table, pd.Series(names))
    )
    by = [k for k in range(n) if method[k] in ("CR1", "CR2") and not is_missing(ratio[k])]
    if not by:
        assert text == "No standard errors are clustered by stimuli."
        return text
    largest = max(ratio[k] for k in by)
    assert any(
        f"largest ratio is {number(largest, 1)} ({names[k]})" in text for k in by if ratio[k] == largest
    )
    every = np.nanmax(ratio)
    assert ("among all standard errors" in text) == (number(every, 1) != number(largest, 1))
    assert text.endswith(f"as few as {min(int(clusters[k]) for k in by)} of them.")
    return text


@case("largest_effect_in_words")
def largest_effect(draws: Draws) -> str:
    n = draws.size()
    estimate, errors = draws.numbers(n), np.abs(draws.numbers(n)) + 0.01
    lower, upper = draws.limits(estimate)
    levels, judges = draws.names(n, "level"), draws.names(n, "judge", 2)
    table = frame(estimate=estimate, std_error=errors, lower=lower, upper=upper, judge=judges)
    record = effect_sentences.largest_effect(
        table, levels, ["95% interval"] * len(table), of_prompts=draws.flip()
    )
    sizes = [abs(e) for e, s in zip(estimate, errors, strict=True) if not is_missing(e) and not is_missing(s)]
    assert (record is None) == (not sizes)
    if record is None:
        return ""
    text = effect_sentences.largest_effect_in_words(record)
    at = levels.index(record.level)
    assert abs(estimate[at]) == max(sizes)
    assert f"largest effect is {number(estimate[at])}" in text
    assert f"*{levels[at]}* for {judges[at]}" in text
    printed = re.findall(r"\d+\.\d+", text.partition("[")[2].replace("\N{MINUS SIGN}", "-"))
    ends = [lower[at], upper[at]] if printed else []
    assert [float(one) for one in printed] == pytest.approx(np.abs(ends), abs=0.00051)
    assert ("one prompt" in text) == record.of_prompts
    return text


@case("focus_in_words")
def focus(draws: Draws) -> str:
    n = draws.size()
    estimate, errors = draws.numbers(n), np.abs(draws.numbers(n)) + 0.01
    lower, upper = draws.limits(estimate)
    features, levels = draws.names(n, "attribute", 2), draws.names(n, "level")
    table = frame(estimate=estimate, std_error=errors, lower=lower, upper=upper, prompt="Plain")
    record = focus_sentences.find_focus_effects(
        table,
        features,
        levels,
        outcome="the choice",
        bounds="95% interval",
        prompt=draws.one(["", "Plain"]),
        every=(
            pd.concat([table, table.assign(prompt="Other", estimate=table["estimate"] + 1)]).assign(
                level_label=levels * 2
            )
            if (several := draws.flip())
            else None
        ),
        in_points=draws.flip(),
    )
    tested = [k for k in range(n) if not is_missing(errors[k]) and not is_missing(lower[k])]
    assert (record is None) == (not tested)
    if record is None:
        return ""
    text = focus_sentences.focus_in_words(record)
    clear = [k for k in tested if lower[k] > 0 or upper[k] < 0]
    named = [k for k in clear if levels[k] in {effect[0] for effect in record.clear[:2]}]
    assert len(named) == min(2, len(clear))
    for k in range(n):
        assert (f"*{levels[k]}*" in text) == (k in named)
        assert k not in named or f"by {effect_sentences.change(estimate[k], record.in_points)} (" in text
    assert (f" {len(clear) - 2} more level" in text) == (len(clear) > 2)
    sizes = [abs(effect[1]) for effect in record.clear]
    assert not sizes or sizes[0] == max(sizes)
    features_of_clear = {features[k] for k in clear}
    assert {
        features[levels.index(effect[0])] for effect in record.clear[: len(features_of_clear)]
    } == features_of_clear
    without = {features[k] for k in tested} - features_of_clear
    assert ("no clear effect of" in text.lower()) == bool(without) == ("contains 0;" in text)
    assert all(name in text.lower().partition("no clear effect of")[2] for name in list(without)[:3])
    if without:
        ends = [f(x[k] for k in tested if features[k] in without) for f, x in ((min, lower), (max, upper))]
        assert f"within {effect_sentences.limits_of(*ends, record.in_points)})" in text
    for k in named:
        span = f"{effect_sentences.signed(estimate[k], record.in_points)} to "
        assert (span + effect_sentences.change(estimate[k] + 1, record.in_points) in text) == several
    return text


@case("compared_focus_in_words")
def compared_focus(draws: Draws) -> str:
    n, models = draws.size(1, 6), [f"M{k}" for k in range(draws.one([1, 2, 5]))]
    features, levels = draws.names(n, "attribute", 2), [f"level {k}" for k in range(n)]
    parts = []
    for judge in [*models, "people", *models]:  # the last are differences
        estimate = draws.numbers(n, missing=False)
        lower, upper = draws.limits(estimate)
        keys = {"judge": judge, "feature_label": features, "level_label": levels}
        parts.append(frame(**keys, estimate=estimate, lower=lower, upper=upper, p_adjusted=draws.p(n)))
    effects, differences = pd.concat(parts[: len(models) + 1]), pd.concat(parts[len(models) + 1 :])
    records = focus_sentences.find_compared_effects(differences, effects, 0.05)
    tested = differences[differences["p_adjusted"].notna()]
    assert {record.feature for record in records} == set(tested["feature_label"])
    if not records:
        return ""
    bases = dict.fromkeys([*models, "people"], focus_sentences.Basis("95% interval", 20))
    values = focus_sentences.ComparedFocus(records, "the choice", bases, 0.05)
    text = focus_sentences.compared_focus_in_words(values)
    assert text.endswith("adjusted by Holm's method, is below 0.05; intervals are not adjusted.")
    paragraphs = 1 if len(models) == 1 else min(len(records), focus_sentences.MOST_ATTRIBUTES)
    assert len(text.split("\n\n")) == paragraphs
    size = effects.set_index(["judge", "level_label"])["estimate"]
    for record in records:
        rows = tested[tested["feature_label"] == record.feature]
        clear = rows[rows["p_adjusted"] < 0.05]
        at = rows["level_label"] == record.level
        largest = clear[clear["level_label"] == record.level]["estimate"].abs().max()
        assert clear.empty or largest == clear["estimate"].abs().max()
        named = text.partition(f"*{record.level}*")[2].partition("*level")[0]
        assert f"{number(size['people', record.level])} for people" in named
        compared = rows[at].set_index("judge")["estimate"]
        if len(compared) > 3:
            farthest = named.partition(f"; farthest of {len(compared)} models ")[2].partition("nearest ")[0]
            assert any(f"of {number(x)}" in farthest for x in compared if abs(x) == max(compared.abs()))
        for judge, difference in compared.items() if len(compared) <= 3 else ():
            after = named.partition(f"{number(size[judge, record.level])} for {judge}")[2]
            assert f"a difference of {number(difference)}" in after
        if len(models) == 1:
            n_clear, of = len(clear), len(rows)
            assert ("the only clear difference" in named) == (n_clear == 1 < of)
            assert (f"the largest of {n_clear} clear differences among {of} " in named) == (n_clear > 1)
            assert ("not clear" in named or "none of the" in named) == (not n_clear)
    return text


@case("clear_estimates_in_words")
def clear_estimates(draws: Draws) -> str:
    n, null, by_judge = draws.size(1, 9), draws.one([0.0, 0.5]), draws.flip()
    estimate, p = draws.numbers(n), draws.p(n)
    judges, texts = draws.names(n, "judge", 4), [f"row {k} has {x}" for k, x in enumerate(estimate)]
    is_clear = pd.Series([None if is_missing(x) else x < 0.05 for x in p], dtype=object)
    record = ranking_sentences.find_clear_estimates(
        frame(judge=judges, estimate=estimate), texts, is_clear, draws.one([("mean", "means"), ("", "")]),
        "a small p", null=null, by_judge=by_judge,
    )  # fmt: skip
    text = ranking_sentences.clear_estimates_in_words(record)
    usable = [k for k in range(n) if not is_missing(estimate[k]) and not is_missing(p[k])]
    groups = {judges[k] for k in usable}
    groups = groups if by_judge and len(groups) <= 2 else {""} if usable else set()
    assert {group.judge for group in record.groups} == groups
    parts = [part for part in re.split(r"; (?!the largest)", text) if part]
    for group, part in zip(record.groups, parts, strict=bool(record.noun[0])):
        rows = [k for k in usable if group.judge in ("", judges[k])]
        clear = [k for k in rows if p[k] < 0.05]
        at = texts.index(group.largest.partition(" for ")[0])
        assert abs(estimate[at] - null) == max(abs(estimate[k] - null) for k in clear or rows)
        assert group.largest in part or not (clear or record.noun[0])
        others = [k for k in range(n) if is_missing(p[k]) and not is_missing(estimate[k])]
        far = [k for k in others if group.judge in ("", judges[k])]
        is_farther = any(abs(estimate[k] - null) > abs(estimate[at] - null) for k in far)
        assert ("without a test" in part) == (is_farther and group.largest in part)
        if len(rows) > 1:
            assert re.match(rf"(?i){len(clear) or 'none'} of {len(rows)}\b", part)
            negative = sum(estimate[k] < null for k in clear)
            assert ("all negative" in part) == (negative == len(clear) > 1)
            has_both = negative > 0 and any(estimate[k] > null for k in clear)
            assert ("on the other side" in part) == has_both
            assert ("all positive" in part) == (len(clear) > 1 and not negative)
    return text


@case("row_in_words")
def row(draws: Draws) -> str:
    estimate, p, in_points = draws.numbers(1, missing=False)[0], draws.p(1)[0], draws.flip()
    lower, upper = draws.limits(np.array([estimate]))
    n = int(draws.counts(1, 4000)[0])
    text = effect_sentences.row_in_words(
        effect_sentences.RowEstimate(
            "X", estimate, lower[0], upper[0], "95%", p, draws.flip(), n, "choices", in_points
        )
    )
    assert ("CI" in text) == (not is_missing(lower[0]) and not is_missing(upper[0]))
    assert ("p < 0.001" in text) == (p < 0.001)
    assert (f"N = {n:,} choices" in text) == (n > 0)
    first = re.search(r"^X \+?(\S*?\d\.\d+)", text.replace("\N{MINUS SIGN}", "-"))
    assert first is not None
    scale, step = (100, 0.051) if in_points else (1, 0.0051)
    assert float(first[1]) == pytest.approx(scale * estimate, abs=step)
    return text


@case("uneven_in_words")
def uneven(draws: Draws) -> str:
    names = draws.names(draws.size(1, 4), "judge")
    sizes = {name: int(n) for name, n in zip(names, draws.counts(len(names), 400) + 1, strict=True)}
    if len(names) > 1 and draws.flip(0.3):
        sizes = dict.fromkeys(names, 50) | {names[-1]: draws.one([199, 200])}
    rows = [(name, *sorted(draws.rng.normal(0, 1, 2))) for name in names for _ in range(draws.size(1, 4))]
    table = pd.DataFrame(rows, columns=["judge", "lower", "upper"])
    record = effect_sentences.compare_sample_sizes(table, sizes)
    assert (record is None) == (max(sizes.values()) < 4 * min(sizes.values()))
    if record is None:
        return ""
    text = effect_sentences.uneven_in_words(record)
    least = min(sizes, key=lambda name: sizes[name])
    assert sizes[record.judge] == sizes[least]
    assert f"{sizes[least]} profiles" in text
    width = {name: (part["upper"] - part["lower"]).median() for name, part in table.groupby("judge")}
    most = next(name for name in sizes if sizes[name] == max(sizes.values()))
    assert ("wider" in text) == bool(width[record.judge] > width[most])
    return text


@case("sided_in_words")
def sided(draws: Draws) -> str:
    n = draws.size()
    share, judges = draws.shares(n), draws.names(n, "judge")
    record = effect_sentences.find_sided_judges(frame(judge=judges, estimate=share))
    far = [judge for judge, value in zip(judges, share, strict=True) if abs(value - 0.5) > 0.25]
    assert [one.judge for one in record] == far
    text = " ".join(map(effect_sentences.sided_in_words, record))
    for one in record:
        assert ("100.0%" in effect_sentences.sided_in_words(one)) == (one.share == 1)
    return text


@case("differing_in_words")
def differing(draws: Draws) -> str:
    n, alpha = draws.size(1, 12), 0.05
    judges, p = draws.names(n, "model", draws.size(1, 5)), draws.p(n)
    values = effect_sentences.count_differences(
        frame(judge=judges, p_adjusted=p), "AMCEs", alpha, of_prompts=draws.flip()
    )
    text = effect_sentences.differing_in_words(values)
    tested = {j: [x for k, x in zip(judges, p, strict=True) if k == j and not is_missing(x)] for j in judges}
    tested = {judge: all_p for judge, all_p in tested.items() if all_p}
    clear = {judge: sum(x < alpha for x in all_p) for judge, all_p in tested.items()}
    if not tested:
        assert text.startswith("No difference")
    elif len(tested) == 1:
        ((judge, all_p),) = tested.items()
        how = f"in {clear[judge]}" if clear[judge] else "clearly from people in none"
        alone = f"{'differs' if clear[judge] else 'does not differ clearly'} from people in the only AMCE "
        assert f"{judge} {alone}" in text if len(all_p) == 1 else f"{how} of {len(all_p)} AMCEs" in text
    else:
        n_models = sum(count > 0 for count in clear.values())
        assert out_of(text) == (n_models, len(tested))
        for judge, all_p in tested.items():
            assert f"{judge} in" not in text or f"{judge} in {clear[judge]} of {len(all_p)}" in text
        assert (" and so on" in text) == (n_models > 0 and len(tested) > effect_sentences.MOST_MODELS)
        ranked = sorted(clear.values(), reverse=True)[: effect_sentences.MOST_MODELS]
        named = [clear[judge] for judge in clear if f"{judge} in" in text]
        assert not n_models or sorted(named, reverse=True) == ranked
    return text


@case("largest_difference_in_words")
def largest_difference(draws: Draws) -> str:
    n = draws.size()
    estimate, p = draws.numbers(n, missing=False), draws.p(n)
    lower, upper = estimate - 0.1, estimate + 0.1
    levels, judges = draws.names(n, "level"), draws.names(n, "model", 3)
    table = frame(
        estimate=estimate, p_adjusted=p, lower=lower, upper=upper, judge=judges, model=estimate, people=0.0
    )
    record = effect_sentences.largest_difference(table, levels, 0.05)
    tested = [k for k in range(n) if not is_missing(p[k])]
    assert (record is None) == (not tested)
    if record is None:
        return ""
    at = levels.index(record.level)
    assert at in tested
    assert abs(estimate[at]) == max(abs(estimate[k]) for k in tested)
    text = effect_sentences.largest_difference_in_words(record)
    assert (f"of {judges[at]} is" in text) == (len({judges[k] for k in tested}) > 1)
    return text


@case("excluding_in_words")
def excluding(draws: Draws) -> str:
    share = draws.shares(draws.size(), missing=False)
    lower, upper = draws.limits(share)
    lower = np.where(draws.rng.random(len(share)) < 0.2, 0.5, lower)
    text = preference_sentences.excluding_in_words(
        preference_sentences.excluding_half(frame(lower=lower, upper=upper))
    )
    values = [(a, b) for a, b in zip(lower, upper, strict=True) if not is_missing(a) and not is_missing(b)]
    if not values:
        assert text == "There are no intervals."
        return text
    n = sum(a > 0.5 or b < 0.5 for a, b in values)
    alone = f"The interval {'excludes' if n else 'contains'} one half."
    assert text == alone if len(values) == 1 else out_of(text) == (n, len(values))
    return text


@case("clearest_in_words")
def clearest(draws: Draws) -> str:
    share = draws.shares(draws.size())
    names, others = draws.names(len(share), "level"), draws.names(len(share), "other")
    record = preference_sentences.find_clearest_preference(frame(estimate=share), names, others)
    difference = [abs(x - 0.5) for x in share if not is_missing(x)]
    assert (record is None) == (not difference or max(difference) < 1e-9)
    if record is None:
        return ""
    at = names.index(record.ahead) if record.ahead in names else others.index(record.ahead)
    assert abs(share[at] - 0.5) == max(difference)
    assert record.behind == (others if share[at] > 0.5 else names)[at]
    assert record.share > 0.5
    return preference_sentences.clearest_in_words(record)


@case("cycles_in_words")
def cycles(draws: Draws) -> str:
    p, joint = draws.p(draws.size()), draws.one([np.nan, 0.0499, 0.3])
    text = preference_sentences.cycles_in_words(preference_sentences.cycles(frame(p_holm=p), joint, 0.05))
    values = [x for x in p if not is_missing(x)]
    if values:
        assert out_of(text) == (sum(x < 0.05 for x in values), len(values))
    assert ("joint test" in text) == (not is_missing(joint))
    return text


@case("most_important_in_words")
def most_important(draws: Draws) -> str:
    share = draws.shares(draws.size())
    names = draws.names(len(share), "attribute")
    record = preference_sentences.most_important(frame(estimate=share), names, ["95% interval"] * len(share))
    values = [x for x in share if not is_missing(x)]
    assert (record is None) == (not values)
    if record is None:
        return ""
    text = preference_sentences.most_important_in_words(record)
    first = [name for name, x in zip(names, share, strict=True) if x == max(values)]
    assert list(record.names) == first
    assert ("equally" in text) == (len(first) == len(values) > 1)
    assert ("only attribute" in text) == (len(values) == 1)
    return text


@case("majorities_in_words")
def majorities(draws: Draws) -> str:
    values = [draws.one(["for", "against", "unclear", None]) for _ in range(draws.size())]
    text = preference_sentences.majorities_in_words(preference_sentences.majorities(frame(majority=values)))
    assert out_of(text) == (sum(one in ("for", "against") for one in values), len(values))
    return text


@case("positions_in_words")
def positions(draws: Draws) -> str:
    quantities = ["first_share", "same_profile", "always_first", "always_second"]
    subset = [name for name in quantities if draws.flip(0.8)] or quantities[:1]
    share = draws.shares(len(subset), missing=False)
    lower, upper = draws.limits(share)
    table = frame(quantity=subset, estimate=share, lower=lower, upper=upper, n=draws.counts(len(subset)) + 1)
    record = instrument_sentences.positions("judge a", table)
    assert (record is None) == ("first_share" not in subset)
    if record is None:
        return ""
    text = instrument_sentences.positions_in_words(record)
    assert ("both orders" in text) == (len(subset) == len(quantities))
    assert (" 100% of" in text) == (share[0] == 1)
    assert (" 0% of" in text) == (share[0] == 0)
    return text


@case("flipping_in_words")
def flipping(draws: Draws) -> str:
    share = draws.shares(draws.size())
    lower, upper = draws.limits(share)
    names, judges = (pd.Series(draws.names(len(share), stem)) for stem in ("facet", "judge"))
    record = instrument_sentences.find_largest_flip(
        frame(estimate=share, lower=lower, upper=upper), names, judges
    )
    values = [x for x in share if not is_missing(x)]
    assert (record is None) == (not values)
    if record is None:
        return ""
    text = instrument_sentences.flipping_in_words(record)
    at = names.tolist().index(record.facet)
    assert share[at] == max(values)
    assert record.judge == judges[at]
    assert text.startswith("No object") == (max(values) == 0)
    return text


@case("changing_in_words")
def changing(draws: Draws) -> str:
    turns = draws.shares(draws.size())
    judges = draws.names(len(turns), "judge", draws.size(1, 3))
    n = [draws.one([4, 12, 12]) for _ in turns]
    table = frame(judge=judges, conclusion_turns=turns, n_specifications=n)
    text = instrument_sentences.changing_in_words(instrument_sentences.count_changes(table))
    values = [x for x in turns if not is_missing(x)]
    assert (f"{min(n)} to {max(n)}" in text) == (min(n) < max(n))
    if values:
        assert out_of(text) == (sum(x > 0 for x in values), len(values))
        assert ("judges" in text) == (len(set(judges)) > 1)
    return text
