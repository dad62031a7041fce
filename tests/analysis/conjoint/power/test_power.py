"""Closed forms of power: equal to cjpowR, to the noncentral t, and to forced choices drawn at random."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import nct, norm, t

from conjury.analysis.conjoint import power
from conjury.analysis.conjoint.power.model import operating
from conjury.analysis.figures import alt, save
from conjury.inference.errors import InputError
from conjury.inference.study import load_study

TABLES = Path(__file__).parents[3] / "fixtures" / "cjpowr"
EXACT = 1e-8


def answers(table: pd.DataFrame, **columns: str) -> pd.DataFrame:
    """Ask for each row of a table of cjpowR; ``columns`` maps our arguments to its columns."""
    frames = []
    for row in table.to_dict("records"):
        given: dict[str, Any] = {ours: row[theirs] for ours, theirs in columns.items()}
        if "by" in given:
            given["by"] = int(given["by"])
        frames.append(power(int(row["levels"]), alpha=row["alpha"], convention="cjpowr", **given).frame)
    return pd.concat(frames, ignore_index=True)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("amce_n", {"amce": "amce", "power": "power"}),
        ("amce_power", {"amce": "amce", "profiles": "n"}),
        ("amcie_n", {"interaction": "interaction", "by": "other_levels", "power": "power"}),
        ("amcie_power", {"interaction": "interaction", "by": "other_levels", "profiles": "n"}),
    ],
)
def test_sizes_and_powers_equal_those_of_cjpowr(name: str, columns: dict[str, str]) -> None:
    theirs = pd.read_csv(TABLES / f"{name}.csv")
    ours = answers(theirs, **columns)
    if "n" not in columns.values():
        np.testing.assert_allclose(ours["profiles"], theirs["n"], rtol=EXACT)
    else:
        np.testing.assert_allclose(ours["power"], theirs["power"], rtol=EXACT)
    np.testing.assert_allclose(ours["type_s"], theirs["type_s"], rtol=1e-8, atol=1e-16)
    np.testing.assert_allclose(ours["type_m"], theirs["type_m"], rtol=0.01)


def test_the_three_questions_answer_each_other() -> None:
    design: dict[str, int | dict[str, float]] = {"topic": 5, "tone": {"kind": 0.7, "rude": 0.3}}
    size = power(design, amce=0.03, power=0.8, tasks=12, icc=0.05).frame
    for row in size.to_dict("records"):
        again = power({"x": design[row["feature"]]}, amce=0.03, pairs=row["pairs"], tasks=12, icc=0.05).frame
        effect = power({"x": design[row["feature"]]}, power=0.8, pairs=row["pairs"], tasks=12, icc=0.05).frame
        assert again["power"].item() == pytest.approx(0.8, abs=1e-10)
        assert effect["effect"].item() == pytest.approx(0.03, abs=1e-10)


def test_power_of_few_clusters_is_that_of_the_noncentral_t() -> None:
    z, df = np.array([0.3, 1.0, 2.8]), np.array([1.0, 4.0, 30.0])
    found = operating(z, np.ones(3), 0.05, df)
    critical = t.isf(0.025, df)
    np.testing.assert_allclose(found.power, nct.sf(critical, df, z) + nct.cdf(-critical, df, z), atol=1e-10)


def test_type_m_is_the_mean_of_significant_estimates() -> None:
    rng = np.random.default_rng(3)
    for df in (6.0, np.inf):
        found = operating(np.array([1.5]), np.array([1.0]), 0.05, np.array([df]))
        estimate = 1.5 + rng.standard_normal(400_000)
        error = np.sqrt(rng.chisquare(df, 400_000) / df) if np.isfinite(df) else 1.0
        critical = t.isf(0.025, df) if np.isfinite(df) else norm.isf(0.025)
        significant = np.abs(estimate) > critical * error
        assert found.type_m[0] == pytest.approx(np.abs(estimate[significant]).mean() / 1.5, rel=0.01)
        assert found.type_s[0] == pytest.approx((estimate[significant] < 0).mean(), rel=0.15)


def drawn_choices(
    rng: np.random.Generator, share: float, effect: np.ndarray, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Levels (..., 2) and choices of A (...) of pairs whose first level wins by ``effect``."""
    level = rng.random((*shape, 2)) < share
    chance = 0.5 + effect * (level[..., 0].astype(float) - level[..., 1])
    return level, rng.random(shape) < chance


def mean_differences(level: np.ndarray, first: np.ndarray) -> np.ndarray:
    """AMCEs of studies along the first axis."""
    chosen = np.stack([first, 1 - first], axis=-1).reshape(len(first), -1)
    level = level.reshape(len(level), -1)
    counts = level.sum(axis=1)
    with_level: np.ndarray = (chosen * level).sum(axis=1) / counts
    without: np.ndarray = (chosen * ~level).sum(axis=1) / (~level).sum(axis=1)
    difference: np.ndarray = with_level - without
    return difference


def test_the_variance_of_forced_choices_is_that_of_pairs_and_not_of_rows() -> None:
    level, first = drawn_choices(np.random.default_rng(1), 0.5, np.array(0.4), (6000, 200))
    drawn = mean_differences(level, first.astype(float)).std()
    pairs = power(2, amce=0.4, pairs=200).frame["std_error"].item()
    rows = power(2, amce=0.4, pairs=200, convention="cjpowr").frame["std_error"].item()
    assert drawn == pytest.approx(pairs, rel=0.03)
    assert rows > 1.08 * drawn


def test_respondents_whose_effects_differ_add_the_variance_that_effect_sd_states() -> None:
    rng = np.random.default_rng(2)
    own = 0.1 + 0.2 * rng.choice([-1.0, 1.0], (6000, 20, 1))
    level, first = drawn_choices(rng, 0.3, own, (6000, 20, 10))
    drawn = mean_differences(level, first.astype(float)).std()
    design = {"tone": [0.7, 0.3]}
    found = power(design, amce=0.1, respondents=20, tasks=10, effect_sd=0.2).frame
    alone = power(design, amce=0.1, respondents=20, tasks=10).frame
    assert drawn == pytest.approx(found["std_error"].item(), rel=0.03)
    assert drawn > 1.2 * alone["std_error"].item()
    assert found["df"].item() == 19


def test_an_icc_is_a_design_effect() -> None:
    plain = power(3, amce=0.05, respondents=100, tasks=9).frame["std_error"].item()
    clustered = power(3, amce=0.05, respondents=100, tasks=9, icc=0.25).frame["std_error"].item()
    assert clustered == pytest.approx(plain * np.sqrt(1 + 8 * 0.25))


def test_stimuli_add_the_variance_that_no_number_of_pairs_removes() -> None:
    rng = np.random.default_rng(4)
    studies, pairs, k = 4000, 300, 4
    stimulus = rng.integers(2 * k, size=(studies, pairs, 2))
    own = 0.1 * rng.choice([-1.0, 1.0], (studies, 2 * k))
    pull = np.take_along_axis(own[:, None, :], stimulus, axis=2)
    level = stimulus >= k
    chance = 0.5 + 0.1 * (level[..., 0].astype(float) - level[..., 1]) + pull[..., 0] - pull[..., 1]
    drawn = mean_differences(level, (rng.random((studies, pairs)) < chance).astype(float)).std()
    found = power(2, amce=0.1, pairs=300, stimuli=k, stimulus_sd=0.1)
    assert drawn == pytest.approx(found.frame["std_error"].item(), rel=0.05)
    large = power(2, amce=0.1, pairs=1e9, stimuli=k, stimulus_sd=0.1).frame
    assert large["std_error"].item() == pytest.approx(np.sqrt(2 * 0.01 / k), rel=1e-6)
    assert large["df"].item() == pytest.approx(2 * k - 2, rel=1e-6)
    assert large["power"].item() == pytest.approx(found.frame["power_limit"].item(), abs=1e-6)
    assert found.frame["power_limit"].item() < 0.5


def test_the_limit_that_stimuli_set_is_told_in_words() -> None:
    study = load_study("moderation")
    found = power(study, amce=0.02, power=0.8, stimulus_sd={"topic": 0.03}, features=["topic", "reply"])
    assert np.isinf(found.frame.loc[found.frame["feature"] == "topic", "pairs"]).all()
    assert np.isfinite(found.frame.loc[found.frame["feature"] == "reply", "pairs"]).all()
    assert len(found.notes) == 1
    assert found.notes[0].startswith("No number of pairs brings the power for topic above 0.29 at an effect")
    assert "10 stimuli a level; add stimuli" in found.notes[0]
    impossible = power(2, pairs=1000, power=0.8, stimuli=2, stimulus_sd=0.3)
    assert "No possible effect reaches this power for attribute" in impossible.notes[-1]


def test_a_study_gives_its_probabilities_and_stimuli() -> None:
    study = load_study("moderation")
    found = power(study, amce=0.02, pairs=30_000).frame.set_index(["feature", "level"])
    assert found.loc[("speech", "slur"), "n_level"] == pytest.approx(60_000 * 6 / 7)
    assert found.loc[("speech", "slur"), "n_reference"] == pytest.approx(60_000 / 7)
    assert found.loc[("topic", "work"), "power"] == pytest.approx(
        power(5, amce=0.02, pairs=30_000).frame["power"].item()
    )
    assert len(found) == 6 + 4 + 4 + 2 + 1 + 1 + 1


def test_unequal_probabilities_cost_power() -> None:
    equal = power({"a": [0.5, 0.5]}, amce=0.03, power=0.8).frame["pairs"].item()
    unequal = power({"a": [0.9, 0.1]}, amce=0.03, power=0.8).frame["pairs"].item()
    assert unequal / equal == pytest.approx((1 / 0.9 + 1 / 0.1) / 4, rel=0.02)


def test_response_error_shrinks_the_observed_effect() -> None:
    reliability = 0.8**2 + 0.2**2
    noisy = power(2, amce=0.1, pairs=500, reliability=reliability).frame
    assert noisy["observed_effect"].item() == pytest.approx(0.06)
    clean = power(2, amce=0.06, pairs=500).frame
    assert noisy["power"].item() == pytest.approx(clean["power"].item())


def test_the_corrected_effect_has_the_error_of_its_two_estimates() -> None:
    rng = np.random.default_rng(5)
    studies, respondents, tasks, flip = 3000, 300, 3, 0.15
    level, first = drawn_choices(rng, 0.5, np.array(0.3), (studies, respondents * tasks))
    observed = mean_differences(level, (first ^ (rng.random(first.shape) < flip)).astype(float))
    same = rng.binomial(respondents, flip**2 + (1 - flip) ** 2, studies) / respondents
    corrected = observed / np.sqrt(2 * same - 1)
    reliability = flip**2 + (1 - flip) ** 2
    found = power(
        2, amce=0.3, respondents=300, tasks=3, reliability=reliability, repeats=1, estimand="corrected"
    ).frame
    known = power(2, amce=0.3, respondents=300, tasks=3, reliability=reliability, estimand="corrected")
    assert corrected.std() == pytest.approx(found["std_error"].item(), rel=0.05)
    assert found["std_error"].item() > 1.05 * known.frame["std_error"].item()
    assert "counts as known" in known.notes[0]


def test_repeats_and_samples_count_among_the_pairs_shown() -> None:
    found = power(
        4, amce=0.05, power=0.8, tasks=8, reliability=0.8, repeats=1, estimand="corrected"
    ).frame.iloc[0]
    assert found["tasks_shown"] == 9
    assert found["pairs_shown"] == pytest.approx(9 * found["respondents"])
    assert found["pairs"] == pytest.approx(8 * found["respondents"])
    asked = power(2, amce=0.05, pairs=1000, samples=3, noise=0.2).frame.iloc[0]
    assert asked["pairs_shown"] == 3000
    assert np.isnan(asked["tasks_shown"])


def test_repeats_that_no_estimate_uses_are_told() -> None:
    given: dict[str, Any] = {"amce": 0.05, "pairs": 800, "tasks": 8, "reliability": 0.8}
    idle = power(2, **given, repeats=1)
    assert idle.frame["power"].equals(power(2, **given).frame["power"])
    assert "only corrected ones use repeats" in idle.notes[0]
    assert power(2, **given, repeats=1, estimand="corrected").notes == ()


def test_response_error_shrinks_what_varies_between_respondents_and_stimuli() -> None:
    rng = np.random.default_rng(8)
    flip = 0.2
    own = 0.1 + 0.25 * rng.choice([-1.0, 1.0], (6000, 20, 1))
    level, first = drawn_choices(rng, 0.5, own, (6000, 20, 10))
    drawn = mean_differences(level, (first ^ (rng.random(first.shape) < flip)).astype(float)).std()
    given: dict[str, Any] = {"amce": 0.1, "reliability": flip**2 + (1 - flip) ** 2}
    found = power(2, **given, respondents=20, tasks=10, effect_sd=0.25).frame
    assert drawn == pytest.approx(found["std_error"].item(), rel=0.03)
    endless = power(2, **given, pairs=1e9, stimuli=4, stimulus_sd=0.1).frame
    assert endless["std_error"].item() == pytest.approx(0.6 * np.sqrt(2 * 0.01 / 4), rel=1e-6)


def test_averaging_answers_removes_the_noise_of_sampling_only() -> None:
    rng = np.random.default_rng(6)
    own = np.where(rng.random((5000, 200)) < 0.5, 0.95, 0.05)
    level = rng.random((5000, 200, 2)) < 0.5
    averaged = rng.binomial(5, own) / 5
    noise = 4 * 0.95 * 0.05
    found = power(2, amce=1e-6, pairs=200, noise=noise, samples=5).frame["std_error"].item()
    assert mean_differences(level, averaged).std() == pytest.approx(found, rel=0.03)
    endless = power(2, amce=1e-6, pairs=200, noise=noise, samples=10**6).frame["std_error"].item()
    once = power(2, amce=1e-6, pairs=200).frame["std_error"].item()
    assert endless == pytest.approx(once * np.sqrt(1 - noise), rel=1e-4)


def test_more_tests_need_more_pairs() -> None:
    corrected = power(2, amce=0.03, power=0.8, tests=18).frame
    assert corrected["alpha"].item() == pytest.approx(0.05 / 18)
    assert (
        corrected["pairs"].item()
        == power(2, amce=0.03, power=0.8, alpha=0.05 / 18).frame["pairs"].item()
        > 1.8 * power(2, amce=0.03, power=0.8).frame["pairs"].item()
    )


def test_differences_between_groups_need_four_times_the_pairs() -> None:
    single = power(5, amce=0.03, power=0.8).frame["pairs"].item()
    two = power(5, difference=0.03, power=0.8).frame
    assert two["statistic"].item() == "amce_difference"
    assert two["pairs"].item() / single == pytest.approx(4, rel=0.01)
    uneven = power(5, difference=0.03, power=0.8, groups=(0.2, 0.8)).frame["pairs"].item()
    assert uneven / single == pytest.approx(1 / 0.2 + 1 / 0.8, rel=0.01)


def test_judges_of_the_same_pairs_are_compared_with_less_error() -> None:
    apart = power(5, difference=0.03, pairs=1000, same_pairs=0.0).frame["std_error"].item()
    together = power(5, difference=0.03, pairs=1000, same_pairs=0.75).frame["std_error"].item()
    assert together == pytest.approx(apart / 2)


def test_interactions_have_the_variance_of_four_cells() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.random((2, 4000, 300, 2)) < np.array([0.5, 0.3]).reshape(2, 1, 1, 1)
    both = (a & b).astype(float)
    first = rng.random((4000, 300)) < 0.5 + 0.3 * (both[..., 0] - both[..., 1])
    chosen = np.stack([first, ~first], axis=-1)

    def mean(cell: np.ndarray) -> np.ndarray:
        found: np.ndarray = (chosen * cell).sum(axis=(1, 2)) / cell.sum(axis=(1, 2))
        return found

    estimate = mean(a & b) - mean(~a & b) - mean(a & ~b) + mean(~a & ~b)
    found = power({"a": 2, "b": [0.7, 0.3]}, interaction=0.3, by="b", pairs=300).frame
    assert estimate.std() == pytest.approx(found["std_error"].item(), rel=0.04)
    assert found[["feature", "by"]].to_numpy().tolist() == [["a", "b"]]


def test_several_effects_and_sizes_give_a_row_for_each() -> None:
    found = power({"a": 2, "b": 3}, amce=[0.02, 0.05], pairs=[100, 1000, 10_000]).frame
    assert len(found) == 2 * 2 * 3
    assert found.groupby(["feature", "effect"], observed=True)["power"].is_monotonic_increasing.all()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"amce": 0.02}, "pairs and power are left out; leave out exactly one"),
        ({"amce": 0.02, "pairs": 100, "power": 0.8}, "none is left out"),
        ({"amce": 0.02, "difference": 0.1, "pairs": 100}, "given as amce and as difference"),
        ({"amce": 0.6, "pairs": 100}, "larger than 0.5"),
        ({"amce": 0, "pairs": 100}, "effect is 0; give a number other than 0"),
        ({"amce": 0.02, "power": 80}, "power is 80; give a number between 0 and 1"),
        ({"amce": 0.02, "pairs": 0}, "pairs is 0; give a number of at least 1"),
        ({"amce": 0.02, "pairs": "many"}, "pairs is 'many'"),
        ({"amce": 0.02, "pairs": 100, "profiles": 200}, "as pairs and as profiles"),
        ({"amce": 0.02, "respondents": 100}, "give tasks"),
        ({"interaction": 0.02, "pairs": 100}, "name it with by"),
        ({"amce": 0.02, "pairs": 100, "by": 2}, "remove by"),
        ({"interaction": 0.02, "pairs": 100, "by": "reply"}, "'reply' is not an attribute"),
        ({"amce": 0.02, "pairs": 100, "features": ["topik"]}, "did you mean 'topic'"),
        ({"amce": 0.02, "pairs": 100, "alpha": 5}, "alpha is 5"),
        ({"amce": 0.02, "pairs": 100, "tests": 0}, "tests is 0"),
        ({"amce": 0.02, "pairs": 100, "icc": 0.1}, "give tasks"),
        ({"amce": 0.02, "pairs": 100, "tasks": 5, "icc": 0.1, "effect_sd": 0.1}, "give one of them"),
        ({"amce": 0.02, "pairs": 100, "reliability": 0.5}, "no effect is left"),
        ({"amce": 0.02, "pairs": 100, "estimand": "corrected"}, "needs a reliability"),
        ({"difference": 0.02, "pairs": 100, "same_pairs": 1.0}, "give a number below 1"),
        ({"amce": 0.02, "pairs": 100, "samples": 3}, "share of noise"),
        ({"amce": 0.02, "pairs": 100, "stimulus_sd": 0.1}, "names no stimuli"),
        ({"amce": 0.02, "pairs": 100, "stimulus_sd": 0.1, "stimuli": 0}, "stimuli holds a number below 1"),
        ({"amce": 0.02, "pairs": 100, "groups": (0.5, 0.6)}, "sum to 1"),
        ({"amce": 0.02, "pairs": 100, "same_pairs": 0.5}, "same_pairs belongs to a difference"),
        ({"amce": 0.02, "pairs": 100, "convention": "cjpowr", "tasks": 5}, "independent rows alone"),
        ({"amce": 0.02, "pairs": 100, "convention": "cjpowR"}, "use pair or cjpowr"),
    ],
)
def test_questions_without_an_answer_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        power({"topic": 5}, **given)


@pytest.mark.parametrize(
    ("design", "told"),
    [
        ({}, "no attributes"),
        (1, "has 1 levels"),
        ({"a": [0.5, 0.6]}, "sum to 1.1"),
        ({"a": {"x": 1.5, "y": -0.5}}, "-0.5 is no probability"),
        ({"a": "two"}, "give its number of levels"),
        ("moderation", "The design is str"),
    ],
)
def test_designs_without_levels_are_refused(design: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        power(design, amce=0.02, pairs=100)


def test_figures_have_a_line_for_each_kind_of_attribute_and_a_panel_for_each_effect(tmp_path: Path) -> None:
    found = power({"a": 2, "b": 2, "c": 5}, amce=[0.02, 0.05], pairs=5000)
    figure = found.plot(labels={"a": "First"})
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["First,\nB", "C"]
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Effect 0.02", "Effect 0.05"]
    marked = [line for line in figure.axes[0].lines if line.get_linestyle() == "None"]
    expected = found.frame.loc[found.frame["effect"] == 0.02, "power"].unique()
    np.testing.assert_allclose(sorted(np.asarray(marked[0].get_ydata(), float)), sorted(expected))
    twice = [save(found.plot(), tmp_path / name, formats=("svg",))[0].read_bytes() for name in "ab"]
    assert twice[0] == twice[1]


def test_the_figure_of_detectable_effects_falls_with_the_number_of_pairs() -> None:
    found = power({"a": 2}, pairs=5000, power=0.8)
    (axes,) = found.plot(theme="dark").axes
    values = np.asarray(axes.lines[0].get_ydata(), float)
    assert (np.diff(values) < 0).all()
    assert "at power 0.8" in axes.get_ylabel()
    compared = power(2, difference=0.05, pairs=5000).plot()
    assert compared.axes[0].get_ylabel() == "Power for a difference in AMCEs of 0.05"
    assert alt(found).startswith("Minimum detectable effects")
    with pytest.raises(InputError, match="show is 'size'"):
        found.plot(show="size")
