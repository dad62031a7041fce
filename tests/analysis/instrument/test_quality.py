"""Preferences beyond quality: slopes against statsmodels, null judges, self-preference, position, lengths."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.special import expit

from conjury.analysis.instrument import preferences_beyond_quality, self_preference
from conjury.analysis.instrument.decision_rows import mean_of
from conjury.inference.errors import InputError


def ratings(n: int = 400, *, own: float = 0.0, length: float = 0.0, seed: int = 1) -> pd.DataFrame:
    """Ratings of texts whose quality grows with length and is better where the judge is the author."""
    rng = np.random.default_rng(seed)
    author = rng.choice(["m", "n"], n)
    words = rng.integers(20, 400, n)
    quality = 0.5 * np.log(words) + 0.7 * (author == "m") + rng.normal(0, 0.5, n)
    value = quality + own * (author == "m") + length * np.log(words) + rng.normal(0, 0.3, n)
    return pd.DataFrame(
        {"judge_id": "m", "judge_kind": "model", "item_id": [f"i{k}" for k in range(n)], "author": author,
         "words": words, "people": quality, "value": value}
    )  # fmt: skip


def pairs(n: int = 1500, *, lean: float = 0.0, length: float = 0.0, seed: int = 1) -> pd.DataFrame:
    """Choices by quality (known to people as shares), by the log of length, and by position."""
    rng = np.random.default_rng(seed)
    quality, words = rng.integers(0, 2, (n, 2)), rng.integers(20, 400, (n, 2))
    p = expit(lean + 2 * (quality[:, 0] - quality[:, 1]) + length * np.log(words[:, 0] / words[:, 1]))
    first = rng.random(n) < p
    people = expit(2 * (quality[:, 0] - quality[:, 1]))
    sides = [
        pd.DataFrame(
            {"pair_id": np.arange(n), "position": "AB"[k], "profile_id": 2 * np.arange(n) + k,
             "words": words[:, k], "share": people if k == 0 else 1 - people,
             "chosen": np.where(first, 1 - k, k)}
        )
        for k in range(2)
    ]  # fmt: skip
    return pd.concat(sides, ignore_index=True).assign(judge_id="m", judge_kind="model")


def by_comparison(found) -> pd.DataFrame:
    return found.frame.set_index("comparison")


def test_slopes_and_clustered_errors_are_those_of_least_squares() -> None:
    data = ratings(own=0.4).assign(topic=lambda table: table["item_id"].str[-1])
    rows = by_comparison(self_preference(data, "author", "people", cluster="topic"))
    data["own"] = (data["author"] == "m").astype(float)
    for name, formula in {"unadjusted": "value ~ own", "adjusted": "value ~ own + people"}.items():
        fitted = smf.ols(formula, data).fit()
        residual = fitted.resid / (1 - fitted.get_influence().hat_matrix_diag)  # as without the row
        weight = np.linalg.pinv(fitted.model.exog)[list(fitted.params.index).index("own")]
        sums = np.bincount(pd.factorize(data["topic"])[0], weight * residual)
        assert rows.loc[name, "estimate"] == pytest.approx(fitted.params["own"])
        assert rows.loc[name, "std_error"] == pytest.approx(np.sqrt(10 / 9 * (sums**2).sum()), rel=1e-6)


@pytest.mark.long
def test_weights_count_as_copies_of_rows() -> None:
    data, copies = pairs(60, length=0.3), np.arange(60) % 3 + 1
    weighted = preferences_beyond_quality(
        data.assign(times=np.tile(copies, 2)), "words", "share", log=True, weights="times"
    )
    repeated = data.loc[data.index.repeat(np.tile(copies, 2))].reset_index(drop=True)
    repeated["pair_id"] = repeated.groupby(["pair_id", "position"]).cumcount() * 100 + repeated["pair_id"]
    expected = preferences_beyond_quality(repeated, "words", "share", log=True)
    np.testing.assert_allclose(weighted.frame["estimate"], expected.frame["estimate"])
    with pytest.raises(InputError, match="Weight 'times' is 0 in row 1; give numbers above 0"):
        preferences_beyond_quality(data.assign(times=0), "words", "share", weights="times")


@pytest.mark.long
def test_a_judge_that_follows_quality_has_no_self_preference_and_another_has_its_own() -> None:
    fair = by_comparison(self_preference(ratings(1000), "author", "people"))
    assert fair.loc["unadjusted", "lower"] > 0.5
    assert fair.loc["people", "lower"] > 0.5
    for name in ("beyond people", "adjusted"):
        assert fair.loc[name, "lower"] < 0 < fair.loc[name, "upper"]
    vain = by_comparison(self_preference(ratings(1000, own=0.5), "author", "people"))
    assert vain.loc["beyond people", "estimate"] == pytest.approx(0.5, abs=0.08)


def test_length_beyond_quality_is_found_in_choices_and_vanishes_where_there_is_none() -> None:
    fair = by_comparison(preferences_beyond_quality(pairs(), "words", "share", log=True))
    biased = by_comparison(preferences_beyond_quality(pairs(length=0.8), "words", "share", log=True))
    for name in ("beyond people", "matched", "adjusted"):
        assert fair.loc[name, "lower"] < 0.01
        assert biased.loc[name, "lower"] > 0.05
    equal = pairs(length=0.8)
    shares = equal[equal["position"] == "A"]["share"].to_numpy()
    assert biased.loc["matched", "n"] == int((np.abs(shares - 0.5) < 1e-9).sum())


def test_position_is_the_share_of_the_first_beyond_one_half() -> None:
    data = pairs(lean=1.0)
    rows = by_comparison(preferences_beyond_quality(data, "position", "share"))
    first = data[data["position"] == "A"]
    assert rows.loc["unadjusted", "estimate"] == pytest.approx(first["chosen"].mean() - 0.5)
    assert rows.loc["people", "estimate"] == pytest.approx(first["share"].mean() - 0.5)
    assert rows.loc["beyond people", "lower"] > 0.1


def test_ratings_are_matched_within_bins_of_people() -> None:
    data = ratings(800, own=0.5).assign(people=lambda table: table["people"].round(1))
    rows = by_comparison(self_preference(data, "author", "people"))
    fitted = smf.ols("value ~ own + C(people)", data.assign(own=(data["author"] == "m").astype(float))).fit()
    assert rows.loc["matched", "estimate"] == pytest.approx(fitted.params["own"])


def test_ratings_of_profiles_have_no_share_of_people_to_compare_with() -> None:
    data = pairs().assign(share=lambda table: 5 * table["share"])
    found = set(by_comparison(preferences_beyond_quality(data, "words", "share")).index)
    assert found == {"unadjusted", "matched", "adjusted"}


@pytest.mark.parametrize(
    ("changed", "factor", "message"),
    [
        ({"words": 3}, "words", "does not vary"),
        ({"people": np.nan}, "words", "no decision has both"),
        ({}, "author", "has no numbers"),
        ({"value": "yes"}, "words", "Labels have no slope"),
    ],
)
def test_what_cannot_be_estimated_is_refused(changed, factor, message) -> None:
    with pytest.raises(InputError, match=message):
        preferences_beyond_quality(ratings(20).assign(**changed), factor, "people")
    with pytest.raises(InputError, match="no logarithm"):
        preferences_beyond_quality(ratings(20).assign(words=0), "words", "people", log=True)


def test_a_constant_that_rounds_has_no_interval() -> None:
    values = np.full(7, 0.1)
    assert np.abs(values - values.mean()).max() > 0  # rounding
    found = mean_of(values, pd.Series(range(7)), 0.05)
    assert np.isnan([found["std_error"], found["lower"], found["upper"]]).all()
