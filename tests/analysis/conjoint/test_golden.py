"""Our estimators against 69 tables that cregg made, and the pinned cases where cregg is wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import golden
import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from conjury.analysis import conjoint
from conjury.analysis.conjoint.engines import cregg
from conjury.analysis.conjoint.estimates import Estimates

pytestmark = [
    pytest.mark.shared,
    pytest.mark.filterwarnings("ignore:No estimate for"),
]

FULL = {"Education", "Job", "CountryOfOrigin", "ReasonForApplication"}
RESTRICTED = {
    "immigration_amce_constrained_simple": {"ReasonForApplication", "CountryOfOrigin"},
    "immigration_amce_constrained_full": FULL,
    "immigration_amce_constrained_full_noid": FULL,
    "taxes_amce_constrained_allowed": {"taxrate1", "taxrev"},
    "gemini_flash_amce_interaction_slur_identity": {"slur", "identity"},
}
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
    *("taxes_mm_diffs_partyid", "taxes_amce_id_weights", "taxes_mm_weights", "taxes_amce_id_quasibinomial"),
    *("taxes_cj_anova_partyid", "immigration_amce_noid", "immigration_amce_id_alpha10", "immigration_mm_id"),
    *(
        "immigration_mm_na_outcome",
        "immigration_cj_by_contest_amce",
        "immigration_amce_by_reference_language",
    ),
    *("immigration_amce_constrained_simple", "gemini_flash_amce_diffs_identity", "gemini_flash_mm_id_h0"),
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


NATIVE_AND_SURVEY = ["native", pytest.param("survey", marks=pytest.mark.r)]


@pytest.mark.parametrize(
    "engine", ["native", pytest.param("survey", marks=[pytest.mark.r, pytest.mark.long])]
)
@pytest.mark.parametrize("name", RESTRICTED)
def test_restricted_features_get_intervals_of_the_level_asked_for_where_cregg_gives_90(
    name: str, engine: str
) -> None:
    found, expected = run(name, engine)
    both = joined(found.frame, expected).dropna(subset=["std_error"])
    labels = golden.golden_call(name).options.get("feature_labels", {})
    restricted = both["feature"].isin({labels.get(feature, feature) for feature in RESTRICTED[name]})
    ours = (both["upper"] - both["estimate"]) / both["std_error"]
    theirs = (both["upper_cregg"] - both["estimate_cregg"]) / both["std_error_cregg"]
    np.testing.assert_allclose(ours, ndtri(0.975), rtol=1e-8)
    np.testing.assert_allclose(theirs, np.where(restricted, ndtri(0.95), ndtri(0.975)), rtol=1e-8)
    right = both[~both["level"].isin(WRONG_AVERAGES)]
    for column in ("estimate", "std_error", "z", "p"):
        golden.assert_numbers_agree(right[column], right[f"{column}_cregg"], column, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("engine", NATIVE_AND_SURVEY)
def test_restricted_amces_average_over_partners_that_both_levels_meet(engine: str) -> None:
    found, expected = run("immigration_amce_constrained_full", engine)
    both = joined(found.frame, expected)
    differing = both[~np.isclose(both["estimate"], both["estimate_cregg"], rtol=1e-8, atol=1e-12)]
    assert set(differing["level"]) == WRONG_AVERAGES

    right = pd.read_csv(golden.GOLDEN / "REF_immigration_constrained_correct.csv").set_index("level")
    ours = found.frame.astype({"level": "string"}).set_index("level").loc[right.index]
    np.testing.assert_allclose(ours["estimate"], right["estimate"], rtol=1e-8)
    np.testing.assert_allclose(ours["std_error"], right["std.error"], rtol=1e-8)
    np.testing.assert_allclose(ours["upper"], right["upper"], rtol=1e-8)


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


@pytest.mark.parametrize("name", SHARED_CLUSTERS)
def test_differences_of_means_keep_the_covariance_that_cregg_forgets(name: str) -> None:
    found, expected = run(name)
    both = joined(found.frame, expected)
    np.testing.assert_allclose(both["estimate"], both["estimate_cregg"], rtol=1e-8, atol=1e-12)

    call = golden.golden_call(name)
    options = dict(call.options)
    grouped = conjoint.cj(call.data, call.formula, estimate="mm", **options)
    groups = grouped.frame["by"].unique().tolist()
    m = len(grouped.frame) // len(groups)
    vcov = grouped.vcov.to_numpy()
    variance = np.diag(vcov)
    for number in range(1, len(groups)):
        block = slice(number * m, (number + 1) * m)
        rows = both[both["by"] == f"{groups[number]} - {groups[0]}"].set_index("level")
        order = grouped.frame["level"].iloc[:m].astype(str)
        rows = rows.loc[order]
        covariance = np.diag(vcov[:m, block])
        independent = np.sqrt(variance[:m] + variance[block])
        np.testing.assert_allclose(rows["std_error_cregg"], independent, rtol=1e-8)
        joint = np.sqrt(variance[:m] + variance[block] - 2 * covariance)
        np.testing.assert_allclose(rows["std_error"], joint, rtol=1e-8)
    assert (np.abs(both["std_error"] / both["std_error_cregg"] - 1) > 1e-4).any()


def test_prompts_on_the_same_pairs_have_errors_two_to_three_times_smaller_than_cregg_says() -> None:
    found, expected = run("gemini_flash_mm_diffs_prompt_id")
    both = joined(found.frame, expected)
    ratio = both["std_error_cregg"] / both["std_error"]
    assert ratio.between(2.0, 3.5).mean() > 0.9


def test_a_difference_is_tested_against_zero_where_cregg_tests_it_against_h0() -> None:
    call = golden.golden_call(NULL_OF_A_DIFFERENCE)
    options = {key: value for key, value in call.options.items() if key != "h0"}
    both = joined(conjoint.mm_diffs(call.data, call.formula, **options).frame, call.expected)
    for column in ("estimate", "std_error", "lower", "upper"):
        np.testing.assert_allclose(both[column], both[f"{column}_cregg"], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(both["z"], both["estimate"] / both["std_error"], rtol=1e-8)
    np.testing.assert_allclose(both["z_cregg"], (both["estimate"] - 0.1) / both["std_error"], rtol=1e-8)


@pytest.mark.parametrize("engine", ["native", "statsmodels"])
def test_logistic_errors_are_those_of_the_converged_fit_where_r_stops_a_step_early(engine: str) -> None:
    found, expected = run(LOGISTIC, engine)
    both = joined(found.frame, expected).dropna(subset=["std_error"])
    np.testing.assert_allclose(both["estimate"], both["estimate_cregg"], rtol=1e-8)
    gap = np.abs(both["std_error"] / both["std_error_cregg"] - 1)
    assert gap.max() < 5e-7
    assert gap.max() > 1e-8


@pytest.mark.long
@pytest.mark.r
def test_survey_engine_has_the_logistic_errors_of_cregg() -> None:
    found, expected = run(LOGISTIC, "survey")
    both = joined(found.frame, expected).dropna(subset=["std_error"])
    np.testing.assert_allclose(both["std_error"], both["std_error_cregg"], rtol=1e-8)


def test_every_reference_table_is_compared() -> None:
    assert len(golden.NAMES) == 69
    assert set(PLAIN) | EXCEPTIONS | {"wide_cj_tidy"} == set(golden.NAMES)


def test_nothing_is_warned_about_in_ordinary_calls() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("gemini_flash_amce_id")
        run("immigration_amce_id")
