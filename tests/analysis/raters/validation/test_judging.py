"""A judge next to people: estimates against other packages and hand counts; degenerate tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from conjury.analysis.correction import rates
from conjury.analysis.raters import agreement, alt_test
from conjury.analysis.raters.validation import Validation, judge, rating_agreement
from conjury.analysis.raters.validation.coding import CodingOptions, code_table
from conjury.analysis.raters.validation.output import validation_page
from conjury.analysis.raters.validation.output.validation_report import ValidationReport, tables
from conjury.analysis.raters.validation.weighted.answer_strata import strata_of
from conjury.analysis.raters.validation.weighted.weighted_mean import stratified_mean
from conjury.analysis.raters.validation.weighted.weighted_tables import tables_of
from conjury.inference.errors import InputError
from conjury.inference.tables.reading import ReadingRules

CLASSES = ("ok", "spam", "scam")
MISSING = float("nan")
WILSON = partial(proportion_confint, method="wilson")


def table(n: int = 150, people: int = 1, seed: int = 1, classes: Sequence[str] = CLASSES) -> pd.DataFrame:
    """Labels of a judge and of people, who are right in some items and guess in the others."""
    random = np.random.default_rng(seed)
    truth = random.choice(classes, n)

    def answers(right: float) -> np.ndarray:
        return np.where(random.random(n) < right, truth, random.choice(classes, n))

    columns = {f"p{k}": answers(0.8) for k in range(people)}
    return pd.DataFrame({"judge": answers(0.7), **columns, "by": random.choice(["x", "y"], n)})


def numbers(result: Validation) -> pd.DataFrame:
    return result.frame.set_index("name")


def row(result: Validation, name: str) -> Any:
    return numbers(result).loc[name]


def test_kappa_alpha_and_wilsons_intervals_of_shares_are_those_of_other_packages() -> None:
    data = table()
    found = judge(data, "judge", "p0")
    crossed = pd.crosstab(data["judge"], data["p0"]).to_numpy()
    assert row(found, "kappa")["estimate"] == pytest.approx(cohens_kappa(crossed, return_results=False))
    codes = [pd.Categorical(data[name], categories=CLASSES).codes for name in ("judge", "p0")]
    other = krippendorff.alpha(reliability_data=codes, level_of_measurement="nominal")
    assert row(found, "alpha")["estimate"] == pytest.approx(other)
    assert row(found, "accuracy")["estimate"] == pytest.approx((data["judge"] == data["p0"]).mean())
    shares = [data[name].value_counts(normalize=True) for name in ("judge", "p0")]
    assert row(found, "accuracy")["chance"] == pytest.approx((shares[0] * shares[1]).sum())
    gold = data["p0"] == "scam"
    hits = int((data["judge"][gold] == "scam").sum())
    expected = proportion_confint(hits, int(gold.sum()), method="wilson")
    recall = row(found, "recall[scam]")
    assert (recall["lower"], recall["upper"]) == pytest.approx(expected)
    assert recall["n"] == gold.sum()


def test_ordered_labels_have_quadratic_kappa_and_ordinal_alpha() -> None:
    data = table(classes=("1", "2", "4"))
    found = judge(data, "judge", "p0", scale="ordinal")
    codes = [data[name].astype(float) for name in ("judge", "p0")]
    other = krippendorff.alpha(reliability_data=codes, level_of_measurement="ordinal")
    assert row(found, "alpha")["estimate"] == pytest.approx(other)
    x, y = codes
    apart, chance = ((x - y) ** 2).mean(), np.subtract.outer(x.to_numpy(), y.to_numpy()) ** 2
    assert row(found, "weighted_kappa")["estimate"] == pytest.approx(1 - apart / chance.mean())


@pytest.mark.long
def test_agreement_with_several_people_and_the_replacement_test_are_those_of_long_form() -> None:
    data = table(people=3)
    found = judge(data, "judge", ["p0", "p1", "p2"])
    each = [(data["judge"] == data[name]).mean() for name in ("p0", "p1", "p2")]
    assert row(found, "accuracy")["estimate"] == pytest.approx(np.mean(each))
    counts = np.stack([(data[["p0", "p1", "p2"]] == name).sum(axis=1) for name in CLASSES], axis=1)
    assert row(found, "always_most_frequent")["estimate"] == pytest.approx(counts.mean(axis=0).max() / 3)
    known = agreement(long(data, 3), ["conger"], draws=0).frame
    same = known[(known["among"] == "human") & known["against"].isna()].iloc[0]
    assert row(found, "people_kappa")["estimate"] == pytest.approx(same["estimate"])
    assert row(found, "people_kappa")["std_error"] == pytest.approx(same["std_error"])
    assert row(found, "people_alpha")["estimate"] == pytest.approx(
        1 - (1 - fleiss_kappa(counts)) * (1 - 1 / (3 * len(data)))
    )
    apart = row(found, "kappa")["estimate"] - row(found, "people_kappa")["estimate"]
    assert row(found, "kappa_difference")["estimate"] == pytest.approx(apart)
    tested = alt_test(long(data, 3), "gpt", draws=1000)
    for name in ("winning_rate", "advantage_probability", "smallest_epsilon"):
        assert row(found, name)["estimate"] == pytest.approx(tested.frame[name].iloc[0])
    assert row(found, "advantage_probability")["lower"] == pytest.approx(
        tested.frame["advantage_probability_lower"].iloc[0]
    )
    assert set(found.extra["annotators"]["annotator"]) == {"p0", "p1", "p2"}


def long(data: pd.DataFrame, people: int) -> pd.DataFrame:
    return by_judge({"gpt": data["judge"], **{f"p{k}": data[f"p{k}"] for k in range(people)}})


@pytest.mark.long
def test_errors_by_class_are_hand_counts_against_the_majority() -> None:
    data = table(people=3, seed=3)
    found = judge(data, "judge", ["p0", "p1", "p2"])
    votes = data[["p0", "p1", "p2"]].mode(axis=1)
    gold = votes[0].where(votes.get(1, pd.Series(index=data.index, dtype=object)).isna())
    for name in CLASSES:
        right = int(((gold == name) & (data["judge"] == name)).sum())
        given = int(((data["judge"] == name) & gold.notna()).sum())
        recall, precision = right / (gold == name).sum(), right / given
        assert row(found, f"recall[{name}]")["estimate"] == pytest.approx(recall)
        assert row(found, f"precision[{name}]")["estimate"] == pytest.approx(precision)
        f1 = 2 * recall * precision / (recall + precision)
        assert row(found, f"f1[{name}]")["estimate"] == pytest.approx(f1)
    verdict, tied = " ".join(found.verdict), int(gold.isna().sum())
    recalls = numbers(found).loc[[f"recall[{name}]" for name in CLASSES]]
    worst = recalls.loc[recalls["estimate"].astype(float).idxmin()]
    assert f"({1 - worst['upper']:.1%} to {1 - worst['lower']:.1%})" in verdict
    assert any(note.startswith(f"{tied} rows on which people are tied") for note in found.notes)
    crossed = found.extra["confusion"].pivot(index="people", columns="judge", values="n")
    known = pd.crosstab(gold[gold.notna()], data["judge"][gold.notna()])
    cells = list(CLASSES), list(CLASSES)
    assert crossed.loc[cells].equals(known.loc[cells].astype(int))


@pytest.mark.long
def test_two_people_count_with_each_of_their_labels_so_that_no_item_is_excluded() -> None:
    data = table(people=2)
    found = judge(data, "judge", ["p0", "p1"])
    stacked = pd.concat([data["p0"], data["p1"]])
    twice = pd.concat([data["judge"], data["judge"]])
    gold = stacked == "spam"
    assert row(found, "recall[spam]")["estimate"] == pytest.approx((twice[gold] == "spam").mean())
    assert row(found, "recall[spam]")["n"] == gold.sum()
    assert row(found, "recall[spam]")["clusters"] == len(set(stacked.index[gold]))


def test_corrected_rates_are_those_of_the_correction() -> None:
    data = table(300)
    data.loc[120:, "p0"] = None
    found = judge(data, "judge", "p0")
    known = rates(data.rename(columns={"p0": "label", "judge": "judged"})).frame.set_index(
        ["class", "method"]
    )
    for measure, method in {"corrected": "mle", "people_only": "human"}.items():
        for column in ("estimate", "lower", "upper"):
            own = row(found, f"{measure}_rate[spam]")[column]
            assert own == pytest.approx(known.loc[("spam", method), column])
    assert row(found, "judge_only_rate[spam]")["estimate"] == pytest.approx((data["judge"] == "spam").mean())


def test_rogan_gladen_rates_solve_the_equation_of_all_judged_rows() -> None:
    data = table(400, classes=("ok", "spam"))
    data.loc[390:, "p0"] = None
    found = judge(data, "judge", "p0")
    crossed = pd.crosstab(data["p0"], data["judge"], normalize="index")
    false, true = crossed.loc["ok", "spam"], crossed.loc["spam", "spam"]
    rate = row(found, "rogan_gladen_rate[spam]")
    assert rate["estimate"] == pytest.approx(((data["judge"] == "spam").mean() - false) / (true - false))
    assert rate["n"] == 400
    people = row(found, "people_only_rate[spam]")
    width, known = (one["upper"] - one["lower"] for one in (rate, people))
    assert 0.95 * known < width < 1.1 * known  # nearly all rows have a label


@pytest.mark.long
def test_rows_of_one_item_are_a_cluster_and_said_to_be_one_where_an_item_has_two() -> None:
    data = table(60)
    data.loc[40:, "p0"] = None  # so that rates are corrected
    twice = pd.concat([data, data], ignore_index=True)
    twice["id"] = [*range(60), *range(60)]
    once, clustered = judge(data, "judge", "p0"), judge(twice, "judge", "p0", id="id")
    naive = judge(twice.drop(columns="id"), "judge", "p0")
    kappa = [row(one, "kappa") for one in (once, clustered, naive)]
    assert kappa[1]["estimate"] == pytest.approx(kappa[0]["estimate"])
    assert kappa[1]["std_error"] == pytest.approx(kappa[0]["std_error"])
    assert kappa[1]["lower"] == pytest.approx(kappa[0]["lower"])
    assert kappa[2]["std_error"] < 0.75 * kappa[0]["std_error"]
    errors = [numbers(one)["std_error"].to_numpy(float) for one in (once, clustered)]
    np.testing.assert_allclose(errors[1], errors[0], rtol=0.02)  # rates have the factor of 40 clusters / 39
    for items, said in ((range(60), []), ([0, *range(59)], ["60 rows are about 59 items; intervals ar"])):
        notes = judge(data.assign(item=items), "judge", "p0", id="item").notes
        assert [note[:40] for note in notes if "clustered by item" in note] == said


def test_a_subgroup_is_compared_with_the_others_and_adjusted() -> None:
    data = table(400, seed=5)
    bad = data["by"] == "x"
    data.loc[bad, "judge"] = np.random.default_rng(1).choice(CLASSES, bad.sum())
    found = judge(data, "judge", "p0", by="by")
    right = data["judge"] == data["p0"]
    apart = right[bad].mean() - right[~bad].mean()
    difference = row(found, "accuracy_difference[by=x]")
    assert difference["estimate"] == pytest.approx(apart)
    counts = [part for g in (bad, ~bad) for part in (right[g].sum(), g.sum())]
    limits = confint_proportions_2indep(*counts, method="newcomb", compare="diff")
    assert (difference["lower"], difference["upper"]) == pytest.approx(limits)
    edge = confint_proportions_2indep(*counts, method="newcomb", compare="diff", alpha=difference["p"])
    assert min(map(abs, edge)) == pytest.approx(0, abs=1e-6)
    assert "accuracy_difference[by=y]" not in set(found.frame["name"])  # the same test
    assert difference["p_adjusted"] < 0.001
    assert any("For by 'x'" in sentence and "less" in sentence for sentence in found.verdict)


@pytest.mark.long  # pingouin is slow to import
def test_ratings_have_the_intraclass_correlation_of_pingouin_and_a_bias() -> None:
    import pingouin

    random = np.random.default_rng(4)
    quality = random.normal(50, 10, 120)
    data = pd.DataFrame({"judge": random.normal(quality + 3, 5), "h": random.normal(quality, 5)}).round(1)
    found = judge(data, "judge", "h")
    stacked = data.reset_index().melt("index", var_name="rater")
    known = pingouin.intraclass_corr(stacked, targets="index", raters="rater", ratings="value")
    known = known.set_index("Type")
    absolute = known.loc["ICC2"] if "ICC2" in known.index else known.iloc[1]
    assert row(found, "icc")["estimate"] == pytest.approx(absolute["ICC"])
    apart = data["judge"] - data["h"]
    assert row(found, "bias")["estimate"] == pytest.approx(apart.mean())
    assert row(found, "bias")["std_error"] == pytest.approx(apart.std(ddof=1) / np.sqrt(120))
    assert row(found, "pearson")["estimate"] == pytest.approx(data.corr().iloc[0, 1])
    assert found.settings["scale"] == "interval"
    assert any("higher than people" in sentence for sentence in found.verdict)


def test_the_corrected_mean_of_ratings_lies_where_people_would_rate() -> None:
    random = np.random.default_rng(6)
    quality = random.normal(5, 1, 4000)
    judged = quality + 1 + random.normal(0, 0.4, 4000)
    people = np.where(np.arange(4000) < 300, quality + random.normal(0, 0.4, 4000), np.nan)
    found = numbers(judge(pd.DataFrame({"judge": judged, "h": people}), "judge", "h"))
    assert found.loc["corrected_mean", "lower"] < quality.mean() < found.loc["corrected_mean", "upper"]
    assert found.loc["judge_only_mean", "lower"] > quality.mean() + 0.5
    widths = found["upper"] - found["lower"]
    assert widths["corrected_mean"] < 0.7 * widths["people_only_mean"]


@pytest.mark.long
def test_more_labels_decide_where_the_interval_would_end_at_the_threshold() -> None:
    data = table(200)
    found = judge(data, "judge", "p0", threshold=0.45, width=0.1)
    plan = found.extra["precision"].iloc[0]
    factor = round(plan["n_for_threshold"] / 200, 1)
    assert plan["n_for_threshold"] > 200
    repeated = pd.concat([data] * int(np.ceil(factor)), ignore_index=True)
    many = judge(repeated, "judge", "p0")
    kappa = row(many, "kappa")
    assert kappa["lower"] > 0.45 or kappa["upper"] < 0.45
    times = int(np.ceil(plan["n_for_width"] / 200))
    wide = row(judge(pd.concat([data] * times, ignore_index=True), "judge", "p0"), "kappa")
    assert wide["upper"] - wide["lower"] <= 0.1
    fewer = row(judge(pd.concat([data] * (times - 1), ignore_index=True), "judge", "p0"), "kappa")
    assert fewer["upper"] - fewer["lower"] > 0.1


# Tables in which something does not vary or is missing.


def few(judged: Sequence[Any], people: Sequence[Any], **options: Any) -> Validation:
    return judge(pd.DataFrame({"judge": judged, "human": people}), "judge", "human", **options)


@pytest.mark.parametrize(
    ("judged", "people", "kappa", "accuracy"),
    [
        ("a", "a", (MISSING,) * 3, (1, WILSON(1, 1))),
        ("aabba", "aabba", (1, -0.253205, 1), (1, WILSON(5, 5))),
        ("a" * 30, "a" * 30, (MISSING,) * 3, (1, WILSON(30, 30))),
        ("a" * 40, "ab" * 20, (0, -0.128563, 0.131907), (0.5, WILSON(20, 40))),
    ],
    ids=["one item", "five in full agreement", "one class alone", "a constant judge"],
)
def test_tables_in_which_something_does_not_vary_have_the_limits_that_are_known(
    judged: str, people: str, kappa: tuple[float, ...], accuracy: tuple[float, tuple[float, float]]
) -> None:
    found = numbers(few([*judged], [*people]))[["estimate", "lower", "upper"]].astype(float)
    assert tuple(found.loc["kappa"]) == pytest.approx(kappa, nan_ok=True, abs=1e-4)
    assert tuple(found.loc["accuracy"]) == pytest.approx((accuracy[0], *accuracy[1]))


def test_missing_answers_are_excluded_and_counted() -> None:
    found = few(["a", "b", None, "a", ""], ["a", "b", "b", None, "a"])
    assert row(found, "accuracy")["n"] == 2
    assert row(found, "answered")["estimate"] == pytest.approx(0.6)
    assert found.notes[0].startswith("2 rows without an answer")
    assert found.notes[0].endswith("count as disagreement, kappa is 0.33.")  # (2 of 4 - 1 of 4) / 0.75


def test_spellings_of_one_label_count_as_one() -> None:
    found = few(["Spam ", "OK", "spam", "1.0"], ["spam", "ok", "SPAM", "1"])
    assert row(found, "accuracy")["estimate"] == 1.0
    assert any("'OK' and 'ok'" in note for note in found.notes)


@pytest.mark.long
def test_numbers_are_ordered_up_to_five_and_ratings_beyond_and_a_word_among_them_is_refused() -> None:
    for n, scale in ((2, "nominal"), (3, "ordinal"), (5, "ordinal"), (6, "interval")):
        texts = [str(k % n) for k in range(12)]
        assert few(texts, texts).settings["scale"] == scale
    with pytest.raises(InputError, match=r"'good' in row 12.*--missing 'good'.*--scale nominal"):
        few(texts, [*texts[:11], "good"])
    assert few(texts, [*texts[:11], "good"], missing="good").settings["scale"] == "interval"
    assert few(texts, [*texts[:11], "good"], scale="nominal").settings["scale"] == "nominal"


def test_rows_on_which_people_are_tied_are_counted_for_labels_and_not_for_ratings() -> None:
    people = {"p0": [*"aabbab"], "p1": [*"abbbbb"], "p2": ["a", None, "b", "b", None, "b"]}
    names = list(people)
    start = "2 rows on which people are tied: excluded from errors by class"
    labels = pd.DataFrame({"judge": [*"aabbab"], **people})
    assert any(note.startswith(start) for note in judge(labels, "judge", names).notes)
    numbers = pd.DataFrame({"judge": range(9), "p0": range(9), "p1": range(1, 10), "p2": range(2, 11)})
    assert not any("tied" in note for note in judge(numbers, "judge", names).notes)


@pytest.mark.parametrize(("n", "draws"), [(50, 1000), (2000, 1000), (4000, 500), (20_000, 200)])
def test_correlations_of_ratings_have_a_thousand_draws_and_fewer_of_many_items(
    n: int, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def stop(clusters: int, number: int, seed: int) -> None:
        asked.append((clusters, number))
        raise InterruptedError

    monkeypatch.setattr(rating_agreement, "cluster_weights", stop)
    x = np.arange(n, dtype=float) % 7
    with pytest.raises(InterruptedError):
        rating_agreement.correlations(x, x, np.arange(n), 0.05, 1)
    assert asked == [(n, draws)]


def test_correlations_of_the_opposite_have_the_opposite_limits() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=40)
    y, place = x + random.normal(0, 0.1, 40), np.arange(40)
    with_y, opposite = (rating_agreement.correlations(x, sign * y, place, 0.05, 1) for sign in (1, -1))
    for kind, limits in with_y.items():
        assert 0.9 < limits.lower < limits.upper < 1
        assert (opposite[kind].lower, opposite[kind].upper) == pytest.approx((-limits.upper, -limits.lower))


def test_raters_with_the_same_ratings_of_other_items_have_limits() -> None:
    x = np.random.default_rng(3).normal(size=24)
    values, cluster = np.column_stack([x, np.roll(x, 2)]), np.arange(24) // 2
    one, other = (rating_agreement.icc(columns, cluster, 0.05) for columns in (values, values[:, ::-1]))
    assert -1 <= one.lower < one.estimate < one.upper < 1
    assert one.estimate == pytest.approx(other.estimate)


def test_the_error_of_a_mean_by_people_does_not_depend_on_where_scales_begin() -> None:
    random = np.random.default_rng(6)
    quality = random.normal(5, 1, 400)
    people = np.where(np.arange(400) < 80, quality + random.normal(0, 0.4, 400), np.nan)
    data = pd.DataFrame({"judge": quality + random.normal(0, 0.4, 400), "p0": people})
    one, other = (
        code_table(
            data.assign(judge=data["judge"] + shift),
            CodingOptions(("judge",), ("p0",), rules=ReadingRules(scale="interval")),
        )
        for shift in (0, 50)
    )
    made = [stratified_mean(each, people, strata_of(each), 0.05) for each in (one, other)]
    assert made[0].std_error == pytest.approx(made[1].std_error)
    assert 0.03 < made[0].std_error < 0.12


@pytest.mark.parametrize(
    ("items", "times"), [([1, 2, 3, 4], 1), ([1, 1, 2, 3], 1.5), ([1, 1, 2, 2], 2), ([1, 2, 2, 1], 1)]
)
def test_labels_of_items_count_less_by_the_squares_of_their_sums(items: list[int], times: float) -> None:
    # Labels a, a, b, b differ from their share by 1/2, 1/2, -1/2, -1/2: the squares of rows sum to 1.
    data = code_table(
        pd.DataFrame({"judge": "a", "p0": [*"aabb"], "item": items}),
        CodingOptions(("judge",), ("p0",), id="item"),
    )
    tables = tables_of(data, strata_of(data), np.eye(2)[[0, 0, 1, 1]], 0.05, 1)
    assert tables.counts[0] == pytest.approx([2 / times, 2 / times])


def test_labels_can_be_renamed_and_classes_ordered() -> None:
    found = few(["yes", "no"] * 5, [1, 0] * 5, relabel={"yes": "1", "no": "0"}, positive="1")
    assert row(found, "accuracy")["estimate"] == 1.0
    ordered = few(["low", "high"] * 5, ["low", "mid"] * 5, scale="ordinal", levels=["low", "mid", "high"])
    assert 0 < row(ordered, "weighted_kappa")["estimate"] < 1


def test_texts_and_many_subgroups_are_refused() -> None:
    data = pd.DataFrame({"judge": [f"text {k}" for k in range(51)], "human": ["a"] * 51, "by": range(51)})
    with pytest.raises(InputError, match="51 different labels"):
        judge(data, "judge", "human")
    with pytest.raises(InputError, match="51 subgroups"):
        judge(data.assign(judge="a"), "judge", "human", by="by")


@pytest.mark.parametrize("order", [1, -1])
def test_people_called_after_different_judges_label_different_answers(order: int) -> None:
    people = ["v3_human", "v4_human"][::order]
    data = pd.DataFrame({name: ["a", "b"] * 10 for name in ("v3_judge", "v4_judge", *people)})
    with pytest.raises(InputError, match="are called after 'v3_judge' and 'v4_judge'"):
        judge(data, "v3_judge", people)


def counted_pairs(both: int, judge_only: int, human_only: int, neither: int) -> Validation:
    judged = ["yes"] * (both + judge_only) + ["no"] * (human_only + neither)
    return few(judged, ["yes"] * both + ["no"] * judge_only + ["yes"] * human_only + ["no"] * neither)


def test_kappa_of_a_judge_who_missed_six_of_six_is_not_bounded_by_what_was_not_seen() -> None:
    found = counted_pairs(0, 2, 6, 92)
    recall = row(found, "recall[yes]")
    for name in ("kappa", "alpha"):
        limits = row(found, name)
        assert limits["lower"] < 0 < 0.3 < limits["upper"] < recall["upper"] + 0.05
    assert found.extra["precision"]["detectable"].iloc[0] > 0.3  # not 2.8 linearised standard errors, 0.05
    assert any("labels by people of a class: 'yes' (6)" in note for note in found.notes)
    assert not any("labels by people" in note for note in counted_pairs(20, 2, 6, 92).notes)


@pytest.mark.long
def test_labels_selected_by_the_answer_are_weighted_to_all_judged_rows_and_copies_add_nothing() -> None:
    random = np.random.default_rng(3)
    truth = random.choice(["ok", "spam"], 1000, p=[0.8, 0.2])
    judged = np.where(random.random(1000) < 0.85, truth, random.choice(["ok", "spam"], 1000))
    seen = random.random(1000) < np.where(judged == "spam", 0.6, 0.1)
    data = pd.DataFrame({"judge": judged, "p0": np.where(seen, truth, None)})
    found = judge(data, "judge", "p0")
    once, spam = row(found, "accuracy"), (truth == "spam") & seen
    assert row(found, "recall[spam]")["n"] == spam.sum()
    assert row(found, "precision[spam]")["n"] == ((judged == "spam") & seen).sum()
    assert row(found, "f1[spam]")["n"] == (spam | ((judged == "spam") & seen)).sum()
    given = [judged == name for name in ("ok", "spam")]
    right = [own.mean() * (truth == judged)[own & seen].mean() for own in given]
    assert once["estimate"] == pytest.approx(sum(right))
    inside = np.arange(1000) % 3 == 0
    by_group = judge(data.assign(by=np.where(inside, "x", "y")), "judge", "p0", by="by")
    of_group, of_others = (
        sum((own & part).sum() / part.sum() * (truth == judged)[own & seen & part].mean() for own in given)
        for part in (inside, ~inside)
    )
    apart = row(by_group, "accuracy_difference[by=x]")["estimate"]
    assert apart == pytest.approx(of_group - of_others)
    twice = pd.concat([data.assign(item=range(1000), copy=k) for k in range(2)], ignore_index=True)
    single = twice.drop(columns="item").assign(place=range(2000))
    copied = row(judge(twice, "judge", "p0", id="item"), "accuracy")
    naive = row(judge(single, "judge", "p0"), "accuracy")
    errors = [one["std_error"] / once["std_error"] for one in (copied, naive)]
    assert errors == pytest.approx([1, np.sqrt(0.5)], rel=0.1)
    perfect = row(judge(data.assign(p0=np.where(seen, judged, None)), "judge", "p0"), "accuracy")
    assert 0.9 < perfect["lower"] < perfect["estimate"] == perfect["upper"] == 1


def test_a_judges_distance_from_people_allows_for_answers_that_were_not_seen() -> None:
    label = np.array(["no"] * 94 + ["yes"] * 6, dtype=object)
    data = pd.DataFrame({"judge": label, "p0": label, "p1": label})
    found = judge(data, "judge", ["p0", "p1"])
    for name in ("kappa_difference", "alpha_difference", "ac1_difference"):
        one = row(found, name)
        assert one["estimate"] == 0.0
        assert one["p"] == 1.0
        assert -0.8 < one["lower"] < 0 < one["upper"] < 0.8
    turned = judge(data[::-1].rename(columns={"p0": "p1", "p1": "p0"}), "judge", ["p0", "p1"])
    assert row(turned, "kappa_difference")["estimate"] == 0.0
    assert row(turned, "kappa_difference")["lower"] == pytest.approx(row(found, "kappa_difference")["lower"])


def test_full_agreement_needs_labels_for_a_width_and_two_rows_do_not_show_how_many() -> None:
    def equal(n: int) -> Validation:
        return few(["a", "b"] * (n // 2), ["a", "b"] * (n // 2))

    assert equal(2).extra["precision"]["n_for_width"].isna().all()
    needed = int(equal(10).extra["precision"].set_index("measure").loc["kappa", "n_for_width"])
    whole = row(equal(needed), "kappa")
    assert whole["upper"] - whole["lower"] == pytest.approx(0.1, abs=0.02)
    for threshold in (1.0, -1.0):
        precision = judge(table(), "judge", ["p0"], threshold=threshold).extra["precision"]
        assert precision["n_for_threshold"].isna().all()


def test_the_page_has_a_table_of_each_part_with_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation_page, "figure_block", lambda *_: "")
    result = few([*"aabbb"], [*"aabba"])
    text = validation_page.to_page(ValidationReport(result, "A judge", ["table.csv"]))
    parts = re.findall("<summary>(.*?)</summary>", text)
    assert parts[:2] == ["Agreement with people", "Base rates"]
    assert parts == [table.title for table in tables(result)]
    assert tables(result)[1].head == ("", "estimate", "95% interval", "p (Holm)", "n")
    assert "<td>80.0%</td>" in re.sub(r"<td[^>]*>", "<td>", text)


@pytest.mark.parametrize("rules", [{}, {"scale": "interval"}])
@pytest.mark.parametrize("labels", [["pass", "fail"], [True, False], ["good", "fair", "poor"]])
def test_scores_next_to_labels_are_asked_about_with_a_remedy_that_works(rules, labels) -> None:
    score = np.random.default_rng(1).random(60).round(3)
    table = pd.DataFrame({"score": score, "person": [labels[n % len(labels)] for n in range(60)]})
    with pytest.raises(InputError, match=r"numbers from 0\.028 to 0\.981, and 'person' labels") as error:
        judge(table, "score", "person", **rules)
    remedy = {label: str(n) for n, label in enumerate(re.findall(r"'(\w+)=NUMBER'", str(error.value)))}
    assert set(remedy) == set(map(str, labels))
    assert judge(table, "score", "person", relabel=remedy, **rules).settings["scale"] == "interval"


@pytest.mark.parametrize(("times", "rows"), [(1, "1 row"), (2, "2 rows"), (3, None)])
def test_a_label_of_one_rater_alone_is_pointed_out_with_what_it_may_mean(times: int, rows: str) -> None:
    labels = ["spam", "ok"] * 20
    both = {"verdict": ["spam: it sells"] * times, "kim": ["jpam"] * times}
    table = pd.DataFrame(
        {name: [*strange, *labels[times:]] for name, strange in both.items()} | {"lee": labels}
    )
    notes = " ".join(judge(table, "verdict", ["kim", "lee"]).notes)
    judge_s = f"The judge alone gives 'spam: it sells', in {rows}; if it means 'spam', state --relabel "
    assert (judge_s in notes) == (f"'kim' alone gives 'jpam', in {rows}; if it means another label" in notes)
    assert ("alone gives" in notes) == (judge_s in notes) == (rows is not None)
    foreign = "what people never do: 'spam: it sells' (3 rows). Each of these answers counts as an error"
    assert (foreign in notes) == (rows is None)
    assert ("Fewer than 10 labels by people of a class: 'jpam' (3)" in notes) == (rows is None)
    assert "alone gives 'jpam'" not in " ".join(judge(table, "verdict", "kim").notes)


@pytest.mark.parametrize(("spam", "is_said"), [(9, True), (10, False)])
def test_classes_of_which_people_gave_less_than_ten_labels_are_named(spam: int, is_said: bool) -> None:
    notes = judge(
        pd.DataFrame({"verdict": [*"ab"] * 20, "kim": ["a"] * (40 - spam) + ["b"] * spam}), "verdict", "kim"
    ).notes
    assert ("Fewer than 10 labels by people of a class: 'b' (9)" in str(notes)) == is_said
    assert ("Fewer than" in str(notes)) == is_said


@pytest.mark.long
def test_rows_that_people_did_not_label_are_no_situation_of_an_interval() -> None:
    item = [*np.repeat(np.arange(15), [258, *[3] * 14]), *range(100, 1300)]  # one of the labelled has 85%
    data = table(1500, classes=("no", "no", "yes")).assign(item=item)
    data.loc[300:, "p0"] = None
    notes = str(judge(data, "judge", "p0", positive="yes", id="item").notes)
    assert "(300 items, a class of 30%, 15 clusters, one of 85%; 200 draws)" in notes


def test_the_error_of_the_rogan_gladen_rate_of_all_rows_is_that_of_drawn_tables() -> None:
    rng = np.random.default_rng(1)
    good = rng.random(600) < 0.3
    verdict = np.where(rng.random(600) < 0.87, good, ~good)
    data = pd.DataFrame({"judge": verdict, "p0": good}).replace({True: "yes", False: "no"})
    data.loc[200:, "p0"] = None
    cells = pd.crosstab(verdict[:200], good[:200]).to_numpy()
    drawn = rng.multinomial(200, cells.ravel() / 200, 8000).reshape(-1, 2, 2)  # of verdict and truth
    of_others = rng.binomial(400, verdict[200:].mean(), 8000) / 400
    sensitivity, specificity = (drawn[:, k, k] / drawn[:, :, k].sum(axis=1) for k in (1, 0))
    others = (of_others + specificity - 1) / (sensitivity + specificity - 1)
    rates = (drawn[:, :, 1].sum(axis=1) / 200 + 2 * others) / 3
    found = row(judge(data, "judge", "p0", positive="yes"), "rogan_gladen_rate[yes]")
    assert [found["estimate"], found["std_error"]] == pytest.approx([rates.mean(), rates.std()], rel=0.05)
