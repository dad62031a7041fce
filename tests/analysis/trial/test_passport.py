"""The passport of intervals: its populations, and the notes that results take from it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from conjury.analysis.frames.passport import (
    LEAST_COVERAGE,
    NEAR_FACTOR,
    PassportRow,
    Situation,
    coverage_notes,
    measured_coverage,
    name_classes_by_rarity,
    situation_of,
)
from conjury.analysis.numerics.rating_panel import effective_clusters
from conjury.analysis.trial.passport import label_situations, rating_situations
from conjury.analysis.trial.passport.choices import choices
from conjury.analysis.trial.passport.repeat_situations import repeated_tasks, samples
from conjury.analysis.trial.passport.worlds import (
    cluster_sizes,
    draw_correlated_patterns,
    population_patterns,
)
from conjury.analysis.trial.trial_registry import find


def test_clusters_have_the_sizes_that_their_shape_says() -> None:
    assert cluster_sizes(100, 10, "equal").tolist() == [10] * 10
    dominating = cluster_sizes(1000, 20, "dominating")
    assert dominating.sum() == 1000
    assert dominating[0] == pytest.approx(850, abs=20)
    assert effective_clusters(np.repeat(np.arange(20), dominating)) == pytest.approx(1.4, abs=0.1)
    zipf = cluster_sizes(300, 15, "zipf")
    assert zipf[0] > 2 * zipf[2] > 2 * zipf[-1]


def test_items_of_a_cluster_are_alike_and_shares_stay() -> None:
    shares = np.array([0.7, 0.3])
    cluster = np.repeat(np.arange(20_000), 2)
    drawn = draw_correlated_patterns(np.random.default_rng(1), shares, cluster, 0.36).reshape(-1, 2)
    assert drawn.mean() == pytest.approx(0.3, abs=0.01)
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(0.36, abs=0.02)
    assert np.bincount(population_patterns(shares, 1000)).tolist() == [700, 300]


def test_true_values_of_repeats_are_those_of_people_of_whom_half_err_twice_as_often() -> None:
    truth = repeated_tasks(np.random.default_rng(1), n=40, prevalence=0.1).truth.set_index("quantity")[
        "truth"
    ]
    agreement = (((2 / 15) ** 2 + (13 / 15) ** 2) + ((1 / 15) ** 2 + (14 / 15) ** 2)) / 2
    assert truth["agreement"] == pytest.approx(agreement)
    many = repeated_tasks(np.random.default_rng(1), n=40_000, clusters=4_000, prevalence=0.1).data.frame
    picked = [rows.loc[rows["chosen"] == 1, "profile_id"].to_numpy() for _, rows in many.groupby("repeat")]
    assert (picked[0] == picked[1]).mean() == pytest.approx(agreement, abs=0.007)
    assert (1 - truth["tau"]) ** 2 + truth["tau"] ** 2 == pytest.approx(agreement)


def test_even_votes_of_four_samples_count_half_in_their_majority() -> None:
    truth = samples(np.random.default_rng(1), n=4, prevalence=0.3).truth.set_index("quantity")["truth"]
    strong, weak = (binom.sf(2, 4, p) + binom.pmf(2, 4, p) / 2 for p in (0.95, 0.05))
    assert truth["majority_of_k 4"] == pytest.approx(0.3 * strong + 0.7 * weak)


def test_order_effects_of_repeats_are_near_their_true_values() -> None:
    drawn = repeated_tasks(np.random.default_rng(1), n=400, clusters=100, prevalence=0.1)
    found = find("method", "passport_order")(drawn.data).set_index("quantity")["estimate"]
    truth = drawn.truth.set_index("quantity")["truth"].reindex(found.index).dropna()
    assert len(truth) >= 4
    np.testing.assert_allclose(found[truth.index], truth, atol=0.1)


def test_means_and_effects_by_group_are_those_of_its_rows() -> None:
    sample = choices(np.random.default_rng(3), n=200).data
    estimates = {
        part: find("method", "passport_preference")(sample, part=part).set_index("quantity")["estimate"]
        for part in ("cj_mm", "cj_amce")
    }
    means = sample.frame.groupby(["group", "tone"])["chosen"].mean()
    for (group, tone), mean in means.items():
        assert estimates["cj_mm"][f"cj_mm: {group} tone {tone}"] == pytest.approx(mean)
    effect = means["x", "rude"] - means["x", "kind"]
    assert estimates["cj_amce"]["cj_amce: x tone rude"] == pytest.approx(effect, abs=0.05)


def test_scores_of_the_first_model_are_those_of_its_labels() -> None:
    codes = np.random.default_rng(2).integers(0, 2, (60, 6))
    sample = label_situations.sample_of(label_situations.table_of(codes, np.arange(60)), 0)
    estimates = find("method", "passport_scores")(sample).set_index("quantity")["estimate"]
    hits = codes[:, 0] == codes[:, 1]
    assert estimates["accuracy"] == pytest.approx(hits.mean())
    bounds = find("method", "passport_score_bounds")(sample).set_index("quantity")["estimate"]
    recalls = [hits[codes[:, 0] == k].mean() for k in (0, 1)]
    names = ["accuracy", "balanced_accuracy"]
    assert [bounds[f"bounds of {name}"] for name in names] == pytest.approx([hits.mean(), np.mean(recalls)])


def test_raters_spread_around_the_quality_of_an_item_as_a_normal_distribution() -> None:
    codes, probability = rating_situations.patterns(0.3)
    weights = norm.pdf(np.arange(5)[:, None], np.arange(5), 0.8)
    expected = (weights / weights.sum(axis=0)).mean(axis=1)  # qualities are equally frequent
    shares = np.bincount(codes[:, 1] - 1, probability)
    assert shares == pytest.approx(expected)


def made_up(monkeypatch: pytest.MonkeyPatch, coverage: float, upper: float) -> None:
    where = Situation(30, 0.1, 30)
    one = PassportRow("scores", "f1_rare", "30 items, a class of 10%", where, 200, coverage, 0.7, upper)
    monkeypatch.setattr(
        "conjury.analysis.frames.passport.read_passport", lambda: {("scores", "f1_rare"): (one,)}
    )


def asked(situation: Situation) -> list[tuple[str, str, Situation]]:
    return [("f1_rare", "F1", situation), ("f1_common", "F1 of the other class", situation)]


def test_a_note_names_the_situation_and_the_measured_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up(monkeypatch, 0.8, 0.86)
    (note,) = coverage_notes("scores", asked(Situation(40, 0.08, 40)), 0.05)
    assert "30 items, a class of 10%; 200 draws" in note
    assert "F1 (80%)" in note
    assert "other class" not in note
    assert coverage_notes("scores", asked(Situation(40, 0.08, 40)), 0.1) == []
    assert coverage_notes("scores", asked(Situation(300, 0.1, 300)), 0.05) == []


def test_coverage_within_monte_carlo_error_of_the_rule_has_no_note(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up(monkeypatch, 0.91, LEAST_COVERAGE + 0.01)
    assert coverage_notes("scores", asked(Situation(30, 0.1, 30)), 0.05) == []


def test_situations_are_alike_within_a_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up(monkeypatch, 0.8, 0.86)
    assert measured_coverage("scores", "f1_rare", Situation(30 * NEAR_FACTOR, 0.1, 30)) is not None
    assert measured_coverage("scores", "f1_rare", Situation(30 * NEAR_FACTOR + 1, 0.1, 30)) is None
    assert measured_coverage("scores", "mcc", Situation(30, 0.1, 30)) is None


def test_a_situation_has_the_effective_number_of_clusters_and_the_share_of_the_rarest_class() -> None:
    cluster = np.repeat(np.arange(3), [8, 1, 1])
    result = situation_of(cluster, np.array([9.0, 1.0]))
    assert (result.n, result.prevalence, result.effective) == (10, 0.1, pytest.approx(100 / 66))
    assert situation_of(cluster, np.array([10.0, 0.0])).prevalence == 0.05
    assert name_classes_by_rarity(["spam", "ok"], np.array([3.0, 7.0])) == {"spam": "rare", "ok": "common"}
