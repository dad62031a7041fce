"""Bounds of conjoint estimates over what missing choices could have been."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from cases import refusals

from conjury.analysis.conjoint import amce, amce_by_reference, amce_diffs, bounds, cj, mm, mm_diffs
from conjury.inference.errors import InputError

PAIRS, LOST = 90, 6
NUMBERS = ["bound_lower", "bound_upper"]


@pytest.fixture(scope="module")
def choices() -> pd.DataFrame:
    """Forced choices in pairs, with attributes, a group, weights and a rating."""
    rng = np.random.default_rng(7)
    picked = rng.integers(0, 2, PAIRS)
    return pd.DataFrame(
        {
            "pair_id": np.repeat(np.arange(PAIRS), 2),
            "tone": rng.choice(["kind", "neutral", "rude"], 2 * PAIRS),
            "length": rng.choice(["long", "short"], 2 * PAIRS),
            "topic": np.repeat(rng.choice(["food", "work"], PAIRS), 2),
            "weight": rng.uniform(0.5, 2, 2 * PAIRS),
            "chosen": np.stack([picked, 1 - picked], axis=1).ravel().astype(float),
            "rating": rng.integers(1, 6, 2 * PAIRS).astype(float),
        }
    )


@pytest.fixture(scope="module")
def lost() -> list[int]:
    """The pairs without an answer."""
    return sorted(np.random.default_rng(8).choice(PAIRS, LOST, replace=False).tolist())


@pytest.fixture(scope="module")
def unanswered(choices: pd.DataFrame, lost: list[int]) -> pd.DataFrame:
    return choices.assign(chosen=choices["chosen"].mask(choices["pair_id"].isin(lost)))


def completions(table, lost):
    """Every table in which one profile of each missing pair is chosen."""
    place = [table.index[table["pair_id"] == pair] for pair in lost]
    for picked in itertools.product([0.0, 1.0], repeat=len(lost)):
        outcome = table["chosen"].to_numpy(copy=True)
        for rows, first in zip(place, picked, strict=True):
            outcome[rows] = [first, 1 - first][: len(rows)]
        yield table.assign(chosen=outcome)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::conjury.analysis.conjoint.FewClusters")
@pytest.mark.parametrize(
    ("verb", "options", "count"),
    [
        (amce, {}, LOST),
        (amce, {"weights": "weight"}, 3),
        (mm, {}, 3),
        (amce_diffs, {"by": "topic"}, 3),
        (mm_diffs, {"by": "topic"}, 3),
        (amce_by_reference, {"variable": "tone"}, 3),
    ],
)
def test_bounds_are_the_extremes_of_all_completions(choices, lost, verb, options, count):
    formula = "chosen ~ tone + length"
    table = choices.assign(chosen=choices["chosen"].mask(choices["pair_id"].isin(lost[:count])))
    found = bounds(verb, table, formula, id="pair_id", vcov="CR0", **options).frame
    every = np.array(
        [verb(whole, formula, **options).frame["estimate"] for whole in completions(table, lost[:count])]
    )
    least, largest = every.min(axis=0), every.max(axis=0)
    np.testing.assert_allclose(found["bound_lower"], least, atol=1e-12)
    np.testing.assert_allclose(found["bound_upper"], largest, atol=1e-12)
    assert (largest > least + 0.01).sum() >= len(least) / 2


def test_estimates_and_intervals_from_the_answers_given_are_those_of_the_estimator(unanswered):
    found = bounds(amce, unanswered, "chosen ~ tone + length", id="pair_id", vcov="CR2").frame
    usual = amce(unanswered, "chosen ~ tone + length", id="pair_id", vcov="CR2").frame
    columns = ["estimate", "std_error", "df", "lower", "upper"]
    pd.testing.assert_frame_equal(found[columns], usual[columns])


@pytest.mark.parametrize(("verb", "vcov"), [(amce, "survey"), (mm, "survey"), (mm, "CR2"), (amce, "CR1")])
def test_bounds_collapse_to_the_estimate_and_its_interval_where_nothing_is_missing(choices, verb, vcov):
    found = bounds(verb, choices, "chosen ~ tone + length", id="pair_id", vcov=vcov)
    frame = found.frame
    for name in NUMBERS:
        np.testing.assert_allclose(frame[name], frame["estimate"], atol=1e-12)
    np.testing.assert_allclose(frame["ci_lower"], frame["lower"], atol=1e-9)
    np.testing.assert_allclose(frame["ci_upper"], frame["upper"], atol=1e-9)
    assert (frame["n_answered"] == frame["n_asked"]).all()
    assert found.settings["n_missing"] == 0
    assert not (frame["conclusion"] == "turns").any()


def test_a_choice_with_one_profile_in_the_table_may_go_either_way(unanswered, lost):
    pairs = lost[:2]
    alone = unanswered["pair_id"].isin(pairs[:1]) & unanswered.duplicated("pair_id")
    partial = unanswered[~alone & ~unanswered["pair_id"].isin(lost[2:])].reset_index(drop=True)
    found = bounds(mm, partial, "chosen ~ tone", id="pair_id").frame
    every = np.array([mm(table, "chosen ~ tone").frame["estimate"] for table in completions(partial, pairs)])
    np.testing.assert_allclose(found["bound_lower"], every.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(found["bound_upper"], every.max(axis=0), atol=1e-12)


def test_a_profile_whose_rival_was_answered_is_known(choices):
    half = choices.assign(chosen=choices["chosen"].mask(choices.index == 3))
    found = bounds(amce, half, "chosen ~ tone", id="pair_id").frame
    whole = amce(choices, "chosen ~ tone").frame["estimate"]
    for name in NUMBERS:
        np.testing.assert_allclose(found[name], whole, atol=1e-12)


def test_ratings_lie_anywhere_on_their_scale(choices):
    rows = [3, 10, 11, 42]
    table = choices.assign(rating=choices["rating"].mask(choices.index.isin(rows)))
    found = bounds(amce, table, "rating ~ tone + length", limits=(1, 5)).frame
    every = []
    for values in itertools.product([1.0, 5.0], repeat=len(rows)):
        outcome = table["rating"].to_numpy(copy=True)
        outcome[rows] = values
        every.append(amce(table.assign(rating=outcome), "rating ~ tone + length").frame["estimate"])
    np.testing.assert_allclose(found["bound_lower"], np.min(every, axis=0), atol=1e-12)
    np.testing.assert_allclose(found["bound_upper"], np.max(every, axis=0), atol=1e-12)


@pytest.mark.filterwarnings("ignore::conjury.analysis.conjoint.FewClusters")
def test_means_of_which_nothing_is_answered_may_be_any_that_choices_allow(choices):
    silent = choices[choices["pair_id"] < 4].assign(chosen=np.nan)
    anything = bounds(mm, silent, "chosen ~ length").frame
    assert anything[[*NUMBERS, "ci_lower", "ci_upper"]].drop_duplicates().to_numpy().tolist() == [
        [0, 1, 0, 1]
    ]
    assert anything["estimate"].isna().all()
    forced = bounds(mm, silent, "chosen ~ length", id="pair_id", forced=True).frame
    every = np.array(
        [mm(table, "chosen ~ length").frame["estimate"] for table in completions(silent, range(4))]
    )
    np.testing.assert_allclose(forced["bound_lower"], every.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(forced["bound_upper"], every.max(axis=0), atol=1e-12)
    assert forced["bound_lower"].min() > 0


@pytest.mark.parametrize(("direction", "known", "other"), [("for", *NUMBERS), ("against", *NUMBERS[::-1])])
def test_under_monotone_missingness_one_bound_is_the_estimate_from_the_answers_given(
    unanswered, direction, known, other
):
    formula = "chosen ~ tone + length"
    free = bounds(amce, unanswered, formula, id="pair_id").frame.iloc[1:3]
    found = bounds(amce, unanswered, formula, id="pair_id", direction=direction).frame.iloc[1:3]
    inside = free["estimate"].between(free["bound_lower"], free["bound_upper"])
    assert inside.all()
    np.testing.assert_allclose(found[known], free["estimate"])
    np.testing.assert_allclose(found[other], free[other])
    assert (found["ci_upper"] - found["ci_lower"] < free["ci_upper"] - free["ci_lower"]).all()


def test_the_tipping_share_moves_an_estimate_to_the_null_value():
    table = pd.DataFrame(
        {"score": [1.0] * 6 + [0] * 2 + [None] * 2 + [0, 1] * 5, "tone": ["rude"] * 10 + ["kind"] * 10}
    )
    found = bounds(mm, table, "score ~ tone", h0=0.65, forced=False).frame.set_index("level")
    rude = found.loc["rude"]
    assert (rude["estimate"], rude["bound_lower"], rude["bound_upper"]) == pytest.approx((0.75, 0.6, 0.8))
    # 6 of 8 answers are 1; of 2 missing a share s is 0, the others are 3/4: 0.65 = (6 + 2 (1 - s) 3/4) / 10
    assert rude["tipping_estimate"] == pytest.approx(2 / 3)
    assert np.isnan(found.loc["kind", "tipping_estimate"])


def test_completions_at_the_tipping_share_end_the_conclusion(choices):
    rng = np.random.default_rng(3)
    n = 400
    tone = np.stack([rng.permuted(["rude", "kind"]) for _ in range(n)])
    kind_wins = rng.random(n) < 0.62
    chosen = np.where((tone == "kind") == kind_wins[:, None], 1.0, 0.0)
    chosen[rng.random(n) < 0.15] = np.nan
    table = pd.DataFrame(
        {"pair_id": np.repeat(np.arange(n), 2), "tone": tone.ravel(), "chosen": chosen.ravel()}
    )
    row = bounds(amce, table, "chosen ~ tone", id="pair_id").frame.iloc[1]
    assert row["conclusion"] == "turns"
    assert row["upper"] < 0 < row["bound_upper"] or 0 < row["tipping_interval"] < 1

    def upper(share: float) -> float:
        """Limit nearer to zero where a share of missing answers goes the other way."""
        lost = table["chosen"].isna().to_numpy()
        given = table.loc[~lost].groupby("tone")["chosen"].mean()
        worst = (table["tone"] == "rude").to_numpy(dtype=float)
        mixed = share * worst + (1 - share) * table["tone"].map(given).to_numpy()
        filled = table.assign(chosen=np.where(lost, mixed, table["chosen"]))
        return float(amce(filled, "chosen ~ tone", id="pair_id").frame["upper"].iloc[1])

    # The share is of an interval that is, if anything, too wide; so the true limit passes zero only later.
    assert upper(row["tipping_interval"] - 0.05) < 0
    assert upper(min(row["tipping_interval"] + 0.1, 1)) > 0


def test_a_conclusion_holds_where_no_completion_reaches_the_null_value():
    rng = np.random.default_rng(4)
    chosen = np.where(rng.random(300) < 0.95, 1.0, 0.0)
    chosen[:5] = np.nan
    table = pd.DataFrame(
        {
            "chosen": np.r_[chosen, 1 - chosen],
            "tone": ["kind"] * 300 + ["rude"] * 300,
            "pair_id": [*range(300)] * 2,
        }
    )
    found = bounds(amce, table, "chosen ~ tone", id="pair_id")
    row = found.frame.iloc[1]
    assert row["conclusion"] == "holds"
    assert np.isnan(row["tipping_interval"])
    assert row["ci_upper"] < 0
    assert found.notes[0] == "295 of 300 choices were answered."


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "bounds"))
def test_what_cannot_be_bounded_is_refused(choices, match, columns, options) -> None:
    with pytest.raises(InputError, match=match):
        bounds(amce, choices, **{"formula": "chosen ~ tone", **options})
    with pytest.raises(InputError, match="cj has no bounds; the estimators are amce, mm"):
        bounds(cj, choices, "chosen ~ tone")


@pytest.mark.filterwarnings("ignore::conjury.analysis.conjoint.FewClusters")
@pytest.mark.parametrize("vcov", ["survey", "CR1S"])
@pytest.mark.parametrize(
    ("verb", "options"),
    [
        (amce, {"weights": "weight"}),
        (mm, {}),
        (amce_diffs, {"by": "topic"}),
        (mm, {"id": ["pair_id", "length"]}),
    ],
)
def test_errors_of_bounds_are_those_of_the_estimator_on_each_completed_table(
    unanswered, monkeypatch, verb, options, vcov
):
    call = {"data": unanswered, "formula": "chosen ~ tone + length", "id": "pair_id", "vcov": vcov, **options}
    quick = bounds(verb, **call).frame
    monkeypatch.setattr("conjury.analysis.conjoint.engines.native.one_way", lambda plan, fits: None)
    pd.testing.assert_frame_equal(quick, bounds(verb, **call).frame)
    assert quick["bound_lower_error"].notna().sum() >= 2


@pytest.mark.filterwarnings("ignore:No estimate for tone=rude")
def test_without_an_answer_to_a_level_monotone_missingness_leaves_its_bounds(choices):
    silent = choices.assign(rating=choices["rating"].mask(choices["tone"] == "rude"))
    for direction in ("for", "against"):
        found = bounds(mm, silent, "rating ~ tone", limits=(1, 5), direction=direction).frame
        row = found.set_index("level").loc["rude"]
        assert row[NUMBERS].tolist() == [1, 5]
        assert np.isnan(row["estimate"])


def always_rude(pairs, clusters, lost=10):
    """Choices that are always for the rude profile; the first few are missing."""
    numbers = np.repeat(np.arange(pairs), 2)
    chosen = np.tile([1.0, 0.0], pairs)
    chosen[: 2 * lost] = np.nan
    tone = ["rude", "kind"] * pairs
    return pd.DataFrame({"pair_id": numbers, "who": numbers % clusters, "tone": tone, "chosen": chosen})


@pytest.mark.filterwarnings("ignore:No standard error")
def test_constant_answers_have_the_interval_of_the_completed_tables():
    table = always_rude(200, 200)
    rude = bounds(mm, table, "chosen ~ tone", id="pair_id").frame.iloc[1]
    whole = mm(
        table.assign(chosen=table["chosen"].fillna(pd.Series([0.0, 1.0] * 200))),
        "chosen ~ tone",
        id="pair_id",
    )
    error = whole.frame["std_error"].iloc[1]
    assert np.isnan(rude["std_error"])
    assert (rude["bound_lower"], rude["bound_lower_error"]) == pytest.approx((0.95, error))
    assert (rude["ci_lower"], rude["ci_upper"]) == pytest.approx((0.95 - 1.645 * error, 1.0), abs=1e-4)
    assert rude["conclusion"] == "holds"
    assert bounds(amce, table, "chosen ~ tone", id="pair_id").frame["conclusion"].iloc[1] == "holds"
    complete = bounds(mm, always_rude(200, 200, lost=0), "chosen ~ tone", id="pair_id").frame
    assert complete[["ci_lower", "ci_upper"]].isna().all(axis=None)


@pytest.mark.filterwarnings("ignore:No standard error", "ignore::conjury.analysis.conjoint.FewClusters")
def test_an_estimate_from_a_single_cluster_has_bounds_without_an_interval():
    table = always_rude(40, 4)
    table["topic"] = np.where(table["who"] == 0, "food", "work")
    found = bounds(mm_diffs, table, "chosen ~ tone", id="who", by="topic", vcov="CR0").frame
    assert (found["bound_upper"] > found["bound_lower"]).all()
    assert found[["bound_lower_error", "ci_lower", "ci_upper"]].isna().all(axis=None)
    assert (found["conclusion"] == "none").all()


@pytest.mark.parametrize("verb", [mm, amce])
def test_refusals_that_count_as_not_chosen_are_answers_as_for_the_estimator(choices, verb):
    refused = choices["pair_id"] < 5
    status = np.where(refused, "refused", "ok")
    table = choices.assign(chosen=choices["chosen"].mask(refused, 0.0), status=status)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = bounds(verb, table, "chosen ~ tone", id="pair_id")
    usual = verb(table, "chosen ~ tone", id="pair_id")
    np.testing.assert_allclose(found.frame["estimate"], usual.frame["estimate"])
    np.testing.assert_allclose(found.frame["bound_lower"], usual.frame["estimate"])
    assert found.settings["n_missing"] == 0
    assert found.settings["null"] == usual.provenance.null
