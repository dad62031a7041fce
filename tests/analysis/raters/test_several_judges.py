"""Several judges of the same answers: how alike they err, and what they add to the best one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import conjury
from conjury.analysis.raters import prediction_powered
from conjury.inference.errors import InputError

pytestmark = pytest.mark.long

JUDGES = ("gpt", "mini", "claude")


def answers(prompts: int = 300, labelled: int = 120, shared: float = 0.5, seed: int = 3) -> pd.DataFrame:
    """Two systems; two judges of one family share errors, the third errs by itself."""
    rng = np.random.default_rng(seed)
    common, chosen = rng.normal(0, 0.8, prompts), rng.choice(prompts, labelled, replace=False)
    parts = []
    for place, name in enumerate(("old", "new")):
        quality = common + rng.normal(0, 0.6, prompts) + 0.25 * place
        family = rng.normal(0, shared, prompts)
        people = np.where(np.isin(np.arange(prompts), chosen), quality, np.nan)
        scores = {name: quality + family + rng.normal(0, 0.3, prompts) for name in ("gpt", "mini")}
        scores["claude"] = quality + rng.normal(0, 0.5, prompts)
        parts.append(pd.DataFrame({"prompt": range(prompts), "system": name, "ann": people, **scores}))
    return pd.concat(parts, ignore_index=True)


def test_correlations_and_the_effective_number_are_those_of_the_noise() -> None:
    result = conjury.compare_systems(answers(), JUDGES, "ann", id="prompt")
    rows = result.frame.set_index("name")
    family = 0.25 / (0.25 + 0.09)
    truth = {"gpt, mini": family, "gpt, claude": 0.0, "mini, claude": 0.0}
    for pair, correlation in truth.items():
        row = rows.loc[f"error_correlation[{pair}]"]
        assert row["estimate"] == pytest.approx(correlation, abs=0.15)
        assert row["lower"] - 0.03 < correlation < row["upper"] + 0.03
    estimates = [rows.loc[f"error_correlation[{first}, {second}]", "estimate"]
                 for first, second in combinations(JUDGES, 2)]  # fmt: skip
    effective = rows.loc["effective_judges"]
    assert effective["estimate"] == pytest.approx(9 / (3 + 2 * sum(estimates)))
    assert effective["lower"] < effective["estimate"] < effective["upper"] <= 3
    assert result.extra["judges"]["judge"].tolist() == list(JUDGES)


def test_copies_of_a_judge_are_one_judge_and_add_nothing() -> None:
    table = answers().assign(again=lambda t: t["gpt"])
    result = conjury.compare_systems(table, ("gpt", "again"), "ann", id="prompt")
    rows = result.frame.set_index("name")
    assert rows.loc["effective_judges", "estimate"] == pytest.approx(1)
    assert rows.loc["error_correlation[gpt, again]", "estimate"] == pytest.approx(1)
    assert rows.loc["gain_over_best", "estimate"] == pytest.approx(1, abs=0.15)
    assert any("as that of 1.00 independent judges." in sentence for sentence in result.verdict)


def test_the_gain_over_the_best_judge_is_a_ratio_of_variances_of_the_difference() -> None:
    table = answers()
    together = conjury.compare_systems(table, JUDGES, "ann", id="prompt")
    rows = together.frame.set_index("name")
    gains = {
        name: conjury.compare_systems(table, name, "ann", id="prompt").frame.set_index("name")
        for name in JUDGES
    }
    alone = {name: frame.loc["difference", "gain"] for name, frame in gains.items()}
    expected = rows.loc["difference", "gain"] / max(alone.values())
    assert rows.loc["gain_over_best", "estimate"] == pytest.approx(expected)
    assert together.extra["judges"].set_index("judge")["gain_alone"].to_dict() == pytest.approx(alone)
    assert together.extra["judges"].set_index("judge")["best"].idxmax() == max(alone, key=alone.__getitem__)


def test_several_judges_of_one_table_give_its_level_with_shorter_intervals_than_each() -> None:
    table = answers()
    result = conjury.combine_judges(table, JUDGES, "ann", id="prompt")
    rows = result.frame.set_index("name")
    width = rows["upper"] - rows["lower"]
    assert rows.loc["corrected_mean", "lower"] < 0.125 < rows.loc["corrected_mean", "upper"]
    assert width["corrected_mean"] < min(width[f"corrected_mean[{name}]"] for name in JUDGES)
    assert width["corrected_mean"] < 0.8 * width["people_only_mean"]
    assert rows.loc["judge_only_mean[gpt]", "estimate"] == pytest.approx(table["gpt"].mean())
    assert len(result.extra["weights"]) == 6


def test_shares_of_a_class_and_few_labels_are_reported_too() -> None:
    table = answers()
    words = table.assign(**{
        name: np.where(table[name].isna(), None, np.where(table[name] > 0, "pass", "fail"))
        for name in (*JUDGES, "ann")
    })  # fmt: skip
    rows = conjury.combine_judges(words, JUDGES, "ann", id="prompt").frame.set_index("name")
    assert 1 < rows.loc["effective_judges", "estimate"] < 3
    assert rows.loc["corrected_rate", "lower"] > 0
    few = conjury.combine_judges(answers(100, 5), JUDGES, "ann", id="prompt")
    assert "effective_judges" not in set(few.frame["name"])
    assert any("fewer than 10 items have a label" in sentence for sentence in few.verdict)


def test_levels_are_those_of_calibrated_judgments_of_several_models() -> None:
    table = answers().query("system == 'old'").assign(item_id=lambda t: [f"p{k:04}" for k in t["prompt"]])
    rows = conjury.combine_judges(table, JUDGES[1:], "ann", id="item_id").frame.set_index("name")
    sides = [("ann", "human", table["ann"]), *((name, "model", table[name]) for name in JUDGES[1:])]
    parts = [
        pd.DataFrame({"judge_id": name, "judge_kind": kind, "item_id": table["item_id"], "value": values})
        for name, kind, values in sides
    ]
    judgments = pd.concat(parts).dropna(subset="value")
    reference = prediction_powered(judgments, model=list(JUDGES[1:]), calibration=True, folds=10).frame
    corrected = reference.set_index("source").loc["corrected"]
    for name in ("estimate", "std_error", "lower", "upper"):
        assert rows.loc["corrected_mean", name] == pytest.approx(corrected[name], rel=1e-6), name


def test_one_judge_is_no_several() -> None:
    with pytest.raises(InputError, match="two judges or more"):
        conjury.combine_judges(answers(20, 10), ["gpt"], "ann", id="prompt")


def test_labels_of_models_or_that_people_chose_are_not_called_peoples() -> None:
    table = answers()
    for labelled in ({"by": "model"}, {"judge_saw": "yes"}):
        with pytest.raises(InputError, match=r"all 240 labels of|judge saw all labels"):
            conjury.combine_judges(table, JUDGES, "ann", id="prompt", labelled=labelled)
    some = table.assign(label_by=np.where(table["prompt"] < 150, "model gpt-5", "person ann"))
    result = conjury.combine_judges(some, JUDGES, "ann", id="prompt")
    people = table.assign(ann=table["ann"].mask(table["prompt"] < 150))
    reference = conjury.combine_judges(people, JUDGES, "ann", id="prompt")
    assert result.frame["estimate"].tolist() == reference.frame["estimate"].tolist()
    assert "were written by a model" in str(result.claims())
    chosen = conjury.combine_judges(table, JUDGES, "ann", id="prompt", labelled={"sampled": "chosen"})
    assert "its labels are of rows that people chose themselves" in chosen.verdict[0]
    assert not chosen.frame["name"].str.startswith("corrected").any()


def test_judges_who_err_in_opposite_directions_have_an_interval_about_their_number() -> None:
    rng = np.random.default_rng(5)
    quality, error = rng.normal(0, 1, (2, 200))
    table = pd.DataFrame(
        {"a": quality + error, "b": quality - 0.6 * error + rng.normal(0, 0.4, 200), "ann": quality}
    )
    row = conjury.combine_judges(table, ["a", "b"], "ann").frame.set_index("name").loc["effective_judges"]
    assert 2 < row["lower"] < row["estimate"] < row["upper"]
