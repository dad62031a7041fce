"""The choice model and the engine bayes: known truth, the native engine, seeds, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

from conjury.analysis.conjoint import amce, amce_diffs, choice_model, cj, mm
from conjury.analysis.conjoint.bayes.choice_model import ChoiceFit
from conjury.analysis.conjoint.bayes.paired import find_pairs, rater_codes, raters_of
from conjury.analysis.conjoint.estimates import Estimates
from conjury.analysis.pipeline.run import FitOptions
from conjury.inference.errors import InputError
from conjury.inference.simulation import Simulation, simulate
from conjury.inference.study import load_study

FORMULA = "chosen ~ slur + identity + topic + reply + curse + engagement"
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
    chosen = np.stack([first, ~first], axis=-1).astype(int)
    who, task, side = np.indices(chosen.shape)
    table = pd.DataFrame(
        {
            "judge_id": [f"r{w:02d}" for w in who.ravel()],
            "judge_kind": "human",
            "pair_id": [f"r{w:02d}_{t}" for w, t in zip(who.ravel(), task.ravel(), strict=True)],
            "position": np.array(["A", "B"])[side.ravel()],
            "tone": pd.Categorical.from_codes(tone.ravel(), ["calm", "loud", "odd"]),
            "size": pd.Categorical.from_codes(size.ravel(), ["small", "big"]),
            "chosen": chosen.ravel(),
        }
    )
    return table, own


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
    assert fitted.amce is not None
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
    assert fitted.amce is not None
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
    assert judge.truth is not None
    truth = judge.truth[judge.truth["analysis"] == "amce"].set_index(["feature", "level"])["estimate"]
    frame = sampled.frame[sampled.frame["std_error"].notna()]
    keys = pd.MultiIndex.from_frame(frame[["feature", "level"]].astype("string"))
    off = (frame["estimate"].to_numpy() - truth.loc[keys].to_numpy()) / frame["std_error"].to_numpy()
    assert np.abs(off).max() < 3.5
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
    assert sampled.vcov is not None
    reported = sampled.frame["std_error"].dropna()
    np.testing.assert_allclose(np.sqrt(np.diag(sampled.vcov)), reported, rtol=1e-9)
    reference = sampled.frame["estimate"] == 0
    assert sampled.frame.loc[reference, ["std_error", "lower", "upper"]].isna().all(axis=None)
    assert sampled.provenance.interval == "posterior"


@pytest.mark.bayes
def test_marginal_means_are_those_of_the_truth_and_the_same_by_seed(judge: Simulation) -> None:
    choices = judge.choices[~judge.choices["repeat"].astype(bool)]
    assert judge.truth is not None
    truth = judge.truth[judge.truth["analysis"] == "mm"].set_index(["feature", "level"])["estimate"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, again = (
            mm(choices, "chosen ~ slur + identity", id="pair_id", engine="bayes") for _ in range(2)
        )
    keys = pd.MultiIndex.from_frame(found.frame[["feature", "level"]].astype("string"))
    off = (found.frame["estimate"] - truth.loc[keys].to_numpy()) / found.frame["std_error"]
    assert off.abs().max() < 4
    pd.testing.assert_frame_equal(found.frame, again.frame)


@pytest.mark.bayes
@pytest.mark.slow
def test_amces_of_a_simulated_panel_are_those_of_the_truth() -> None:
    made = simulate(load_study("moderation"), seed=3, judges=["human"], respondents=150)
    choices = made.choices[~made.choices["repeat"].astype(bool)]
    found = choice_model(choices, FORMULA, seed=1)
    assert made.truth is not None
    assert found.amce is not None
    truth = made.truth[made.truth["analysis"] == "amce"].set_index(["feature", "level"])["estimate"]
    frame = found.amce.frame[found.amce.frame["std_error"].notna()]
    keys = pd.MultiIndex.from_frame(frame[["feature", "level"]].astype("string"))
    off = (frame["estimate"].to_numpy() - truth.loc[keys].to_numpy()) / frame["std_error"].to_numpy()
    assert np.abs(off).max() < 3.5


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


def test_pairs_are_put_in_the_order_of_their_positions() -> None:
    table = _small().sample(frac=1, random_state=1).reset_index(drop=True)
    rows = find_pairs(table, "chosen", np.ones(len(table), dtype=bool))
    assert (table["position"].iloc[rows.first] == "A").all()
    assert (table["position"].iloc[rows.second] == "B").all()
    assert (table["pair_id"].to_numpy()[rows.first] == table["pair_id"].to_numpy()[rows.second]).all()
    assert (table["chosen"].to_numpy()[rows.first] == rows.chosen).all()


def test_judges_who_share_pairs_have_choices_of_their_own() -> None:
    each = [_small().assign(judge_id=f"m{number}", judge_kind="model") for number in range(2)]
    table = pd.concat(each, ignore_index=True)
    assert len(find_pairs(table, "chosen", np.ones(len(table), dtype=bool)).first) == 24


def test_unanswered_pairs_and_pairs_without_a_choice_are_left_out_and_told() -> None:
    table = _small().astype({"chosen": float})
    table.loc[0, "chosen"] = np.nan
    both = table["pair_id"] == table["pair_id"].iloc[2]
    table.loc[both, "chosen"] = 0.0
    with pytest.warns(UserWarning, match="1 pairs in 'pair_id' have no or two chosen profiles"):
        rows = find_pairs(table, "chosen", np.ones(len(table), dtype=bool))
    assert len(rows.first) == 10


def test_raters_are_numbered_only_where_they_choose_repeatedly() -> None:
    table = _small()
    rows = find_pairs(table, "chosen", np.ones(len(table), dtype=bool))
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


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"pair_id": "same"}, "has 8 rows in column 'pair_id'"),
        ({"chosen": 0.3}, "holds 0.3 in row 1"),
        ({"chosen": np.nan}, "missing in every row|one is chosen"),
        ({"position": "A"}, "have position 'A'"),
    ],
)
def test_what_is_no_forced_choice_is_refused(change: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        amce(_small().assign(**change), "chosen ~ tone", id="judge_id", engine="bayes")


def test_missing_pairs_and_columns_that_split_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="no column 'pair_id'"):
        amce(_small().drop(columns="pair_id"), "chosen ~ tone", engine="bayes")
    with pytest.raises(InputError, match="differs between the two profiles"):
        amce(_small(), "chosen ~ size", id="position", engine="bayes")


def test_what_the_engine_does_not_estimate_is_refused_in_one_sentence() -> None:
    table = _small().assign(weight=1.0)
    with pytest.raises(InputError, match="bayes has no amce_diffs; it has amce and mm"):
        amce_diffs(table, "chosen ~ tone", by="size", engine="bayes")
    with pytest.raises(InputError, match="bayes has no cj_mm"):
        cj(table, "chosen ~ tone", estimate="mm", by="size", engine="bayes")
    with pytest.raises(InputError, match="takes no weights"):
        amce(table, "chosen ~ tone", weights="weight", engine="bayes")
    with pytest.raises(InputError, match="leave family out"):
        amce(table, "chosen ~ tone", family="quasibinomial", engine="bayes")
    with pytest.raises(InputError, match="vcov='survey'"):
        amce(table, "chosen ~ tone", id="judge_id", vcov="CR2", engine="bayes")
    with pytest.raises(InputError, match="one judge at a time"):
        FitOptions(engine="bayes")
