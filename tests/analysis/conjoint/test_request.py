"""Options that a verb would not use are refused, and what a bootstrap of counts reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import (
    amce,
    amce_by_reference,
    amce_diffs,
    bootstrap,
    cj,
    cj_anova,
    cj_freqs,
    cj_props,
    mm,
)
from conjury.analysis.frames.variables import parse
from conjury.inference.errors import InputError


def posts(n: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "y": random.integers(0, 2, n),
            "a": random.choice(list("xyz"), n),
            "b": random.choice(list("uv"), n),
            "g": random.choice(list("mf"), n),
            "pair_id": np.arange(n) // 2,
        }
    )


DATA = posts()
IGNORED: dict[str, tuple[str, Callable[[], Any]]] = {
    "groups of a bootstrap": ("amce takes no 'by'", lambda: bootstrap(amce, DATA, "y ~ a", by="g")),
    "groups of means": ("mm takes no 'by'", lambda: bootstrap(mm, DATA, "y ~ a", by="g")),
    "groups by reference": ("no 'by'", lambda: amce_by_reference(DATA, "y ~ a", "a", by="g")),
    "variable": ("no 'variable'", lambda: amce_diffs(DATA, "y ~ a", "g", variable="b")),
    "margin": ("no 'margin'", lambda: amce_diffs(DATA, "y ~ a", "g", margin=1)),
    "level of counts": ("no 'alpha'", lambda: cj_freqs(DATA, "~ a", alpha=0.2)),
    "family of counts": ("no 'family'", lambda: cj_freqs(DATA, "~ a", family="quasibinomial")),
    "reference of counts": ("no 'reference'", lambda: cj_props(DATA, "~ a", reference={"a": "y"})),
    "groups of shares": ("cj_props takes no 'by'", lambda: cj_props(DATA, "~ a", by="g")),
    "misspelt": ("no option 'weight'", lambda: amce_diffs(DATA, "y ~ a", "g", weight="y")),
    "null as text": ("h0 is '0.5'", lambda: mm(DATA, "y ~ a", h0="0.5")),  # type: ignore[arg-type]
    "null missing": ("h0 is nan", lambda: mm(DATA, "y ~ a", h0=float("nan"))),
    "group twice": ("twice", lambda: cj(DATA, "y ~ a", by=["g", "g"])),
    "seed below zero": ("seed is -1", lambda: bootstrap(amce, DATA, "y ~ a", seed=-1)),
}


@pytest.mark.parametrize("case", IGNORED)
def test_an_option_that_would_change_nothing_is_refused(case: str) -> None:
    says, call = IGNORED[case]
    with pytest.raises(InputError, match=says):
        call()


def test_options_at_their_default_are_no_error() -> None:
    assert len(cj(DATA, "y ~ a", by="g", h0=0.0).frame) == 6


def test_the_group_of_an_anova_may_come_in_a_list() -> None:
    listed = cj_anova(DATA, "y ~ a", by=["g"])  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(
        listed.frame.drop(columns="model"), cj_anova(DATA, "y ~ a", by="g").frame.drop(columns="model")
    )


@pytest.mark.parametrize(("estimator", "value"), [(cj_freqs, "estimate"), (cj_props, "proportion")])
def test_bootstrapped_counts_have_limits_and_no_test(estimator: Callable[..., Any], value: str) -> None:
    frame = bootstrap(estimator, DATA, "~ a", draws=50, seed=1).frame
    np.testing.assert_allclose(frame[value], estimator(DATA, "~ a").frame[value])
    assert frame[["z", "p"]].isna().all(axis=None)
    assert (frame["lower"] < frame[value]).all()
    assert (frame["upper"] > frame[value]).all()


def test_covariances_are_named_by_group_feature_and_level() -> None:
    fit = amce_diffs(DATA, "y ~ a", "g", id="pair_id")
    assert fit.vcov is not None
    assert fit.vcov.index.tolist() == [("m - f", "a", "y", "m"), ("m - f", "a", "z", "m")]
    plain = amce(DATA, "y ~ a + b", id="pair_id")
    assert plain.vcov is not None
    expected = plain.frame.set_index(["feature", "level"]).loc[("b", "v"), "std_error"] ** 2
    assert plain.vcov.loc[("b", "v"), ("b", "v")] == pytest.approx(expected, rel=1e-12)


def test_pairs_that_respondents_number_alike_are_no_units() -> None:
    frame = DATA.assign(
        judge_kind="human", judge_id=np.repeat(["r1", "r2"], 200), pair_id=np.arange(400) % 200 // 2
    )
    with pytest.raises(InputError, match="belongs to several respondents"):
        bootstrap(amce, frame, "y ~ a", draws=10)
    models = frame.assign(judge_kind="model")
    assert len(bootstrap(amce, models, "y ~ a", draws=10, seed=1).replicates) == 10


@pytest.mark.parametrize("formula", ["y ~ a:b", "y ~ a / b", "y ~ b + a:b"])
def test_an_interaction_without_its_features_is_refused(formula: str) -> None:
    with pytest.raises(InputError, match=r"write a \* b"):
        parse(formula)


def test_an_unused_reference_is_told_once() -> None:
    frame = DATA.assign(a=pd.Categorical(DATA["a"], ["q", "x", "y", "z"]))
    with pytest.warns(UserWarning, match="occurs|No estimate") as told:
        amce(frame, "y ~ a")
    assert sum("never occurs" in str(warning.message) for warning in told) == 1
