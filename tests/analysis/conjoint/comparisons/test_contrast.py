"""Contrasts against refits, and joint tests against survey and clubSandwich."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import (
    amce,
    amce_diffs,
    bootstrap,
    cj,
    contrast,
    interaction,
    mm,
    mm_diffs,
    wald,
    wild,
)
from conjury.analysis.conjoint.comparisons.wald import references
from conjury.analysis.conjoint.estimates import Estimates
from conjury.analysis.numerics import sandwich as wishart
from conjury.inference.errors import InputError

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
PLAIN = "chosen ~ tone + topic + author + reply"
RESTRICTED = "chosen ~ tone * topic + author + reply"
NUMBERS = ["estimate", "std_error", "z", "p", "lower", "upper"]


def read_posts() -> pd.DataFrame:
    frame = pd.read_csv(FIXTURES / "data" / "posts.csv")
    levels = pd.read_csv(FIXTURES / "data" / "posts.levels.csv", dtype=str)
    order = {name: list(rows["level"]) for name, rows in levels.groupby("column", sort=False)}
    return frame.assign(**{name: pd.Categorical(frame[name], own) for name, own in order.items()})


POSTS = read_posts()


def shared_pairs(groups: int = 3, pairs: int = 250, seed: int = 2) -> pd.DataFrame:
    """Several models judge the same pairs."""
    random = np.random.default_rng(seed)
    n = 2 * pairs
    shown = pd.DataFrame(
        {
            "pair_id": np.repeat(np.arange(pairs), 2),
            "slur": pd.Categorical(
                random.choice(["none", "racism", "homophobia"], n), ["none", "racism", "homophobia"]
            ),
            "topic": pd.Categorical(random.choice(["work", "sport"], n), ["work", "sport"]),
        }
    )
    common = random.gumbel(size=n)
    tables = []
    for number in range(groups):
        score = (1 + number) * 0.4 * (shown["slur"] == "racism") + common + random.gumbel(size=n)
        best = score.groupby(shown["pair_id"]).transform("max")
        tables.append(shown.assign(judge=f"m{number}", chosen=(score == best).astype(float)))
    return pd.concat(tables, ignore_index=True)


SHARED = shared_pairs()
MODELS = "chosen ~ slur + topic"


def row(frame: pd.DataFrame, **keys: str) -> pd.Series:
    found = frame
    for name, value in keys.items():
        found = found[found[name].astype(str) == value]
    assert len(found) == 1
    return found.iloc[0]


@pytest.mark.parametrize("formula", [PLAIN, RESTRICTED])
@pytest.mark.parametrize("options", [{}, {"vcov": "CR1"}, {"vcov": "CR2"}, {"family": "quasibinomial"}])
def test_every_contrast_equals_the_amce_with_that_reference(formula: str, options: dict[str, Any]) -> None:
    fit = amce(POSTS, formula, id="respondent", **options)
    rel = 1e-6 if "family" in options else 1e-9
    for feature in ("tone", "topic", "author"):
        for found in contrast(fit, feature).frame.itertuples():
            refit = amce(POSTS, formula, id="respondent", reference={feature: found.reference}, **options)
            expected = row(refit.frame, feature=feature, level=found.level)
            for name in NUMBERS:
                assert getattr(found, name) == pytest.approx(expected[name], rel=rel, abs=1e-12)


def test_pairs_are_chosen_by_level_and_reference() -> None:
    fit = amce(POSTS, PLAIN, id="respondent")
    one = contrast(fit, "tone", "rude", "sharp").frame
    assert one[["reference", "level"]].astype(str).to_numpy().tolist() == [["sharp", "rude"]]
    assert contrast(fit, "tone", "rude").frame["reference"].tolist() == ["calm", "sharp"]
    assert contrast(fit, "tone", reference="rude").frame["level"].astype(str).tolist() == ["calm", "sharp"]
    assert len(contrast(fit, "author").frame) == 3


def test_labels_name_features_too() -> None:
    fit = amce(POSTS, PLAIN, id="respondent", feature_labels={"tone": "Tone of voice"})
    for name in ("tone", "Tone of voice"):
        assert set(contrast(fit, name).frame["feature"]) == {"Tone of voice"}


def test_means_are_compared_with_their_covariance() -> None:
    fit = mm(POSTS, PLAIN, id="respondent", h0=0.5)
    found = contrast(fit, "tone", "rude", "sharp").frame.iloc[0]
    assert fit.vcov is not None
    where = [fit.vcov.index.get_loc(("tone", level)) for level in ("rude", "sharp")]
    part = fit.vcov.to_numpy()[np.ix_(where, where)]
    assert found["statistic"] == "mm_contrast"
    assert found["std_error"] == pytest.approx(np.sqrt(part[0, 0] + part[1, 1] - 2 * part[0, 1]))
    assert found["z"] == pytest.approx(found["estimate"] / found["std_error"])


@pytest.mark.parametrize("engine", ["native", "statsmodels", "linearmodels"])
def test_any_two_groups_are_compared_as_differences_do(engine: str) -> None:
    fit = cj(SHARED, MODELS, id="pair_id", by="judge", engine="native")
    expected = amce_diffs(SHARED, MODELS, "judge", id="pair_id").frame
    single = contrast(amce(SHARED, MODELS, id="pair_id", engine=engine), "slur", "homophobia", "racism").frame
    native = contrast(amce(SHARED, MODELS, id="pair_id"), "slur", "homophobia", "racism").frame
    np.testing.assert_allclose(single[NUMBERS], native[NUMBERS], rtol=1e-6)
    for level in ("racism", "homophobia"):
        found = contrast(fit, "slur", level, group=("m2", "m0")).frame.iloc[0]
        theirs = row(expected, feature="slur", level=level, judge="m2")
        np.testing.assert_allclose(found[NUMBERS].astype(float), theirs[NUMBERS].astype(float), rtol=1e-8)
        assert (found["by"], found["judge"]) == ("m2 - m0", "m2")


def test_shared_clusters_make_differences_of_groups_more_precise() -> None:
    fit = cj(SHARED, MODELS, id="pair_id", by="judge")
    errors = fit.frame[(fit.frame["feature"] == "slur") & (fit.frame["level"] == "racism")]["std_error"]
    found = contrast(fit, "slur", "racism", group="all").frame
    assert len(found) == 3
    assert found["std_error"].iloc[0] < 0.95 * np.hypot(errors.iloc[0], errors.iloc[1])


def test_differences_of_fits_are_contrasted_between_levels_and_groups() -> None:
    fit = amce_diffs(SHARED, MODELS, "judge", id="pair_id")
    between = cj(SHARED, MODELS, id="pair_id", by="judge")
    inside = contrast(fit, "slur", "homophobia", "racism").frame
    assert inside["by"].tolist() == ["m1 - m0", "m2 - m0"]
    for pair in (("m2", "m1"), ("m1", "m0")):
        one = contrast(fit, "slur", "racism", group=pair).frame[NUMBERS]
        other = contrast(between, "slur", "racism", group=pair).frame[NUMBERS]
        np.testing.assert_allclose(one.astype(float), other.astype(float), rtol=1e-8)
    means = contrast(mm_diffs(SHARED, MODELS, "judge", id="pair_id"), "slur", group=("m2", "m1")).frame
    assert means["statistic"].tolist() == ["mm_difference"] * 3


def test_a_bootstrap_is_contrasted_by_its_covariance() -> None:
    drawn = bootstrap(amce, SHARED, MODELS, draws=200, seed=1)
    found = contrast(drawn, "slur", "homophobia", "racism").frame.iloc[0]
    levels = drawn.frame["level"].astype(str).tolist()
    replicates = drawn.replicates[:, levels.index("homophobia")] - drawn.replicates[:, levels.index("racism")]
    assert found["std_error"] == pytest.approx(replicates.std(ddof=1))
    base = contrast(drawn, "slur", "racism", "none").frame.iloc[0]
    assert base["estimate"] == row(drawn.frame, feature="slur", level="racism")["estimate"]
    grouped = bootstrap(amce_diffs, SHARED, MODELS, draws=100, seed=1, by="judge")
    between = contrast(grouped, "slur", "racism", group=("m2", "m1")).frame.iloc[0]
    mine = grouped.frame[(grouped.frame["level"] == "racism")]["estimate"].to_numpy()
    assert between["estimate"] == pytest.approx(mine[1] - mine[0])
    with pytest.raises(InputError, match="restricted"):
        contrast(bootstrap(amce, POSTS, RESTRICTED, draws=50, seed=1, unit="respondent"), "tone")


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("colour",), {}, "no feature 'colour'"),
        (("slur", "sexism"), {}, "'sexism' is no level of 'slur'"),
        (("slur", "racism", "racism"), {}, "name two levels"),
        (("slur", "racism"), {"group": ("m0", "m9")}, "names 'm9'"),
        (("slur", "racism"), {"group": ("m0", "m0")}, "twice"),
        (("slur", "none"), {"group": ("m0", "m1")}, "name another reference"),
        (("slur", "racism"), {"group": "every"}, "or 'all'"),
    ],
)
def test_what_is_not_there_cannot_be_contrasted(
    arguments: tuple[str, ...], options: dict[str, Any], words: str
) -> None:
    fit = cj(SHARED, MODELS, id="pair_id", by="judge")
    with pytest.raises(InputError, match=words):
        contrast(fit, *arguments, **options)


def test_fits_of_cregg_say_that_they_keep_no_covariance() -> None:
    fit = amce(SHARED, MODELS, id="pair_id")
    foreign = type(fit)(fit.frame, None, replace(fit.provenance, engine="cregg"))
    with pytest.raises(InputError, match="cregg keeps no covariance"):
        contrast(foreign, "slur")


@pytest.mark.r
def test_fits_by_survey_are_contrasted_and_tested_alike() -> None:
    ours, theirs = (amce(POSTS, PLAIN, id="respondent", engine=engine) for engine in ("native", "survey"))
    one, other = (contrast(fit, "tone").frame[NUMBERS] for fit in (ours, theirs))
    np.testing.assert_allclose(one, other, rtol=1e-8)
    np.testing.assert_allclose(wald(ours).frame["chi2"], wald(theirs).frame["chi2"], rtol=1e-8)


def test_fits_without_groups_or_contrasts_are_refused() -> None:
    with pytest.raises(InputError, match="no groups"):
        contrast(amce(SHARED, MODELS), "slur", group=("m0", "m1"))
    with pytest.raises(InputError, match="contrast needs a fit"):
        contrast(wald(amce(SHARED, MODELS)), "slur")


def test_joint_tests_equal_those_of_survey() -> None:
    expected = pd.read_csv(FIXTURES / "comparisons" / "wald_survey.csv")
    found = wald(amce(POSTS, PLAIN, id="respondent")).frame
    assert found["feature"].astype(str).tolist() == expected["feature"].tolist()
    np.testing.assert_allclose(found[["chi2", "df", "p"]], expected[["chi2", "df", "p"]], rtol=1e-8)
    assert np.isinf(found["df2"]).all()


def test_joint_f_tests_equal_those_of_club_sandwich() -> None:
    expected = pd.read_csv(FIXTURES / "comparisons" / "wald_cr1.csv")
    complete = POSTS.dropna(subset=["chosen", "tone", "topic", "author", "reply"])
    found = wald(amce(complete, PLAIN, id="respondent", vcov="CR1")).frame
    columns = ["df", "p_chi2", "f", "df2", "p"]
    np.testing.assert_allclose(found[columns], expected[columns], rtol=1e-8)


@pytest.mark.parametrize("clusters", ["all", "twelve"])
def test_joint_tests_of_cr2_fits_equal_htz_of_club_sandwich(clusters: str) -> None:
    table = pd.read_csv(FIXTURES / "comparisons" / "wald_htz.csv")
    expected = table[table["clusters"] == clusters]
    complete = POSTS.dropna(subset=["chosen", "tone", "topic", "author", "reply"])
    if clusters == "twelve":
        complete = complete[complete["respondent"].isin(sorted(complete["respondent"].unique())[:12])]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Few clusters")
        fit = amce(complete, PLAIN, id="respondent", vcov="CR2")
    found = pd.concat([wald(fit).frame, wald(fit, each=()).frame])
    assert set(found["test"]) == {"HTZ"}
    columns = ["df", "f", "df2", "p"]
    np.testing.assert_allclose(found[columns], expected[columns], rtol=1e-8)


def test_htz_does_not_depend_on_the_reference_nor_on_redundant_contrasts() -> None:
    options: dict[str, Any] = {"id": "respondent", "vcov": "CR2"}
    one = wald(amce(POSTS, PLAIN, **options)).frame
    fit = amce(POSTS, PLAIN, reference={"tone": "rude"}, **options)
    np.testing.assert_allclose(one[["f", "df2"]], wald(fit).frame[["f", "df2"]], rtol=1e-8)
    with pytest.warns(UserWarning, match="lower rank"):
        every = wald(contrast(fit, "tone"), each="feature").frame.iloc[0]
    np.testing.assert_allclose(every[["f", "df2"]].astype(float), one[["f", "df2"]].iloc[0], rtol=1e-7)


def by_row_matrices(
    design: np.ndarray, cluster: np.ndarray, contrasts: np.ndarray
) -> tuple[float, np.ndarray]:
    """eta from matrices of all rows, and the mean of the covariance of the contrasts."""
    bread = np.linalg.inv(design.T @ design)
    hat = design @ bread @ design.T
    parts = []
    for number in np.unique(cluster):
        own = cluster == number
        values, vectors = np.linalg.eigh(np.eye(own.sum()) - hat[np.ix_(own, own)])
        root = (vectors / np.sqrt(values)) @ vectors.T
        padded = np.zeros((len(design), len(contrasts)))
        padded[own] = root @ design[own] @ bread @ contrasts.T
        parts.append(padded - hat @ padded)
    mean = sum(part.T @ part for part in parts)
    values, vectors = np.linalg.eigh(mean)
    half = (vectors / np.sqrt(values)) @ vectors.T
    total = 0.0
    for one in parts:
        for other in parts:
            p = half @ one.T @ other @ half
            total += np.trace(p) ** 2 + (p * p.T).sum()
    q = len(contrasts)
    return q * (q + 1) / total, np.asarray(mean)


@pytest.mark.parametrize("largest", [3_000, 40])
def test_degrees_of_freedom_of_a_covariance_equal_those_from_all_rows(
    largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wishart, "_LARGEST_MATRIX", largest)
    random = np.random.default_rng(4)
    data = pd.DataFrame({"a": random.choice(list("xyz"), 300), "id": random.integers(0, 30, 300)})
    data["y"] = random.normal(size=300)
    fit = amce(data, "y ~ a", id="id", vcov="CR2")
    design = np.column_stack([np.ones(300), data["a"] == "y", data["a"] == "z"]).astype(float)
    eta, mean = by_row_matrices(design, data["id"].to_numpy(), np.eye(3)[1:])
    assert fit.fitted is not None
    (found,) = references(fit.fitted.plan, [np.eye(3)[1:]])
    assert found.eta == pytest.approx(eta, rel=1e-10)
    np.testing.assert_allclose(found.standardise @ mean @ found.standardise.T, np.eye(2), atol=1e-10)


def noise(clusters: int, levels: int, random: np.random.Generator) -> pd.DataFrame:
    """Effects that differ between clusters, and are zero on average."""
    rows = clusters * 30
    cluster = np.repeat(np.arange(clusters), 30)
    level = random.integers(0, levels, rows)
    outcome = random.normal(size=rows) + 0.8 * random.normal(size=(clusters, levels))[cluster, level]
    tone = pd.Categorical.from_codes(level, list("abcdefg")[:levels])
    return pd.DataFrame({"tone": tone, "y": outcome, "id": cluster})


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Few clusters")
def test_joint_tests_of_cr2_fits_hold_their_level_with_ten_clusters() -> None:
    random = np.random.default_rng(10)
    fits = [amce(noise(10, 4, random), "y ~ tone", id="id", vcov="CR2") for _ in range(100)]
    tests = [wald(fit).frame.iloc[0] for fit in fits]
    assert sum(test["p"] < 0.05 for test in tests) <= 11
    assert sum(test["p_chi2"] < 0.05 for test in tests) > 15


@pytest.mark.filterwarnings("ignore:Few clusters")
@pytest.mark.parametrize("vcov", ["survey", "CR1", "CR2"])
def test_tests_of_as_many_estimates_as_clusters_are_missing_with_a_sentence(vcov: str) -> None:
    fit = amce(noise(2, 4, np.random.default_rng(2)), "y ~ tone", id="id", vcov=vcov)
    with pytest.warns(UserWarning, match="clusters are too few"):
        found = wald(fit).frame.iloc[0]
    assert np.isnan(found["p"])
    assert np.isnan(found["f"])


@pytest.mark.filterwarnings("ignore:Few clusters")
def test_crude_tests_of_many_estimates_are_warned_of() -> None:
    data = noise(12, 4, np.random.default_rng(3))
    for vcov, test in (("survey", "chi-square"), ("CR1", "F")):
        with pytest.warns(UserWarning, match="reject too often; test a fit with vcov='CR2'"):
            assert wald(amce(data, "y ~ tone", id="id", vcov=vcov)).frame["test"].tolist() == [test]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "1 of 1 tests")
        wald(amce(data, "y ~ tone", id="id", vcov="CR2"))
        wald(amce(noise(15, 4, np.random.default_rng(3)), "y ~ tone", id="id", vcov="CR1"))
    drawn = bootstrap(amce, data, "y ~ tone", unit="id", draws=50, seed=1)
    with pytest.warns(UserWarning, match="5 of 12 clusters"):
        wald(drawn)


@pytest.mark.filterwarnings("ignore:Few clusters")
def test_the_wild_bootstrap_has_no_joint_test_and_says_what_has() -> None:
    fit = amce(noise(8, 3, np.random.default_rng(1)), "y ~ tone", id="id")
    with pytest.raises(InputError, match="one estimate at a time; give the fit itself, with vcov='CR2'"):
        wald(wild(fit, draws=99, seed=1))


def test_means_are_tested_for_equality_and_not_against_zero() -> None:
    fit = mm(POSTS, PLAIN, id="respondent", h0=0.5)
    found = wald(fit).frame
    assert found["tested"].tolist() == [2, 2, 2, 1]
    pairs = contrast(fit, "reply", "reply", "no reply").frame.iloc[0]
    assert found["chi2"].iloc[3] == pytest.approx(pairs["z"] ** 2)


def test_all_differences_between_groups_are_tested_at_once() -> None:
    fit = amce_diffs(SHARED, MODELS, "judge", id="pair_id")
    assert wald(fit).frame["tested"].tolist() == [2, 1, 2, 1]
    joined = wald(fit, each="feature").frame
    assert joined[["feature", "tested"]].to_numpy().tolist() == [["slur", 4], ["topic", 2]]
    whole = wald(fit, each=()).frame
    assert whole["tested"].tolist() == [6]
    between = wald(contrast(cj(SHARED, MODELS, id="pair_id", by="judge"), "slur", group=("m1", "m0"))).frame
    assert between["chi2"].iloc[0] == pytest.approx(wald(fit).frame["chi2"].iloc[0], rel=1e-8)


def test_dependent_estimates_lower_the_rank_with_a_warning() -> None:
    every = contrast(amce(POSTS, PLAIN, id="respondent"), "tone")
    with pytest.warns(UserWarning, match="lower rank"):
        found = wald(every, each="feature").frame.iloc[0]
    expected = wald(amce(POSTS, PLAIN, id="respondent")).frame.iloc[0]
    assert (found["tested"], found["df"]) == (3, 2)
    assert found["chi2"] == pytest.approx(expected["chi2"], rel=1e-8)


def test_unknown_columns_and_missing_covariance_are_refused() -> None:
    fit = amce(SHARED, MODELS, id="pair_id")
    with pytest.raises(InputError, match="'prompt'"):
        wald(fit, each="prompt")
    with pytest.raises(InputError, match="no covariance"):
        wald(type(fit)(fit.frame, None, fit.provenance))


def answered_twice(respondents: int = 60, seed: int = 5) -> pd.DataFrame:
    """Respondents judge pairs, and see their first pair again with its sides changed; some answers slip."""
    random = np.random.default_rng(seed)
    tables = []
    for number in range(respondents):
        tone = random.choice(["calm", "sharp", "rude"], 10)
        topic = random.choice(["work", "sport"], 10)
        better = (0.8 * (tone == "calm") + random.normal(size=10)).reshape(5, 2)
        picked = (better == better.max(axis=1, keepdims=True)).ravel()
        order = [*range(10), 1, 0]
        slips = np.repeat(random.random(6) < 0.1, 2)
        pair = np.repeat([f"{number}_{i}" for i in range(6)], 2)
        tables.append(
            pd.DataFrame(
                {
                    "judge_id": f"r{number}",
                    "pair_id": pair,
                    "position": ["A", "B"] * 6,
                    "repeat": [False] * 10 + [True] * 2,
                    "repeat_of": [None] * 10 + [f"{number}_0"] * 2,
                    "tone": tone[order],
                    "topic": topic[order],
                    "chosen": (picked[order] != slips).astype(float),
                }
            )
        )
    data = pd.concat(tables, ignore_index=True)
    data["tone"] = pd.Categorical(data["tone"], ["calm", "sharp", "rude"])
    return data.assign(topic=data["topic"].astype("category"))


def corrected(correct: Any, reference: str = "calm", vcov: str = "CR2", respondents: int = 60) -> Estimates:
    return amce(
        answered_twice(respondents),
        "chosen ~ tone + topic",
        id="judge_id",
        vcov=vcov,
        correct=correct,
        reference={"tone": reference},
    )


@pytest.mark.parametrize("vcov", ["survey", "CR1", "CR2"])
@pytest.mark.parametrize("correct", ["reliability", 0.1])
def test_contrasts_of_corrected_effects_equal_those_with_that_reference(correct: Any, vcov: str) -> None:
    found = contrast(corrected(correct, vcov=vcov), "tone", "rude", "sharp").frame.iloc[0]
    expected = row(corrected(correct, "sharp", vcov).frame, level="rude")
    columns = NUMBERS if vcov == "survey" else [*NUMBERS, "df"]
    np.testing.assert_allclose(found[columns].astype(float), expected[columns].astype(float), rtol=1e-8)


def test_contrasts_do_not_mix_swapping_errors() -> None:
    with pytest.raises(InputError, match="several swapping errors"):
        contrast(corrected("by_level", respondents=300), "tone", "rude", "sharp")


def test_contrasts_of_interactions_and_wild_bootstraps_say_what_to_do_instead() -> None:
    crossed = interaction(POSTS, PLAIN, "tone", "reply", id="respondent")
    with pytest.raises(InputError, match="Interactions are contrasts already"):
        contrast(crossed, "tone", "rude", "sharp")
    fit = amce(noise(25, 3, np.random.default_rng(1)), "y ~ tone", id="id")
    with pytest.raises(InputError, match=r"wild\(contrast\(fit"):
        contrast(wild(fit, draws=99, seed=1), "tone", "b", "c")
    assert wild(contrast(fit, "tone", "b", "c"), draws=99, seed=1).frame["p"].notna().all()
