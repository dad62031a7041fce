"""Robustness to perturbation: original items compared with their perturbed copies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_up.labels import gold_of, noted

from conjury.analysis.benchmark import Scored, differences, robustness, score, scores
from conjury.inference.errors import InputError

pytestmark = pytest.mark.long

ACCURACY = {"metrics": ["accuracy"]}


def scored_rows(rows: list[tuple[object, ...]], n: int) -> Scored:
    """Scored answers (judge, item, original, condition, sample, value) to items whose gold is x."""
    names = ["judge_id", "item_id", "base_item_id", "condition", "sample", "value"]
    frame = pd.DataFrame(rows, columns=names).assign(judge_kind="model", dimension="joke")
    return score(frame, gold_of([f"j{i}" for i in range(n)], "x", "joke"), classes=["x", "y"])


def judged(seed: int = 1, n: int = 40, absent: int = 0) -> Scored:
    """Two judges on items, on copies with typos, and on copies with drift, some of which are absent."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[object, ...]] = []
    for judge, drop in (("a", 0.0), ("b", 0.4)):
        for item in range(n):
            right = rng.random() < 0.8
            for condition in ("none", "orthographic", "drift"):
                if condition == "drift" and item < absent:
                    continue
                name = f"j{item}" if condition == "none" else f"j{item}__{condition}"
                still = right and not (condition == "orthographic" and rng.random() < drop)
                rows.append((judge, name, f"j{item}", condition, 1, "x" if still else "y"))
    return scored_rows(rows, n)


def sampled(originals: int, copies: int) -> Scored:
    """Three original items and their copies, answered several times by one judge."""
    right = {("j0", "none"): 1.0, ("j1", "none"): 0.4, ("j2", "none"): 0.0, ("j0", "drift"): 1.0}
    rows: list[tuple[object, ...]] = []
    for item in ("j0", "j1", "j2"):
        for condition, n in (("none", originals), ("drift", copies)):
            n_right = round(right.get((item, condition), 0.0) * n)
            name = item if condition == "none" else f"{item}__drift"
            rows += [("a", name, item, condition, k + 1, "x" if k < n_right else "y") for k in range(n)]
    return scored_rows(rows, 3)


def test_estimates_are_perturbed_minus_original_on_the_same_items() -> None:
    scored = judged(absent=10)
    found = robustness(scored, **ACCURACY, draws=200)
    rows = found.frame.set_index(["judge", "condition"])
    assert list(rows.index) == [("a", "orthographic"), ("a", "drift"), ("b", "orthographic"), ("b", "drift")]
    right = scored.frame.pivot_table(
        index="base_item_id", columns=["judge", "condition"], values="correct"
    ).astype(float)
    for (judge, condition), row in rows.iterrows():
        both = right[judge][["none", condition]].dropna()
        changed = (both["none"] != both[condition]).mean()
        expected = [both["none"].mean(), both[condition].mean(), len(both), changed]
        assert row[["baseline", "perturbed", "n_items", "changed"]].tolist() == pytest.approx(expected)
        assert row["estimate"] == pytest.approx(row["perturbed"] - row["baseline"])
        assert row["relative"] == pytest.approx(row["perturbed"] / row["baseline"] - 1)
        of_items = (both[condition] - both["none"] * (1 + row["relative"])) / row["baseline"]
        error = of_items.std() / np.sqrt(len(both))  # linearised
        ends = row["relative"] + np.array([-1.96, 1.96]) * (error or np.nan)  # judge a never changes
        found_ends = row[["relative_lower", "relative_upper"]].tolist()
        assert found_ends == pytest.approx(ends, abs=0.5 * error, nan_ok=True)
    mean = found.extra["mean"].set_index("condition")
    for condition, row in mean.iterrows():
        assert row["estimate"] == pytest.approx(rows.xs(condition, level="condition")["estimate"].mean())
    half = rows.loc[("b", "orthographic"), "std_error"] / 2  # judge a never changes
    assert mean.loc["orthographic", "std_error"] == pytest.approx(half)
    assert noted(found, "20 answers of original items have no counterpart")
    plain = scored.unperturbed()
    assert 0 < len(plain.frame) == (~scored.is_perturbed).sum() < len(scored.frame)
    names = {"judge": "judge_id", "task": "dimension"}
    table = plain.frame.rename(columns=names).assign(value=np.where(plain.frame["correct"], "x", "y"))
    columns = ["judge_id", "judge_kind", "item_id", "dimension", "value"]
    again = score(table[columns], gold_of(table["item_id"].unique(), "x", "joke"), classes=["x", "y"])
    pd.testing.assert_frame_equal(scores(plain, draws=0).frame, scores(again, draws=0).frame)


def test_fewer_than_ten_pairs_are_reported() -> None:
    found = robustness(judged(n=12, absent=3), **ACCURACY, draws=0)
    note = "Fewer than 10 pairs of original and perturbed items are too few for precise estimates: drift (9)."
    assert note in found.notes
    assert not noted(robustness(judged(n=10), **ACCURACY, draws=0), "Fewer than")


def test_an_unchanged_judge_has_a_difference_of_zero_and_a_worse_one_is_found() -> None:
    scored = judged()
    found = robustness(scored, **ACCURACY)
    rows = found.frame.set_index(["judge", "condition"])
    assert rows.loc[("a", "orthographic"), ["estimate", "p", "changed"]].tolist() == [0, 1, 0]
    assert noted(found, "No pair of answers is discordant")
    worse = rows.loc[("b", "orthographic")]
    assert worse["upper"] < 0
    assert worse["p_adjusted"] < 0.05
    assert worse["only_left"] == 0 < worse["only_right"]
    options = {"metrics": ["accuracy", "macro_f1"], "adjust": "none", "draws": 100}
    ours = robustness(scored, **options).frame
    theirs = differences(scored, between="condition", against="none", tests=["bootstrap"], **options).frame
    columns = ["estimate", "lower", "upper", "p"]
    np.testing.assert_allclose(ours[columns], theirs[columns])


def test_items_without_a_condition_are_original() -> None:
    scored = judged(n=5)
    blank = scored.frame.assign(condition=scored.frame["condition"].replace("none", None))
    again = robustness(replace(scored, frame=blank), draws=0).frame
    pd.testing.assert_frame_equal(again, robustness(scored, draws=0).frame)
    assert "missing_rate" in set(again["metric"])
    assert "missing_rate" not in set(robustness(scored, draws=0, missing="missing").frame["metric"])


def test_all_samples_of_an_original_are_compared_with_one_of_its_copy() -> None:
    found = robustness(sampled(5, 1), **ACCURACY, draws=50)
    row = found.frame.iloc[0]
    assert row["baseline"] == pytest.approx((1.0 + 0.4 + 0.0) / 3)
    assert row["perturbed"] == pytest.approx(1 / 3)
    assert (row["n_pairs"], row["n_units"], row["n_left_only"], row["n_right_only"]) == (3, 3, 0, 0)
    assert (row["only_left"], row["only_right"]) == (0, 1)
    assert row["changed"] == pytest.approx((0 + 0.4 + 0) / 3)
    assert noted(found, "pairs are units")
    scored = sampled(5, 5)
    turned = scored.frame["sample"].where(scored.frame["condition"] == "none", 6 - scored.frame["sample"])
    again = replace(scored, frame=scored.frame.assign(sample=turned))
    pd.testing.assert_frame_equal(robustness(scored, draws=50).frame, robustness(again, draws=50).frame)


def test_mcnemars_tests_need_one_sample_per_condition() -> None:
    tests = ["bootstrap", "mcnemar exact", "mixed logit"]
    options = {"between": "condition", **ACCURACY, "draws": 50}
    found = differences(sampled(5, 1), tests=tests, **options)
    assert found.frame["test"].tolist() == ["bootstrap", "mixed logit"]
    assert noted(found, "none and drift: McNemar's tests are not computed")
    assert differences(sampled(1, 1), tests=tests, **options).frame["test"].tolist() == tests
    with pytest.raises(InputError, match="use the bootstrap"):
        differences(sampled(5, 1), tests=["mcnemar exact"], **options)


def test_invalid_comparisons_are_refused() -> None:
    scored = judged(n=4)
    for table, options, message in (
        (replace(scored, frame=scored.frame.drop(columns="condition")), {}, "column 'condition' is missing"),
        (scored, {"baseline": "plain"}, "does not contain 'plain'"),
        (scored.of(condition="none"), {}, "no item has answers both under 'none' and"),
        (replace(scored, frame=scored.frame.drop(columns="base_item_id")), {}, "no item has answers both"),
    ):
        with pytest.raises(InputError, match=message):
            robustness(table, **options)
