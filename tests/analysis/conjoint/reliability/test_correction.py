"""Estimates corrected for swapping errors: parity with projoint, known truth, clusters in common."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import t as student

from conjury.analysis.conjoint import amce, amce_by_reference, amce_diffs, mm, mm_diffs, projoint, reliability
from conjury.analysis.conjoint.reliability.agreement import sign_test
from conjury.analysis.conjoint.reliability.correction import Corrected
from conjury.analysis.conjoint.reliability.repeats import first_answers
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.tables import validate

FIXTURES = Path(__file__).parents[3] / "fixtures" / "projoint"
FORMULA = "chosen ~ tone + topic"
WORTH = {"tone": [0.0, 0.8, 2.0], "topic": [0.0, -0.6]}
LEVELS = {"tone": ["mild", "sharp", "rude"], "topic": ["work", "sport"]}
SPREAD = 0.7


@pytest.fixture(autouse=True)
def _chance_leanings_are_no_failure() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Repeated answers lean")
        yield


def panel(
    seed: int, respondents: int = 200, tasks: int = 5, tau: float = 0.15, repeats: int = 1, **more: Any
) -> pd.DataFrame:
    """Respondents with tastes of their own; the first tasks are repeated with their sides swapped."""
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, len(own), (respondents, tasks, 2)) for name, own in LEVELS.items()}
    advantage = np.zeros((respondents, tasks))
    for name, own in WORTH.items():
        taste = np.array(own) + SPREAD * rng.standard_normal((respondents, len(own)))
        worth = np.take_along_axis(taste[:, None, :], codes[name], axis=2)
        advantage += worth[..., 0] - worth[..., 1]
    stable = rng.random(advantage.shape) < expit(advantage)
    stable = np.column_stack([stable, ~stable[:, :repeats]])
    answers = stable ^ (rng.random(stable.shape) < tau)
    codes["profile_id"] = np.arange(2 * respondents * tasks).reshape(respondents, tasks, 2)
    shown = {name: np.concatenate([own, own[:, :repeats, ::-1]], axis=1) for name, own in codes.items()}
    profile = shown.pop("profile_id").ravel()
    size = answers.size * 2
    task = np.tile(np.repeat(np.arange(1, tasks + repeats + 1), 2), respondents)
    judge = np.repeat([f"r{i:04d}" for i in range(respondents)], 2 * (tasks + repeats))
    table = pd.DataFrame(
        {
            "judge_id": judge,
            "judge_kind": "human",
            "pair_id": np.repeat(np.arange(size // 2), 2),
            "task": task,
            "position": np.tile(["A", "B"], size // 2),
            "profile_id": profile,
            "chosen": np.stack([answers, ~answers], axis=-1).ravel().astype(int),
            "status": "ok",
            "repeat": task > tasks,
            **{n: pd.Categorical.from_codes(own.ravel(), LEVELS[n]) for n, own in shown.items()},
        }
    )
    return table.assign(**more)


def true_means(seed: int = 0, draws: int = 200_000) -> dict[tuple[str, str], float]:
    """Marginal means of stable picks: tastes at random, all pairs of profiles."""
    rng = np.random.default_rng(seed)
    profiles = list(product(range(3), range(2)))
    tone = np.array(WORTH["tone"]) + SPREAD * rng.standard_normal((draws, 3))
    topic = np.array(WORTH["topic"]) + SPREAD * rng.standard_normal((draws, 2))
    worth = np.stack([tone[:, i] + topic[:, j] for i, j in profiles], axis=1)
    chosen = np.array([[expit(worth[:, a] - worth[:, b]).mean() for b in range(6)] for a in range(6)]).mean(
        axis=1
    )
    found = {}
    for position, (name, levels) in enumerate(LEVELS.items()):
        for code, level in enumerate(levels):
            found[name, level] = float(
                np.mean([c for c, p in zip(chosen, profiles, strict=True) if p[position] == code])
            )
    return found


@pytest.fixture(scope="module")
def means() -> dict[tuple[str, str], float]:
    return true_means(draws=40_000)


@pytest.fixture(scope="module")
def small_panel() -> pd.DataFrame:
    table = pd.read_csv(FIXTURES / "panel.csv")
    return validate(table.assign(judge_kind="human", tone=table["tone"].astype("category"),
                                 topic=table["topic"].astype("category")), "choices")  # fmt: skip


def projoint_example(shared: Path) -> pd.DataFrame:
    """The long form of projoint's example as choices; its repeated answers refer to the same profile."""
    long = pd.read_csv(shared / "peers" / "projoint_long.csv.gz")
    attributes = sorted(name for name in long if name.startswith("att"))
    side = long["profile"].map({1: "A", 2: "B"})
    ours = long[["task", *attributes]].assign(
        judge_id=long["id"], judge_kind="human", position=side, chosen=long["selected"], repeat=False,
        pair_id=long["id"] + "_" + long["task"].astype(str),
    )  # fmt: skip
    again = long["selected_repeated"].notna()
    repeated = ours[again].assign(
        chosen=long.loc[again, "selected_repeated"], repeat=True, task=9,
        position=side[again].map({"A": "B", "B": "A"}), pair_id=long.loc[again, "id"] + "_9",
    )  # fmt: skip
    both = pd.concat([ours, repeated], ignore_index=True)
    return both.astype(dict.fromkeys(attributes, "category"))


@pytest.mark.shared
@pytest.mark.parametrize("estimand", ["mm", "amce"])
def test_projoint_is_reproduced_on_its_example(shared: Path, estimand: Any) -> None:
    choices = projoint_example(shared)
    formula = "chosen ~ " + " + ".join(f"att{k}" for k in range(1, 8))
    made = projoint(choices, formula, estimand=estimand)
    expected = pd.read_csv(FIXTURES / f"{estimand}.csv").set_index(["source", "level"])
    found = made.beside.astype({"level": str}).set_index(["source", "level"]).loc[expected.index]
    for name in expected.columns:
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-12, err_msg=name)
    assert made.tau["tau"].iloc[0] == pytest.approx(0.17212807378490141, rel=1e-13)


@pytest.mark.shared
def test_native_correction_of_projoints_example_sets_its_net_bias_apart(shared: Path) -> None:
    choices = projoint_example(shared)
    made = amce(choices, "chosen ~ att1 + att2", id="judge_id", correct="reliability")
    found = reliability(choices, seed=1, draws=2)
    assert found.frame["tau"].item() == pytest.approx(0.17212807378490141, rel=1e-12)
    n, agreement = found.frame[["n_compared", "agreement"]].iloc[0]
    bias = found.position["net_bias"].item()
    variance = (1 - agreement - bias**2) / (n - 1)
    tau = made.provenance.extra["tau"]
    assert (1 - 2 * tau) ** 2 == pytest.approx(2 * agreement - 1 + bias**2 - variance, rel=1e-12)
    assert made.tau["net_bias"].item() == pytest.approx(bias, rel=1e-12)
    observed = made.uncorrected.frame["estimate"]
    np.testing.assert_allclose(made.frame["estimate"], observed / (1 - 2 * tau), rtol=1e-12)


def dense_cr2(design: np.ndarray, outcome: np.ndarray, cluster: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and their CR2 covariance, by the textbook's matrices."""
    bread = np.linalg.inv(design.T @ design)
    coef = bread @ design.T @ outcome
    residual, summed = outcome - design @ coef, np.zeros_like(bread)
    for one in np.unique(cluster):
        own = design[cluster == one]
        values, vectors = np.linalg.eigh(np.eye(len(own)) - own @ bread @ own.T)
        root = vectors @ np.diag(1 / np.sqrt(values)) @ vectors.T
        score = own.T @ root @ residual[cluster == one]
        summed += np.outer(score, score)
    return coef, bread @ summed @ bread


def test_projoints_conventions_are_those_of_its_formulas(small_panel: pd.DataFrame) -> None:
    made = projoint(small_panel, FORMULA)
    first = first_answers(small_panel)
    pairs = reliability(small_panel, seed=1).pairs.set_index("judge_id")["same"].dropna()
    agreement, n = pairs.mean(), len(pairs)
    tau = (1 - np.sqrt(2 * agreement - 1)) / 2
    untied = first[first.groupby("pair_id")["tone"].transform("nunique") == 2]
    rows = untied[untied["tone"].isin(["mild", "rude"]) & untied["chosen"].notna()]
    rude = (rows["tone"] == "rude").to_numpy(float)
    outcome = rows["chosen"].to_numpy(float)
    coef, vcov = dense_cr2(np.column_stack([np.ones(len(rows)), rude]), outcome, rows["judge_id"].to_numpy())
    own = rows[(rows["task"] == 1)].assign(agree=lambda t: t["judge_id"].map(pairs)).dropna(subset=["agree"])
    by_level = {
        k: np.cov(g["chosen"].astype(float), g["agree"])[0, 1] / n
        for k, g in own.groupby("tone", observed=True)
    }
    slope = -0.5 / np.sqrt(2 * agreement - 1)
    by_coef, by_tau = 1 / (1 - 2 * tau), 2 * coef[1] / (1 - 2 * tau) ** 2
    variance = by_coef**2 * vcov[1, 1] + by_tau**2 * slope**2 * agreement * (1 - agreement) / (n - 1)
    variance += 2 * by_coef * by_tau * slope * (by_level["rude"] - by_level["mild"])
    row = made.frame[made.frame["level"] == "rude"].iloc[0]
    assert row["estimate"] == pytest.approx(coef[1] / (1 - 2 * tau), rel=1e-10)
    assert row["std_error"] == pytest.approx(np.sqrt(variance), rel=1e-10)
    half = student.ppf(0.975, row["df"]) * row["std_error"]
    assert row["upper"] == pytest.approx(row["estimate"] + half, rel=1e-10)


def test_projoint_refuses_what_it_cannot_correct() -> None:
    with pytest.raises(InputError, match="estimand"):
        projoint(panel(1), FORMULA, estimand="acie")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="above one half"):
        projoint(panel(1, tau=0.5, respondents=60).assign(chosen=_always_a), FORMULA)


def _always_a(table: pd.DataFrame) -> np.ndarray:
    return (table["position"] == "A").to_numpy(int)


def test_known_tau_stretches_estimates_and_errors_alike(small_panel: pd.DataFrame) -> None:
    for verb, share in ((amce, 0.0), (mm, 1.0)):
        plain = verb(first_answers(small_panel), FORMULA, id="judge_id").frame
        made = verb(small_panel, FORMULA, id="judge_id", correct=0.17)
        np.testing.assert_allclose(
            made.frame["estimate"], (plain["estimate"] - share * 0.17) / 0.66, rtol=1e-12
        )
        np.testing.assert_allclose(made.frame["std_error"], plain["std_error"] / 0.66, rtol=1e-12)
        assert isinstance(made, Corrected)
        pd.testing.assert_frame_equal(made.uncorrected.frame, plain)
        assert made.provenance.extra["tau"] == 0.17


def test_no_swapping_error_changes_nothing(small_panel: pd.DataFrame) -> None:
    plain = amce(first_answers(small_panel), FORMULA, id="judge_id", vcov="CR2")
    made = amce(small_panel, FORMULA, id="judge_id", vcov="CR2", correct=0.0)
    pd.testing.assert_frame_equal(made.frame, plain.frame)
    agreeing = small_panel.assign(chosen=_always_rude(small_panel), status="ok")
    perfect = amce(agreeing, FORMULA, id="judge_id", correct="reliability")
    expected = amce(first_answers(agreeing), FORMULA, id="judge_id")
    pd.testing.assert_frame_equal(perfect.frame, expected.frame)


def _always_rude(table: pd.DataFrame) -> np.ndarray:
    """A choice that depends on the two profiles alone, whatever their sides."""
    number = table["tone"].cat.codes * 10 + table["topic"].cat.codes
    other = number.to_numpy().reshape(-1, 2)[:, ::-1].ravel()
    return np.where(number == other, table["position"] == "A", number > other).astype(int)


def leave_one_out(sums: np.ndarray) -> np.ndarray:
    """Sums over all respondents but one, for each of them."""
    return sums.sum(axis=0) - sums


def jackknife(estimates: np.ndarray) -> np.ndarray:
    n = len(estimates)
    return np.sqrt((n - 1) / n * ((estimates - estimates.mean(axis=0)) ** 2).sum(axis=0))


def sums_by_respondent(table: pd.DataFrame, values: np.ndarray) -> np.ndarray:
    _, code = np.unique(table["judge_id"], return_inverse=True)
    found = np.zeros((code.max() + 1, *values.shape[1:]))
    np.add.at(found, code, values)
    return found


def tau_without_each(table: pd.DataFrame, takes_part: np.ndarray | None = None) -> np.ndarray:
    """Swapping error without each respondent, by counting; ``takes_part`` keeps some repeats, shape (P,)."""
    pairs = reliability(table, seed=1, draws=2).pairs
    kept = pairs if takes_part is None else pairs[takes_part]
    lean = (kept["first"] + kept["again"] - 1).where(kept["same"].notna())
    own = (
        pd.DataFrame({"same": kept["same"], "count": kept["same"].notna(), "lean": lean})
        .groupby(kept["judge_id"])
        .sum()
        .reindex(table["judge_id"].unique(), fill_value=0)
    )
    same, count, leaned = leave_one_out(own.to_numpy(float)).T
    squared = 0.0 if sign_test(own["lean"].to_numpy(float)) > 0.05 else (leaned / count) ** 2
    return (1 - np.sqrt(2 * same / count - 1 + squared)) / 2


@pytest.mark.parametrize("lean", [0.0, 0.3])
def test_errors_of_effects_are_those_of_leaving_out_each_respondent(lean: float) -> None:
    table = leaning(5, lean, respondents=400, tasks=3)
    made = amce(table, FORMULA, id="judge_id", correct="reliability").frame
    first = first_answers(table)
    dummies = [first[name] == level for name in LEVELS for level in LEVELS[name][1:]]
    design = np.column_stack([np.ones(len(first)), *dummies]).astype(float)
    outcome = first["chosen"].to_numpy(float)
    gram = leave_one_out(sums_by_respondent(first, design[:, :, None] * design[:, None, :]))
    moments = leave_one_out(sums_by_respondent(first, design * outcome[:, None]))
    effects = np.linalg.solve(gram, moments[..., None])[:, 1:, 0]
    expected = jackknife(effects / (1 - 2 * tau_without_each(table))[:, None])
    np.testing.assert_allclose(made["std_error"].dropna(), expected, rtol=0.02)


@pytest.mark.parametrize("correct", ["reliability", "by_level"])
def test_errors_of_means_are_those_of_leaving_out_each_respondent(correct: str) -> None:
    table = panel(5, respondents=600, tasks=3)
    made = mm(table, FORMULA, id="judge_id", correct=correct).frame
    first = first_answers(table)
    pairs = reliability(table, seed=1, draws=2).pairs
    for row in made.to_dict("records"):
        shows = (first[row["feature"]] == row["level"]).to_numpy(float)
        sums = sums_by_respondent(first, np.column_stack([shows * first["chosen"], shows]))
        left = leave_one_out(sums)
        sides = [table[row["feature"]].iloc[pairs[side]].to_numpy() for side in ("row_a", "row_b")]
        informs = (sides[0] != sides[1]) & ((sides[0] == row["level"]) | (sides[1] == row["level"]))
        tau = tau_without_each(table, informs if correct == "by_level" else None)
        expected = jackknife((left[:, 0] / left[:, 1] - tau) / (1 - 2 * tau))
        assert row["std_error"] == pytest.approx(expected, rel=0.02)


def test_tau_of_another_study_adds_its_variance_without_covariance(small_panel: pd.DataFrame) -> None:
    pilot = reliability(panel(9, respondents=150).assign(judge_id=lambda t: "pilot" + t["judge_id"]), seed=1)
    made = amce(small_panel, FORMULA, id="judge_id", correct=pilot)
    tau, error = pilot.frame["tau"].iloc[0], pilot.frame["tau_std_error"].iloc[0]
    fixed = amce(small_panel, FORMULA, id="judge_id", correct=float(tau)).frame
    slope = 2 * made.uncorrected.frame["estimate"] / (1 - 2 * tau) ** 2
    expected = np.sqrt(fixed["std_error"] ** 2 + (slope * error) ** 2)
    np.testing.assert_allclose(made.frame["std_error"], expected, rtol=1e-10)


def test_own_result_of_reliability_equals_the_repeats_of_the_table(small_panel: pd.DataFrame) -> None:
    found = reliability(small_panel, seed=1)
    one, two = (mm(small_panel, FORMULA, id="judge_id", correct=c) for c in ("reliability", found))
    pd.testing.assert_frame_equal(one.frame, two.frame)


def test_covariance_of_rows_fits_their_errors(small_panel: pd.DataFrame) -> None:
    made = mm(small_panel, FORMULA, id="judge_id", correct="reliability")
    assert made.vcov is not None
    np.testing.assert_allclose(np.sqrt(np.diag(made.vcov)), made.frame["std_error"], rtol=1e-12)
    assert np.linalg.eigvalsh(made.vcov).min() > -1e-12
    assert made.fitted is None


def test_differences_shrink_back_with_one_tau_or_one_for_each_group() -> None:
    table = pd.concat([panel(1, tau=0.05, group="calm"), panel(2, tau=0.3, group="wild")], ignore_index=True)
    table["judge_id"] = table["group"] + table["judge_id"]
    table["pair_id"] = table["group"] + table["pair_id"].astype(str)
    pooled = amce_diffs(table, FORMULA, by="group", id="judge_id", correct="reliability")
    kept = 1 - 2 * pooled.tau["tau"].iloc[0]
    np.testing.assert_allclose(
        pooled.frame["estimate"], pooled.uncorrected.frame["estimate"] / kept, rtol=1e-12
    )
    for verb, diffs in ((amce, amce_diffs), (mm, mm_diffs)):
        made = diffs(table, FORMULA, by="group", id="judge_id", correct="by_group").frame
        calm, wild = (
            verb(own, FORMULA, id="judge_id", correct="reliability").frame.dropna(subset="std_error")
            for _, own in table.groupby("group")
        )
        difference = wild["estimate"].to_numpy() - calm["estimate"].to_numpy()
        np.testing.assert_allclose(made["estimate"], difference, rtol=1e-10)
        error = np.hypot(wild["std_error"], calm["std_error"])
        np.testing.assert_allclose(made["std_error"], error, rtol=5e-3)


def test_levels_with_few_repeats_take_the_pooled_tau_with_a_warning(small_panel: pd.DataFrame) -> None:
    with pytest.warns(UserWarning, match="fewer than 100 repeats"):
        made = mm(small_panel, FORMULA, id="judge_id", correct="by_level")
    assert made.tau["group"].tolist() == ["all"]
    pooled = mm(small_panel, FORMULA, id="judge_id", correct="reliability")
    np.testing.assert_allclose(made.frame["std_error"], pooled.frame["std_error"], rtol=1e-12)


def test_levels_with_many_repeats_have_a_tau_of_their_own() -> None:
    table = panel(3, respondents=900)
    made = amce(table, FORMULA, id="judge_id", correct="by_level")
    assert made.tau["group"].tolist()[:3] == ["all", "tone=mild", "tone=sharp"]
    row = made.frame[made.frame["level"] == "sharp"].iloc[0]
    first = made.uncorrected.frame[made.frame["level"] == "sharp"].iloc[0]
    own = made.tau.set_index("group")["tau"]["tone=sharp"]
    assert row["estimate"] == pytest.approx(first["estimate"] / (1 - 2 * own), rel=1e-12)


def test_tau_pooled_over_judges_is_told() -> None:
    table = pd.concat([panel(1, panel="one"), panel(2, panel="two")], ignore_index=True)
    table["judge_id"] = table["panel"] + table["judge_id"]
    table["pair_id"] = table["panel"] + table["pair_id"].astype(str)
    with pytest.warns(UserWarning, match="pooled over 2 judges"):
        amce(table, FORMULA, id="judge_id", correct="reliability")


def leaning(seed: int, share: float = 0.2, **options: Any) -> pd.DataFrame:
    """A panel that gives a share of its answers to side A, whatever is shown."""
    table = panel(seed, **options)
    lean = np.repeat(np.random.default_rng(seed).random(len(table) // 2) < share, 2)
    chosen = np.where(lean, table["position"] == "A", table["chosen"]).astype(int)
    return table.assign(chosen=chosen)


def test_a_net_bias_in_every_pair_does_not_count_as_noise() -> None:
    table = leaning(4, respondents=20_000, tasks=1)
    expected = (1 - 0.8 * (1 - 2 * 0.15)) / 2
    made = amce(table, FORMULA, id="judge_id", correct="reliability")
    assert made.provenance.extra["tau"] == pytest.approx(expected, abs=0.007)
    assert made.tau["net_bias"].item() == pytest.approx(0.2, abs=0.02)
    assert reliability(table, seed=1, draws=2).frame["tau"].item() > expected + 0.012


def test_groups_have_net_biases_of_their_own() -> None:
    table = pd.concat(
        [panel(1, group="calm"), leaning(2, share=0.3, respondents=400, group="leaning")], ignore_index=True
    )
    table["judge_id"] = table["group"] + table["judge_id"]
    table["pair_id"] = table["group"] + table["pair_id"].astype(str)
    with pytest.warns(UserWarning, match="answers favour position A by .*, of leaning favour position A by"):
        made = amce_diffs(table, FORMULA, by="group", id="judge_id", correct="by_group")
    bias = made.tau.set_index("group")["net_bias"]
    assert bias["calm"] == 0
    assert bias["leaning"] == pytest.approx(0.3, abs=0.1)


def test_no_preference_for_a_side_leaves_the_swapping_error_alone() -> None:
    table = panel(6, respondents=400)
    made = amce(table, FORMULA, id="judge_id", correct="reliability")
    assert made.tau["net_bias"].item() == 0
    expected = reliability(table, seed=1, draws=2).frame["tau"].item()
    assert made.provenance.extra["tau"] == pytest.approx(expected, rel=1e-12)


def test_projoint_counts_a_net_bias_as_noise() -> None:
    table = leaning(4, respondents=400)
    expected = reliability(table, seed=1, draws=2).frame["tau"].item()
    assert projoint(table, FORMULA).tau["tau"].item() == pytest.approx(expected, rel=1e-12)


def test_leaning_to_a_side_is_told() -> None:
    table = leaning(4, respondents=400)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        amce(table, FORMULA, id="judge_id", correct="reliability")
    assert any("favour position A" in str(one.message) for one in told)
    assert told[-1].filename == __file__


def test_missing_repeats_stay_out_of_tau_and_of_estimates() -> None:
    table = panel(6)
    compared = reliability(table, seed=1).pairs["judge_id"]
    table.loc[table["repeat"] & table["judge_id"].isin(compared[:2]), "chosen"] = np.nan
    made = amce(table, FORMULA, id="judge_id", correct="reliability")
    assert made.tau["n_compared"].tolist() == [len(compared) - 2]
    plain = amce(table[~table["repeat"]], FORMULA, id="judge_id").frame
    pd.testing.assert_frame_equal(made.uncorrected.frame, plain)


def test_estimates_do_not_need_a_cluster_column_or_one_that_holds_pairs() -> None:
    table = panel(7)
    table["text"] = np.random.default_rng(1).integers(0, 40, len(table)).astype(str)
    by_row = amce(table, FORMULA, correct="reliability")
    crossed = amce(table, FORMULA, id=["text", "judge_id"], vcov="CR1", correct="reliability")
    np.testing.assert_allclose(by_row.frame["estimate"], crossed.frame["estimate"], rtol=1e-12)
    assert (crossed.frame["std_error"].dropna() > 0).all()


def test_the_error_of_tau_does_not_depend_on_the_order_of_the_clusters() -> None:
    table = panel(7, respondents=150, tasks=4, repeats=3)
    made = [
        amce(table, FORMULA, id=ids, vcov="CR1", correct="reliability")
        for ids in (["judge_id", "pair_id"], ["pair_id", "judge_id"])
    ]
    np.testing.assert_allclose(made[0].frame["std_error"], made[1].frame["std_error"], rtol=1e-12)
    np.testing.assert_allclose(made[0].tau["std_error"], made[1].tau["std_error"], rtol=1e-12)


def test_parquet_files_are_corrected_like_frames(small_panel: pd.DataFrame, tmp_path: Path) -> None:
    small_panel.to_parquet(tmp_path / "choices.parquet")
    frames = [
        amce(d, FORMULA, id="judge_id", correct="reliability").frame
        for d in (small_panel, tmp_path / "choices.parquet")
    ]
    pd.testing.assert_frame_equal(*frames)


@pytest.mark.parametrize(
    ("change", "correct", "message"),
    [
        (lambda t: t, 0.5, "between 0 and one half"),
        (lambda t: t, -0.1, "between 0 and one half"),
        (lambda t: t, float("nan"), "between 0 and one half"),
        (lambda t: t, "repeats", "give 'reliability'"),
        (lambda t: t, True, "correct is True"),
        (lambda t: t, "by_group", "amce_diffs and mm_diffs"),
        (lambda t: t[~t["repeat"]], "reliability", "no repeated task"),
        (lambda t: t[~t["repeat"] | (t["judge_id"] == "r0003")], "reliability", "no basis"),
        (lambda t: t.assign(chosen=t["chosen"].where(~t["repeat"])), "reliability", "no basis"),
        (lambda t: t.assign(chosen=_always_a), "reliability", "no better than chance"),
    ],
)
def test_what_cannot_be_corrected_is_an_error(change: Any, correct: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        amce(change(panel(8, respondents=30)), FORMULA, id="judge_id", correct=correct)


def test_other_scales_and_verbs_are_not_corrected() -> None:
    table = panel(8, respondents=30)
    with pytest.raises(InputError, match="leave out engine and family"):
        amce(table, FORMULA, correct=0.1, family="quasibinomial")
    with pytest.raises(InputError, match="no option 'correct'"):
        amce_by_reference(table, FORMULA, "tone", correct=0.1)


def test_agreement_near_chance_is_told() -> None:
    with pytest.warns(UserWarning, match="not clearly above chance"):
        amce(panel(10, respondents=40, tau=0.32), FORMULA, id="judge_id", correct="reliability")


def _coverage(
    means: dict[tuple[str, str], float], seeds: range, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Mean error in standard errors of the mean, and share of intervals that hold the truth, by row."""
    errors, held = [], []
    for seed in seeds:
        frame = mm(panel(seed, **options), FORMULA, id="judge_id", correct="reliability").frame
        keys = zip(frame["feature"].astype(str), frame["level"].astype(str), strict=True)
        truth = np.array([means[key] for key in keys])
        errors.append(frame["estimate"] - truth)
        held.append((frame["lower"] <= truth) & (truth <= frame["upper"]))
    off = np.array(errors)
    return off.mean(axis=0) / (off.std(axis=0) / np.sqrt(len(off))), np.mean(held, axis=0)


@pytest.mark.long
def test_corrected_means_are_unbiased_and_covered(means: dict[tuple[str, str], float]) -> None:
    bias, held = _coverage(means, range(20), respondents=250, tasks=4)
    assert np.abs(bias).max() < 4
    assert held.mean() > 0.85


@pytest.mark.slow
def test_coverage_is_nominal_over_many_panels() -> None:
    bias, held = _coverage(true_means(), range(1000, 1400), respondents=300, tasks=5, tau=0.2)
    print(f"\nbias in its errors {bias.round(2)}, coverage {held.round(4)}, mean {held.mean():.4f}")
    assert np.abs(bias).max() < 4
    assert np.abs(held - 0.95).max() < 0.035


@pytest.mark.slow
@pytest.mark.parametrize("lean", [0.0, 0.2])
def test_effects_are_unbiased_and_covered_where_answers_lean_to_a_side(lean: float) -> None:
    means, panels = true_means(), 600
    truth = np.array(
        [means[name, level] - means[name, LEVELS[name][0]] for name in LEVELS for level in LEVELS[name][1:]]
    )
    found, held = [], []
    for seed in range(panels):
        table = leaning(seed, lean, respondents=250, tasks=8, repeats=2)
        frame = amce(table, FORMULA, id="judge_id", correct="reliability").frame.dropna(subset="std_error")
        found.append(frame["estimate"].to_numpy())
        held.append((frame["lower"] <= truth) & (truth <= frame["upper"]))
    ratio, covered = np.mean(found, axis=0) / truth, np.mean(held, axis=0)
    print(f"\nlean {lean}: ratio {ratio.round(4)}, coverage {covered.round(4)}")
    assert np.abs(ratio - 1).max() < 0.02
    assert np.abs(covered - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / panels)


def test_effects_of_stable_picks_are_recovered_from_simulated_panels() -> None:
    study = load_study("moderation")
    worth = {("slur", "racism"): 2.5, ("identity", "black_male"): -1.0, ("topic", "politics"): 0.8}
    rows = [("part_worth", feature, level, value) for (feature, level), value in worth.items()]
    named = ["parameter", "feature", "level", "value"]
    raters = [
        pd.DataFrame([*rows, ("reliability", "", "", value)], columns=named).assign(
            judge="human", judge_kind="human", prompt_id=""
        )
        for value in (0.75, 1.0)
    ]
    noisy = simulate(study, 1, respondents=1_500, raters=raters[0], truth=False)
    exact = simulate(study, 1, respondents=1, raters=raters[1], profiles=noisy.profiles).truth
    assert exact is not None
    formula = "chosen ~ slur + identity + topic + reply + curse + engagement"
    made = amce(noisy.choices, formula, id="judge_id", correct="reliability")
    truth = exact[(exact["statistic"] == "amce") & (exact["by"].fillna("") == "")].drop_duplicates(
        ["feature", "level"]
    )
    for feature, level in worth:
        true = truth.loc[(truth["feature"] == feature) & (truth["level"] == level), "estimate"].iloc[0]
        row, raw = (
            frame[(frame["feature"] == feature) & (frame["level"] == level)].iloc[0]
            for frame in (made.frame, made.uncorrected.frame)
        )
        assert abs(row["estimate"] - true) < 4 * row["std_error"]
        assert abs(raw["estimate"] - true) > 4 * raw["std_error"]


def test_figure_shows_observed_beside_corrected(small_panel: pd.DataFrame) -> None:
    for verb in (amce, mm):
        figure = verb(small_panel, FORMULA, id="judge_id", correct=0.1).plot()
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["As observed", "Corrected"]
        assert len(figure.axes) == 2
    table = small_panel.assign(half=np.where(small_panel["task"] > 2, "late", "early"))
    figure = mm_diffs(table, FORMULA, by="half", id="judge_id", correct=0.1).plot()
    assert len(figure.legends[0].get_texts()) == 2
