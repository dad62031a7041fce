"""The choice model and the engine bayes: known truth, the native engine, seeds, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import refusals
from made_up.choices import forced_choices
from scipy import stats
from scipy.special import expit

from conjury.analysis import conjoint
from conjury.analysis.conjoint import amce, choice_model, mm
from conjury.analysis.conjoint.engines.bayes import engine
from conjury.analysis.conjoint.engines.bayes.choice_model import ChoiceFit
from conjury.analysis.conjoint.engines.bayes.engine import (
    ChoiceProbability,
    SamplerOptions,
    _is_identified,
    averages,
    thin_draws,
)
from conjury.analysis.conjoint.engines.bayes.paired_choices import (
    ChoiceDraws,
    PairedChoices,
    find_pairs,
    lower_triangular,
    population,
    rater_codes,
    rater_part_worths,
    raters_of,
)
from conjury.analysis.conjoint.estimates import Estimates
from conjury.analysis.pipeline.runner import FitOptions
from conjury.inference.errors import InputError
from conjury.inference.simulation import Simulation, simulate
from conjury.inference.study import load_study

FORMULA = "chosen ~ slur + identity + topic + reply + curse + engagement"
LEVELS = {"tone": ["calm", "loud", "odd"], "size": ["small", "big"]}
MEAN = np.array([1.0, -0.8, 0.6])  # of tone=loud, tone=odd, size=big
SPREAD = np.array([1.2, 0.3, 0.8])


def _panel(
    seed: int, raters: int = 70, tasks: int = 30, factor: np.ndarray | None = None
) -> tuple[pd.DataFrame, np.ndarray]:
    """Choices of raters with known part-worths, shape (raters, 3), and an advantage of 0.4 for position A."""
    rng = np.random.default_rng(seed)
    own = MEAN + rng.standard_normal((raters, 3)) @ (np.diag(SPREAD) if factor is None else factor).T
    tone, size = (rng.integers(0, levels, (raters, tasks, 2)) for levels in (3, 2))
    worth = np.concatenate([np.zeros((raters, 1)), own[:, :2]], axis=1)
    utility = np.take_along_axis(worth[:, None, :], tone, axis=2) + own[:, 2, None, None] * size
    first = rng.random((raters, tasks)) < expit(0.4 + utility[..., 0] - utility[..., 1])
    who, task = (np.repeat(index.ravel(), 2) for index in np.indices(first.shape))
    names = [f"r{w:02d}" for w in who]
    pairs = [f"r{w:02d}_{t}" for w, t in zip(who, task, strict=True)]
    codes = {"tone": tone, "size": size}
    return forced_choices(LEVELS, codes, first, judge_id=names, judge_kind="human", pair_id=pairs), own


@pytest.fixture(scope="module")
def panel() -> tuple[pd.DataFrame, np.ndarray]:
    return _panel(12)


@pytest.fixture(scope="module")
def fitted(panel: tuple[pd.DataFrame, np.ndarray]) -> ChoiceFit:
    return choice_model(panel[0], "chosen ~ tone + size", draws=500, tune=500, seed=4)


@pytest.fixture(scope="module")
def judge() -> Simulation:
    return simulate(load_study("moderation"), seed=3, judges=["gpt4o"], prompts=["baseline"], pairs=1500)


@pytest.fixture(scope="module")
def answered(judge: Simulation) -> pd.DataFrame:
    return judge.choices[~judge.choices["repeat"].astype(bool)]


@pytest.fixture(scope="module")
def sampled(answered: pd.DataFrame) -> Estimates:
    return amce(answered, FORMULA, id="pair_id", engine="bayes")


def from_truth(made: Simulation, frame: pd.DataFrame, analysis: str = "amce") -> pd.Series:
    """Distances of estimates from the simulator's truth, in standard errors."""
    truth = made.truth[made.truth["analysis"] == analysis].drop_duplicates(["feature", "level"])
    frame = frame[frame["std_error"].notna()]
    keys = pd.MultiIndex.from_frame(frame[["feature", "level"]].astype("string"))
    true = truth.set_index(["feature", "level"])["estimate"].loc[keys].to_numpy()
    return (frame["estimate"] - true) / frame["std_error"]


@pytest.mark.bayes
def test_population_and_raters_of_a_known_panel_are_recovered(
    fitted: ChoiceFit, panel: tuple[pd.DataFrame, np.ndarray]
) -> None:
    frame = fitted.frame.set_index(["quantity", "feature", "level"])
    known = {("tone", "loud"): 0, ("tone", "odd"): 1, ("size", "big"): 2}
    for (feature, level), place in known.items():
        for quantity, true in (("part-worth", MEAN), ("SD between raters", SPREAD)):
            row = frame.loc[(quantity, feature, level)]
            assert abs(row["estimate"] - true[place]) < 3 * row["std_error"]
    ahead = frame.loc[("part-worth", "position", "A")]
    assert abs(ahead["estimate"] - 0.4) < 3 * ahead["std_error"]
    raters = fitted.extra["raters"]
    own = raters[(raters["feature"] == "tone") & (raters["level"] == "loud")]
    assert np.corrcoef(own["estimate"], panel[1][:, 0])[0, 1] > 0.75
    covered = (own["lower"] < panel[1][:, 0]) & (panel[1][:, 0] < own["upper"])
    assert covered.sum() >= stats.binom.ppf(0.001, len(own), 0.95)


@pytest.mark.bayes
def test_amces_of_a_panel_average_over_raters(
    fitted: ChoiceFit, panel: tuple[pd.DataFrame, np.ndarray]
) -> None:
    table = panel[0]
    native = amce(table, "chosen ~ tone + size", id="judge_id").frame
    found = fitted.amce.frame
    difference = (found["estimate"] - native["estimate"]) / native["std_error"]
    assert difference.abs().max() < 2
    ratio = (found["std_error"] / native["std_error"]).dropna()
    assert ratio.between(0.5, 1.3).all()


@pytest.mark.bayes
def test_diagnostics_and_figures_come_with_the_fit(fitted: ChoiceFit) -> None:
    assert {"amce", "mm", "raters"} <= set(fitted.tables)
    assert len(fitted.extra["raters"]) == 70 * 3
    assert fitted.frame["rhat"].max() < 1.05
    assert fitted.extra["amce"]["ess_bulk"].notna().sum() == fitted.amce.frame["std_error"].notna().sum()
    assert any("2,100 answered pairs" in note for note in fitted.notes)
    assert "posterior intervals" in fitted.amce.plot().axes[-1].get_xlabel() + "".join(
        text.get_text() for text in fitted.amce.plot().texts
    )
    assert len(fitted.plot().axes) >= 1


@pytest.mark.bayes
def test_the_fitted_model_makes_the_choices_and_its_priors_much_else(
    fitted: ChoiceFit, tmp_path: Path
) -> None:
    import arviz

    check, prior = fitted.extra["check"], fitted.extra["prior_check"]
    keys = ["statistic", "feature", "level", "observed", "n_pairs"]
    pd.testing.assert_frame_equal(check[keys], prior[keys])
    assert check["statistic"].value_counts().to_dict() == {"share": 4, "SD between raters": 4}
    outside = (check["observed"] < check["lower"]) | (check["observed"] > check["upper"])
    assert outside.sum() <= 1
    shares = check["statistic"] == "share"
    assert ((prior["upper"] - prior["lower"]) > 2 * (check["upper"] - check["lower"]))[shares].all()
    assert any("statistics of the choices" in note for note in fitted.notes)
    stored = arviz.from_netcdf(fitted.save(tmp_path / "draws.nc"))
    ahead = check.loc[shares & (check["feature"] == "position")].iloc[0]
    assert stored["posterior_predictive"]["value"].values.mean() == pytest.approx(ahead["expected"])
    assert stored["observed_data"]["value"].values.mean() == pytest.approx(ahead["observed"])
    assert stored["prior_predictive"]["value"].shape == (1, 100, 2100)


@pytest.mark.bayes
def test_the_engine_finds_the_truth_of_the_simulator(judge: Simulation, sampled: Estimates) -> None:
    off = from_truth(judge, sampled.frame)
    assert off.abs().max() < 3.5
    assert np.sqrt(np.mean(off**2)) < 1.5


@pytest.mark.bayes
def test_the_engine_agrees_with_native_within_two_standard_errors(
    answered: pd.DataFrame, sampled: Estimates
) -> None:
    native = amce(answered, FORMULA, id="pair_id")
    keys = ["outcome", "statistic", "feature", "level"]
    pd.testing.assert_frame_equal(sampled.frame[keys], native.frame[keys])
    difference = (sampled.frame["estimate"] - native.frame["estimate"]) / native.frame["std_error"]
    assert difference.abs().max() < 2
    assert sampled.frame["std_error"].dropna().lt(1.1 * native.frame["std_error"].dropna()).all()
    assert sampled.frame[["z", "p"]].isna().all(axis=None)
    reported = sampled.frame["std_error"].dropna()
    np.testing.assert_allclose(np.sqrt(np.diag(sampled.vcov)), reported, rtol=1e-9)
    reference = sampled.frame["estimate"] == 0
    assert sampled.frame.loc[reference, ["std_error", "lower", "upper"]].isna().all(axis=None)
    assert sampled.provenance.interval == "posterior"


@pytest.mark.bayes
def test_marginal_means_are_those_of_the_truth_and_the_same_by_seed(judge, answered) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, again = (bayes(answered, mm, "chosen ~ slur + identity", "pair_id") for _ in range(2))
    assert from_truth(judge, found.frame, "mm").abs().max() < 4
    pd.testing.assert_frame_equal(found.frame, again.frame)


@pytest.mark.bayes
@pytest.mark.slow
def test_amces_of_a_simulated_panel_are_those_of_the_truth() -> None:
    made = simulate(load_study("moderation"), seed=3, judges=["human"], respondents=150)
    found = choice_model(made.choices[~made.choices["repeat"].astype(bool)], FORMULA, seed=1)
    assert from_truth(made, found.amce.frame).abs().max() < 3.5


@pytest.mark.bayes
@pytest.mark.slow
def test_correlations_between_part_worths_are_found() -> None:
    factor = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.9, 0.0, 0.4]])
    table, _ = _panel(2, raters=120, tasks=40, factor=factor)
    found = choice_model(table, "chosen ~ tone + size", correlated=True, seed=1, draws=600, tune=600)
    row = found.extra["correlation"].set_index(["one", "other"]).loc[("tone=loud", "size=big")]
    true = 0.9 / np.sqrt(0.9**2 + 0.4**2)
    assert abs(row["estimate"] - true) < 3 * row["std_error"]
    assert row["lower"] > 0


def _small() -> pd.DataFrame:
    return _panel(1, raters=3, tasks=4)[0]


def found_pairs(table: pd.DataFrame):
    return find_pairs(table, "chosen", np.ones(len(table), dtype=bool))


def test_pairs_are_put_in_the_order_of_their_positions_for_each_judge() -> None:
    table = _small().sample(frac=1, random_state=1).reset_index(drop=True)
    rows = found_pairs(table)
    assert (table["position"].iloc[rows.first] == "A").all()
    assert (table["position"].iloc[rows.second] == "B").all()
    assert (table["pair_id"].to_numpy()[rows.first] == table["pair_id"].to_numpy()[rows.second]).all()
    assert (table["chosen"].to_numpy()[rows.first] == rows.chosen).all()
    each = [table.assign(judge_id=f"m{number}", judge_kind="model") for number in range(2)]
    assert len(found_pairs(pd.concat(each, ignore_index=True)).first) == 24


def test_unanswered_pairs_and_pairs_without_a_choice_are_left_out_and_told() -> None:
    table = _small().astype({"chosen": float})
    table.loc[0, "chosen"] = np.nan
    both = table["pair_id"] == table["pair_id"].iloc[2]
    table.loc[both, "chosen"] = 0.0
    with pytest.warns(UserWarning, match="1 pairs in 'pair_id' have no or two chosen profiles"):
        rows = found_pairs(table)
    assert len(rows.first) == 10


def test_raters_are_numbered_only_where_they_choose_repeatedly() -> None:
    table = _small()
    rows = found_pairs(table)
    code, names = rater_codes(table, rows, "judge_id")
    assert names == ("r00", "r01", "r02")
    assert np.bincount(code).tolist() == [4, 4, 4]
    assert rater_codes(table, rows, "pair_id")[1] == ()
    assert (rater_codes(table, rows, None)[0] == -1).all()


def test_people_are_raters_and_a_single_model_is_none() -> None:
    table = _small()
    assert raters_of(table) == "judge_id"
    assert raters_of(table.assign(judge_id="m", judge_kind="model")) is None
    with pytest.raises(InputError, match="several judges"):
        raters_of(table.assign(judge_kind="model"))
    mixed = table.assign(judge_kind=["model"] * 8 + ["human"] * (len(table) - 8))
    with pytest.raises(InputError, match="keep one model under one prompt"):
        raters_of(mixed)


SMALL = _small()


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "bayes"))
def test_what_is_no_forced_choice_or_not_estimated_is_refused_in_one_sentence(
    match, columns, options
) -> None:
    with pytest.raises(InputError, match=match):
        bayes(SMALL.assign(**columns), **{**options, "verb": getattr(conjoint, options.get("verb", "amce"))})


def test_choices_without_pairs_and_studies_of_several_judges_are_refused() -> None:
    with pytest.raises(InputError, match="no column 'pair_id'"):
        bayes(SMALL.drop(columns="pair_id"))
    with pytest.raises(InputError, match="one judge at a time"):
        FitOptions(engine="bayes")


def test_options_of_sampling_reach_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[SamplerOptions] = []

    def stop(request: Any, data: Any, raters: Any, sampling: SamplerOptions) -> None:
        reached.append(sampling)
        raise InputError("stopped before sampling")

    monkeypatch.setattr(engine, "fit", stop)
    for verb in (amce, mm):
        with pytest.raises(InputError, match="stopped"):
            bayes(SMALL, verb, draws=20, tune=30, chains=1, seed=5, target_accept=0.8)
    assert reached == [SamplerOptions(draws=20, tune=30, chains=1, seed=5, target_accept=0.8)] * 2
    with pytest.raises(InputError, match="There is no option 'tunes'"):
        bayes(SMALL, tunes=30)


def bayes(table, verb=amce, formula="chosen ~ tone", id="judge_id", **options):
    return verb(table, formula, id=id, engine="bayes", **options)


# --- likelihood and averages ---------------------------------------------------------------------


def _pairs(rng: np.random.Generator, n: int = 40, raters: int = 3) -> PairedChoices:
    """Two attributes: of three levels (dummies 0 and 1) and of two (dummy 2)."""
    sides = []
    for _ in range(2):
        level = rng.integers(0, 3, n)
        sides.append(np.column_stack([level == 1, level == 2, rng.integers(0, 2, n)]).astype(float))
    rater = rng.integers(0, raters, n) if raters else np.full(n, -1)
    return PairedChoices(
        sides[0],
        sides[1],
        rng.random(n) < 0.5,
        rater,
        ("a1", "a2", "b1"),
        tuple(map(str, range(raters))),
        True,
    )


@pytest.mark.parametrize("raters", [0, 3])
def test_likelihood_and_gradient_are_those_of_the_logit(raters: int) -> None:
    pytest.importorskip("numba")
    from conjury.analysis.conjoint.engines.bayes.choice_kernel import log_likelihood

    rng = np.random.default_rng(raters)
    pairs = _pairs(rng, raters=raters)
    difference, sign = pairs.first - pairs.second, np.where(pairs.chosen, 1, -1)
    point = np.concatenate([[0.3], rng.normal(size=3 + 3 * raters)])

    def by_hand(point: np.ndarray) -> float:
        worth = point[1:4] + (point[4:].reshape(raters, 3)[pairs.rater] if raters else 0.0)
        return float(np.log(expit(sign * (point[0] + (difference * worth).sum(axis=1)))).sum())

    value, *slopes = log_likelihood(
        point[:1], point[1:4], point[4:].reshape(raters, 3), difference, sign, pairs.rater
    )
    assert value == pytest.approx(by_hand(point), rel=1e-12)
    steps = 1e-6 * np.eye(len(point))
    moved = [(by_hand(point + step) - by_hand(point - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(np.concatenate([np.ravel(own) for own in slopes]), moved, rtol=1e-6, atol=1e-7)
    design = np.array([[1.0], [1.0]])
    value, _, slope, _ = log_likelihood(
        np.zeros(1), np.array([900.0]), np.zeros((0, 1)), design, np.array([1, -1]), np.array([-1, -1])
    )
    assert value == pytest.approx(-900.0)  # finite where utilities are extreme
    assert slope[0] == pytest.approx(-1.0)


def _counterfactual(
    pairs: PairedChoices, worth: np.ndarray, position: float, columns: list[int], values: list[float]
) -> float:
    """Mean probability of being chosen with some dummies replaced, profile by profile."""
    total = []
    for i in range(len(pairs.chosen)):
        for side in (0, 1):
            shown = [pairs.first[i].copy(), pairs.second[i].copy()]
            shown[side][columns] = values
            first = expit(position + shown[0] @ worth - shown[1] @ worth)
            total.append(first if side == 0 else 1 - first)
    return float(np.mean(total))


def test_amces_are_mean_changes_over_both_profiles_of_all_pairs() -> None:
    rng = np.random.default_rng(5)
    pairs = _pairs(rng, raters=0)
    worth, position = np.array([0.8, -1.2, 0.5]), np.array([0.4, -0.2])
    draws = ChoiceDraws(position[None], np.stack([worth, 2 * worth])[None], None)
    effects = [
        [ChoiceProbability(1.0, (0, 1), (0.0, 1.0)), ChoiceProbability(-1.0, (0, 1), (0.0, 0.0))],
        [
            ChoiceProbability(sign / 2, (0, 1, 2), (level, 0.0, b))
            for sign, level in ((1, 1.0), (-1, 0.0))
            for b in (0.0, 1.0)
        ],
    ]
    found = averages(draws, pairs, effects, rng)[0]
    for number, scale in enumerate((1, 2)):
        own = scale * worth
        at = float(position[number])
        first = _counterfactual(pairs, own, at, [0, 1], [0, 1]) - _counterfactual(
            pairs, own, at, [0, 1], [0, 0]
        )
        assert found[number, 0] == pytest.approx(first, rel=1e-12)
        second = np.mean(
            [
                _counterfactual(pairs, own, at, [0, 1, 2], [1, 0, b])
                - _counterfactual(pairs, own, at, [0, 1, 2], [0, 0, b])
                for b in (0, 1)
            ]
        )
        assert found[number, 1] == pytest.approx(second, rel=1e-12)


@pytest.mark.parametrize("correlated", [pytest.param(False, marks=pytest.mark.slow), True])
def test_effects_are_averaged_over_raters_drawn_from_the_population(correlated: bool) -> None:
    rng = np.random.default_rng(7)
    pairs = _pairs(rng, n=60, raters=2)
    mean, spread = np.array([0.8, -1.2, 0.5]), np.array([1.5, 0.2, 1.0])
    factor = np.diag(spread)
    if correlated:
        factor[2, 0] = 1.2
    stacked = np.broadcast_to(
        factor if correlated else spread, (1, 400, *(factor if correlated else spread).shape)
    )
    draws = ChoiceDraws(np.zeros((1, 400)), np.broadcast_to(mean, (1, 400, 3)), stacked)
    effect = [[ChoiceProbability(1.0, (0, 1), (1.0, 0.0)), ChoiceProbability(-1.0, (0, 1), (0.0, 0.0))]]
    found = averages(draws, pairs, effect, rng).mean()
    people = mean + np.random.default_rng(8).standard_normal((4000, 3)) @ factor.T
    each = [
        _counterfactual(pairs, own, 0.0, [0, 1], [1, 0]) - _counterfactual(pairs, own, 0.0, [0, 1], [0, 0])
        for own in people[:400]
    ]
    assert found == pytest.approx(np.mean(each), abs=4 * np.std(each) / 20)


def test_thinning_takes_draws_of_every_chain() -> None:
    draws = ChoiceDraws(np.arange(20.0).reshape(2, 10), np.zeros((2, 10, 1)), None)
    assert thin_draws(draws, 8).position.tolist() == [[0, 2, 4, 6, 8], [10, 12, 14, 16, 18]]
    assert thin_draws(draws, 100).position.shape == (2, 10)


def test_packed_factors_fill_the_lower_triangle_row_by_row() -> None:
    assert lower_triangular(np.arange(1.0, 7.0), 3).tolist() == [[1, 0, 0], [2, 3, 0], [4, 5, 6]]


@pytest.mark.parametrize("name", ["spread", "factor"])
def test_part_worths_of_raters_are_the_mean_of_their_draw_with_their_deviation(name: str) -> None:
    rng = np.random.default_rng(1)
    noise, mean, packed = (rng.normal(size=(2, 4, *shape)) for shape in ((3, 2), (2,), (3,)))
    factor = packed[..., :2] if name == "spread" else packed
    found = rater_part_worths({"mean": mean, "noise": noise, name: factor}, [1, 6])  # of both chains
    for drawn, (chain, draw) in zip(found, [(0, 1), (1, 2)], strict=True):
        for rater, (x, y) in zip(drawn, noise[chain, draw], strict=True):
            a, b, c = packed[chain, draw]
            own = (a * x, b * y) if name == "spread" else (a * x, b * x + c * y)
            assert rater == pytest.approx(mean[chain, draw] + own)


def test_positions_without_an_effect_are_zero_in_each_draw() -> None:
    drawn = population({"mean": np.zeros((2, 5, 3))})
    assert drawn.position.tolist() == [[0.0] * 5] * 2
    assert drawn.factor is None
    assert population({"mean": np.zeros((2, 5, 3)), "position": np.ones((2, 5))}).position.all()


def test_effects_are_known_where_differences_within_pairs_determine_them() -> None:
    # Every pair shows the same difference, (1, 1, 0): of it alone there is an estimate.
    pairs = SimpleNamespace(first=np.tile([1.0, 1.0, 0.0], (4, 1)), second=np.zeros((4, 3)))
    contrasts = np.array([[0.0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 2, 2, 0]])
    assert _is_identified(
        SimpleNamespace(pairs=pairs, plan=SimpleNamespace(contrasts=contrasts))
    ).tolist() == [True, False, False, True]
