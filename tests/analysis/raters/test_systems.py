"""Systems compared by a judge of all answers and labels of a few: numbers, gates, sentences, refusals."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from cases import cases
from scipy import special, stats
from sklearn.isotonic import IsotonicRegression

import conjury
from conjury.analysis.correction.debias import assign_folds
from conjury.analysis.correction.monotone_calibration import cross_fit
from conjury.analysis.raters import prediction_powered
from conjury.inference.errors import InputError

SHIFTS = {"old": 0.0, "new": 0.5}


def answers(prompts: int = 300, labelled: int = 60, seed: int = 1, **shifts: float) -> pd.DataFrame:
    """Scores from 0 to 1 by a bent judge who favours the last system, and people's ratings of some."""
    rng = np.random.default_rng(seed)
    shifts = shifts or SHIFTS
    common, chosen = rng.normal(0, 1, prompts), rng.choice(prompts, labelled, replace=False)
    parts = []
    for place, (name, shift) in enumerate(shifts.items()):
        quality = common + shift + rng.normal(0, 0.7, prompts)
        score = 1 / (1 + np.exp(-3 * (quality + rng.normal(0, 0.4, prompts) + 0.4 * place) - 2))
        rating = np.where(np.isin(np.arange(prompts), chosen), quality, np.nan)
        ids = [f"p{k:04}" for k in range(prompts)]
        parts.append(pd.DataFrame({"prompt": ids, "system": name, "score": score, "ann": rating}))
        parts[-1]["quality"] = quality
    return pd.concat(parts, ignore_index=True)


def compare(table: pd.DataFrame, **options: object) -> pd.DataFrame:
    return conjury.compare_systems(table, "score", "ann", id="prompt", **options).frame.set_index("name")


def judgments(item: pd.Series, people: pd.Series, model: pd.Series) -> pd.DataFrame:
    """People's and the model's values of items as judgments."""
    sides = (("ann", "human", people), ("gpt", "model", model))
    table = pd.concat(
        pd.DataFrame({"judge_id": name, "judge_kind": kind, "item_id": item, "value": values})
        for name, kind, values in sides
    )
    return table.dropna(subset="value")


def test_levels_and_differences_are_those_of_means_corrected_by_a_model() -> None:
    table = answers()
    rows = compare(table, calibration=False)
    old, new = (table[table["system"] == name].reset_index(drop=True) for name in SHIFTS)
    cases = {
        "corrected_mean[old]": judgments(old["prompt"], old["ann"], old["score"]),
        "difference": judgments(old["prompt"], new["ann"] - old["ann"], new["score"] - old["score"]),
    }
    for name, table_of_items in cases.items():
        reference = prediction_powered(table_of_items, folds=10).frame.set_index("source").loc["corrected"]
        row = rows.loc[name]
        assert row["estimate"] == pytest.approx(reference["estimate"], rel=1e-9), name
        # Its labelled part is larger by the degree of freedom of the weight, 59 / 58.
        ratio = (row["std_error"] / reference["std_error"]) ** 2
        assert 1 < ratio < 59 / 58
        assert row["gain"] == pytest.approx(reference["gain"] / ratio, rel=1e-9)


def test_a_level_by_scores_and_map_is_that_of_calibrated_judgments() -> None:
    table = answers()
    table["ann"] = table["ann"].mask(table["system"] == "new")
    row = compare(table).loc["corrected_mean[old]"]
    old = table[table["system"] == "old"]
    table_of_items = judgments(old["prompt"], old["ann"], old["score"])
    reference = prediction_powered(table_of_items, calibration=True, folds=10)
    corrected = reference.frame.set_index("source").loc["corrected"]
    for name in ("estimate", "std_error", "lower", "upper", "gain"):
        assert row[name] == pytest.approx(corrected[name], rel=1e-9), name
    assert {"weight_gpt", "weight_gpt, calibrated"} <= set(reference.frame.columns)


def test_a_judge_of_two_grades_and_labels_of_a_rare_class_have_no_map() -> None:
    table = answers()
    grades, is_high = table.assign(score=1.0 * (table["score"] > 0.8)), table["ann"].gt(1.5)
    rare = table.assign(ann=is_high.map({True: "yes", False: "no"}).where(table["ann"].notna()))
    rare.loc[rare.index[rare["ann"].eq("yes")][9:], "ann"] = None
    flagged = rare.assign(score=np.where(table["score"] > 0.8, "yes", "no"))
    for data, options in ((grades, {}), (flagged, {"positive": "yes"})):
        with_map, without = (compare(data, **options, calibration=flag) for flag in (True, False))
        pd.testing.assert_frame_equal(with_map, without)


def test_a_share_of_which_no_label_is_positive_has_wilsons_interval() -> None:
    table = answers(labelled=30)
    table["ann"], table["score"] = table["ann"].notna().map({True: "no", False: None}), "no"
    table.loc[table["ann"].notna() & (table["system"] == "new"), "ann"] = ["yes", *["no"] * 29]
    rows = compare(table, positive="yes")
    for name in ("corrected_rate[old]", "people_only_rate[old]"):  # 1.96^2 / (30 + 1.96^2)
        assert rows.loc[name, ["lower", "upper"]].tolist() == pytest.approx([0, 0.11351], abs=1e-5), name


@pytest.mark.parametrize("sign", [-1, 1])
def test_limits_of_a_difference_of_shares_end_at_one_in_both_directions(sign: int) -> None:
    table = answers(old=-9.0 * sign, new=9.0 * sign)
    labelled = table["ann"].notna()
    table["score"] = np.where(table["ann"].gt(0) | (~labelled & table["quality"].gt(0)), "yes", "no")
    table["ann"] = table["score"].where(labelled)
    table.loc[table.index[labelled][0], "ann"] = {"yes": "no", "no": "yes"}[table["score"][labelled].iloc[0]]
    row = compare(table, positive="yes").loc["people_difference"]
    assert row["estimate"] == pytest.approx(sign * 59 / 60)
    assert sorted(sign * row[["lower", "upper"]].to_numpy(float))[1] == 1


def test_labels_alone_and_judge_alone_are_paired_t_tests_and_the_verdict_states_their_numbers() -> None:
    table = answers()
    result = conjury.compare_systems(table, "score", "ann", id="prompt")
    rows, wide = result.frame.set_index("name"), table.pivot(index="prompt", columns="system")
    for name, column in (("people_difference", "ann"), ("judge_difference", "score")):
        test = stats.ttest_rel(*(wide[column][system].dropna() for system in ("new", "old")))
        limits = test.confidence_interval()
        expected = (limits.low, limits.high, test.pvalue)
        assert rows.loc[name, ["lower", "upper", "p"]].tolist() == pytest.approx(expected, rel=1e-9)
    row = rows.loc["difference"]
    first = result.verdict[0].replace("\N{MINUS SIGN}", "-")
    assert first.startswith(f"new has a higher mean rating than old: {row['estimate']:+.3g} ")
    assert f"95% interval {row['lower']:.3g} to {row['upper']:.3g}" in first
    alone = rows.loc["judge_difference", "estimate"]
    assert result.verdict[1].startswith(f"By the judge alone new minus old is {alone:+.3g} ")


@pytest.mark.long
def test_covariates_move_maps_and_shorten_intervals_where_the_judge_favours_what_people_do_not() -> None:
    rng = np.random.default_rng(3)
    score, length = rng.uniform(0, 1, 80), rng.normal(size=(80, 1))
    value, fold = score**3 - 0.4 * length[:, 0], assign_folds(80, 5, 3)
    scores = cross_fit(score, value, np.ones(80), score, fold, (length, length))
    # An additive truth without noise is found, but for the steps of isotonic regression.
    assert np.abs(scores.labelled - value).max() < 0.06
    assert np.abs(cross_fit(score, value, np.ones(80), score, fold).labelled - value).max() > 0.5
    table = answers()
    table["length"] = rng.normal(size=len(table)) + (table["system"] == "new")
    table["score"] = special.expit(special.logit(table["score"]) + 1.5 * table["length"])
    plain, moved = compare(table), compare(table, covariates="length")
    width = [rows.loc["difference", "upper"] - rows.loc["difference", "lower"] for rows in (plain, moved)]
    assert width[1] < 0.85 * width[0]
    assert moved.loc["people_difference", "estimate"] == plain.loc["people_difference", "estimate"]


@pytest.mark.parametrize(("covariates", "options", "part"), cases(__file__, "covariates"))
def test_covariates_that_are_none_are_refused(covariates: str, options: dict[str, object], part: str) -> None:
    table = answers(20, 10).assign(flat=1.0, word="1")
    table.loc[table.index[1], "word"] = "many"
    with pytest.raises(InputError) as refusal:
        compare(table, covariates=covariates, **options)
    assert part in str(refusal.value)


def test_maps_are_isotonic_regressions_of_the_other_folds() -> None:
    rng = np.random.default_rng(2)
    score, other = rng.normal(size=40).round(1), rng.normal(size=70).round(1)
    value, weight, fold = score**3 + rng.normal(size=40), rng.uniform(0.5, 2, 40), assign_folds(40, 5, 3)
    scores = cross_fit(score, value, weight, other, fold)
    beside = np.zeros((5, 70))
    for name in range(5):
        mask = fold != name
        reference = IsotonicRegression(out_of_bounds="clip").fit(score[mask], value[mask], weight[mask])
        assert scores.labelled[~mask] == pytest.approx(reference.predict(score[~mask]))
        beside[name] = reference.predict(other)
    assert scores.unlabelled == pytest.approx(beside.mean(axis=0))


@pytest.mark.long
def test_scores_that_fall_where_people_rise_are_mapped_like_others() -> None:
    table = answers()
    rising, falling = compare(table), compare(table.assign(score=-table["score"]))
    for column in ("estimate", "lower", "upper"):
        assert falling.loc["difference", column] == pytest.approx(rising.loc["difference", column], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["bent", "straight", "five grades", "useless", "reversed"])
@pytest.mark.parametrize("labelled", [20, 50, 100, 200])
def test_intervals_cover_what_people_would_say(shape: str, labelled: int) -> None:
    shapes = {
        "bent": lambda z, rng: 1 / (1 + np.exp(-3 * z - 2.5)),
        "straight": lambda z, rng: z,
        "five grades": lambda z, rng: np.round(1 + 4 / (1 + np.exp(-3 * z - 2.5))),
        "useless": lambda z, rng: rng.random(len(z)),
        "reversed": lambda z, rng: -1 / (1 + np.exp(-3 * z - 2.5)),
    }
    covered = np.zeros((600, 2))
    for draw in range(len(covered)):
        rng = np.random.default_rng([draw, labelled])
        common, chosen = 0.8 * rng.normal(size=600), rng.choice(600, labelled, replace=False)
        parts = []
        for place, name in enumerate(("old", "new")):
            z = common + 0.6 * rng.normal(size=600) + 0.25 * place
            score = shapes[shape](z + 0.35 * rng.normal(size=600) + 0.3 * place, rng)
            people = np.where(np.isin(np.arange(600), chosen), z, np.nan)
            parts.append(pd.DataFrame({"prompt": range(600), "system": name, "score": score, "ann": people}))
        rows = compare(pd.concat(parts), scale="interval", seed=draw)
        for place, (name, truth) in enumerate({"corrected_mean[old]": 0.0, "difference": 0.25}.items()):
            if name in rows.index:
                covered[draw, place] = rows.loc[name, "lower"] <= truth <= rows.loc[name, "upper"]
            else:
                covered[draw, place] = np.nan
    coverage = np.nanmean(covered, axis=0)
    assert (coverage > 0.915).all(), coverage
    assert (coverage < 0.985).all(), coverage


@pytest.mark.long
def test_shares_of_a_class_have_limits_between_zero_and_one() -> None:
    table = answers(200, 80)
    labels = table.assign(
        score=np.where(table["score"] > 0.5, "pass", "fail"),
        ann=np.where(table["ann"] > 0, "pass", np.where(table["ann"].isna(), None, "fail")),
    )
    result = conjury.compare_systems(labels, "score", "ann", id="prompt")
    rows = result.frame.set_index("name")
    assert (result.settings["positive"], result.settings["measure"]) == ("pass", "rate")
    old = labels[labels["system"] == "old"]
    assert rows.loc["people_only_rate[old]", "estimate"] == (old["ann"].dropna() == "pass").mean()
    assert rows.loc["judge_only_rate[old]", "estimate"] == (old["score"] == "pass").mean()
    assert rows["estimate"].between(-1, 1).all()
    swapped = conjury.compare_systems(labels, "score", "ann", id="prompt", positive="fail").frame
    assert swapped.set_index("name").loc["difference", "estimate"] == pytest.approx(
        -rows.loc["difference", "estimate"]
    )


def test_answers_to_one_prompt_count_as_one() -> None:
    table = answers(60, 60)
    copies = pd.concat([table, table[table["prompt"] < "p0030"].assign(score=lambda t: t["score"] / 2)])
    copies["ann"] += np.random.default_rng(4).normal(0, 0.1, len(copies))
    rows = compare(copies)
    means = copies.groupby(["prompt", "system"])["ann"].mean().unstack()
    test = stats.ttest_rel(means["new"], means["old"])
    assert rows.loc["people_difference", "estimate"] == pytest.approx((means["new"] - means["old"]).mean())
    assert rows.loc["people_difference", "p"] == pytest.approx(test.pvalue, rel=1e-6)


def test_segments_and_a_mix_are_those_of_their_rows() -> None:
    table = answers(100, 100).assign(language=lambda t: np.where(t["prompt"] < "p0080", "en", "de"))
    rows = compare(table, by="language", mix={"en": 0.5, "de": 0.5})
    means = table.groupby(["language", "system"])["ann"].mean().unstack()
    gaps = means["new"] - means["old"]
    assert rows.loc["difference", "estimate"] == pytest.approx(gaps.mean())
    for level in ("en", "de"):
        assert rows.loc[f"people_difference[language={level}]", "estimate"] == pytest.approx(gaps[level])
        assert np.isfinite(rows.loc[f"difference[language={level}]", "p_adjusted"])


def test_weights_of_both_scores_are_told_by_system_pair_and_segment() -> None:
    table = answers().assign(language=lambda t: np.where(t["prompt"] < "p0200", "en", "de"))
    result = conjury.compare_systems(table, "score", "ann", id="prompt", by="language")
    weights = result.extra["weights"]
    rows = result.frame[result.frame["source"] == "corrected"]
    keys = ["system", "baseline", "by", "level"]
    assert weights.groupby(keys).size().eq(2).all()
    assert set(map(tuple, weights[keys].to_numpy())) == set(map(tuple, rows[keys].astype(str).to_numpy()))
    assert set(weights["score"]) == {"score", "score, calibrated"}


@pytest.mark.long
def test_labels_that_follow_the_judge_are_weighted_by_its_answer() -> None:
    rng = np.random.default_rng(9)
    parts = []
    for name, rate in (("old", 0.6), ("new", 0.75)):
        good = rng.random(4000) < rate
        verdict = np.where(rng.random(4000) < 0.85, good, ~good)
        labelled = rng.random(4000) < np.where(verdict, 0.02, 0.2)
        human = np.where(labelled, np.where(good, "pass", "fail"), None)
        verdicts = np.where(verdict, "pass", "fail")
        parts.append(pd.DataFrame({"prompt": range(4000), "system": name, "score": verdicts, "ann": human}))
    result = conjury.compare_systems(pd.concat(parts), "score", "ann", id="prompt")
    rows = result.frame.set_index("name")
    assert result.extra["labels"]["state"].tolist() == ["CAUTION", "CAUTION"]
    for name, rate in (("old", 0.6), ("new", 0.75)):
        level = rows.loc[f"corrected_rate[{name}]"]
        assert level["lower"] < rate < level["upper"]
    known = pd.concat(parts).assign(sampling_probability=lambda t: np.where(t["score"] == "pass", 0.02, 0.2))
    stated = conjury.compare_systems(known, "score", "ann", id="prompt")
    assert stated.extra["labels"]["state"].tolist() == ["OK", "OK"]
    level = stated.frame.set_index("name").loc["corrected_rate[new]"]
    assert level["lower"] < 0.75 < level["upper"]


@pytest.mark.parametrize(("n", "state"), [(25, "OK"), (24, "CAUTION"), (4, "NO LEVEL")])
def test_labels_follow_the_judge_where_the_p_value_is_small_for_one_of_two_systems(
    n: int, state: str
) -> None:
    """Of 100 answers that pass 40 have a label, of 100 that fail n; of the other system every second one."""
    place, verdict = np.tile(np.arange(100), 4), np.tile(np.repeat(["pass", "fail"], 100), 2)
    table = pd.DataFrame({"prompt": np.arange(400) % 200, "system": np.repeat(["new", "old"], 200)})
    drawn = np.where(table["system"] == "old", place % 2 == 0, place < np.where(verdict == "pass", 40, n))
    labels = np.where(drawn, np.where(place % 7 == 0, "fail", verdict), None)
    result = conjury.compare_systems(table.assign(score=verdict, ann=labels), "score", "ann", id="prompt")
    rows = result.extra["labels"].set_index("system")
    known = stats.hypergeom(200, 100, 40 + n)
    assert rows.loc["new", "p"] == pytest.approx(2 * known.sf(39))
    assert rows["state"].tolist() == [state, "OK"]
    assert ("too few labels of 'fail'" in rows.loc["new", "reason"]) == (state == "NO LEVEL")


@pytest.mark.parametrize(
    ("drop", "state"),
    [
        (lambda new: new["ann"].notna(), "BORROWED"),
        (lambda new: new["ann"].notna().cumsum() > 3, "NO LEVEL"),
        (lambda new: new["score"] > new["score"].quantile(0.5), "NO LEVEL"),
    ],
)
def test_systems_whose_labels_say_nothing_of_all_answers_have_no_level(drop, state: str) -> None:  # type: ignore[no-untyped-def]
    table = answers(300, 150)
    new = table["system"] == "new"
    table["ann"] = table["ann"].mask(drop(table[new]).reindex(table.index, fill_value=False))
    result = conjury.compare_systems(table, "score", "ann", id="prompt")
    states = result.extra["labels"].set_index("system")["state"]
    names = set(result.frame["name"])
    assert states.to_dict() == {"old": "OK", "new": state}
    assert "difference" not in names
    assert "corrected_mean[new]" not in names
    assert "corrected_mean[old]" in names
    assert "judge_difference" in names
    assert any("No reliable winner" in sentence for sentence in result.verdict)


def test_a_borrowed_level_is_a_mean_of_the_others_map_with_the_error_of_leaving_prompts_out() -> None:
    table = answers(30, 14, seed=3)
    new = table["system"] == "new"
    is_label = new & table["ann"].notna()
    one = table.assign(ann=table["ann"].mask(is_label & (is_label.cumsum() > 1)))  # which audits nothing
    table["ann"] = table["ann"].mask(new)

    def level(part: pd.DataFrame) -> float:
        few = part.dropna(subset="ann")
        fitted = IsotonicRegression(out_of_bounds="clip").fit(few["score"], few["ann"])
        return float(fitted.predict(part.loc[part["system"] == "new", "score"]).mean())

    without = np.array([level(table[table["prompt"] != name]) for name in table["prompt"].unique()])
    row = conjury.compare_systems(table, "score", "ann", id="prompt").frame.set_index("name")
    borrowed = row.loc["borrowed_mean[new]"]
    assert borrowed["estimate"] == pytest.approx(level(table))
    assert borrowed["std_error"] == pytest.approx(np.sqrt(29 / 30 * ((without - without.mean()) ** 2).sum()))
    audit = conjury.compare_systems(one, "score", "ann", id="prompt").extra["audit"].set_index("system")
    assert audit.loc["new", "audit"] == "NOT CHECKED"


@pytest.mark.parametrize(
    ("favour", "margin", "verdict"), [(0.0, 0.3, "PASS"), (1.0, 0.3, "FAIL"), (0.0, 0.12, "INCONCLUSIVE")]
)
def test_labels_of_a_system_audit_those_that_it_could_borrow(
    favour: float, margin: float, verdict: str
) -> None:
    table = answers(600, 150, seed=7)
    noise = np.random.default_rng(2).normal(0, 0.4, len(table))
    table["score"] = table["quality"] + noise + favour * (table["system"] == "new")
    result = conjury.compare_systems(table, "score", "ann", id="prompt", margin=margin)
    row = result.extra["audit"].set_index("system").loc["new"]
    assert row["audit"] == verdict
    assert (row["bias"] < -0.5) == (favour > 0)
    assert any("errs otherwise for new" in sentence for sentence in result.verdict) == (verdict == "FAIL")


def test_the_system_for_which_the_judge_errs_is_named_and_none_to_which_it_lends() -> None:
    table = answers(100, 50, seed=7)
    table = pd.concat([table, table[table["system"] == "old"].assign(system="odd")])
    table["score"] = table["ann"].where(table["ann"].notna(), table["quality"]) + (table["system"] == "odd")
    table["score"] += np.random.default_rng(2).normal(0, 0.2, len(table))
    result = conjury.compare_systems(table, "score", "ann", margin=0.05)
    audit = result.extra["audit"].set_index("system")
    assert audit["audit"].tolist() == ["FAIL"] * 3
    assert audit["due_to"].tolist() == ["odd", "odd", ""]
    named = [text for text in result.verdict if "errs otherwise" in text]
    assert len(named) == 1
    assert named[0].startswith("The judge errs otherwise for odd than for old and new: ")


@pytest.mark.slow
def test_borrowed_levels_cover_and_audits_fail_rarely_where_the_judge_errs_alike() -> None:
    covered, failed = 0, 0
    for seed in range(300):
        table = answers(400, 60, seed=seed, old=0.0, new=0.3)
        noise = np.random.default_rng([seed, 1]).normal(0, 0.4, len(table))
        table["score"] = np.exp(table["quality"] + noise)
        audited = conjury.compare_systems(table, "score", "ann", id="prompt", margin=0.05)
        failed += audited.extra["audit"].set_index("system").loc["new", "audit"] == "FAIL"
        table["ann"] = table["ann"].mask(table["system"] == "new")
        level = conjury.compare_systems(table, "score", "ann", id="prompt").frame.set_index("name")
        row = level.loc["borrowed_mean[new]"]
        covered += row["lower"] < 0.3 < row["upper"]
    assert covered > 0.91 * 300
    assert failed < 0.05 * 300


def test_differences_of_more_systems_are_adjusted_and_the_best_is_named_with_its_ties() -> None:
    table = answers(400, 120, a=0.0, b=1.0, c=1.02)
    result = conjury.compare_systems(table, "score", "ann", id="prompt")
    rows = result.frame.set_index("name")
    pairs = [f"difference[{second} minus {first}]" for first, second in combinations("abc", 2)]
    p = rows.loc[pairs, "p"].to_numpy()
    order, holm = np.argsort(p), np.empty(3)
    holm[order] = np.minimum(np.maximum.accumulate(p[order] * [3, 2, 1]), 1)
    assert rows.loc[pairs, "p_adjusted"].tolist() == pytest.approx(holm.tolist())
    levels = rows.loc[[f"corrected_mean[{name}]" for name in "abc"], "estimate"]
    best, tie = ("b", "c") if levels.iloc[1] > levels.iloc[2] else ("c", "b")
    winner = next(sentence for sentence in result.verdict if "highest" in sentence)
    assert winner.startswith(f"No reliable winner: {best} has the highest mean rating")
    assert f"cannot be told from {tie}." in winner


@pytest.mark.long
def test_tables_by_system_and_labels_in_a_second_table_give_the_same_numbers() -> None:
    table = answers()
    rows = compare(table)
    parts = {str(name): part.drop(columns="system") for name, part in table.groupby("system", sort=False)}
    assert compare(parts)["estimate"].tolist() == rows["estimate"].tolist()  # type: ignore[arg-type]
    labels = table.loc[table["ann"].notna(), ["prompt", "system", "ann"]].sample(frac=1, random_state=1)
    extra = pd.DataFrame({"prompt": [-1], "system": ["old"], "ann": [0.0]})
    result = conjury.compare_systems(
        table.drop(columns="ann"), "score", "ann", id="prompt", labels=pd.concat([labels, extra])
    )
    assert result.frame["estimate"].tolist() == rows["estimate"].tolist()
    assert any(
        "120 answers of 600 have a row of labels, and 1 row of labels match" in note for note in result.notes
    )
    twice = pd.concat([labels, labels.tail(1)], ignore_index=True)
    with pytest.raises(InputError, match="labels: row 121 repeats the prompt and system of an earlier"):
        conjury.compare_systems(table.drop(columns="ann"), "score", "ann", id="prompt", labels=twice)


@pytest.mark.long
def test_missing_scores_count_in_the_correction_and_are_counted() -> None:
    table = answers()
    table.loc[table.index % 7 == 0, "score"] = np.nan
    result = conjury.compare_systems(table, "score", "ann", id="prompt")
    rows = result.frame.set_index("name")
    assert (
        rows.loc["people_difference", "estimate"] == compare(answers()).loc["people_difference", "estimate"]
    )
    assert rows.loc["judge_only_mean[old]", "n"] == table.loc[table["system"] == "old", "score"].notna().sum()
    assert any(
        f"{table['score'].isna().sum()} answers without a score of 'score'" in note for note in result.notes
    )


@pytest.mark.long
def test_labels_that_would_decide_are_those_at_which_the_test_has_its_power() -> None:
    shifts = {"old": 0.0, "new": -0.15}
    row = compare(answers(3000, 40, seed=4, **shifts)).loc["difference"]
    needed = int(row["prompts_to_decide"])
    assert row["p"] > 0.05
    assert needed > row["clusters"] == 40
    more = compare(answers(3000, needed, seed=4, **shifts)).loc["difference"]
    detectable = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert more["std_error"] * detectable == pytest.approx(abs(row["estimate"]), rel=0.25)


@pytest.mark.parametrize(
    ("change", "options", "part"),
    [
        ({}, {"system": "systm"}, "no column 'systm' (did you mean 'system'?)"),
        ({"system": "old"}, {}, "column 'system' has one value"),
        ({"ann": np.nan}, {}, "no labels"),
        ({}, {"mix": {"en": 1.0}}, "name their column with --by"),
        ({"by": "en"}, {"by": "by", "mix": {"fr": 1.0}}, "mix names 'fr'"),
        ({}, {"margin": 0}, "margin is 0"),
        ({}, {"alpha": 5}, "alpha is 5"),
    ],
)
def test_requests_that_cannot_be_are_refused(
    change: dict[str, object], options: dict[str, object], part: str
) -> None:
    with pytest.raises(InputError) as refusal:
        compare(answers(50, 20).assign(**change), **options)
    assert part in str(refusal.value)


def test_classes_of_which_none_is_named_are_refused() -> None:
    table = answers(60, 60)
    words = np.array(["bad", "fair", "good"])
    named = table.assign(**{name: words[np.arange(120) % 3] for name in ("score", "ann")})
    with pytest.raises(InputError, match="name the one whose share is compared with --positive"):
        compare(named)
    rows = compare(named, positive="good")
    assert rows.loc["people_only_rate[old]", "estimate"] == pytest.approx(1 / 3)
