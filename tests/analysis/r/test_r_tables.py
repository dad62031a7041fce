"""Our estimators against the committed tables that R made (R/run.R), and cregg's wrong values beside ours."""

from __future__ import annotations

import subprocess
import textwrap
from functools import cache
from typing import Any

import golden
import numpy as np
import pandas as pd
import pytest
import reference_tables
from cases import calls, refusals
from reference_tables import FIXTURES
from scipy.special import ndtri
from shared_folder import REPOSITORY

from conjury.analysis import conjoint
from conjury.analysis.conjoint import amce, amce_diffs, cj, cj_freqs, cj_props, mm, mm_diffs
from conjury.analysis.conjoint.engines.cregg import COLUMN_NAMES
from conjury.inference.errors import InputError

PLAIN = "chosen ~ tone + topic + author + reply"
WITHOUT_AUTHOR = "chosen ~ tone + topic + reply"

CALLS = calls("tables of R")
STRATA = calls("tables of stratified designs of R")
COUNTS = ("cj_freqs", "cj_props", "cj_table")
QUASI = {f"{name}_quasibinomial" for name in ("amce", "amce_strata", "cregg_amce")}
ELSEWHERE = QUASI | {"cregg_amce_restricted", "cregg_mm_diffs_author", "mm_diffs_age", "mm_diffs_author"}
FITS = {"fit_plain", "fit_restricted", "fit_weights", "fit_quasibinomial"}
LOGISTIC: dict[str, Any] = {"id": "respondent", "weights": "weight", "family": "quasibinomial"}


@cache
def posts() -> pd.DataFrame:
    frame = reference_tables.posts()
    bounds = [3, 30, 110, 111.5, 114]  # as R/run.R has them; three strata have two respondents each
    return frame.assign(region=np.searchsorted(bounds, frame["respondent"], side="right"))


def table(name: str) -> pd.DataFrame:
    read = pd.read_csv(FIXTURES / "r" / f"{name}.csv", keep_default_na=False, na_values=[""])
    read = read.rename(columns=COLUMN_NAMES)
    if "reference" in read and name == "cregg_cj_table":
        read["reference"] = read["reference"].astype(str).str.upper() == "TRUE"
    return read


def run(name: str, **changes: Any) -> pd.DataFrame:
    verb, formula, options = (CALLS | STRATA)[name]
    frame: pd.DataFrame = verb(posts(), formula, **{**options, **changes}).frame
    return frame


def side_by_side(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    keys = [name for name in ("by", "feature", "level") if name in theirs]
    text = dict.fromkeys(keys, "string")
    both = ours.astype(text).merge(theirs.astype(text), on=keys, validate="1:1", suffixes=("", "_r"))
    assert len(both) == len(theirs) == len(ours)
    return both


def assert_columns_agree(both: pd.DataFrame, *columns: str, rtol: float = 1e-8) -> None:
    for column in columns:
        golden.assert_numbers_agree(both[column], both[f"{column}_r"], column, rtol, atol=1e-14)


@pytest.mark.parametrize("p", [0.7, 1e-12, 1e-200])
def test_a_wrong_p_value_is_noticed_however_small(p: float) -> None:
    expected = pd.DataFrame({"feature": ["tone"], "estimate": [1e-20], "p": [p]})
    golden.assert_matches(expected.assign(estimate=0.0), expected, atol=1e-10)
    with pytest.raises(AssertionError, match=r"(?m)^p$"):
        golden.assert_matches(expected.assign(p=p * (1 + 1e-7)), expected, atol=1e-10)


@pytest.mark.parametrize("name", CALLS)
def test_native_engine_gives_the_table_that_r_made(name: str) -> None:
    golden.assert_matches(run(name), table(name), atol=1e-14)


@pytest.mark.parametrize("engine", ["statsmodels", "linearmodels"])
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, (verb, _, options) in CALLS.items()
        if verb.__name__ not in (*COUNTS, "cj_anova") and "estimate" not in options
    ],
)
def test_python_engines_give_the_table_that_r_made(name: str, engine: str) -> None:
    golden.assert_matches(run(name, engine=engine), table(name), atol=1e-13)


def test_statsmodels_gives_the_analysis_of_variance_that_r_made() -> None:
    golden.assert_matches(
        run("cregg_cj_anova_position", engine="statsmodels"), table("cregg_cj_anova_position")
    )


@pytest.mark.long
@pytest.mark.r
@pytest.mark.parametrize("name", [name for name in CALLS if CALLS[name][0].__name__ not in COUNTS])
def test_survey_engine_gives_the_table_that_r_made(name: str) -> None:
    golden.assert_matches(run(name, engine="survey"), table(name), atol=1e-13)


@pytest.mark.cregg
@pytest.mark.parametrize("name", [n for n in CALLS if n.startswith("cregg_") and n != "cregg_cj_table"])
def test_cregg_engine_gives_the_table_that_cregg_made(name: str) -> None:
    golden.assert_matches(run(name, engine="cregg"), table(name), rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize("engine", ["native", "statsmodels"])
@pytest.mark.parametrize("name", ["amce_quasibinomial", "cregg_amce_quasibinomial"])
def test_logits_agree_with_r_which_stops_a_step_early(name: str, engine: str) -> None:
    both = side_by_side(amce(posts(), PLAIN, engine=engine, **LOGISTIC).frame, table(name))
    assert_columns_agree(both, "estimate")
    assert_columns_agree(both, "std_error", "z", "lower", "upper", rtol=1e-6)
    np.testing.assert_allclose(both["p"], both["p_r"], rtol=1e-4)
    assert (np.abs(both["std_error"] / both["std_error_r"] - 1).max()) > 1e-12


@pytest.mark.parametrize("engine", ["native", pytest.param("survey", marks=pytest.mark.r)])
@pytest.mark.parametrize("name", STRATA)
def test_stratified_designs_have_the_errors_of_svydesign(name: str, engine: str) -> None:
    golden.assert_matches(run(name, strata="region", engine=engine), table(name), rtol=1e-8, atol=1e-14)
    plain, theirs = run(name), table(name)
    both = side_by_side(plain, theirs).dropna(subset="std_error")
    assert (both["std_error"] / both["std_error_r"] - 1).abs().max() > 1e-4


def test_logits_of_stratified_designs_agree_with_r_which_stops_a_step_early() -> None:
    ours = conjoint.amce(posts(), PLAIN, strata="region", **LOGISTIC).frame
    both = side_by_side(ours, table("amce_strata_quasibinomial"))
    assert_columns_agree(both, "estimate", rtol=1e-8)
    assert_columns_agree(both, "std_error", rtol=1e-5)


@pytest.mark.r
@pytest.mark.parametrize(("verb", "formula"), [("amce_diffs", PLAIN), ("mm_diffs", PLAIN), ("cj", PLAIN)])
def test_differences_of_stratified_designs_count_all_clusters_of_a_stratum(verb: str, formula: str) -> None:
    native, survey = (
        getattr(conjoint, verb)(
            posts(), formula, by="age", id="respondent", strata="region", engine=name
        ).frame
        for name in ("native", "survey")
    )
    np.testing.assert_allclose(native["std_error"], survey["std_error"], rtol=1e-8)


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "strata"))
def test_strata_without_a_variance_are_refused(match, columns, options) -> None:
    alone = (posts()["respondent"] == 1).astype(int)
    data = posts().assign(alone=alone, missing=posts()["region"].where(alone == 0))
    with pytest.raises(InputError, match=match):
        conjoint.amce(data, PLAIN, **options)


def test_what_knows_no_strata_refuses_them() -> None:
    fit = conjoint.amce(posts(), PLAIN, id="respondent", strata="region")
    refused = (
        lambda: conjoint.bootstrap(conjoint.amce, posts(), PLAIN, unit="respondent", strata="region"),
        lambda: conjoint.wild(fit),
        lambda: conjoint.amce(posts(), PLAIN, id="respondent", strata="region", correct=0.1),
    )
    for call in refused:
        with pytest.raises(InputError, match="strata"):
            call()
    assert fit.provenance.extra["strata"] == "region"
    assert conjoint.adjust(fit, "romano_wolf", seed=1).provenance.extra["adjusted"]["drawn"] == "normal"


def test_linearmodels_refuses_logits() -> None:
    with pytest.raises(InputError, match="linearmodels has no family"):
        amce(posts(), PLAIN, engine="linearmodels", **LOGISTIC)


def test_cregg_gives_90_percent_intervals_on_restricted_rows_and_we_give_95() -> None:
    both = side_by_side(run("amce_restricted"), table("cregg_amce_restricted"))
    both = both.dropna(subset=["std_error"])
    restricted = both["feature"].isin(["tone", "topic"])
    same = both["level"] != "sport"
    assert_columns_agree(both[same], "estimate", "std_error", "z", "p")
    assert_columns_agree(both[~restricted], "lower", "upper")
    half = (both["upper"] - both["estimate"]) / both["std_error"]
    half_cregg = (both["upper_r"] - both["estimate_r"]) / both["std_error_r"]
    np.testing.assert_allclose(half, ndtri(0.975), rtol=1e-9)
    np.testing.assert_allclose(half_cregg, np.where(restricted, ndtri(0.95), ndtri(0.975)), rtol=1e-9)


def test_an_effect_is_averaged_over_the_partners_that_meet_both_levels_where_cregg_takes_more() -> None:
    frame = posts().dropna(subset=["tone", "topic", "chosen"])
    counts = pd.crosstab(frame["topic"], frame["tone"])
    shared = counts.columns[(counts.loc["sport"] > 0) & (counts.loc["work"] > 0)]
    assert len(shared) < 3
    ours = run("amce_restricted").set_index("level")["estimate"]
    theirs = table("cregg_amce_restricted").set_index("level")["estimate"]
    assert abs(ours["sport"] - theirs["sport"]) > 0.01
    coded = pd.get_dummies(frame["tone"].astype(str) + "/" + frame["topic"].astype(str))
    others = pd.get_dummies(frame[["author", "reply"]], drop_first=True)
    keep = frame[["author", "reply"]].notna().all(axis=1)
    design = pd.concat([coded, others], axis=1)[keep].astype(float)
    coef, *_ = np.linalg.lstsq(design.to_numpy(), frame.loc[keep, "chosen"].to_numpy(float), rcond=None)
    values = dict(zip(design.columns, coef, strict=True))
    expected = np.mean([values[f"{tone}/sport"] - values[f"{tone}/work"] for tone in shared])
    np.testing.assert_allclose(ours["sport"], expected, rtol=1e-10)


def test_differences_of_means_that_share_clusters_keep_the_covariance_that_cregg_forgets() -> None:
    both = side_by_side(
        mm_diffs(posts(), WITHOUT_AUTHOR, "author", "respondent").frame, table("cregg_mm_diffs_author")
    )
    assert_columns_agree(both, "estimate")
    groups = cj(posts(), WITHOUT_AUTHOR, "respondent", estimate="mm", by="author").frame
    errors = groups.pivot(index="level", columns="author", values="std_error")
    for _, row in both.iterrows():
        pair = errors.loc[row["level"], [row["author"], "anonymous"]]
        np.testing.assert_allclose(row["std_error_r"], np.hypot(*pair), rtol=1e-8)
    assert (np.abs(both["std_error"] / both["std_error_r"] - 1) > 1e-4).any()


@pytest.mark.parametrize(("by", "formula"), [("age", PLAIN), ("author", WITHOUT_AUTHOR)])
def test_differences_of_means_are_those_of_one_model_but_for_the_small_sample_factor(
    by: str, formula: str
) -> None:
    """R's joint model counts all clusters, we count those of each group, as cregg does."""
    ours = mm_diffs(posts(), formula, by, "respondent")
    both = side_by_side(ours.frame, table(f"mm_diffs_{by}"))
    assert_columns_agree(both, "estimate")
    groups = cj(posts(), formula, "respondent", estimate="mm", by=by)
    clusters = posts().groupby(by, observed=True)["respondent"].nunique().reindex(groups.frame[by])
    scale = np.sqrt((1 - 1 / clusters.to_numpy()) * 300 / 299)
    assert groups.vcov is not None
    vcov = scale[:, None] * groups.vcov.to_numpy() * scale
    m = len(groups.frame) // groups.frame[by].nunique()
    first = np.arange(len(both)) % m
    own = np.arange(len(both)) + m
    variance = vcov[own, own] + vcov[first, first] - 2 * vcov[own, first]
    np.testing.assert_allclose(np.sqrt(variance), both["std_error_r"], rtol=1e-8)
    np.testing.assert_allclose(both["std_error"], both["std_error_r"], rtol=2e-3)


@pytest.mark.parametrize(
    "engine", ["statsmodels", "linearmodels", pytest.param("survey", marks=pytest.mark.r)]
)
@pytest.mark.parametrize(("by", "formula"), [("age", PLAIN), ("author", WITHOUT_AUTHOR)])
def test_engines_agree_on_differences_of_means(by: str, formula: str, engine: str) -> None:
    ours, theirs = (
        mm_diffs(posts(), formula, by, "respondent", engine=name).frame for name in ("native", engine)
    )
    golden.assert_matches(ours, theirs, rtol=1e-8)


def test_every_committed_table_is_compared() -> None:
    index = pd.read_csv(FIXTURES / "r" / "INDEX.csv")
    errors = {name for name in index["name"] if name.startswith("errors_")}  # have tests of their own
    assert set(CALLS) | set(STRATA) | ELSEWHERE | FITS | errors == set(index["name"])
    assert {path.stem for path in (FIXTURES / "r").glob("*.csv")} == {*index["name"], "INDEX"}


def numbers(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_index(frame["level"].astype(object))[["estimate", "std_error"]]


@pytest.mark.cregg
def test_cregg_prints_zeros_for_a_feature_whose_name_contains_a_later_one() -> None:
    frame = posts().rename(columns={"tone": "race_author", "topic": "race"})
    formula = "chosen ~ race_author + race"
    ours, theirs = (numbers(amce(frame, formula, engine=engine).frame) for engine in ("native", "cregg"))
    plain = numbers(amce(posts(), "chosen ~ tone + topic").frame)
    pd.testing.assert_frame_equal(ours, plain)
    assert (theirs.loc[["sharp", "rude"], "estimate"] == 0).all()
    assert theirs.loc[["sharp", "rude"], "std_error"].isna().all()
    strays = theirs[theirs.index.isna()]
    np.testing.assert_allclose(sorted(strays["estimate"]), sorted(ours.loc[["sharp", "rude"], "estimate"]))


@pytest.mark.cregg
def test_cregg_shows_an_unused_level_like_a_reference_and_we_leave_it_missing() -> None:
    frame = posts().assign(tone=posts()["tone"].cat.add_categories(["shrill"]))
    with pytest.warns(UserWarning, match="tone=shrill"):
        ours = numbers(amce(frame, "chosen ~ tone + reply").frame)
    theirs = numbers(amce(frame, "chosen ~ tone + reply", engine="cregg").frame)
    assert np.isnan(ours.loc["shrill", "estimate"])
    assert theirs.loc["shrill", "estimate"] == 0
    assert np.isnan(theirs.loc["shrill", "std_error"])
    used = ["sharp", "rude", "reply"]
    np.testing.assert_allclose(theirs.loc[used], ours.loc[used], rtol=1e-8)


@pytest.mark.cregg
def test_cregg_gives_zeros_for_ordered_factors_which_we_and_our_bridge_treat_as_unordered() -> None:
    script = textwrap.dedent(
        """
        posts <- read.csv("tests/fixtures/data/posts.csv", na.strings = "", encoding = "UTF-8")
        posts$tone <- factor(posts$tone, levels = c("calm", "sharp", "rude"), ordered = TRUE)
        table <- suppressWarnings(cregg::amce(posts, chosen ~ tone))
        cat(table$estimate[!is.na(table$level)])
        """
    )
    answer = subprocess.run(
        ["Rscript", "-e", script], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert [float(word) for word in answer.stdout.split()] == [0, 0, 0]
    ordered = posts().assign(tone=posts()["tone"].cat.as_ordered())
    plain = amce(posts(), "chosen ~ tone").frame
    pd.testing.assert_frame_equal(amce(ordered, "chosen ~ tone").frame, plain)
    through_bridge = amce(ordered, "chosen ~ tone", engine="cregg").frame
    np.testing.assert_allclose(through_bridge["estimate"], plain["estimate"], rtol=1e-8)


@pytest.mark.cregg
def test_references_and_counts_are_those_of_cregg_and_options_that_it_would_ignore_are_refused() -> None:
    def both(verb: Any, *given: Any, **options: Any) -> list[pd.DataFrame]:
        return [verb(posts(), *given, engine=engine, **options).frame for engine in ("native", "cregg")]

    pair = both(amce, PLAIN, reference={"tone": "rude", "reply": "reply"})
    assert_columns_agree(side_by_side(*pair), "estimate", "std_error")
    ours, theirs = both(cj_freqs, PLAIN)
    np.testing.assert_array_equal(ours["estimate"], theirs["estimate"])
    ours, theirs = both(cj_props, "~ tone + reply")
    np.testing.assert_allclose(ours["proportion"], theirs["proportion"], rtol=1e-12)
    with pytest.raises(InputError, match="no family 'quasibinomial'"):
        mm(posts(), PLAIN, family="quasibinomial", engine="cregg")
    with pytest.raises(InputError, match="Reference 'loud'"):
        amce(posts(), PLAIN, reference={"tone": "loud"}, engine="cregg")


def test_cregg_tests_differences_against_h0_and_we_refuse_that() -> None:
    with pytest.raises(InputError, match="takes no 'h0'"):
        mm_diffs(posts(), PLAIN, by="age", h0=0.5)
    with pytest.raises(InputError, match="takes no 'h0'"):
        amce_diffs(posts(), PLAIN, by="age", h0=0.5)
