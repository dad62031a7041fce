"""Contrasts against refits, and joint tests against survey and clubSandwich."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference_tables import FIXTURES, complete_posts, posts

from conjury.analysis.conjoint import (
    amce,
    amce_diffs,
    bootstrap,
    cj,
    contrast,
    importance,
    interaction,
    mm,
    share_preferring,
    substitution,
    wald,
    wild,
)
from conjury.analysis.conjoint.comparisons.wald import references
from conjury.analysis.conjoint.estimates import Estimates
from conjury.analysis.numerics import sandwich as wishart
from conjury.inference.errors import InputError

PLAIN = "chosen ~ tone + topic + author + reply"
RESTRICTED = "chosen ~ tone * topic + author + reply"
NUMBERS = ["estimate", "std_error", "z", "p", "lower", "upper"]
POSTS = posts()
pytestmark = pytest.mark.filterwarnings("ignore:Few clusters")


def test_results_of_a_fit_have_its_notes() -> None:
    n = np.arange(48)
    data = pd.DataFrame(
        {"chosen": n**2 % 7 < 3, "tone": list("abc") * 16, "size": [*"xxyxy" * 9, *"xyx"], "text": n // 6}
    )
    fit = amce(data, "chosen ~ tone + size", id="text")
    fit = replace(fit, notes=("Repeats are excluded.", *fit.notes))
    assert fit.notes[1].startswith("Few clusters")
    further = importance(fit), share_preferring(fit), substitution(fit, "tone", {"a": 1, "b": 2, "c": 3})
    for result in (contrast(fit, "tone"), wald(fit), *further):
        assert result.notes[:2] == fit.notes
    assert wild(fit).notes == fit.notes[:1]


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
by_judge = partial(cj, SHARED, MODELS, id="pair_id", by="judge")
plain = partial(amce, POSTS, PLAIN, id="respondent")
of_models = partial(amce, SHARED, MODELS, id="pair_id")


def row(frame: pd.DataFrame, **keys: str) -> pd.Series:
    (found,) = [one for _, one in frame.iterrows() if all(str(one[k]) == v for k, v in keys.items())]
    return found


def same(one, other, rtol: float = 1e-8, columns=NUMBERS) -> None:
    np.testing.assert_allclose(one[columns].astype(float), other[columns].astype(float), rtol=rtol)


@pytest.mark.long
@pytest.mark.parametrize("formula", [PLAIN, RESTRICTED])
@pytest.mark.parametrize("options", [{}, {"vcov": "CR1"}, {"vcov": "CR2"}, {"family": "quasibinomial"}])
def test_every_contrast_equals_the_amce_with_that_reference(formula: str, options: dict[str, Any]) -> None:
    fit = amce(POSTS, formula, id="respondent", **options)
    rel = 1e-6 if "family" in options else 1e-9
    for feature in ("tone", "topic", "author"):
        for reference, found in contrast(fit, feature).frame.groupby("reference"):
            refit = amce(POSTS, formula, id="respondent", reference={feature: reference}, **options).frame
            for one in found.itertuples():
                expected = row(refit, feature=feature, level=one.level)
                for name in NUMBERS:
                    assert getattr(one, name) == pytest.approx(expected[name], rel=rel, abs=1e-12)


def test_pairs_are_chosen_by_level_and_reference_and_features_by_name_or_label() -> None:
    fit = plain(feature_labels={"author": "Who writes"})
    one = contrast(fit, "tone", "rude", "sharp").frame
    assert one[["reference", "level"]].astype(str).to_numpy().tolist() == [["sharp", "rude"]]
    assert contrast(fit, "tone", "rude").frame["reference"].tolist() == ["calm", "sharp"]
    assert contrast(fit, "tone", reference="rude").frame["level"].astype(str).tolist() == ["calm", "sharp"]
    for name in ("author", "Who writes"):
        assert contrast(fit, name).frame["feature"].tolist() == ["Who writes"] * 3


def test_means_are_compared_with_their_covariance_and_tested_for_equality() -> None:
    fit = mm(POSTS, PLAIN, id="respondent", h0=0.5)
    found = contrast(fit, "tone", "rude", "sharp").frame.iloc[0]
    where = [fit.vcov.index.get_loc(("tone", level)) for level in ("rude", "sharp")]
    part = fit.vcov.to_numpy()[np.ix_(where, where)]
    assert found["statistic"] == "mm_contrast"
    assert found["std_error"] == pytest.approx(np.sqrt(part[0, 0] + part[1, 1] - 2 * part[0, 1]))
    assert found["z"] == pytest.approx(found["estimate"] / found["std_error"])
    tested = wald(fit).frame
    assert tested["tested"].tolist() == [2, 2, 2, 1]
    pairs = contrast(fit, "reply", "reply", "no reply").frame.iloc[0]
    assert tested["chi2"].iloc[3] == pytest.approx(pairs["z"] ** 2)


@pytest.mark.parametrize("engine", ["statsmodels", "linearmodels"])
def test_engines_give_the_same_contrast(engine: str) -> None:
    one, other = (
        contrast(of_models(engine=e), "slur", "homophobia", "racism").frame for e in (engine, "native")
    )
    same(one, other, rtol=1e-6)


def test_any_two_groups_are_compared_as_differences_do_and_share_their_clusters() -> None:
    fit, expected = by_judge(), amce_diffs(SHARED, MODELS, "judge", id="pair_id").frame
    for level in ("racism", "homophobia"):
        found = contrast(fit, "slur", level, group=("m2", "m0")).frame.iloc[0]
        same(found, row(expected, feature="slur", level=level, judge="m2"))
        assert (found["by"], found["judge"]) == ("m2 - m0", "m2")
    errors = fit.frame[(fit.frame["feature"] == "slur") & (fit.frame["level"] == "racism")]["std_error"]
    every = contrast(fit, "slur", "racism", group="all").frame
    assert len(every) == 3
    assert every["std_error"].iloc[0] < 0.95 * np.hypot(errors.iloc[0], errors.iloc[1])
    of_two = cj(SHARED[SHARED["judge"] != "m1"], MODELS, id="pair_id", estimate="amce", by="judge")
    (gap,) = contrast(of_two, "slur", "racism", group="all").frame["estimate"]
    first, second = of_two.frame.loc[of_two.frame["level"] == "racism", "estimate"]
    assert gap == pytest.approx(second - first)


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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: contrast(by_judge(), "colour"), "no feature 'colour'"),
        (lambda: contrast(by_judge(), "slur", "sexism"), "'sexism' is no level of 'slur'"),
        (lambda: contrast(by_judge(), "slur", "racism", "racism"), "name two levels"),
        (lambda: contrast(by_judge(), "slur", "racism", group=("m0", "m9")), "names 'm9'"),
        (lambda: contrast(by_judge(), "slur", "racism", group=("m0", "m0")), "twice"),
        (lambda: contrast(by_judge(), "slur", "none", group=("m0", "m1")), "give another reference"),
        (lambda: contrast(by_judge(), "slur", "racism", group="every"), "or 'all'"),
        (lambda: contrast(of_models(), "slur", group=("m0", "m1")), "no groups"),
        (lambda: contrast(bare(of_models(), engine="cregg"), "slur"), "cregg provides no covariance"),
        (lambda: contrast(wald(of_models()), "slur"), "contrast needs a fit"),
        (
            lambda: contrast(interaction(POSTS, PLAIN, "tone", "reply"), "tone"),
            "Interactions are contrasts already",
        ),
        (lambda: contrast(bootstrap(amce, POSTS, RESTRICTED, draws=50, seed=1), "tone"), "restricted"),
        (
            lambda: contrast(wild(noisy_fit(25, 3), draws=99, seed=1), "tone", "b", "c"),
            r"wild\(contrast\(fit",
        ),
        (lambda: contrast(corrected("by_level", respondents=300), "tone", "rude"), "several swapping errors"),
        (lambda: wald(of_models(), each="prompt"), "'prompt'"),
        (lambda: wald(bare(of_models())), "no covariance"),
        (lambda: wald(wild(noisy_fit(8, 3), draws=99, seed=1)), "one estimate at a time.*vcov=.CR2."),
    ],
)
def test_what_cannot_be_contrasted_or_tested_is_refused_with_a_remedy(call, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


def bare(fit: Estimates, **changes: str) -> Estimates:
    return Estimates(fit.frame, None, replace(fit.provenance, **changes))


def test_joint_tests_equal_those_of_survey() -> None:
    expected = pd.read_csv(FIXTURES / "comparisons" / "wald_survey.csv")
    found = wald(plain()).frame
    assert found["feature"].astype(str).tolist() == expected["feature"].tolist()
    same(found, expected, columns=["chi2", "df", "p"])
    assert np.isinf(found["df2"]).all()


def test_joint_f_tests_equal_those_of_club_sandwich() -> None:
    expected = pd.read_csv(FIXTURES / "comparisons" / "wald_cr1.csv")
    found = wald(amce(complete_posts(), PLAIN, id="respondent", vcov="CR1")).frame
    same(found, expected, columns=["df", "p_chi2", "f", "df2", "p"])


@pytest.mark.parametrize("clusters", ["all", "twelve"])
def test_joint_tests_of_cr2_fits_equal_htz_of_club_sandwich(clusters: str) -> None:
    expected = pd.read_csv(FIXTURES / "comparisons" / "wald_htz.csv").query("clusters == @clusters")
    complete = complete_posts()
    if clusters == "twelve":
        complete = complete[complete["respondent"].isin(sorted(complete["respondent"].unique())[:12])]
    fit = amce(complete, PLAIN, id="respondent", vcov="CR2")
    found = pd.concat([wald(fit).frame, wald(fit, each=()).frame])
    assert set(found["test"]) == {"HTZ"}
    same(found, expected, columns=["df", "f", "df2", "p"])


def test_redundant_contrasts_lower_the_rank_and_neither_they_nor_the_reference_change_a_test() -> None:
    for vcov, columns in (("survey", ["chi2"]), ("CR2", ["f", "df2"])):
        fit = plain(vcov=vcov, reference={"tone": "rude"})
        one = wald(plain(vcov=vcov)).frame[columns]
        np.testing.assert_allclose(one, wald(fit).frame[columns], rtol=1e-8)
        with pytest.warns(UserWarning, match="rank of their covariance"):
            every = wald(contrast(fit, "tone"), each="feature").frame.iloc[0]
        assert (every["tested"], every["df"]) == (3, 2)
        np.testing.assert_allclose(every[columns].astype(float), one.iloc[0], rtol=1e-7)


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


def noisy_fit(clusters: int, levels: int, seed: int = 1, vcov: str = "survey") -> Estimates:
    return amce(noise(clusters, levels, np.random.default_rng(seed)), "y ~ tone", id="id", vcov=vcov)


def test_tests_of_few_clusters_are_warned_of_or_missing() -> None:
    for vcov in ("survey", "CR1", "CR2"):
        with pytest.warns(UserWarning, match="too few clusters"):
            found = wald(noisy_fit(2, 4, 2, vcov)).frame.iloc[0]
        assert found[["p", "f"]].isna().all()
    for vcov, test in (("survey", "chi-square"), ("CR1", "F")):
        with pytest.warns(UserWarning, match="reject too often; test a fit with vcov='CR2'"):
            assert wald(noisy_fit(12, 4, 3, vcov)).frame["test"].tolist() == [test]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "1 of 1 tests")
        wald(noisy_fit(12, 4, 3, "CR2"))
        wald(noisy_fit(15, 4, 3, "CR1"))
    drawn = bootstrap(amce, noise(12, 4, np.random.default_rng(3)), "y ~ tone", unit="id", draws=50, seed=1)
    with pytest.warns(UserWarning, match="5 of 12 clusters"):
        wald(drawn)
    one = contrast(noisy_fit(25, 3), "tone", "b", "c")
    assert wild(one, draws=99, seed=1).frame["p"].notna().all()


def answered_twice(respondents: int = 60, seed: int = 5) -> pd.DataFrame:
    """Respondents judge pairs, and see their first pair again with its sides changed; some answers slip."""
    random = np.random.default_rng(seed)
    shape = (respondents, 5, 2)
    tone, topic = random.choice(["calm", "sharp", "rude"], shape), random.choice(["work", "sport"], shape)
    better = 0.8 * (tone == "calm") + random.normal(size=shape)
    slips = random.random((respondents, 6)) < 0.1
    tone, topic, picked = (
        np.concatenate([own, own[:, :1, ::-1]], axis=1)
        for own in (tone, topic, better == better.max(2, keepdims=True))
    )
    who, task, side = (index.ravel() for index in np.indices(tone.shape))
    return pd.DataFrame(
        {
            "judge_id": [f"r{w}" for w in who],
            "pair_id": [f"{w}_{t}" for w, t in zip(who, task, strict=True)],
            "position": np.array(["A", "B"])[side],
            "repeat": task == 5,
            "repeat_of": [f"{w}_0" if t == 5 else None for w, t in zip(who, task, strict=True)],
            "tone": pd.Categorical(tone.ravel(), ["calm", "sharp", "rude"]),
            "topic": pd.Categorical(topic.ravel()),
            "chosen": (picked != slips[..., None]).ravel().astype(float),
        }
    )


def corrected(correct: Any, reference: str = "calm", vcov: str = "CR2", respondents: int = 60) -> Estimates:
    options = {"id": "judge_id", "vcov": vcov, "correct": correct, "reference": {"tone": reference}}
    return amce(answered_twice(respondents), "chosen ~ tone + topic", **options)


@pytest.mark.parametrize("vcov", ["survey", "CR1", "CR2"])
@pytest.mark.parametrize("correct", ["reliability", 0.1])
def test_contrasts_of_corrected_effects_equal_those_with_that_reference(correct: Any, vcov: str) -> None:
    found = contrast(corrected(correct, vcov=vcov), "tone", "rude", "sharp").frame.iloc[0]
    expected = row(corrected(correct, "sharp", vcov).frame, level="rude")
    same(found, expected, columns=NUMBERS if vcov == "survey" else [*NUMBERS, "df"])
