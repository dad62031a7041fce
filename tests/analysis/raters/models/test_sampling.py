from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.raters import ModelFit
from conjury.analysis.raters.models.checks import (
    Problem,
    SamplerState,
    diagnostics,
    fit_in_words,
    frequency_check,
    named_statistic_check,
    sampler_state,
    verdict,
)
from conjury.analysis.raters.models.fitted import Prior, changed, prior_table
from conjury.analysis.raters.models.sampling import check_sampling, load, sample, save
from conjury.inference.errors import InputError

GOOD = SamplerState(2, 1000, 0, 0, 0.9, 5.0, "nutpie")


def convergence(**changes):
    columns = {"quantity": ["a", "b"], "rhat": [1.0, 1.001], "ess_bulk": [900.0, 800.0], "ess_tail": 700.0}
    return pd.DataFrame(columns | changes)


def test_good_draws_are_called_good():
    assert "agree" in verdict(convergence(), GOOD)[0]


@pytest.mark.parametrize(
    ("table", "state", "told"),
    [
        (convergence(rhat=[1.0, 1.2]), GOOD, "do not agree yet on 1 of 2 quantities (R-hat up to 1.200"),
        (convergence(ess_bulk=[900.0, 50.0]), GOOD, "400 effective draws (least 50, in the bulk of b)"),
        (convergence(), SamplerState(2, 1000, 3, 0, 0.9, 5.0, "nutpie"), "3 of 2,000 draws diverged"),
        (convergence(), SamplerState(2, 1000, 0, 7, 0.9, 5.0, "nutpie"), "7 of 2,000 trajectories were cut"),
        (convergence(), SamplerState(2, 1000, 0, 0, 0.1, 5.0, "nutpie"), "BFMI 0.10"),
        (convergence(), SamplerState(1, 1000, 0, 0, 0.9, 5.0, "nutpie"), "one chain"),
    ],
)  # fmt: skip
def test_each_problem_is_said_with_its_remedy(table, state, told):
    assert told in " ".join(verdict(table, state))


def test_shares_are_compared_within_groups():
    observed = np.array([0, 0, 1, 1])
    made = np.array([[0, 0, 1, 1], [0, 1, 1, 0]])
    table = frequency_check(observed, made, (1, 2), pd.DataFrame({"judge": list("aabb")}))
    assert table["judge"].tolist() == ["a", "a", "b", "b"]
    assert table["observed"].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert table["expected"].tolist() == [0.75, 0.25, 0.25, 0.75]
    assert table["n_ratings"].tolist() == [2, 2, 2, 2]


def test_a_statistic_far_from_the_replications_is_named():
    table = named_statistic_check({"spread": 5.0}, [{"spread": one} for one in np.linspace(0, 1, 100)])
    assert table["tail"].item() == 0.0
    assert fit_in_words(table, "statistics").endswith(": spread.")


def test_priors_change_by_name_and_keep_their_meaning():
    defaults = {"sd": Prior("half_normal", (1.0,), "SD")}
    assert changed(defaults, {"sd": Prior("exponential", (2.0,))})["sd"].meaning == "SD"
    assert prior_table(changed(defaults, {"sd": 3}))["distribution"].item() == "half-normal with sd 3"
    with pytest.raises(InputError, match="no prior 'sdd'"):
        changed(defaults, {"sdd": 1})


def test_one_number_is_the_median_of_a_log_normal_prior():
    defaults = {"sd": Prior("log_normal", (1.0, 0.7), "SD")}
    assert changed(defaults, {"sd": 0.5})["sd"].values == (0.5, 0.7)
    assert changed(defaults, {"sd": (0.5, 0.2)})["sd"].values == (0.5, 0.2)


def told(**changes):
    return verdict(convergence(), replace(GOOD, **changes))


@pytest.mark.parametrize(("used", "advised"), [(0.8, "0.95"), (0.95, "0.99"), (float("nan"), "0.95")])
def test_divergences_come_with_the_option_and_the_argument_that_help(used, advised):
    sentence = told(divergences=137, target_accept=used)[-1]
    assert f"`--target-accept {advised}` (in Python `target_accept={advised}`)" in sentence
    assert "`--prior NAME=NUMBERS`" in sentence


def test_a_target_acceptance_that_was_used_is_not_advised_again():
    sentence = told(divergences=5, target_accept=0.99)[-1]
    assert "target acceptance was 0.99 already, so use narrower priors" in sentence
    assert "--target-accept" not in sentence


def test_failed_checks_are_told_from_passed_ones():
    assert not any(isinstance(sentence, Problem) for sentence in told())
    assert isinstance(told(divergences=1)[-1], Problem)
    assert isinstance(told(bfmi=0.1)[-1], Problem)
    assert not ModelFit(pd.DataFrame(), "made_up", verdict=told(saturated=1)).passed
    assert ModelFit(pd.DataFrame(), "made_up", verdict=told()).passed


def test_a_model_that_misses_more_numbers_than_chance_would_fails_its_check():
    def outside(count):
        observed = [0.9] * count + [0.2] * (20 - count)
        return pd.DataFrame({"share": "a", "observed": observed, "lower": 0.1, "upper": 0.3})

    assert isinstance(fit_in_words(outside(8), "shares"), Problem)
    assert not isinstance(fit_in_words(outside(2), "shares"), Problem)


@pytest.mark.parametrize(
    "prior",
    [
        Prior("log_normal", (2.0, 0.5)),
        Prior("normal", (2.0, 1.0)),
        Prior("exponential", (2 / np.log(2),)),
    ],
)
def test_draws_of_a_prior_have_its_median(prior):
    assert np.median(prior.draws(np.random.default_rng(1), (20_000,))) == pytest.approx(2.0, abs=0.06)


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: check_sampling(100, 100, 0, "nutpie"), "chains must be 1 or more"),
        (lambda: check_sampling(100, 100, 2, "gibbs"), "no sampler 'gibbs'"),
        (lambda: sample(None, target_accept=1.0), "target_accept must be from"),
        (lambda: Prior("half_normal", (-1.0,)), "must be positive"),
    ],
)
def test_impossible_numbers_and_samplers_are_refused(refused, message):
    with pytest.raises(InputError, match=message):
        refused()


def normal_model():
    import pymc

    with pymc.Model(coords={"judge": ["ann", "bob"]}) as model:
        mean = pymc.Normal("mean", 0, 10, dims="judge")
        pymc.Normal("seen", mean, 1.0, observed=np.array([1.0, 3.0]))
    return model


def report(seen, *numbers):
    seen.append(numbers)


@pytest.mark.bayes
def test_both_samplers_find_the_posterior_and_repeat_it_by_seed(tmp_path):
    model = normal_model()
    for sampler in ("nutpie", "pymc"):
        seen: list[tuple[int, int, int]] = []
        data = sample(model, draws=400, tune=300, seed=3, sampler=sampler, progress=partial(report, seen))
        assert data["posterior"]["mean"].mean(("chain", "draw")).values == pytest.approx([1, 3], abs=0.25)
        assert data["posterior"].attrs["conjury_sampler"] == sampler
        assert seen[-1][:2] == (1400, 1400)
        again = sample(lambda: model, draws=400, tune=300, seed=3, sampler=sampler)
        assert (again["posterior"]["mean"] == data["posterior"]["mean"]).all()
        assert sampler_state(data).draws == 400
        assert diagnostics(data)["parameter"].tolist() == ["mean[ann]", "mean[bob]"]
    kept = load(save(data, tmp_path / "new" / "draws.nc"))
    assert (kept["posterior"]["mean"].values == data["posterior"]["mean"].values).all()


@pytest.mark.bayes
def test_an_interrupted_run_says_how_far_it_came():
    def stop(done, total, divergent):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="no draws were saved"):
        sample(normal_model(), draws=400, tune=300, sampler="pymc", progress=stop)


@pytest.mark.parametrize("given", ["x", ["x"], None, {"sd": 1}])
def test_priors_that_are_no_numbers_are_refused(given):
    defaults = {"sd": Prior("half_normal", (1.0,), "SD")}
    with pytest.raises(InputError, match=r"The prior 'sd' cannot be .*; give sd as numbers, or a Prior"):
        changed(defaults, {"sd": given})
