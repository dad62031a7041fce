"""Rates of classes from labels by an imperfect judge."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from conjury.analysis.correction import calibration_split, rates
from conjury.inference.errors import InputError

REFERENCE = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "correction" / "rates.json").read_text(encoding="utf-8")
)


COUNTS, SHOWN = np.array([[30, 5, 5], [4, 20, 6], [3, 2, 25]]), np.array([90, 60, 50])


def units(labelled, unlabelled, names=("a", "b", "c")):
    """A table from counts of labelled units by (human, judge) label, and of unlabelled ones."""
    rows = [
        (names[i], names[j]) for i, row in enumerate(labelled) for j, n in enumerate(row) for _ in range(n)
    ]
    rows += [(None, names[j]) for j, n in enumerate(unlabelled) for _ in range(n)]
    return pd.DataFrame(rows, columns=["label", "judged"])


def by_method(result, of):
    return result.frame[result.frame["class"] == of].set_index("method")


@pytest.mark.parametrize("case", REFERENCE.values(), ids=REFERENCE)
def test_rates_of_two_classes_are_those_of_delicatessen_lee_and_ppi_py(case):
    found = by_method(rates(units(case["labelled"], case["unlabelled"])), "b")
    corrected = found.loc["rogan_gladen"]
    assert corrected[["estimate", "std_error"]].tolist() == pytest.approx(case["delicatessen"], rel=1e-6)
    assert corrected[["estimate", "lower", "upper"]].tolist() == pytest.approx(
        case["lee"], rel=1e-9, abs=1e-12
    )
    assert found.loc["efficient", "estimate"] == pytest.approx(case["ppi"][0], rel=1e-9)
    # ppi_py estimates the same variance with n - 1 in its covariances
    normal = (case["ppi"][2] - case["ppi"][1]) / 2 / 1.959964
    assert found.loc["efficient", "std_error"] == pytest.approx(normal, rel=0.02)


def test_rates_of_three_classes_solve_the_equations_of_misclassification():
    counts, shown = COUNTS, SHOWN
    found = rates(units(counts, shown)).frame
    share = counts / counts.sum(axis=1, keepdims=True)
    solved = np.linalg.solve(share.T, shown / shown.sum())
    estimates = found[found["method"] == "rogan_gladen"]
    np.testing.assert_allclose(estimates["estimate"], solved, atol=1e-12)

    def rate_of(values: np.ndarray) -> np.ndarray:
        table = values[:9].reshape(3, 3)
        return np.linalg.solve((table / table.sum(axis=1, keepdims=True)).T, values[9:] / values[9:].sum())

    # The multinomial delta method by numerical slopes, with fixed totals of classes and of unlabelled units.
    values = np.r_[counts.ravel(), shown].astype(float)
    slope = np.stack(
        [(rate_of(values + step) - rate_of(values - step)) / 2e-4 for step in 1e-4 * np.eye(12)], axis=1
    )
    covariance = np.zeros((12, 12))
    for k in range(4):
        part = values[3 * k : 3 * k + 3]
        covariance[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = np.diag(part) - np.outer(part, part) / part.sum()
    np.testing.assert_allclose(
        estimates["std_error"], np.sqrt(np.diag(slope @ covariance @ slope.T)), rtol=1e-5
    )


def test_maximum_likelihood_rates_maximise_the_likelihood_of_both_samples():
    counts, shown = COUNTS, SHOWN
    found = rates(units(counts, shown)).frame

    def loss(free: np.ndarray) -> float:
        joint = np.exp(free - free.max()).reshape(3, 3)
        joint = joint / joint.sum()
        return -float((counts * np.log(joint)).sum() + shown @ np.log(joint.sum(axis=0)))

    best = minimize(loss, np.zeros(9), method="BFGS", options={"gtol": 1e-7})
    joint = np.exp(best.x).reshape(3, 3) / np.exp(best.x).sum()
    made = found[found["method"] == "mle"]
    np.testing.assert_allclose(made["estimate"], joint.sum(axis=1), atol=1e-5)
    cells = np.r_[counts.ravel(), shown] / 300
    drawn = np.random.default_rng(1).multinomial(300, cells, 20_000)
    known, judged = drawn[:, :9].reshape(-1, 3, 3), drawn[:, 9:] + drawn[:, :9].reshape(-1, 3, 3).sum(axis=1)
    again = np.einsum("dj,dkj->dk", judged / 300, known / known.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(made["std_error"], again.std(axis=0), rtol=0.03)


def test_rates_that_leave_the_simplex_are_those_of_constrained_maximum_likelihood():
    counts, shown = np.array([[18, 2], [6, 14]]), np.array([97, 3])
    result = rates(units(counts, shown))
    found = by_method(result, "b").loc["rogan_gladen"]
    assert found["estimate"] == pytest.approx(0, abs=1e-4)
    assert found["lower"] == 0
    assert found["upper"] > 0.02
    assert any("leave 0 to 1 (a 1.117, b -0.117)" in note for note in result.notes)


def test_missing_labels_by_the_judge_are_a_category_of_its_own():
    table = units([[30, 6, 4], [4, 20, 6]], [70, 50, 30], names=("a", "b", "?"))
    table["judged"] = table["judged"].replace("?", np.nan)
    result = rates(table)
    found = by_method(result, "b")
    assert set(result.extra["confusion"]["judged"]) == {"a", "b", "no label"}
    assert np.isfinite(found["estimate"]).all()
    one = by_method(result, "a")["estimate"]
    np.testing.assert_allclose((one + found["estimate"])[["human", "rogan_gladen", "efficient", "mle"]], 1)
    assert found.loc["naive", "estimate"] == pytest.approx(50 / 150)
    # Expected counts of a judge that misclassifies at these rates, for a true rate of 0.7, give 0.7 back.
    shares = np.array([[0.75, 0.15, 0.10], [4 / 30, 20 / 30, 6 / 30]])
    expected = (3000 * (0.3 * shares[0] + 0.7 * shares[1])).round().astype(int)
    again = units([[30, 6, 4], [4, 20, 6]], expected, names=("a", "b", "?"))
    assert by_method(rates(again), "b").loc["rogan_gladen", "estimate"] == pytest.approx(0.7, abs=1e-3)


def test_a_perfect_judge_gives_the_judged_rate_of_the_unlabelled_units_and_one_at_chance_that_of_people():
    found = by_method(rates(units([[20, 0], [0, 20]], [30, 70])), "b")
    assert found.loc[["rogan_gladen", "mle"], "estimate"].tolist() == pytest.approx([0.7, 90 / 140])
    result = rates(units([[15, 15], [10, 10]], [200, 200]))
    found = by_method(result, "b")
    assert found.loc[["rogan_gladen", "efficient"], "estimate"].tolist() == pytest.approx(
        [np.nan, 0.4], nan_ok=True
    )
    assert any("do not distinguish the classes" in note for note in result.notes)


@pytest.mark.parametrize(("right", "weak"), [(22, True), (23, False)])
def test_a_judge_is_called_weak_where_two_sided_limits_of_its_two_rates_meet(right: int, weak: bool) -> None:
    """Half of 30 units of one class are called the other; of the other, ``right`` of 30 are."""
    result = rates(units([[15, 15], [30 - right, right]], [200, 200]))
    assert any("hardly better than chance" in note for note in result.notes) == weak


def test_informedness_has_the_error_of_the_difference_of_two_independent_rates():
    counts = COUNTS
    found = rates(units(counts, SHOWN)).extra["informedness"].set_index("class")
    random = np.random.default_rng(1)
    draws = np.stack(
        [random.multinomial(n, row / n, 20_000) for n, row in zip([40, 30, 30], counts, strict=True)]
    )
    share = counts / counts.sum(axis=1, keepdims=True)
    for place, name in enumerate("abc"):
        others = [k for k in range(3) if k != place]
        n, rest = counts[place].sum(), counts[others].sum()
        false = counts[others, place].sum() / rest
        assert found["estimate"][name] == pytest.approx(share[place, place] - false)
        drawn = draws[place, :, place] / n - random.binomial(rest, false, 20_000) / rest
        assert found["std_error"][name] == pytest.approx(drawn.std(), rel=0.02)


def test_rates_of_two_classes_by_three_categories_are_weighted_least_squares():
    result = rates(units([[30, 6, 4], [4, 20, 6]], [70, 50, 30], names=("a", "b", "?")), classes=["a", "b"])
    of_a, of_b, shown = np.array([30, 6, 4]) / 40, np.array([4, 20, 6]) / 30, np.array([70, 50, 30]) / 150
    weight = 1 / (shown + (of_a + of_b) / 2)
    apart = of_b - of_a
    expected = (weight * apart * (shown - of_a)).sum() / (weight * apart**2).sum()
    assert by_method(result, "b").loc["rogan_gladen", "estimate"] == pytest.approx(expected, rel=1e-9)


def test_a_class_without_a_human_label_has_no_rogan_gladen_rate():
    result = rates(units([[20, 3], [4, 20]], [40, 40]), classes=["a", "b", "z"])
    found = result.frame.set_index(["class", "method"])["estimate"]
    assert np.isnan(found["z", "rogan_gladen"])
    assert np.isnan(found["a", "rogan_gladen"])
    assert found["z", "human"] == 0
    assert any("People gave no unit the label z" in note for note in result.notes)


def test_clusters_of_one_unit_change_nothing_and_copies_do_not_add_information():
    table = units([[30, 6], [4, 20]], [70, 50])
    own = rates(table).frame
    alone = rates(table.assign(topic=range(len(table))), cluster="topic").frame
    twice = pd.concat([table.assign(topic=range(len(table)))] * 2)
    copied = rates(twice, cluster="topic").frame
    n = len(table)
    np.testing.assert_allclose(alone["std_error"], own["std_error"])
    np.testing.assert_allclose(copied["std_error"], own["std_error"] * np.sqrt(n / (n - 1)), rtol=2e-4)


def test_groups_are_estimated_on_their_own():
    one, two = units([[30, 6], [4, 20]], [70, 50]), units([[12, 3], [2, 9]], [10, 50])
    both = rates(pd.concat([one.assign(task="x"), two.assign(task="y")]), by="task")
    numbers = ["estimate", "std_error", "lower", "upper", "n_labelled", "n_unlabelled"]
    for name, table in (("x", one), ("y", two)):
        part = both.frame[both.frame["task"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(part[numbers], rates(table).frame[numbers])


def test_a_calibration_set_is_divided_where_the_variance_is_least():
    rate, sensitivity, specificity = 0.2, 0.7, 0.95
    best = min(
        range(1, 200),
        key=lambda m0: (
            (1 - rate) ** 2 * specificity * (1 - specificity) / m0
            + rate**2 * sensitivity * (1 - sensitivity) / (200 - m0)
        ),
    )
    assert calibration_split(200, rate, sensitivity, specificity) == (best, 200 - best)
    assert calibration_split(10, 0.5, 1, 1) == (5, 5)
    assert calibration_split(10, 0, 0.9, 0.9) == (9, 1)
    with pytest.raises(InputError, match=r"rate is 1\.5"):
        calibration_split(10, 1.5, 0.9, 0.9)


def rare(positive: int) -> pd.DataFrame:
    """Sixty labelled units, of which some are of a rare class that the judge finds in 100 of 2,000 others."""
    return pd.DataFrame(
        {
            "label": ["ok"] * (60 - positive) + ["harm"] * positive + [None] * 2000,
            "judged": ["ok"] * 58 + ["harm"] * 2 + ["ok"] * 1900 + ["harm"] * 100,
        }
    )


@pytest.mark.parametrize("positive", [0, 1, 2])
def test_a_class_that_hardly_any_label_shows_has_a_wide_interval_by_every_method(positive):
    found = by_method(rates(rare(positive), classes=["ok", "harm"]), "harm")
    for method in ("human", "efficient", "mle"):
        lower, upper, error = found.loc[method, ["lower", "upper", "std_error"]]
        assert lower <= 0.0085, method
        assert upper > 0.05, method  # the upper limit of 0 of 60 is 0.06
        assert (error > 0) if positive else np.isnan(error), method
    opposite = by_method(rates(rare(positive), classes=["ok", "harm"]), "ok")
    assert opposite["lower"]["mle"] == pytest.approx(1 - found["upper"]["mle"], abs=1e-12)


def test_a_note_says_where_people_labelled_by_the_judges_label_and_what_holds_then():
    notes = " ".join(rates(rare(2)).notes)
    assert "label harm to 2 units" in notes
    assert "no random sample" not in notes
    random = np.random.default_rng(1)
    label = random.choice(["a", "b"], 2000)
    judged = np.where(random.random(2000) < 0.8, label, np.where(label == "a", "b", "a"))
    chosen = random.random(2000) < np.where(judged == "a", 0.2, 0.05)
    table = pd.DataFrame({"label": np.where(chosen, label, None), "judged": judged})
    found = rates(table)
    assert "labelled units are no random sample of all" in " ".join(found.notes)
    assert abs(by_method(found, "a")["estimate"]["mle"] - (label == "a").mean()) < 0.05


def test_labels_of_several_people_are_those_of_one_where_they_are_equal():
    table = rare(2)
    both = rates(table.assign(other=table["label"]), gold=["label", "other"]).frame
    pd.testing.assert_frame_equal(both, rates(table).frame)


def test_clusters_of_labelled_units_widen_intervals_and_a_single_one_gives_none():
    table = pd.concat([rare(2).head(60)] * 2 + [rare(2).tail(600)], ignore_index=True)
    apart = by_method(rates(table), "harm")
    together = by_method(
        rates(table.assign(c=[*range(60), *range(60), *range(60, 660)]), cluster="c"), "harm"
    )
    for method in ("human", "efficient", "mle"):
        widths = [one["upper"][method] - one["lower"][method] for one in (apart, together)]
        assert widths[1] > 1.03 * widths[0], method
    unequal = rates(table.assign(c=[*[0] * 100, *range(20), *range(60, 660)]), cluster="c")
    assert any("weigh as 1." in note for note in unequal.notes)
    lone = by_method(rates(table.assign(c=[0] * 120 + [*range(1, 601)]), cluster="c"), "harm")
    assert lone.loc[["human", "efficient", "mle"], ["lower", "upper"]].isna().all(axis=None)


def test_units_that_are_there_twice_are_refused():
    table = rare(2).reset_index(names="id")
    rates(table)
    with pytest.raises(InputError, match="repeats an earlier row in every column"):
        rates(pd.concat([table, table]))


@pytest.mark.parametrize("rest", [["a"] * 40, ["a"] * 39 + ["c"], ["a"] * 36 + ["c"] * 4, ["b"] * 40])
@pytest.mark.parametrize("given", [["a"] * 5 + ["b"], ["a"] * 6, ["c"] * 5 + ["b"]])
def test_efficient_rates_and_their_limits_stay_from_0_to_1(given: list[str], rest: list[str]) -> None:
    table = pd.DataFrame({"label": ["a"] * 5 + ["b"] + [None] * 40, "judged": given + rest})
    found = rates(table).frame.set_index(["method", "class"]).loc["efficient"]
    numbers = found[["estimate", "lower", "upper"]].astype(float)
    assert found["estimate"].sum() == pytest.approx(1)
    assert ((numbers >= -1e-12) & (numbers <= 1 + 1e-12)).all(axis=None)
    assert (numbers["lower"] <= numbers["estimate"]).all()
    assert (numbers["estimate"] <= numbers["upper"]).all()
