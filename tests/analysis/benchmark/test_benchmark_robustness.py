"""Robustness to perturbation: the same items as they were and perturbed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.benchmark import Scored, differences, robustness, score, scores
from conjury.inference.errors import InputError


def judged(seed: int = 1, n: int = 40, left_out: int = 0) -> Scored:
    """Two judges on items, on copies with typos, and on copies with drift, some of which are not there."""
    rng = np.random.default_rng(seed)
    rows = []
    for judge, drop in (("a", 0.0), ("b", 0.4)):
        for item in range(n):
            right = rng.random() < 0.8
            for condition in ("none", "orthographic", "drift"):
                if condition == "drift" and item < left_out:
                    continue
                name = f"j{item}" if condition == "none" else f"j{item}__{condition}"
                still = right and not (condition == "orthographic" and rng.random() < drop)
                rows.append((judge, name, f"j{item}", condition, "x" if still else "y"))
    frame = pd.DataFrame(rows, columns=["judge_id", "item_id", "base_item_id", "condition", "value"])
    items = frame[["item_id", "base_item_id", "condition"]].drop_duplicates()
    judgments = frame[["judge_id", "item_id", "value"]].assign(judge_kind="model", dimension="joke")
    gold = pd.DataFrame({"item_id": [f"j{i}" for i in range(n)], "label_set": "joke", "label": "x"})
    return score(judgments, gold, classes=["x", "y"], items=items)


def test_estimates_are_perturbed_minus_baseline_on_the_same_items() -> None:
    scored = judged(left_out=10)
    found = robustness(scored, metrics=["accuracy"], draws=200)
    rows = found.frame.set_index(["judge", "condition"])
    assert list(rows.index) == [("a", "orthographic"), ("a", "drift"), ("b", "orthographic"), ("b", "drift")]
    right = scored.frame.pivot_table(
        index="base_item_id", columns=["judge", "condition"], values="correct"
    ).astype(float)
    for (judge, condition), row in rows.iterrows():
        both = right[judge][["none", condition]].dropna()
        assert row["baseline"] == pytest.approx(both["none"].mean())
        assert row["perturbed"] == pytest.approx(both[condition].mean())
        assert row["estimate"] == pytest.approx(row["perturbed"] - row["baseline"])
        assert row["n_items"] == len(both)
        assert row["changed"] == pytest.approx((both["none"] != both[condition]).mean())
    assert any("20 answers of original items have no counterpart" in note for note in found.notes)


def test_answers_to_items_without_copies_need_not_be_scored_again() -> None:
    scored = judged()
    plain = scored.unperturbed()
    assert 0 < len(plain.frame) == (~scored.is_perturbed).sum() < len(scored.frame)
    again = score(
        plain.frame.assign(
            judge_id=plain.frame["judge"], dimension=plain.frame["task"],
            value=np.where(plain.frame["correct"], "x", "y"),
        )[["judge_id", "judge_kind", "item_id", "dimension", "value"]],
        pd.DataFrame({"item_id": plain.frame["item_id"].unique(), "label_set": "joke", "label": "x"}),
        classes=["x", "y"],
    )  # fmt: skip
    ours, theirs = (scores(one, draws=0).frame for one in (plain, again))
    pd.testing.assert_frame_equal(ours, theirs)


def test_few_perturbed_items_are_told() -> None:
    found = robustness(judged(n=12, left_out=3), metrics=["accuracy"], draws=0)
    assert [note for note in found.notes if "Fewer than 10 pairs" in note] == [
        "Fewer than 10 pairs of original and perturbed items are too few for precise estimates: drift (9)."
    ]
    enough = robustness(judged(n=10), metrics=["accuracy"], draws=0)
    assert not any("Fewer than" in note for note in enough.notes)


def test_a_judge_that_does_not_change_has_a_difference_of_zero() -> None:
    found = robustness(judged(), metrics=["accuracy"], draws=200)
    row = found.frame.set_index(["judge", "condition"]).loc[("a", "orthographic")]
    assert (row["estimate"], row["p"], row["changed"]) == (0, 1, 0)
    assert any("No pair of answers is discordant" in note for note in found.notes)


def test_a_judge_that_suffers_is_found() -> None:
    row = (
        robustness(judged(), metrics=["accuracy"])
        .frame.set_index(["judge", "condition"])
        .loc[("b", "orthographic")]
    )
    assert row["upper"] < 0
    assert row["p_adjusted"] < 0.05
    assert row["only_left"] == 0 < row["only_right"]


def test_it_agrees_with_differences_between_conditions() -> None:
    scored = judged()
    ours = robustness(scored, metrics=["accuracy", "macro_f1"], adjust="none", draws=100).frame
    theirs = differences(
        scored, between="condition", against="none", metrics=["accuracy", "macro_f1"], tests=["bootstrap"],
        adjust="none", draws=100,
    ).frame  # fmt: skip
    np.testing.assert_allclose(
        ours[["estimate", "lower", "upper", "p"]], theirs[["estimate", "lower", "upper", "p"]]
    )


def test_items_without_a_condition_are_the_baseline() -> None:
    scored = judged(n=5)
    blank = scored.frame.assign(condition=scored.frame["condition"].replace("none", None))
    again = type(scored)(**{**vars(scored), "frame": blank})
    pd.testing.assert_frame_equal(robustness(again, draws=0).frame, robustness(scored, draws=0).frame)


def sampled(originals: int, copies: int) -> Scored:
    """Three items as they were and perturbed, answered several times."""
    right = {("j0", "none"): 1.0, ("j1", "none"): 0.4, ("j2", "none"): 0.0, ("j0", "drift"): 1.0}
    rows = []
    for item in ("j0", "j1", "j2"):
        for condition, n in (("none", originals), ("drift", copies)):
            n_right = round(right.get((item, condition), 0.0) * n)
            name = item if condition == "none" else f"{item}__drift"
            rows += [(name, item, condition, k + 1, "x" if k < n_right else "y") for k in range(n)]
    frame = pd.DataFrame(rows, columns=["item_id", "base_item_id", "condition", "sample", "value"])
    frame = frame.assign(judge_id="a", judge_kind="model", dimension="joke")
    gold = pd.DataFrame({"item_id": ["j0", "j1", "j2"], "label_set": "joke", "label": "x"})
    return score(frame, gold, classes=["x", "y"])


def test_all_samples_of_an_original_count_beside_one_of_its_copy() -> None:
    found = robustness(sampled(5, 1), metrics=["accuracy"], draws=50)
    row = found.frame.iloc[0]
    assert row["baseline"] == pytest.approx((1.0 + 0.4 + 0.0) / 3)
    assert row["perturbed"] == pytest.approx(1 / 3)
    assert (row["n_pairs"], row["n_units"], row["n_left_only"], row["n_right_only"]) == (3, 3, 0, 0)
    assert (row["only_left"], row["only_right"]) == (0, 1)
    assert row["changed"] == pytest.approx((0 + 0.4 + 0) / 3)
    assert any("pairs are units" in note for note in found.notes)


def test_conditions_do_not_pair_by_the_number_of_a_sample() -> None:
    scored = sampled(5, 5)
    turned = scored.frame.assign(
        sample=scored.frame["sample"].where(scored.frame["condition"] == "none", 6 - scored.frame["sample"])
    )
    again = type(scored)(**{**vars(scored), "frame": turned})
    found, other = (robustness(one, draws=50).frame for one in (scored, again))
    pd.testing.assert_frame_equal(found, other)


def test_mcnemar_takes_no_conditions_with_several_samples() -> None:
    tests = ["bootstrap", "mcnemar exact", "mixed logit"]
    found = differences(sampled(5, 1), between="condition", metrics=["accuracy"], tests=tests, draws=50)
    assert found.frame["test"].tolist() == ["bootstrap", "mixed logit"]
    assert any("McNemar's tests are not computed" in note for note in found.notes)
    once = differences(sampled(1, 1), between="condition", metrics=["accuracy"], tests=tests, draws=50)
    assert once.frame["test"].tolist() == tests
    with pytest.raises(InputError, match="ask for bootstrap"):
        differences(
            sampled(5, 1), between="condition", metrics=["accuracy"], tests=["mcnemar exact"], draws=0
        )


def test_missing_rate_is_left_out_where_missing_answers_are() -> None:
    assert "missing_rate" in set(robustness(judged(n=5), draws=0).frame["metric"])
    assert "missing_rate" not in set(robustness(judged(n=5), draws=0, missing="missing").frame["metric"])


def test_what_cannot_be_compared_is_refused() -> None:
    scored = judged(n=4)
    with pytest.raises(InputError, match="column 'condition' is missing"):
        robustness(type(scored)(**{**vars(scored), "frame": scored.frame.drop(columns="condition")}))
    with pytest.raises(InputError, match="does not contain 'plain'"):
        robustness(scored, baseline="plain")
    with pytest.raises(InputError, match="no item has answers both under 'none' and"):
        robustness(scored.of(condition="none"))
    with pytest.raises(InputError, match="no item has answers both"):
        robustness(type(scored)(**{**vars(scored), "frame": scored.frame.drop(columns="base_item_id")}))
