"""Our estimators against 69 tables that cregg made, and the pinned cases where cregg is wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import golden
import numpy as np
import pandas as pd
import pytest

from conjury.analysis import conjoint
from conjury.analysis.conjoint.engines import cregg
from conjury.analysis.conjoint.estimates import Estimates

pytestmark = [pytest.mark.shared, pytest.mark.filterwarnings("ignore:No estimate for")]

FULLY_RESTRICTED = ("immigration_amce_constrained_full", "immigration_amce_constrained_full_noid")
RESTRICTED = (
    *("immigration_amce_constrained_simple", "taxes_amce_constrained_allowed", *FULLY_RESTRICTED),
    "gemini_flash_amce_interaction_slur_identity",
)
WRONG_AVERAGES = {"Two-Year College", "College Degree", "China", "Sudan", "Somalia"}
SHARED_CLUSTERS = (
    "immigration_mm_diffs_gender",
    "immigration_mm_diffs_contest",
    "gemini_flash_mm_diffs_identity",
    "gemini_flash_mm_diffs_prompt_id",
)
NULL_OF_A_DIFFERENCE = "immigration_mm_diffs_ethno_h0_alpha10"
LOGISTIC = "taxes_amce_id_quasibinomial"
EXCEPTIONS = {*RESTRICTED, *SHARED_CLUSTERS, NULL_OF_A_DIFFERENCE, LOGISTIC}
PLAIN = [name for name in golden.NAMES if name not in EXCEPTIONS and name != "wide_cj_tidy"]
IN_PYTHON = ["taxes_amce_id_weights", "taxes_mm_weights", "gemini_flash_amce_id"]
COUNTS = ("cj_freqs", "cj_props", "cj_table")


def run(name: str, engine: str = "native", **changes: Any) -> tuple[Estimates, pd.DataFrame]:
    call = golden.golden_call(name)
    options = {**call.options, **changes}
    if call.verb == "mm":
        options.setdefault("h0", 0.0)  # cregg's default
    if name == NULL_OF_A_DIFFERENCE:
        options.pop("h0")  # which our verbs refuse
    if call.verb != "cj_table":
        options["engine"] = engine
    verb: Callable[..., Estimates] = getattr(conjoint, call.verb)
    return verb(call.data, call.formula, **options), call.expected


def joined(found: pd.DataFrame, expected: pd.DataFrame) -> pd.DataFrame:
    keys = ["by", "feature", "level"] if "by" in expected else ["feature", "level"]
    as_text = dict.fromkeys(keys, "string")
    return found.astype(as_text).merge(
        expected.astype(as_text), on=keys, validate="1:1", suffixes=("", "_cregg")
    )


@pytest.mark.parametrize("name", PLAIN)
def test_native_engine_gives_the_numbers_of_cregg(name: str) -> None:
    found, expected = run(name)
    golden.assert_matches(found.frame, expected, atol=1e-10)


def some_by_default(names: Sequence[str], default: Sequence[str], long: Sequence[str] = ()) -> list[Any]:
    """All names, marked long or, where some are named as ``long``, slow if they are not named by default."""
    others = pytest.mark.slow if long else pytest.mark.long
    marks = dict.fromkeys(names, others) | dict.fromkeys(long, pytest.mark.long)
    return [name if name in default else pytest.param(name, marks=marks[name]) for name in names]


# Every verb, and whatever it has of weights, clusters, levels of intervals and restrictions.
LONG = (
    *("taxes_mm_diffs_partyid", "taxes_amce_id_weights", "taxes_amce_id_quasibinomial"),
    *("taxes_cj_anova_partyid", "immigration_amce_constrained_simple"),
)


@pytest.mark.long
@pytest.mark.r
@pytest.mark.parametrize(
    "name",
    some_by_default(
        [name for name in PLAIN if golden.CALLS[name][0] not in COUNTS],
        ["immigration_amce_diffs_contest"],
        LONG,
    ),
)
def test_survey_engine_gives_the_numbers_of_cregg(name: str) -> None:
    found, expected = run(name, "survey")
    golden.assert_matches(found.frame, expected, atol=1e-10)


WITHOUT_ENGINE = {name for name in golden.NAMES if golden.CALLS[name][0] in ("cj_tidy", "cj_table")} | {
    NULL_OF_A_DIFFERENCE
}


@pytest.mark.cregg
@pytest.mark.parametrize("name", [name for name in golden.NAMES if name not in WITHOUT_ENGINE])
def test_verbs_with_the_cregg_engine_give_the_numbers_of_cregg(name: str) -> None:
    found, expected = run(name, "cregg")
    golden.assert_matches(found.frame, expected)


@pytest.mark.cregg
@pytest.mark.parametrize("name", sorted(WITHOUT_ENGINE))
def test_the_bridge_to_cregg_gives_its_tables_where_our_verb_has_no_such_engine(name: str) -> None:
    verb, data, formula, options, expected = golden.golden_call(name)
    golden.assert_matches(cregg.run(verb, data, formula, **options), expected)


@pytest.mark.parametrize("engine", ["statsmodels", "linearmodels"])
@pytest.mark.parametrize(
    "name",
    some_by_default(
        [
            *(f"immigration_{name}" for name in ("amce_id", "amce_noid", "amce_balance_subset", "mm_id_h0")),
            *("immigration_amce_diffs_contest", "immigration_cj_by_contest_mm", *IN_PYTHON),
        ],
        IN_PYTHON[:2],
    ),
)
def test_python_engines_give_the_numbers_of_cregg(name: str, engine: str) -> None:
    found, expected = run(name, engine)
    golden.assert_matches(found.frame, expected, atol=1e-10)


# Numbers of cregg that are right in tables with others that are not; tests/analysis/r has both side by side.
RIGHT = {
    **{name: ["estimate", "std_error", "z", "p"] for name in RESTRICTED},
    **{name: ["estimate"] for name in SHARED_CLUSTERS},
    NULL_OF_A_DIFFERENCE: ["estimate", "std_error", "lower", "upper"],
    LOGISTIC: ["estimate"],
}


@pytest.mark.parametrize(
    "engine", ["native", pytest.param("survey", marks=[pytest.mark.r, pytest.mark.slow])]
)
@pytest.mark.parametrize("name", RIGHT)
def test_numbers_that_cregg_has_right_beside_wrong_ones_are_ours(name: str, engine: str) -> None:
    found, expected = run(name, engine)
    both = joined(found.frame, expected).dropna(subset=["std_error"])
    wrong = WRONG_AVERAGES if name in RESTRICTED else set()
    same = both[~both["level"].isin(wrong)]
    for column in RIGHT[name] + ["std_error"] * ((name, engine) == (LOGISTIC, "survey")):
        golden.assert_numbers_agree(same[column], same[f"{column}_cregg"], column, atol=1e-12)
    differing = both[~np.isclose(both["estimate"], both["estimate_cregg"], rtol=1e-8, atol=1e-12)]
    assert (set(differing["level"]) == WRONG_AVERAGES) == (name in FULLY_RESTRICTED)


def test_restricted_amces_are_those_of_the_corrected_table() -> None:
    right = pd.read_csv(golden.GOLDEN / "REF_immigration_constrained_correct.csv").set_index("level")
    found = run("immigration_amce_constrained_full")[0].frame
    ours = found.astype({"level": "string"}).set_index("level").loc[right.index]
    for column, theirs in (("estimate", "estimate"), ("std_error", "std.error"), ("upper", "upper")):
        np.testing.assert_allclose(ours[column], right[theirs], rtol=1e-8)


def test_restricted_amces_agree_with_cjoint() -> None:
    found, _ = run("immigration_amce_constrained_full")
    peer = pd.read_csv(golden.GOLDEN / "PEER_cjoint_immigration_constrained.csv")
    named = peer["Level"].str.lower().tolist()
    peer_estimates = dict(zip(named, peer["Estimate"], strict=True))
    ours = found.frame.dropna(subset=["std_error"]).astype({"level": "string"})
    estimates = dict(zip(ours["level"].str.lower(), ours["estimate"], strict=True))
    both = sorted(set(estimates) & set(peer_estimates))
    assert len(both) >= 35
    np.testing.assert_allclose(
        [estimates[level] for level in both], [peer_estimates[level] for level in both], rtol=1e-7
    )


def test_prompts_on_the_same_pairs_have_errors_two_to_three_times_smaller_than_cregg_says() -> None:
    found, expected = run("gemini_flash_mm_diffs_prompt_id")
    both = joined(found.frame, expected)
    ratio = both["std_error_cregg"] / both["std_error"]
    assert ratio.between(2.0, 3.5).mean() > 0.9


def test_every_reference_table_is_compared() -> None:
    assert len(golden.NAMES) == 69
    assert set(PLAIN) | EXCEPTIONS | {"wide_cj_tidy"} == set(golden.NAMES)


def test_nothing_is_warned_about_in_ordinary_calls() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("gemini_flash_amce_id")
        run("immigration_amce_id")
