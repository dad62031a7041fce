"""Closed forms of power: equal to cjpowR, to the noncentral t, and to forced choices drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases, refusals
from reference_tables import FIXTURES
from scipy.stats import nct, norm, t

from conjury.analysis.conjoint import power
from conjury.analysis.figures import alt
from conjury.analysis.numerics.operating import operating
from conjury.inference.errors import InputError
from conjury.inference.study import load_study

EXACT = 1e-8


def first(*given: Any, **options: Any) -> pd.Series:
    """The first row of an answer."""
    return power(*given, **options).frame.iloc[0]


def answers(table: pd.DataFrame, **columns: str) -> pd.DataFrame:
    """Ask for each row of a table of cjpowR; ``columns`` maps our arguments to its columns."""
    frames = []
    for row in table.to_dict("records"):
        given: dict[str, Any] = {ours: row[theirs] for ours, theirs in columns.items()}
        if "by" in given:
            given["by"] = int(given["by"])
        frames.append(power(int(row["levels"]), alpha=row["alpha"], convention="cjpowr", **given).frame)
    return pd.concat(frames, ignore_index=True)


@pytest.mark.parametrize("every", [40, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "columns"), cases(__file__, "columns_of_cjpowr"))
def test_sizes_and_powers_equal_those_of_cjpowr(name: str, columns: dict[str, str], every: int) -> None:
    theirs = pd.read_csv(FIXTURES / "cjpowr" / f"{name}.csv").iloc[::every].reset_index(drop=True)
    ours = answers(theirs, **columns)
    if "n" not in columns.values():
        np.testing.assert_allclose(ours["profiles"], theirs["n"], rtol=EXACT)
    else:
        np.testing.assert_allclose(ours["power"], theirs["power"], rtol=EXACT)
    np.testing.assert_allclose(ours["type_s"], theirs["type_s"], rtol=1e-8, atol=1e-16)
    np.testing.assert_allclose(ours["type_m"], theirs["type_m"], rtol=0.01)


def test_the_three_questions_answer_each_other() -> None:
    design: dict[str, int | dict[str, float]] = {"topic": 5, "tone": {"kind": 0.7, "rude": 0.3}}
    cost = {"tasks": 12, "icc": 0.05}
    for row in power(design, amce=0.03, power=0.8, **cost).frame.to_dict("records"):
        own = {"x": design[row["feature"]]}
        assert first(own, amce=0.03, pairs=row["pairs"], **cost)["power"] == pytest.approx(0.8, abs=1e-10)
        assert first(own, power=0.8, pairs=row["pairs"], **cost)["effect"] == pytest.approx(0.03, abs=1e-10)


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


def drawn_choices(rng, share: float, effect: Any, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Levels (..., 2) and choices of A (...) of pairs whose first level wins by ``effect``."""
    level = rng.random((*shape, 2)) < share
    return level, rng.random(shape) < 0.5 + effect * (level[..., 0].astype(float) - level[..., 1])


def spread(level: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, float]:
    """AMCEs of studies along the first axis, and their standard deviation."""
    chosen = np.stack([first, 1.0 - first], axis=-1).reshape(len(first), -1)
    level = level.reshape(len(level), -1)
    counts = level.sum(axis=1)
    found = (chosen * level).sum(axis=1) / counts - (chosen * ~level).sum(axis=1) / (~level).sum(axis=1)
    return found, float(found.std())


def test_the_variance_of_forced_choices_is_that_of_pairs_and_not_of_rows() -> None:
    _, drawn = spread(*drawn_choices(np.random.default_rng(1), 0.5, 0.4, 6000, 200))
    assert drawn == pytest.approx(first(2, amce=0.4, pairs=200)["std_error"], rel=0.03)
    assert first(2, amce=0.4, pairs=200, convention="cjpowr")["std_error"] > 1.08 * drawn


def test_respondents_whose_effects_differ_add_the_variance_that_effect_sd_states() -> None:
    rng = np.random.default_rng(2)
    own = 0.1 + 0.2 * rng.choice([-1.0, 1.0], (6000, 20, 1))
    _, drawn = spread(*drawn_choices(rng, 0.3, own, 6000, 20, 10))
    found, alone = (
        first({"tone": [0.7, 0.3]}, amce=0.1, respondents=20, tasks=10, **o) for o in ({"effect_sd": 0.2}, {})
    )
    assert drawn == pytest.approx(found["std_error"], rel=0.03)
    assert drawn > 1.2 * alone["std_error"]
    assert found["df"] == 19


def test_stimuli_add_the_variance_that_no_number_of_pairs_removes() -> None:
    rng = np.random.default_rng(4)
    studies, pairs, k = 4000, 300, 4
    stimulus = rng.integers(2 * k, size=(studies, pairs, 2))
    own = 0.1 * rng.choice([-1.0, 1.0], (studies, 2 * k))
    pull = np.take_along_axis(own[:, None, :], stimulus, axis=2)
    level = stimulus >= k
    chance = 0.5 + 0.1 * (level[..., 0].astype(float) - level[..., 1]) + pull[..., 0] - pull[..., 1]
    _, drawn = spread(level, rng.random((studies, pairs)) < chance)
    found = first(2, amce=0.1, pairs=300, stimuli=k, stimulus_sd=0.1)
    assert drawn == pytest.approx(found["std_error"], rel=0.05)
    large = first(2, amce=0.1, pairs=1e9, stimuli=k, stimulus_sd=0.1)
    assert large["std_error"] == pytest.approx(np.sqrt(2 * 0.01 / k), rel=1e-6)
    assert large["df"] == pytest.approx(2 * k - 2, rel=1e-6)
    assert large["power"] == pytest.approx(found["power_limit"], abs=1e-6)
    assert found["power_limit"] < 0.5


def test_a_study_gives_its_probabilities_and_stimuli_and_notes_the_limit_that_they_set() -> None:
    study = load_study("moderation")
    found = power(study, amce=0.02, pairs=30_000).frame.set_index(["feature", "level"])
    assert found.loc[("speech", "slur"), "n_level"] == pytest.approx(60_000 * 6 / 7)
    assert found.loc[("speech", "slur"), "n_reference"] == pytest.approx(60_000 / 7)
    own = first(5, amce=0.02, pairs=30_000)["power"]
    assert found.loc[("topic", "work"), "power"] == pytest.approx(own)
    assert len(found) == 6 + 4 + 4 + 2 + 1 + 1 + 1 + 2 + 2
    limited = power(study, amce=0.02, power=0.8, stimulus_sd={"topic": 0.03}, features=["topic", "reply"])
    of_topic = limited.frame["feature"] == "topic"
    np.testing.assert_array_equal(np.isinf(limited.frame["pairs"]), of_topic)
    (note,) = limited.notes
    assert note.startswith("No number of pairs brings the power for topic above 0.29 at an effect")
    assert "10 stimuli per level; add stimuli" in note
    impossible = power(2, pairs=1000, power=0.8, stimuli=2, stimulus_sd=0.3)
    assert "No possible effect reaches this power for attribute" in impossible.notes[-1]


@pytest.mark.long
def test_what_costs_power_costs_it_by_its_factor() -> None:
    def pairs(design: Any = 2, **options: Any) -> float:
        return first(design, **{"amce": 0.03, "power": 0.8, **options})["pairs"]

    def error(design: Any = 2, **options: Any) -> float:
        return first(design, **options)["std_error"]

    both = {"amce": 0.05, "respondents": 100, "tasks": 9}
    assert error(3, **both, icc=0.25) == pytest.approx(error(3, **both) * np.sqrt(1 + 8 * 0.25))
    ratio = pairs({"a": [0.9, 0.1]}) / pairs({"a": [0.5, 0.5]})
    assert ratio == pytest.approx((1 / 0.9 + 1 / 0.1) / 4, rel=0.02)
    assert first(2, amce=0.03, power=0.8, tests=18)["alpha"] == pytest.approx(0.05 / 18)
    assert pairs(tests=18) == pairs(alpha=0.05 / 18) > 1.8 * pairs()
    difference = {"amce": None, "difference": 0.03}
    assert first(5, difference=0.03, power=0.8)["statistic"] == "amce_difference"
    assert pairs(5, **difference) / pairs(5) == pytest.approx(4, rel=0.01)
    assert pairs(5, **difference, groups=(0.2, 0.8)) / pairs(5) == pytest.approx(1 / 0.2 + 1 / 0.8, rel=0.01)
    apart, together = (error(5, difference=0.03, pairs=1000, same_pairs=share) for share in (0.0, 0.75))
    assert together == pytest.approx(apart / 2)


def test_response_error_shrinks_effects_and_what_varies_between_respondents_and_stimuli() -> None:
    flip = 0.2
    reliability = flip**2 + (1 - flip) ** 2
    noisy, clean = first(2, amce=0.1, pairs=500, reliability=reliability), first(2, amce=0.06, pairs=500)
    assert noisy["observed_effect"] == pytest.approx(0.06)
    assert noisy["power"] == pytest.approx(clean["power"])
    rng = np.random.default_rng(8)
    own = 0.1 + 0.25 * rng.choice([-1.0, 1.0], (6000, 20, 1))
    level, picked = drawn_choices(rng, 0.5, own, 6000, 20, 10)
    _, drawn = spread(level, picked ^ (rng.random(picked.shape) < flip))
    given: dict[str, Any] = {"amce": 0.1, "reliability": reliability}
    found = first(2, **given, respondents=20, tasks=10, effect_sd=0.25)["std_error"]
    assert drawn == pytest.approx(found, rel=0.03)
    endless = first(2, **given, pairs=1e9, stimuli=4, stimulus_sd=0.1)["std_error"]
    assert endless == pytest.approx(0.6 * np.sqrt(2 * 0.01 / 4), rel=1e-6)


@pytest.mark.long
def test_the_corrected_effect_has_the_error_of_its_two_estimates() -> None:
    rng = np.random.default_rng(5)
    studies, respondents, tasks, flip = 3000, 300, 3, 0.15
    level, picked = drawn_choices(rng, 0.5, 0.3, studies, respondents * tasks)
    observed, _ = spread(level, picked ^ (rng.random(picked.shape) < flip))
    reliability = flip**2 + (1 - flip) ** 2
    same = rng.binomial(respondents, reliability, studies) / respondents
    corrected = observed / np.sqrt(2 * same - 1)
    given: dict[str, Any] = {"amce": 0.3, "respondents": 300, "tasks": 3, "estimand": "corrected"}
    found = first(2, **given, reliability=reliability, repeats=1)
    known = power(2, **given, reliability=reliability)
    assert corrected.std() == pytest.approx(found["std_error"], rel=0.05)
    assert found["std_error"] > 1.05 * known.frame["std_error"].item()
    assert "is treated as known" in known.notes[0]


def test_repeats_and_samples_count_among_the_pairs_shown_and_idle_repeats_are_noted() -> None:
    found = first(4, amce=0.05, power=0.8, tasks=8, reliability=0.8, repeats=1, estimand="corrected")
    assert found["tasks_shown"] == 9
    assert found["pairs_shown"] == pytest.approx(9 * found["respondents"])
    assert found["pairs"] == pytest.approx(8 * found["respondents"])
    asked = first(2, amce=0.05, pairs=1000, samples=3, noise=0.2)
    assert asked["pairs_shown"] == 3000
    assert np.isnan(asked["tasks_shown"])
    given: dict[str, Any] = {"amce": 0.05, "pairs": 800, "tasks": 8, "reliability": 0.8}
    idle = power(2, **given, repeats=1)
    assert idle.frame["power"].equals(power(2, **given).frame["power"])
    assert "only corrected effects use repeats" in idle.notes[0]
    assert power(2, **given, repeats=1, estimand="corrected").notes == ()


def test_averaging_answers_removes_the_noise_of_sampling_only() -> None:
    rng = np.random.default_rng(6)
    own = np.where(rng.random((5000, 200)) < 0.5, 0.95, 0.05)
    _, drawn = spread(rng.random((5000, 200, 2)) < 0.5, rng.binomial(5, own) / 5)
    noise = 4 * 0.95 * 0.05
    given: dict[str, Any] = {"amce": 1e-6, "pairs": 200}
    assert drawn == pytest.approx(first(2, **given, noise=noise, samples=5)["std_error"], rel=0.03)
    endless = first(2, **given, noise=noise, samples=10**6)["std_error"]
    assert endless == pytest.approx(first(2, **given)["std_error"] * np.sqrt(1 - noise), rel=1e-4)


def test_interactions_have_the_variance_of_four_cells() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.random((2, 4000, 300, 2)) < np.array([0.5, 0.3]).reshape(2, 1, 1, 1)
    both = (a & b).astype(float)
    picked = rng.random((4000, 300)) < 0.5 + 0.3 * (both[..., 0] - both[..., 1])
    chosen = np.stack([picked, ~picked], axis=-1)

    def mean(cell: np.ndarray) -> np.ndarray:
        return (chosen * cell).sum(axis=(1, 2)) / cell.sum(axis=(1, 2))

    estimate = mean(a & b) - mean(~a & b) - mean(a & ~b) + mean(~a & ~b)
    found = power({"a": 2, "b": [0.7, 0.3]}, interaction=0.3, by="b", pairs=300).frame
    assert estimate.std() == pytest.approx(found["std_error"].item(), rel=0.04)
    assert found[["feature", "by"]].to_numpy().tolist() == [["a", "b"]]


def test_several_effects_and_sizes_give_a_row_for_each() -> None:
    found = power({"a": 2, "b": 3}, amce=[0.02, 0.05], pairs=[100, 1000, 10_000]).frame
    assert len(found) == 2 * 2 * 3
    assert power({"a": [0.4, 0.3, 0.3]}, amce=0.02, pairs=100).frame["level"].tolist() == ["2", "3"]
    assert found.groupby(["feature", "effect"], observed=True)["power"].is_monotonic_increasing.all()


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "power"))
def test_questions_without_an_answer_and_designs_without_levels_are_refused(match, columns, options) -> None:
    with pytest.raises(InputError, match=match):
        power(**{"design": {"topic": 5}, **options})


def test_the_figure_of_detectable_effects_falls_with_the_number_of_pairs() -> None:
    found = power({"a": 2}, pairs=5000, power=0.8)
    (axes,) = found.plot(theme="dark").axes
    assert (np.diff(np.asarray(axes.lines[0].get_ydata(), float)) < 0).all()
    assert "at power 0.8" in " ".join(axes.get_ylabel().split())
    compared = power(2, difference=0.05, pairs=5000).plot()
    label = " ".join(compared.axes[0].get_ylabel().split())
    assert label == "Power for a difference in AMCEs of 5 percentage points"
    assert alt(found).startswith("Minimum detectable effects")
    with pytest.raises(InputError, match="show is 'size'"):
        found.plot(show="size")
