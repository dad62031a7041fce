"""Sampling of the models: diagnostics in words, priors, both samplers, compiled kernels, sizes asked for."""

from __future__ import annotations

import importlib
import pickle
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases

import conjury.analysis.raters as raters
from conjury.analysis.raters import ModelFit
from conjury.analysis.raters.models import model_checks
from conjury.analysis.raters.models.model_fit import Prior, override_priors, prior_table
from conjury.analysis.raters.models.operation import LogLikelihood
from conjury.analysis.raters.models.posterior_sampling import check_sampling, load, sample, save
from conjury.cli.main import main
from conjury.inference.errors import InputError

GOOD = model_checks.SamplerState(2, 1000, 0, 0, 0.9, 5.0, "nutpie")
HALF_NORMAL = {"sd": Prior("half_normal", (1.0,), "SD")}


def told(columns: dict[str, Any] | None = None, **state: Any) -> list[str]:
    """The verdict on draws, good ones but for these changes."""
    table = {"quantity": ["a", "b"], "rhat": [1.0, 1.001], "ess_bulk": [900.0, 800.0], "ess_tail": 700.0}
    return list(model_checks.verdict(pd.DataFrame(table | (columns or {})), replace(GOOD, **state)))


@pytest.mark.parametrize(("columns", "state", "words"), cases(__file__, "problems"))
def test_each_problem_is_said_with_its_remedy(columns: Any, state: Any, words: str) -> None:
    assert words in " ".join(told(columns, **state))


def test_failed_checks_are_told_from_passed_ones() -> None:
    assert "agree" in told()[0]
    assert not any(isinstance(sentence, model_checks.FailedCheck) for sentence in told())
    assert isinstance(told(divergences=1)[-1], model_checks.FailedCheck)
    assert isinstance(told(bfmi=0.1)[-1], model_checks.FailedCheck)
    assert not ModelFit(pd.DataFrame(), "made_up", verdict=told(saturated=1)).passed
    assert ModelFit(pd.DataFrame(), "made_up", verdict=told()).passed
    for count, failed in ((8, True), (2, False)):
        observed = [0.9] * count + [0.2] * (20 - count)
        table = pd.DataFrame({"share": "a", "observed": observed, "lower": 0.1, "upper": 0.3})
        assert isinstance(model_checks.sentence_on_fit(table, "shares"), model_checks.FailedCheck) == failed


@pytest.mark.parametrize(("used", "advised"), [(0.8, "0.95"), (0.95, "0.99"), (float("nan"), "0.95")])
def test_divergences_come_with_the_option_and_the_argument_that_help(used: float, advised: str) -> None:
    sentence = told(divergences=137, target_accept=used)[-1]
    assert f"`--target-accept {advised}` (in Python `target_accept={advised}`)" in sentence
    assert "`--prior NAME=NUMBERS`" in sentence
    already = told(divergences=5, target_accept=0.99)[-1]
    assert "target acceptance was 0.99 already, so use narrower priors" in already
    assert "--target-accept" not in already


def test_shares_are_compared_within_groups_and_statistics_off_are_named() -> None:
    made = np.array([[0, 0, 1, 1], [0, 1, 1, 0]])
    table = model_checks.frequency_check(
        np.array([0, 0, 1, 1]), made, (1, 2), pd.DataFrame({"judge": list("aabb")})
    )
    assert table[["judge", "observed", "expected", "n_ratings"]].values.tolist() == [
        ["a", 1.0, 0.75, 2],
        ["a", 0.0, 0.25, 2],
        ["b", 0.0, 0.25, 2],
        ["b", 1.0, 0.75, 2],
    ]
    table = model_checks.named_statistic_check(
        {"spread": 5.0}, [{"spread": one} for one in np.linspace(0, 1, 100)]
    )
    assert table["tail"].item() == 0.0
    assert model_checks.sentence_on_fit(table, "statistics").endswith(": spread.")


def test_priors_change_by_name_and_keep_their_meaning() -> None:
    assert override_priors(HALF_NORMAL, {"sd": Prior("exponential", (2.0,))})["sd"].meaning == "SD"
    assert (
        prior_table(override_priors(HALF_NORMAL, {"sd": 3}))["distribution"].item() == "half-normal with sd 3"
    )
    log_normal = {"sd": Prior("log_normal", (1.0, 0.7), "SD")}
    assert override_priors(log_normal, {"sd": 0.5})["sd"].values == (0.5, 0.7)  # one number is the median
    assert override_priors(log_normal, {"sd": (0.5, 0.2)})["sd"].values == (0.5, 0.2)
    log_two = 2 / np.log(2)
    for prior in (
        Prior("log_normal", (2.0, 0.5)),
        Prior("normal", (2.0, 1.0)),
        Prior("exponential", (log_two,)),
    ):
        draws = prior.draws(np.random.default_rng(1), (20_000,))
        assert np.median(draws) == pytest.approx(2.0, abs=0.06)


NO_NUMBERS = r"The prior 'sd' cannot be .*; give sd as numbers, or a Prior"


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: check_sampling(100, 100, 0, "nutpie"), "chains must be 1 or more"),
        (lambda: check_sampling(100, 100, 2, "gibbs"), "no sampler 'gibbs'"),
        (lambda: sample(None, target_accept=1.0), "target_accept must be from"),
        (lambda: Prior("half_normal", (-1.0,)), "must be positive"),
        (lambda: override_priors(HALF_NORMAL, {"sdd": 1}), "no prior 'sdd'"),
        (lambda: override_priors(HALF_NORMAL, {"sd": "x"}), NO_NUMBERS),
        (lambda: override_priors(HALF_NORMAL, {"sd": ["x"]}), NO_NUMBERS),
        (lambda: override_priors(HALF_NORMAL, {"sd": None}), NO_NUMBERS),
        (lambda: override_priors(HALF_NORMAL, {"sd": {"sd": 1}}), NO_NUMBERS),
    ],
)
def test_impossible_numbers_samplers_and_priors_are_refused(refused: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        refused()


def normal_model() -> Any:
    import pymc

    with pymc.Model(coords={"judge": ["ann", "bob"]}) as model:
        mean = pymc.Normal("mean", 0, 10, dims="judge")
        pymc.Normal("seen", mean, 1.0, observed=np.array([1.0, 3.0]))
    return model


@pytest.mark.bayes
def test_both_samplers_find_the_posterior_and_repeat_it_by_seed(tmp_path: Path) -> None:
    model = normal_model()
    for sampler in ("nutpie", "pymc"):
        seen: list[tuple[int, ...]] = []
        options: dict[str, Any] = {"draws": 400, "tune": 300, "seed": 3, "sampler": sampler}
        data = sample(model, progress=lambda *numbers, seen=seen: seen.append(numbers), **options)
        mean = data["posterior"]["mean"]
        assert mean.mean(("chain", "draw")).values == pytest.approx([1, 3], abs=0.25)
        assert data["posterior"].attrs["conjury_sampler"] == sampler
        assert seen[-1][:2] == (1400, 1400)
        assert (sample(lambda: model, **options)["posterior"]["mean"] == mean).all()
        assert model_checks.sampler_state(data).draws == 400
        assert model_checks.diagnostics(data)["parameter"].tolist() == ["mean[ann]", "mean[bob]"]
    kept = load(save(data, tmp_path / "new" / "draws.nc"))
    assert (kept["posterior"]["mean"].values == mean.values).all()


@pytest.mark.bayes
def test_an_interrupted_run_says_how_far_it_came() -> None:
    def stop(done: int, total: int, divergent: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="no draws were saved"):
        sample(normal_model(), draws=400, tune=300, sampler="pymc", progress=stop)


KERNEL = """
import numpy as np
from numba import njit

@njit
def kernel(x, weight, power):
    value, by_x = 0.0, np.zeros(x.shape)
    for k in range(len(x)):
        value += {factor} * weight[k] * x[k] ** power
        by_x[k] = {factor} * weight[k] * power * x[k] ** (power - 1)
    return value, by_x
"""


def _module(folder: Path, factor: float) -> ModuleType:
    (folder / "kernel_of_a_test.py").write_text(KERNEL.format(factor=factor))
    importlib.invalidate_caches()
    return importlib.reload(importlib.import_module("kernel_of_a_test"))


def _called(operation: Any, x: np.ndarray, weight: np.ndarray, mode: str) -> tuple[float, np.ndarray]:
    import pytensor
    import pytensor.tensor as pt

    given = pt.dvector()
    value, *_ = operation(given, weight)
    made = pytensor.function([given], [value, pytensor.grad(3.0 * value, given)], mode=mode)
    found, gradient = made(x)
    return float(found), gradient


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.bayes
def test_value_and_gradient_are_those_of_the_newest_kernel_with_its_constants(folder: Path) -> None:
    x, weight = np.array([1.0, 2.0]), np.array([1.0, -0.5])
    kernel = _module(folder, 1.0).kernel
    for mode in ("NUMBA", "FAST_COMPILE"):
        for power, value, gradient in ((2.0, -1.0, [6.0, -6.0]), (3.0, -3.0, [9.0, -18.0])):
            found, slope = _called(LogLikelihood(kernel, 1, (power,)), x, weight, mode)
            assert found == pytest.approx(value)
            assert slope == pytest.approx(gradient)
    first, second = LogLikelihood(kernel, 1, (2.0,)), LogLikelihood(_module(folder, 10.0).kernel, 1, (2.0,))
    assert second != first
    assert _called(second, x, weight, "NUMBA")[0] == pytest.approx(-10.0)


@pytest.mark.bayes
def test_operations_of_one_kernel_are_equal_and_survive_pickling() -> None:
    from conjury.analysis.raters.models.labels.label_kernel import log_likelihood

    one = LogLikelihood(log_likelihood, 2)
    assert one == LogLikelihood(log_likelihood, 2)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != LogLikelihood(log_likelihood, 2, (1.0,))


@pytest.mark.parametrize(
    ("model", "verb"),
    [("ordinal", "rater_model"), ("dimensions", "dimension_model"), ("labels", "label_model")],
)
@pytest.mark.parametrize("sizes", [{}, {"draws": 7, "tune": 9, "chains": 3}])
def test_models_are_given_the_draws_and_tuning_that_are_asked_for_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, verb: str, sizes: dict[str, int]
) -> None:
    asked: dict[str, Any] = {}

    def fit(judgments: pd.DataFrame, **options: Any) -> None:
        asked.update(options)
        raise InputError("Nothing is fitted.")

    monkeypatch.setattr(raters, verb, fit)
    judges = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"], "judge_kind": ["human", "human", "model"]})
    items = pd.DataFrame({"item_id": [f"i{k}" for k in range(6)], "value": [0.0, 1.0, 2.0] * 2})
    table = judges.merge(items, how="cross").merge(pd.Series(["wit", "tact"], name="dimension"), how="cross")
    table.to_parquet(tmp_path / "judgments.parquet")
    given = [word for name, size in sizes.items() for word in (f"--{name}", str(size))]
    named = [] if model == "dimensions" else ["--dimension", "wit"]
    monkeypatch.chdir(tmp_path)
    words = ["conjury", "raters", "judgments.parquet", "--rater-model", model, *named, *given]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit):
        main()
    assert {name: asked[name] for name in ("draws", "tune", "chains") if name in asked} == sizes
