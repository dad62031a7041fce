"""Population AMCEs and means against exact values of a small design, and what they refuse."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from conjury.analysis.conjoint import amce, amce_diffs, contrast, mm, pamce, pmm, target_sensitivity, wald
from conjury.analysis.conjoint.comparisons.target_weights import target_weights
from conjury.inference.errors import InputError

FORMULA = "chosen ~ a + b + c"
LEVELS = {"a": list("xyz"), "b": list("uv"), "c": list("pq")}
PROFILES = list(itertools.product(*LEVELS.values()))
TARGET = {"b": {"u": 0.9, "v": 0.1}, "c": {"p": 0.3, "q": 0.7}}
JOINT = pd.DataFrame({"b": list("uuvv"), "c": list("pqpq"), "probability": [0.5, 0.1, 0.1, 0.3]})


def utility(profile: tuple[str, ...]) -> float:
    a, b, c = profile
    return 0.5 * (a == "y") - 0.3 * (a == "z") + 0.8 * (b == "v") + 1.1 * (a == "y") * (b == "v") * (c == "q")


def probability(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Of choosing one profile over the other; not a function of the difference in utilities alone."""
    shift = 0.6 * (one[1] == other[1]) * (one[2] == "q") - 0.6 * (one[1] == other[1]) * (other[2] == "q")
    return float(expit(utility(one) - utility(other) + shift))


def typed(rows: list[tuple[object, ...]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["pair_id", "position", "a", "b", "c", "chosen"])
    return frame.assign(**{name: pd.Categorical(frame[name], own) for name, own in LEVELS.items()})


def every_pair() -> pd.DataFrame:
    """Every pair of profiles once, with its probability as outcome: a uniform design without noise."""
    rows: list[tuple[object, ...]] = []
    for number, (one, other) in enumerate(itertools.product(PROFILES, repeat=2)):
        rows.append((number, "A", *one, probability(one, other)))
        rows.append((number, "B", *other, probability(other, one)))
    return typed(rows)


def drawn(pairs: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    rows: list[tuple[object, ...]] = []
    for number, (i, j) in enumerate(random.integers(0, len(PROFILES), (pairs, 2))):
        one, other = PROFILES[i], PROFILES[j]
        first = int(random.random() < probability(one, other))
        rows.append((number, "A", *one, first))
        rows.append((number, "B", *other, 1 - first))
    return typed(rows)


def share(profile: tuple[str, ...], skip: str | None = None, joint: bool = False) -> float:
    """Probability of a profile in the target, its attributes but one."""
    found = 1.0
    shown = dict(zip(LEVELS, profile, strict=True))
    for name, level in shown.items():
        if name == skip:
            continue
        if name == "a":
            found /= 3
        elif not joint:
            found *= TARGET[name][level]
    if joint:
        own = JOINT
        for name in ("b", "c"):
            if name != skip:
                own = own[own[name] == shown[name]]
        found *= float(own["probability"].sum())
    return found


def true_mean(feature: str, level: str, *, opponent: bool = True, joint: bool = False) -> float:
    total = weight = 0.0
    for one in PROFILES:
        if dict(zip(LEVELS, one, strict=True))[feature] != level:
            continue
        for other in PROFILES:
            w = share(one, feature, joint) * (share(other, None, joint) if opponent else 1.0)
            total, weight = total + w * probability(one, other), weight + w
    return total / weight


@pytest.mark.parametrize("opponent", [True, False])
def test_population_means_equal_the_enumerated_ones(opponent: bool) -> None:
    found = pmm(every_pair(), FORMULA, TARGET, opponent=opponent).frame
    for row in found.itertuples():
        expected = true_mean(row.feature, row.level, opponent=opponent)
        assert row.estimate == pytest.approx(expected, abs=1e-12)
    assert set(found["statistic"]) == {"pmm"}


@pytest.mark.parametrize("joint", [False, True])
def test_population_amces_equal_the_enumerated_ones(joint: bool) -> None:
    target = JOINT if joint else TARGET
    found = pamce(every_pair(), FORMULA, target).frame.set_index(["feature", "level"])["estimate"]
    for feature, levels in LEVELS.items():
        base = true_mean(feature, levels[0], joint=joint)
        for level in levels:
            expected = true_mean(feature, level, joint=joint) - base
            assert found[feature, level] == pytest.approx(expected, abs=1e-12)


def test_the_target_moves_an_effect_that_depends_on_the_others() -> None:
    data = every_pair()
    plain = amce(data, FORMULA, id="pair_id").frame.set_index(["feature", "level"])["estimate"]
    moved = pamce(data, FORMULA, TARGET).frame.set_index(["feature", "level"])["estimate"]
    assert abs(plain["a", "y"] - moved["a", "y"]) > 0.02


def test_the_designs_own_distribution_changes_nothing() -> None:
    data = drawn(400, 1)
    uniform = {name: dict.fromkeys(own, 1 / len(own)) for name, own in LEVELS.items()}
    found = pamce(data, FORMULA, uniform, design=uniform, id="pair_id")
    plain = amce(data, FORMULA, id="pair_id")
    columns = ["estimate", "std_error", "z", "p", "lower", "upper"]
    np.testing.assert_allclose(found.frame[columns], plain.frame[columns], rtol=1e-9)
    assert found.vcov is not None
    assert plain.vcov is not None
    np.testing.assert_allclose(found.vcov, plain.vcov, atol=1e-14)
    means = pmm(data, FORMULA, uniform, design=uniform, id="pair_id").frame
    np.testing.assert_allclose(means[columns], mm(data, FORMULA, id="pair_id").frame[columns], rtol=1e-9)
    assert (found.provenance.n_rows, found.provenance.n_used) == (800, 800)


@pytest.mark.long
def test_intervals_cover_the_enumerated_effect() -> None:
    truth = true_mean("a", "y") - true_mean("a", "x")
    inside = 0
    for seed in range(40):
        row = pamce(drawn(300, seed), FORMULA, TARGET).frame.query("feature == 'a' and level == 'y'").iloc[0]
        inside += row["lower"] < truth < row["upper"]
    assert 34 <= inside <= 40


def test_sensitivity_is_the_difference_of_both_fits_with_their_covariance() -> None:
    data = drawn(500, 2)
    found = target_sensitivity(data, FORMULA, TARGET, id="pair_id")
    weights = target_weights(data, ["a", "b", "c"], TARGET)
    stacked = pd.concat(
        [data.assign(w=1.0, under="1 design"), data.assign(w=weights.weight[:, 0], under="2 target")]
    )
    expected = amce_diffs(stacked, FORMULA, "under", id="pair_id", weights="w").frame
    ours = found.frame[found.frame["feature"] == "a"]
    theirs = expected[expected["feature"] == "a"]
    np.testing.assert_allclose(ours["estimate"], theirs["estimate"], atol=1e-12)
    np.testing.assert_allclose(ours["std_error"], theirs["std_error"], rtol=1e-10)
    joint = wald(found, each=()).frame.iloc[0]
    assert (joint["tested"], joint["df"]) == (4, 4)


@pytest.mark.long
def test_sensitivity_keeps_its_size_where_effects_do_not_interact() -> None:
    random = np.random.default_rng(3)
    rejected = 0
    for _ in range(40):
        data = pd.DataFrame({name: pd.Categorical(random.choice(own, 400)) for name, own in LEVELS.items()})
        data["chosen"] = 0.2 * (data["a"] == "y") - 0.3 * (data["b"] == "v") + random.normal(size=400)
        found = target_sensitivity(data, FORMULA, TARGET, opponent=False)
        rejected += wald(found, each=()).frame["p"].iloc[0] < 0.05
    assert rejected <= 7


def test_population_means_are_tested_for_equality() -> None:
    data = drawn(300, 10)
    means, effects = (wald(estimate(data, FORMULA, TARGET)).frame for estimate in (pmm, pamce))
    assert means["tested"].tolist() == effects["tested"].tolist() == [2, 1, 1]
    assert means["chi2"].iloc[1] == pytest.approx(effects["chi2"].iloc[1], rel=0.1)


def test_groups_have_the_weights_of_all_rows() -> None:
    data = pd.concat([drawn(200, 4).assign(judge="m1"), drawn(200, 5).assign(judge="m2")], ignore_index=True)
    pair = ["judge", "pair_id"]
    uniform = {name: dict.fromkeys(own, 1 / len(own)) for name, own in LEVELS.items()}
    found = pamce(data, FORMULA, TARGET, pair=pair, id="pair_id", by="judge", design=uniform).frame
    first = pamce(data[data["judge"] == "m1"], FORMULA, TARGET, id="pair_id", design=uniform).frame
    own = found[found["judge"] == "m1"]
    np.testing.assert_allclose(own["estimate"], first["estimate"], atol=1e-12)
    np.testing.assert_allclose(own["std_error"], first["std_error"], rtol=1e-9)
    assert list(found["by"].unique()) == ["m1", "m2"]


@pytest.mark.filterwarnings("ignore:Few clusters")
def test_effective_sizes_are_those_of_kish_and_few_rows_are_warned_of() -> None:
    data = drawn(300, 6)
    made = target_weights(data, ["a"], TARGET, opponent=False)
    w = made.weight[:, 0]
    assert made.table["effective"].iloc[0] == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert made.table["largest"].iloc[0] == pytest.approx(w.max() / w.mean())
    extreme = {"b": {"u": 0.98, "v": 0.02}, "c": {"p": 1.0}, "a": {"z": 1.0}}
    with pytest.warns(UserWarning, match="effective for"):
        found = pamce(data, FORMULA, extreme)
    assert found.provenance.extra["target_weights"][0]["share"] < 0.2


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ({"b": {"u": 0.5, "w": 0.5}}, {}, "no level of 'b'"),
        ({"b": {"u": 0.5, "v": 0.6}}, {}, "sum to 1.1"),
        ({"d": {"u": 1.0}}, {}, "no column 'd'"),
        ({}, {}, "target is empty"),
        ("even", {}, "or 'uniform'"),
        (TARGET, {"pair": "a"}, "rows by 'a', not two"),
        (TARGET, {"design": {"b": {"u": 0.5, "v": 0.5}}}, "design lacks the attribute 'c'"),
        (TARGET, {"design": {"b": {"u": 1.0}, "c": {"p": 0.5, "q": 0.5}}}, "b=v a positive probability"),
        (TARGET, {"engine": "statsmodels"}, "native engine"),
    ],
)
def test_a_target_that_cannot_be_reached_is_refused(
    target: object, options: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        pamce(drawn(50, 7), FORMULA, target, **options)  # type: ignore[arg-type]


def test_opponents_need_a_pair_and_restrictions_are_refused() -> None:
    data = drawn(50, 8)
    with pytest.raises(InputError, match="opponent=False"):
        pamce(data.drop(columns="pair_id"), FORMULA, TARGET)
    with pytest.raises(InputError, match="drawn independently"):
        pamce(data, "chosen ~ a * b + c", TARGET)


def test_rows_without_a_choice_are_clusters_of_their_own() -> None:
    data = drawn(200, 9)
    found = pamce(data, FORMULA, TARGET, opponent=False)
    weight = target_weights(data, ["a"], TARGET, opponent=False).weight[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = amce(data.assign(w=weight), FORMULA, weights="w").frame
    np.testing.assert_allclose(
        found.frame.query("feature == 'a'")["std_error"],
        plain.query("feature == 'a'")["std_error"],
        rtol=1e-9,
    )
    assert found.provenance.id is None


def test_choices_that_several_columns_identify_are_the_clusters() -> None:
    data = pd.concat([drawn(150, 4).assign(prompt_id=1), drawn(150, 5).assign(prompt_id=2)])
    both = data.assign(choice=1000 * data["prompt_id"] + data["pair_id"]).reset_index(drop=True)
    pair = ["prompt_id", "pair_id"]
    found = pamce(both, FORMULA, TARGET, pair=pair)
    expected = pamce(both, FORMULA, TARGET, pair="choice")
    pd.testing.assert_frame_equal(found.frame, expected.frame)
    assert (found.provenance.id, found.provenance.n_clusters) == ("prompt_id x pair_id", 300)
    one, other = (target_sensitivity(both, FORMULA, TARGET, pair=own) for own in (pair, "choice"))
    pd.testing.assert_frame_equal(one.frame, other.frame)


@pytest.mark.parametrize("estimate", [pamce, target_sensitivity])
def test_contrasts_under_a_target_equal_those_with_that_reference(estimate: Any) -> None:
    data = drawn(300, 11)
    found = contrast(estimate(data, FORMULA, TARGET), "a", "z", "y").frame.iloc[0]
    refit = estimate(data, FORMULA, TARGET, reference={"a": "y"}).frame.query("level == 'z'").iloc[0]
    assert found["statistic"] == refit["statistic"]
    columns = ["estimate", "std_error", "p"]
    np.testing.assert_allclose(found[columns].astype(float), refit[columns].astype(float), rtol=1e-8)
    every = contrast(estimate(data, FORMULA, TARGET), "a").frame
    assert every["reference"].tolist() == ["x", "x", "y"]
