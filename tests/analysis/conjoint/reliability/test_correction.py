"""Estimates corrected for swapping errors: parity with projoint, known truth, clusters in common."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.choices import forced_choices
from reference_tables import FIXTURES
from scipy.special import expit
from scipy.stats import t as student

from conjury.analysis.conjoint import amce, amce_by_reference, amce_diffs, mm, mm_diffs, projoint, reliability
from conjury.analysis.conjoint.reliability.agreeing_repeats import sign_test
from conjury.analysis.conjoint.reliability.correction import SwapCorrectedEstimates
from conjury.analysis.conjoint.reliability.repeats import first_answers
from conjury.inference.errors import InputError
from conjury.inference.tables import validate

FORMULA = "chosen ~ tone + topic"
WORTH = {"tone": [0.0, 0.8, 2.0], "topic": [0.0, -0.6]}
LEVELS = {"tone": ["mild", "sharp", "rude"], "topic": ["work", "sport"]}
SPREAD = 0.7
pytestmark = pytest.mark.filterwarnings("ignore:Repeated answers lean", "ignore:Repeated answers favour")


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
    task = np.tile(np.repeat(np.arange(1, tasks + repeats + 1), 2), respondents)
    judge = np.repeat([f"r{i:04d}" for i in range(respondents)], 2 * (tasks + repeats))
    described = {
        "judge_id": judge,
        "judge_kind": "human",
        "task": task,
        "profile_id": profile,
        "status": "ok",
    }
    return forced_choices(LEVELS, shown, answers, repeat=task > tasks, **described | more)


def joined(**panels: pd.DataFrame) -> pd.DataFrame:
    """Panels under one another, each with its name as group, and judges and pairs of its own."""
    named = [
        own.assign(group=name, judge_id=name + own["judge_id"], pair_id=name + own["pair_id"].astype(str))
        for name, own in panels.items()
    ]
    return pd.concat(named, ignore_index=True)


def corrected(
    verb: Any, table: pd.DataFrame, correct: Any = "reliability", **options: Any
) -> SwapCorrectedEstimates:
    return verb(table, FORMULA, id="judge_id", correct=correct, **options)


def true_means(seed: int = 0, draws: int = 200_000) -> dict[tuple[str, str], float]:
    """Marginal means of stable picks: tastes at random, all pairs of profiles."""
    rng = np.random.default_rng(seed)
    profiles = np.array(list(product(range(3), range(2))))
    tone, topic = (np.array(own) + SPREAD * rng.standard_normal((draws, len(own))) for own in WORTH.values())
    worth = tone[:, profiles[:, 0]] + topic[:, profiles[:, 1]]
    chosen = np.mean([expit(worth - worth[:, [b]]).mean(axis=0) for b in range(6)], axis=0)
    return {
        (name, level): float(chosen[profiles[:, place] == code].mean())
        for place, (name, levels) in enumerate(LEVELS.items())
        for code, level in enumerate(levels)
    }


@pytest.fixture(scope="module")
def small_panel() -> pd.DataFrame:
    table = pd.read_csv(FIXTURES / "projoint" / "panel.csv").astype({"tone": "category", "topic": "category"})
    return validate(table.assign(judge_kind="human"), "choices")


@pytest.fixture(scope="module")
def projoint_example(shared) -> pd.DataFrame:
    """The long form of projoint's example as choices; its repeated answers refer to the same profile."""
    long = pd.read_csv(shared / "peers" / "projoint_long.csv.gz")
    attributes = sorted(name for name in long if name.startswith("att"))
    side = long["profile"].map({1: "A", 2: "B"})
    pair = long["id"] + "_" + long["task"].astype(str)
    ours = long[["task", *attributes]].assign(judge_id=long["id"], judge_kind="human", pair_id=pair)
    ours = ours.assign(position=side, chosen=long["selected"], repeat=False)
    again = long["selected_repeated"].notna()
    repeated = ours[again].assign(repeat=True, task=9, pair_id=long.loc[again, "id"] + "_9")
    repeated["chosen"] = long.loc[again, "selected_repeated"]
    repeated["position"] = side[again].map({"A": "B", "B": "A"})
    return pd.concat([ours, repeated], ignore_index=True).astype(dict.fromkeys(attributes, "category"))


@pytest.mark.shared
@pytest.mark.parametrize("estimand", [pytest.param("mm", marks=pytest.mark.long), "amce"])
def test_projoint_is_reproduced_on_its_example(projoint_example, estimand: Any) -> None:
    formula = "chosen ~ " + " + ".join(f"att{k}" for k in range(1, 8))
    made = projoint(projoint_example, formula, estimand=estimand)
    expected = pd.read_csv(FIXTURES / "projoint" / f"{estimand}.csv").set_index(["source", "level"])
    found = made.beside.astype({"level": str}).set_index(["source", "level"]).loc[expected.index]
    for name in expected.columns:
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-12, err_msg=name)
    assert made.tau["tau"].iloc[0] == pytest.approx(0.17212807378490141, rel=1e-13)


@pytest.mark.long
@pytest.mark.shared
def test_native_correction_of_projoints_example_sets_its_net_bias_apart(projoint_example) -> None:
    made = amce(projoint_example, "chosen ~ att1 + att2", id="judge_id", correct="reliability")
    found = reliability(projoint_example, seed=1, draws=2)
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


@pytest.mark.long
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


def _always_a(table: pd.DataFrame) -> np.ndarray:
    return (table["position"] == "A").to_numpy(int)


def test_known_tau_stretches_estimates_and_errors_alike(small_panel) -> None:
    for verb, share in ((amce, 0.0), (mm, 1.0)):
        plain = verb(first_answers(small_panel), FORMULA, id="judge_id").frame
        made = corrected(verb, small_panel, 0.17)
        expected = (plain["estimate"] - share * 0.17) / 0.66
        np.testing.assert_allclose(made.frame["estimate"], expected, rtol=1e-12)
        np.testing.assert_allclose(made.frame["std_error"], plain["std_error"] / 0.66, rtol=1e-12)
        pd.testing.assert_frame_equal(made.uncorrected.frame, plain)
        assert made.provenance.extra["tau"] == 0.17
        assert made.tau["agreement"].item() == pytest.approx(0.83**2 + 0.17**2)


def test_no_swapping_error_changes_nothing(small_panel) -> None:
    plain = amce(first_answers(small_panel), FORMULA, id="judge_id", vcov="CR2")
    made = corrected(amce, small_panel, 0.0, vcov="CR2")
    pd.testing.assert_frame_equal(made.frame, plain.frame)
    agreeing = small_panel.assign(chosen=_always_rude(small_panel), status="ok")
    expected = amce(first_answers(agreeing), FORMULA, id="judge_id")
    pd.testing.assert_frame_equal(corrected(amce, agreeing).frame, expected.frame)


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


def tau_without_each(table: pd.DataFrame) -> np.ndarray:
    """Swapping error without each respondent, by counting."""
    kept = reliability(table, seed=1, draws=2).pairs
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
    made = corrected(amce, table).frame
    first = first_answers(table)
    dummies = [first[name] == level for name in LEVELS for level in LEVELS[name][1:]]
    design = np.column_stack([np.ones(len(first)), *dummies]).astype(float)
    gram = leave_one_out(sums_by_respondent(first, design[:, :, None] * design[:, None, :]))
    moments = leave_one_out(sums_by_respondent(first, design * first[["chosen"]].to_numpy(float)))
    effects = np.linalg.solve(gram, moments[..., None])[:, 1:, 0]
    expected = jackknife(effects / (1 - 2 * tau_without_each(table))[:, None])
    np.testing.assert_allclose(made["std_error"].dropna(), expected, rtol=0.02)


@pytest.mark.parametrize(("respondents", "correct"), [(14, "reliability"), (400, "by_level")])
def test_errors_of_means_join_the_influence_of_each_respondent_on_shares_and_tau(
    respondents: int, correct: str
) -> None:
    table = panel(5, respondents=respondents, tasks=2, tau=0.1)
    made = corrected(mm, table, correct)
    first, pairs = first_answers(table), reliability(table, seed=1, draws=2).pairs
    agree = pairs.set_index("judge_id")["same"].reindex(table["judge_id"].unique())
    own_tau = made.tau.set_index("group")
    assert (own_tau["net_bias"] == 0).all()
    for row in made.frame.to_dict("records"):
        shows = (first[row["feature"]] == row["level"]).to_numpy(float)
        share = first["chosen"][shows == 1].mean()
        of_share = sums_by_respondent(first, shows * (first["chosen"] - share).to_numpy(float)) / shows.sum()
        sides = [table[row["feature"]].iloc[pairs[side]].to_numpy() for side in ("row_a", "row_b")]
        informs = (sides[0] != sides[1]) & ((sides[0] == row["level"]) | (sides[1] == row["level"]))
        group = f"{row['feature']}={row['level']}"
        named = group if group in own_tau.index else "all"
        informs = pd.Series(informs if named == group else np.ones(len(pairs), bool), pairs["judge_id"])
        inside = informs.reindex(agree.index, fill_value=False).to_numpy()
        same, n = agree[inside].mean(), inside.sum()
        tau = (1 - np.sqrt(2 * same - 1)) / 2
        assert own_tau.loc[named, ["tau", "n_compared"]].tolist() == pytest.approx([tau, n], rel=1e-12)
        of_tau = -0.5 / np.sqrt(2 * same - 1) * np.where(inside, agree - same, 0) / n
        by_share = of_share * np.sqrt(respondents / (respondents - 1)) / (1 - 2 * tau)
        by_tau = of_tau * np.sqrt(n / (n - 1)) * (2 * share - 1) / (1 - 2 * tau) ** 2
        assert row["estimate"] == pytest.approx((share - tau) / (1 - 2 * tau), rel=1e-12)
        assert row["std_error"] == pytest.approx(np.sqrt(((by_share + by_tau) ** 2).sum()), rel=1e-9)
    assert (correct == "by_level") == ({"tone=mild", "topic=work"} < set(own_tau.index))


def test_tau_of_another_study_adds_its_variance_without_covariance(small_panel) -> None:
    pilot = reliability(joined(pilot=panel(9, respondents=150)), seed=1)
    made = corrected(amce, small_panel, pilot)
    tau, error = pilot.frame["tau"].iloc[0], pilot.frame["tau_std_error"].iloc[0]
    fixed = corrected(amce, small_panel, float(tau)).frame
    slope = 2 * made.uncorrected.frame["estimate"] / (1 - 2 * tau) ** 2
    expected = np.sqrt(fixed["std_error"] ** 2 + (slope * error) ** 2)
    np.testing.assert_allclose(made.frame["std_error"], expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("verb", "diffs"), [(mm, mm_diffs), pytest.param(amce, amce_diffs, marks=pytest.mark.long)]
)
def test_differences_shrink_back_with_one_tau_or_one_for_each_group(verb: Any, diffs: Any) -> None:
    table = joined(calm=panel(1, 150, 2, tau=0.05), wild=panel(2, 150, 2, tau=0.2))
    pooled = corrected(diffs, table, by="group")
    expected = pooled.uncorrected.frame["estimate"] / (1 - 2 * pooled.tau["tau"].iloc[0])
    np.testing.assert_allclose(pooled.frame["estimate"], expected, rtol=1e-12)
    made = corrected(diffs, table, "by_group", by="group").frame
    calm, wild = (corrected(verb, own).frame.dropna(subset="std_error") for _, own in table.groupby("group"))
    difference = wild["estimate"].to_numpy() - calm["estimate"].to_numpy()
    np.testing.assert_allclose(made["estimate"], difference, rtol=1e-10)
    error = np.hypot(wild["std_error"], calm["std_error"])
    np.testing.assert_allclose(made["std_error"], error, rtol=5e-3)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The pooled tau is used")
@pytest.mark.parametrize(("answered", "has_own"), [(99, False), (100, True)])
def test_levels_have_a_tau_of_their_own_from_a_hundred_repeats_whose_profiles_differ(
    answered: int, has_own: bool
) -> None:
    table = panel(1, respondents=300, tasks=2)
    pairs = reliability(table, seed=1, draws=2).pairs
    sides = [table["tone"].iloc[pairs[side]].to_numpy() for side in ("row_a", "row_b")]
    informs = (sides[0] != sides[1]) & ((sides[0] == "rude") | (sides[1] == "rude"))
    silent = pairs["judge_id"][informs].iloc[answered:]
    table.loc[table["repeat"] & table["judge_id"].isin(silent), "chosen"] = np.nan
    made = corrected(mm, table, "by_level")
    found = made.tau.set_index("group")
    assert ("tone=rude" in found.index) == has_own
    same = pairs["same"][informs].iloc[:answered].mean()
    own = (1 - np.sqrt(2 * same - 1)) / 2
    tau = own if has_own else found["tau"]["all"]
    assert own != pytest.approx(found["tau"]["all"], rel=0.02)
    row, seen = (one[one["level"] == "rude"].iloc[0] for one in (made.frame, made.uncorrected.frame))
    assert row["estimate"] == pytest.approx((seen["estimate"] - tau) / (1 - 2 * tau), rel=1e-12)


def leaning(seed: int, share: float = 0.2, **options: Any) -> pd.DataFrame:
    """A panel that gives a share of its answers to side A, whatever is shown."""
    table = panel(seed, **options)
    lean = np.repeat(np.random.default_rng(seed).random(len(table) // 2) < share, 2)
    chosen = np.where(lean, table["position"] == "A", table["chosen"]).astype(int)
    return table.assign(chosen=chosen)


@pytest.mark.long
@pytest.mark.filterwarnings("default:Repeated answers")
def test_pooled_judges_leaning_answers_and_agreement_near_chance_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="pooled over 2 judges"):
        corrected(amce, joined(one=panel(1), two=panel(2)).assign(panel=lambda t: t["group"]))
    with pytest.warns(UserWarning, match="not clearly above chance"):
        corrected(amce, panel(10, respondents=40, tau=0.32))
    with pytest.warns(UserWarning, match="favour position A") as told:
        amce(leaning(4, respondents=400), FORMULA, id="judge_id", correct="reliability")
    assert told[-1].filename == __file__


def test_groups_have_net_biases_of_their_own() -> None:
    table = joined(calm=panel(1), leaning=leaning(2, share=0.3, respondents=400))
    with pytest.warns(
        UserWarning, match="answers favour position A by .*, of leaning favour position A by"
    ) as told:
        made = corrected(amce_diffs, table, "by_group", by="group")
    bias = made.tau.set_index("group")["net_bias"]
    assert any(f"{100 * bias['leaning']:.1f} points" in str(one.message) for one in told)
    assert bias["calm"] == 0
    assert bias["leaning"] == pytest.approx(0.3, abs=0.1)


def test_missing_repeats_stay_out_of_tau_and_of_estimates() -> None:
    table = panel(6)
    compared = reliability(table, seed=1).pairs["judge_id"]
    table.loc[table["repeat"] & table["judge_id"].isin(compared[:2]), "chosen"] = np.nan
    made = corrected(amce, table)
    assert made.tau["n_compared"].tolist() == [len(compared) - 2]
    plain = amce(table[~table["repeat"]], FORMULA, id="judge_id").frame
    pd.testing.assert_frame_equal(made.uncorrected.frame, plain)


THIRTY = panel(8, respondents=30)
FIRST = THIRTY[~THIRTY["repeat"]]
UNANSWERED = THIRTY.assign(chosen=THIRTY["chosen"].where(~THIRTY["repeat"]))
ALWAYS_A = THIRTY.assign(chosen=_always_a)


@pytest.mark.parametrize(("levels", "more"), [(3, False), (4, True)])
def test_of_levels_with_few_repeats_eight_are_named(levels: int, more: bool) -> None:
    table = THIRTY.assign(extra=(THIRTY["profile_id"] % levels).map("e{}".format))
    with pytest.warns(UserWarning, match="The pooled tau is used") as told:
        mm(table, f"{FORMULA} + extra", id="judge_id", correct="by_level")
    text = next(str(one.message) for one in told if "pooled tau" in str(one.message))
    assert (text.count("("), " and others" in text) == (8, more)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *((lambda t=t: corrected(amce, THIRTY, t), "between 0 and one half") for t in (0.5, -0.1, np.nan)),
        (lambda: corrected(amce, THIRTY, "repeats"), "give 'reliability'"),
        (lambda: corrected(amce, THIRTY, True), "correct is True"),
        (lambda: corrected(amce, THIRTY, "by_group"), "amce_diffs and mm_diffs"),
        (lambda: corrected(amce, FIRST), "no repeated task"),
        (
            lambda: corrected(amce, THIRTY[~THIRTY["repeat"] | (THIRTY["judge_id"] == "r0003")]),
            "too few for a swapping error",
        ),
        (lambda: corrected(amce, UNANSWERED), "too few for a swapping error"),
        (lambda: corrected(amce, ALWAYS_A), "no better than chance"),
        (lambda: corrected(amce, THIRTY, 0.1, family="quasibinomial"), "omit engine and family"),
        (lambda: corrected(amce_by_reference, THIRTY, 0.1, variable="tone"), "no option 'correct'"),
        (lambda: projoint(THIRTY, FORMULA, estimand="acie"), "estimand"),
        (lambda: projoint(ALWAYS_A, FORMULA), "above one half"),
    ],
)
def test_what_cannot_be_corrected_is_an_error(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.slow
@pytest.mark.parametrize("lean", [0.0, 0.2])
def test_effects_are_unbiased_and_covered_where_answers_lean_to_a_side(lean: float) -> None:
    means, panels = true_means(), 600
    truth = np.array(
        [means[name, level] - means[name, own[0]] for name, own in LEVELS.items() for level in own[1:]]
    )
    found, held = [], []
    for seed in range(panels):
        table = leaning(seed, lean, respondents=250, tasks=8, repeats=2)
        frame = corrected(amce, table).frame.dropna(subset="std_error")
        found.append(frame["estimate"].to_numpy())
        held.append((frame["lower"] <= truth) & (truth <= frame["upper"]))
    assert np.abs(np.mean(found, axis=0) / truth - 1).max() < 0.02
    assert np.abs(np.mean(held, axis=0) - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / panels)
