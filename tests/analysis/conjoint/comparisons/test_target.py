"""Population AMCEs and means against exact values of a small design, and what they refuse."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import refusals
from scipy.special import expit

from conjury.analysis.conjoint import amce, amce_diffs, contrast, mm, pamce, pmm, target_sensitivity, wald
from conjury.analysis.conjoint.comparisons.target_weights import target_weights
from conjury.inference.errors import InputError

FORMULA = "chosen ~ a + b + c"
LEVELS = {"a": list("xyz"), "b": list("uv"), "c": list("pq")}
PROFILES = list(itertools.product(*LEVELS.values()))
TARGET = {"b": {"u": 0.9, "v": 0.1}, "c": {"p": 0.3, "q": 0.7}}
JOINT = pd.DataFrame({"b": list("uuvv"), "c": list("pqpq"), "probability": [0.5, 0.1, 0.1, 0.3]})
UNIFORM = {name: dict.fromkeys(own, 1 / len(own)) for name, own in LEVELS.items()}
NUMBERS = ["estimate", "std_error", "z", "p", "lower", "upper"]


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


def pairs_of(one: np.ndarray, other: np.ndarray, random: np.random.Generator | None = None) -> pd.DataFrame:
    """Pairs of profiles with their probabilities as outcome, or with choices drawn from these."""
    rows: list[tuple[object, ...]] = []
    for number, (i, j) in enumerate(zip(one, other, strict=True)):
        first = probability(PROFILES[i], PROFILES[j])
        first = first if random is None else int(random.random() < first)
        rows += [(number, "A", *PROFILES[i], first), (number, "B", *PROFILES[j], 1 - first)]
    return typed(rows)


EVERY_PAIR = pairs_of(*np.indices((len(PROFILES),) * 2).reshape(2, -1))  # a uniform design without noise


def drawn(pairs: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pairs_of(*random.integers(0, len(PROFILES), (pairs, 2)).T, random)


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


def estimates(result: Any) -> pd.Series:
    return result.frame.set_index(["feature", "level"])["estimate"]


@pytest.mark.parametrize("opponent", [True, False])
def test_population_means_equal_the_enumerated_ones(opponent: bool) -> None:
    found = pmm(EVERY_PAIR, FORMULA, TARGET, opponent=opponent)
    for (feature, level), value in estimates(found).items():
        assert value == pytest.approx(true_mean(feature, level, opponent=opponent), abs=1e-12)
    assert set(found.frame["statistic"]) == {"pmm"}


@pytest.mark.long
@pytest.mark.parametrize("joint", [False, True])
def test_population_amces_equal_the_enumerated_ones_and_depend_on_the_target(joint: bool) -> None:
    found = estimates(pamce(EVERY_PAIR, FORMULA, JOINT if joint else TARGET))
    for (feature, level), value in found.items():
        expected = true_mean(feature, level, joint=joint) - true_mean(
            feature, LEVELS[feature][0], joint=joint
        )
        assert value == pytest.approx(expected, abs=1e-12)
    plain = estimates(amce(EVERY_PAIR, FORMULA, id="pair_id"))
    assert abs(plain["a", "y"] - found["a", "y"]) > (0.008 if joint else 0.02)


def test_the_designs_own_distribution_changes_nothing() -> None:
    data = drawn(400, 1)
    options = {"design": UNIFORM, "id": "pair_id"}
    found, plain = pamce(data, FORMULA, UNIFORM, **options), amce(data, FORMULA, id="pair_id")
    np.testing.assert_allclose(found.frame[NUMBERS], plain.frame[NUMBERS], rtol=1e-9)
    np.testing.assert_allclose(found.vcov, plain.vcov, atol=1e-14)
    weights = target_weights(data, [*"abc"], "uniform", design=UNIFORM).weight
    np.testing.assert_allclose(weights, 1)
    means, plain = pmm(data, FORMULA, UNIFORM, **options).frame, mm(data, FORMULA, id="pair_id").frame
    np.testing.assert_allclose(means[NUMBERS], plain[NUMBERS], rtol=1e-9)
    assert (found.provenance.n_rows, found.provenance.n_used) == (800, 800)


def test_sensitivity_is_the_difference_of_both_fits_with_their_covariance() -> None:
    data = drawn(500, 2)
    found = target_sensitivity(data, FORMULA, TARGET, id="pair_id")
    weights = target_weights(data, ["a", "b", "c"], TARGET).weight[:, 0]
    stacked = pd.concat([data.assign(w=1.0, under="1 design"), data.assign(w=weights, under="2 target")])
    expected = amce_diffs(stacked, FORMULA, "under", id="pair_id", weights="w").frame
    ours, theirs = (frame[frame["feature"] == "a"] for frame in (found.frame, expected))
    np.testing.assert_allclose(ours["estimate"], theirs["estimate"], atol=1e-12)
    np.testing.assert_allclose(ours["std_error"], theirs["std_error"], rtol=1e-10)
    joint = wald(found, each=()).frame.iloc[0]
    assert (joint["tested"], joint["df"]) == (4, 4)


def test_population_means_are_tested_for_equality() -> None:
    means, effects = (wald(estimate(drawn(300, 10), FORMULA, TARGET)).frame for estimate in (pmm, pamce))
    assert means["tested"].tolist() == effects["tested"].tolist() == [2, 1, 1]
    assert means["chi2"].iloc[1] == pytest.approx(effects["chi2"].iloc[1], rel=0.1)


def test_groups_have_the_weights_of_all_rows() -> None:
    data = pd.concat([drawn(200, 4).assign(judge="m1"), drawn(200, 5).assign(judge="m2")], ignore_index=True)
    options: dict[str, Any] = {"id": "pair_id", "design": UNIFORM}
    found = pamce(data, FORMULA, TARGET, pair=["judge", "pair_id"], by="judge", **options).frame
    first = pamce(data[data["judge"] == "m1"], FORMULA, TARGET, **options).frame
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


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "pamce"))
def test_a_target_that_cannot_be_reached_is_refused(match, columns, options) -> None:
    with pytest.raises(InputError, match=match):
        pamce(**{"data": drawn(50, 7), "formula": FORMULA, "target": TARGET, **options})


def test_data_without_the_profiles_of_the_target_are_refused() -> None:
    data = drawn(50, 7).query("c == 'q'")
    with pytest.raises(InputError, match="No row has a profile that occurs in the target"):
        target_weights(data, ["a", "c"], {"c": {"p": 1.0}}, opponent=False, design=UNIFORM)


def test_opponents_need_their_choices() -> None:
    with pytest.raises(InputError, match="opponent=False"):
        pamce(drawn(50, 8).drop(columns="pair_id"), FORMULA, TARGET)


def test_rows_without_a_choice_are_clusters_of_their_own() -> None:
    data = drawn(200, 9)
    found = pamce(data, FORMULA, TARGET, opponent=False)
    weight = target_weights(data, ["a"], TARGET, opponent=False).weight[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = amce(data.assign(w=weight), FORMULA, weights="w").frame
    ours, theirs = (frame.query("feature == 'a'")["std_error"] for frame in (found.frame, plain))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert found.provenance.id is None


def test_choices_that_several_columns_identify_are_the_clusters() -> None:
    data = pd.concat([drawn(150, 4).assign(prompt_id=1), drawn(150, 5).assign(prompt_id=2)])
    both = data.assign(choice=1000 * data["prompt_id"] + data["pair_id"]).reset_index(drop=True)
    for estimate in (pamce, target_sensitivity):
        found, same = (estimate(both, FORMULA, TARGET, pair=p) for p in (["prompt_id", "pair_id"], "choice"))
        pd.testing.assert_frame_equal(found.frame, same.frame)
        assert (found.provenance.id, found.provenance.n_clusters) == ("prompt_id x pair_id", 300)


def test_weights_to_compare_with_are_a_distribution_or_the_design() -> None:
    with pytest.raises(InputError):
        target_sensitivity(drawn(30, 1), FORMULA, TARGET, against="designs")


@pytest.mark.parametrize("estimate", [pamce, target_sensitivity])
def test_contrasts_under_a_target_equal_those_with_that_reference(estimate: Any) -> None:
    data = drawn(300, 11)
    fit = estimate(data, FORMULA, TARGET)
    found = contrast(fit, "a", "z", "y").frame.iloc[0]
    refit = estimate(data, FORMULA, TARGET, reference={"a": "y"}).frame.query("level == 'z'").iloc[0]
    assert found["statistic"] == refit["statistic"]
    columns = ["estimate", "std_error", "p"]
    np.testing.assert_allclose(found[columns].astype(float), refit[columns].astype(float), rtol=1e-8)
    assert contrast(fit, "a").frame["reference"].tolist() == ["x", "x", "y"]
