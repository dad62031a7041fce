"""Systems compared in tables with gaps: judges, prompts, segments and labels that some systems lack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import conjury
from conjury.inference.errors import InputError

BOTH = ("old", "new")


def answers(prompts: int = 60, labelled: int = 20) -> pd.DataFrame:
    """Two systems with answers to the same prompts, a score of all and labels of some."""
    rng = np.random.default_rng(1)
    ids = [f"p{k:03}" for k in range(prompts)]
    language = np.where(np.arange(prompts) % 2, "en", "de")
    parts = [
        pd.DataFrame(
            {"prompt": ids, "system": name, "language": language, "score": rng.normal(k, 1, prompts)}
        )
        for k, name in enumerate(BOTH)
    ]
    table = pd.concat(parts, ignore_index=True)
    table["ann"] = table["score"] + rng.normal(0, 0.5, len(table))
    table["ann"] = table["ann"].where(table["prompt"] < f"p{labelled:03}")
    return table


def compare(table: Any, judge: Any = "score", **options: Any) -> Any:
    return conjury.compare_systems(table, judge, "ann", id="prompt", **options)


def rows_of(result: Any) -> Any:
    return result.frame.set_index("name")


def test_a_system_that_the_judge_did_not_score_has_no_level_and_leaves_the_others_theirs() -> None:
    table = answers()
    table["score"] = table["score"].mask(table["system"] == "new")
    result = compare(table)
    state = result.extra["labels"].set_index("system").loc["new"]
    assert (state["state"], state["reason"]) == ("NO LEVEL", "the judge scored none of its answers")
    assert np.isfinite(rows_of(result).loc["corrected_mean[old]", ["estimate", "lower"]].astype(float)).all()
    assert not {"difference", "judge_difference"} & set(result.frame["name"])


@pytest.mark.long
@pytest.mark.parametrize("first", [True, False])
def test_a_judge_of_one_system_moves_nothing_about_the_other(first: bool) -> None:
    table = answers()
    table["second"] = 100 * table["score"].mask(table["system"] == "new")
    judges = ["second", "score"] if first else ["score", "second"]
    result = compare(table, judges, calibration=False)
    level, alone = (
        rows_of(found).loc["corrected_mean[new]"] for found in (result, compare(table, calibration=False))
    )
    assert level["estimate"] == pytest.approx(alone["estimate"], abs=0.05)
    assert rows_of(result).loc["judge_difference", "estimate"] == pytest.approx(
        rows_of(compare(table)).loc["judge_difference", "estimate"]
    )
    assert "'second' has no score of new, so it moves no number about these." in result.notes


def test_the_judges_alone_are_means_of_answers_that_each_of_them_scored() -> None:
    table = answers()
    table["second"] = (10 * table["score"]).mask(table.index % 3 == 0)
    old = table[table["system"] == "old"].dropna(subset="second")
    row = rows_of(compare(table, ["score", "second"])).loc["judge_only_mean[old]"]
    assert (row["estimate"], row["n"]) == (pytest.approx(5.5 * old["score"].mean()), len(old))


def test_a_judge_without_scores_is_refused() -> None:
    with pytest.raises(InputError, match="column 'second' of the judge has no score"):
        compare(answers().assign(second=np.nan), ["score", "second"])


def test_a_system_with_an_answer_to_one_prompt_is_no_obstacle() -> None:
    table = answers()
    table = pd.concat([table, table.head(1).assign(system="rare", ann=np.nan)])
    result = compare(table)
    assert result.extra["labels"].set_index("system").loc["rare", "labels"] == 0
    assert np.isfinite(rows_of(result).loc["difference[new minus old]", "lower"])


def test_borrowed_levels_have_the_degrees_of_freedom_of_the_labels_that_lend() -> None:
    table = answers(200, 12)
    table["ann"] = table["ann"].mask(table["system"] == "new")
    assert rows_of(compare(table)).loc["borrowed_mean[new]", "df"] == 11


def test_labels_that_would_check_a_borrowed_level_are_not_more_than_there_are_prompts() -> None:
    table = answers()
    table["ann"] = table["ann"].mask(table["system"] == "new")
    sentence = next(text for text in compare(table).verdict if "not checked" in text)
    assert "its 60 prompts are too few to check that within 0.17" in sentence
    assert "labels of about" in next(
        text for text in compare(table, margin=1.0).verdict if "not checked" in text
    )


def test_a_mix_has_its_shares_in_each_system_and_by_prompts() -> None:
    table = answers(60, 60)
    gaps = table[~((table["system"] == "new") & (table["language"] == "en") & (table["prompt"] > "p020"))]
    copies = pd.concat([table, table[table["language"] == "en"].assign(score=0.0)])
    for part in (gaps, copies):
        rows = rows_of(compare(part, by="language", mix={"en": 0.3, "de": 0.7}))
        means = (
            part.groupby(["system", "language", "prompt"])["ann"]
            .mean()
            .groupby(level=[0, 1])
            .mean()
            .unstack()
        )
        for name in BOTH:
            expected = means.loc[name, ["en", "de"]].to_numpy(dtype=float) @ [0.3, 0.7]
            assert rows.loc[f"people_only_mean[{name}]", "estimate"] == pytest.approx(expected)


def test_a_mix_of_nothing_or_of_a_segment_that_a_system_lacks_is_refused() -> None:
    table = answers()
    with pytest.raises(
        InputError, match="a share of 0 of 'de'; leave its rows out with --exclude language=de"
    ):
        compare(table, by="language", mix={"en": 1.0, "de": 0.0})
    apart = table[(table["system"] == "old") | (table["language"] == "en")]
    with pytest.raises(InputError, match="mix has a share of 'de', and 'new' has no answer with it"):
        compare(apart, by="language", mix={"en": 0.5, "de": 0.5})


def test_equal_labels_have_a_difference_of_zero_and_the_sentence_says_why_there_is_no_interval() -> None:
    table = answers()
    result = compare(table.assign(ann=table["ann"].where(table["ann"].isna(), 0.1)))
    assert rows_of(result).loc["difference", "estimate"] == 0
    assert result.verdict[0] == (
        "No reliable winner: new minus old is +0 in mean rating, without an interval, since it does not vary "
        "between labelled prompts."
    )


def test_where_all_answers_have_labels_nothing_is_corrected_and_no_sentence_says_so() -> None:
    result = compare(answers(60, 60))
    rows = rows_of(result)[["estimate", "lower", "upper"]]
    assert rows.loc["difference"].tolist() == rows.loc["people_difference"].tolist()
    assert "by 120 labels alone" in result.verdict[0]


def test_many_segments_without_enough_labels_are_said_to_have_none() -> None:
    table = answers()
    result = compare(table.assign(part=[f"l{k % 40}" for k in range(len(table))]), by="part")
    assert "No segment of part has labels of 4 prompts of two systems." in result.verdict


def test_systems_that_differ_in_case_or_blanks_are_one_and_said_to_be() -> None:
    table = answers()
    expected = rows_of(compare(table)).loc["difference", "estimate"]
    table.loc[[3, 70], "system"] = [" Old", "NEW"]
    result = compare(table)
    assert rows_of(result).loc["difference", "estimate"] == expected
    assert any("count as one: ' Old' and 'old', 'NEW' and 'new'" in note for note in result.notes)


def test_labels_of_truth_values_in_a_second_table_are_joined() -> None:
    table = answers()
    graded = table.assign(score=table["score"] > 0.5)
    labels = graded.dropna(subset="ann").assign(ann=lambda rows: rows["ann"] > 0.5)
    result = compare(graded.drop(columns="ann"), labels=labels[["prompt", "system", "ann"]])
    assert result.settings["n_labelled"] == 40
    assert rows_of(result).loc["people_only_rate[old]", "estimate"] == pytest.approx(
        labels["ann"][:20].to_numpy().mean()
    )


def test_labels_without_a_prompt_and_with_strange_names_are_asked_about() -> None:
    table = answers()
    labels = table.dropna(subset="ann")[["prompt", "system", "ann"]]
    table = table.drop(columns="ann")
    with pytest.raises(InputError, match="row 2 has no 'prompt'"):
        compare(table, labels=labels.assign(prompt=labels["prompt"].mask(labels["prompt"] == "p001")))
    with pytest.raises(InputError, match="labels are about 'p000' of 'v1', and answers as 'p000' of 'old'"):
        compare(table, labels=labels.head(20).assign(system="v1"))
    named = compare(table, labels=labels.assign(system=labels["system"].str.upper() + " "))
    assert named.settings["n_labelled"] == 40


def test_prompts_that_are_numbers_in_one_table_and_texts_in_another_are_paired() -> None:
    table = answers()
    table["prompt"] = table["prompt"].str[1:].astype(int)
    expected = rows_of(compare(table)).loc["difference", "std_error"]
    parts = {name: part.drop(columns="system") for name, part in table.groupby("system", sort=False)}
    parts["new"] = parts["new"].astype({"prompt": str})
    assert rows_of(compare(parts)).loc["difference", "std_error"] == pytest.approx(expected)


def test_grades_between_labelled_ones_are_not_beyond_them_and_classes_are() -> None:
    table = answers(200, 100)
    grades = table.assign(**{name: table[name].round().clip(-2, 2) for name in ("score", "ann")})
    grades["ann"] = grades["ann"].mask(grades["score"] == 0)
    state = compare(grades, scale="ordinal").extra["labels"]
    assert (state["beyond"] < 0.05).all()
    words = grades.assign(
        **{name: grades[name].map({-1: "bad", 0: "fair", 1: "good"}) for name in ("score", "ann")}
    )
    reasons = compare(words, positive="good").extra["labels"]["reason"]
    assert reasons.str.endswith("% of the answers are judged as no labelled one is").all()


def test_a_margin_in_percent_is_asked_about_for_shares_alone() -> None:
    table = answers()
    words = table.assign(**{name: np.where(table[name] > 0, "pass", "fail") for name in ("score", "ann")})
    with pytest.raises(InputError, match=r"margin is 5 \(did you mean 0.05\?\)"):
        compare(words, margin=5)
    assert compare(table, margin=5).settings["margin"] == 5


@pytest.mark.long
@pytest.mark.parametrize(("bias", "verdicts"), [(0, ["INCONCLUSIVE", "PASS"]), (2, ["FAIL", "INCONCLUSIVE"])])
def test_an_audit_passes_within_its_margin_and_fails_beyond_it(bias: int, verdicts: list[str]) -> None:
    table = answers(60, 30)
    table["ann"] -= bias * (table["system"] == "new")

    def audit(margin: float) -> Any:
        return compare(table, margin=margin).extra["audit"].set_index("system").loc["new"]

    row = audit(1.0)
    end = max(-row["lower"], row["upper"]) if bias == 0 else -row["upper"]
    assert (row["lower"] < 0 < row["upper"]) == (bias == 0)
    rows = [audit(margin) for margin in (0.999 * end, 1.001 * end)]
    assert [found["audit"] for found in rows] == verdicts
    for found, margin in zip(rows, (0.999 * end, 1.001 * end), strict=True):
        needed = row["prompts_to_audit"] / margin**2
        assert np.ceil(0.5 * needed) <= found["prompts_to_audit"] <= np.ceil(needed)


@pytest.mark.parametrize(("beyond", "state"), [(5, "OK"), (6, "CAUTION"), (20, "CAUTION"), (21, "NO LEVEL")])
def test_answers_beyond_all_labelled_ones_are_a_caution_from_a_twentieth_and_refused_from_a_fifth(
    beyond: int, state: str
) -> None:
    table = answers(100, 100).assign(sampling_probability=lambda rows: 0.5 + 0.2 * (rows.index % 2))
    new = table["system"] == "new"
    rank = table["score"].where(new).rank(ascending=False)
    result = compare(table.assign(ann=table["ann"].mask(rank <= beyond)))
    row = result.extra["labels"].set_index("system").loc["new"]
    assert (row["state"], row["beyond"], row["labels"]) == (state, beyond / 100, 100 - beyond)
    reason = f"{beyond}% of the answers are scored beyond all labelled ones"
    assert row["reason"] == ("" if state == "OK" else reason)


@pytest.mark.parametrize("extra", [0, 1])
def test_a_level_needs_labels_of_four_prompts_and_a_borrowed_one_of_ten(extra: int) -> None:
    table = answers(60, 60)
    new = table["system"] == "new"
    order = table.groupby("system")["score"].rank() % 59  # the lowest and the highest score come first
    place = order.where(new).rank(method="first"), order.where(~new).rank(method="first")
    few = compare(table.assign(ann=table["ann"].where(~new | (place[0] <= 3 + extra))))
    lent = compare(table.assign(ann=table["ann"].where(place[1] <= 9 + extra)))
    states = [result.extra["labels"].set_index("system").loc["new", "state"] for result in (few, lent)]
    assert states == [["NO LEVEL", "NO LABELS"], ["OK", "BORROWED"]][extra]


@pytest.mark.long
def test_equivalence_is_that_of_two_one_sided_t_tests() -> None:
    table = answers(60, 20)
    for margin in (0.5, 1.5):
        row = rows_of(compare(table, margin=margin)).loc["difference"]
        t = [(row["estimate"] + sign * margin) / row["std_error"] for sign in (1, -1)]
        expected = max(stats.t.sf(t[0], row["df"]), stats.t.cdf(t[1], row["df"]))
        assert (row["margin"], row["p_equivalence"]) == (margin, pytest.approx(expected))
    assert 0.001 < expected < 0.999


@pytest.mark.long
def test_shares_of_segments_that_are_numbers_and_shares_below_zero() -> None:
    table = answers().assign(part=lambda rows: rows.index % 2 + 1)
    shares = [rows_of(compare(table, by="part", mix=mix)) for mix in ({1: 0.5, 2: 0.5}, {"1": 0.5, "2": 0.5})]
    assert shares[0]["estimate"].tolist() == shares[1]["estimate"].tolist()
    with pytest.raises(InputError, match=r"mix has a share of -0\.5 of '1'; give shares between 0 and 1"):
        compare(table, by="part", mix={1: -0.5, 2: 1.5})
