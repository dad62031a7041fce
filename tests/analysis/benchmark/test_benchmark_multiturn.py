"""Scores of the multi-turn jokes against an independent recomputation, and against what was printed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from multiturn_tables import FOLDER, judgments, labels, scored

from conjury.analysis.audit.multiturn import published_protocol
from conjury.analysis.benchmark import passes, scores
from conjury.analysis.raters import agreement

pytestmark = pytest.mark.shared
METRICS = {"acc": "accuracy", "f1": "macro_f1", "auc": "auc"}
TASKS = {1: "joke_type", 2: "line"}
PRINTED_DIGITS = 5.0000001e-4
RECOMPUTED_DIGITS = 5.0000001e-7  # of extra_reference.csv
PROTOCOLS = pytest.mark.parametrize("protocol", ["aligned", pytest.param("lenient", marks=pytest.mark.slow)])
TEN_THOUSAND = 0.006  # how far limits of 2,000 and of 10,000 draws may be apart for these data


def reference(name: str) -> pd.DataFrame:
    table = pd.read_csv(FOLDER / f"{name}.csv")
    return table.assign(task=table["task"].map(TASKS))


def of_protocol(protocol: str, statistic: str) -> pd.DataFrame:
    table = reference("extra_reference")
    return table[(table["protocol"] == protocol) & (table["statistic"] == statistic)]


def beside(theirs: pd.DataFrame, ours: pd.DataFrame, **further: str) -> pd.DataFrame:
    keys = {"model": "judge", "language": "language", "task": "task", **further}
    joined = theirs.merge(ours, left_on=list(keys), right_on=list(keys.values()), suffixes=("_ref", ""))
    assert len(joined) == len(theirs)
    return joined


def assert_recomputed(both: pd.DataFrame) -> None:
    """Ours are the reference values, and bootstrap limits are close to those of 10,000 draws."""
    np.testing.assert_allclose(both["estimate"], both["value"], rtol=0, atol=RECOMPUTED_DIGITS)
    if "interval" in both:
        drawn = both[both["ci_low"].notna() & (both["interval"] == "bootstrap")]
        np.testing.assert_allclose(drawn["lower"], drawn["ci_low"], rtol=0, atol=TEN_THOUSAND)
        np.testing.assert_allclose(drawn["upper"], drawn["ci_high"], rtol=0, atol=TEN_THOUSAND)


def alpha_of(judgments: pd.DataFrame) -> float:
    answered = judgments[judgments["value"].notna()]
    return float(agreement(answered, coefficients=["krippendorff"], draws=0).frame["estimate"].iloc[0])


def classes_in_gold(*, answered: bool) -> pd.DataFrame:
    """How many types of jokes gold holds, by model and language: among all first runs, or those answered."""
    frame = scored("aligned").of(sample=1, task="joke_type").frame
    frame = frame[frame["predicted"] >= 0] if answered else frame
    counted = frame.groupby(["judge", "language"], observed=True)["gold"].nunique()
    return counted.rename("classes").reset_index()


@pytest.fixture(scope="module")
def printed() -> pd.DataFrame:
    table = reference("metrics_reference")
    table["metric"] = table["metric"].map(METRICS)
    found = [
        published_protocol(judgments("published"), labels("raw"), rules=rules).frame for rules in ("v1", "v2")
    ]
    keys = ["task", "metric", "k", "rules"]
    joined = table.merge(
        pd.concat(found), left_on=["model", "subset", *keys], right_on=["judge", "set", *keys]
    )
    assert len(joined) == len(table) == 252
    return joined


@pytest.mark.long
def test_published_protocol_gives_all_recomputed_and_published_numbers(printed: pd.DataFrame) -> None:
    assert set(printed["table"]) == {1, 2, 9, 10, 19, 20}
    np.testing.assert_allclose(printed["estimate"], printed["recomputed"], rtol=0, atol=1e-12)
    assert (printed["n"] == printed["n_units"]).all()
    assert (printed["estimate"] - printed["paper"]).abs().max() <= PRINTED_DIGITS


@pytest.mark.long
def test_without_the_shift_the_published_rules_give_the_corrected_values(printed: pd.DataFrame) -> None:
    found = published_protocol(judgments("published"), labels("raw"), shifted=False).frame
    keys = ["judge", "set", "task", "metric", "k"]
    ours = printed[[*keys, "shift_fixed"]].merge(found, on=keys)
    assert len(ours) == 252
    np.testing.assert_allclose(ours["estimate"], ours["shift_fixed"], rtol=0, atol=1e-12)


@pytest.mark.long
def test_macro_f1_of_answered_jokes_is_a_mean_over_the_types_among_them() -> None:
    found = scores(
        scored("aligned").of(sample=1, task="joke_type"),
        by=["language"],
        metrics=["macro_f1"],
        missing=["missing"],
        draws=0,
    ).frame
    both = beside(of_protocol("aligned", "macro_f1_gold_labels_run1_answered_only"), found).dropna(
        subset="value"
    )
    keys = ["judge", "language"]
    among = both.merge(classes_in_gold(answered=True), on=keys).merge(
        classes_in_gold(answered=False), on=keys, suffixes=("_answered", "_all")
    )
    rescaled = among["value"] * among["classes_all"] / among["classes_answered"]  # theirs is over all types
    assert (among["classes_answered"] < among["classes_all"]).any()
    np.testing.assert_allclose(among["estimate"], rescaled, rtol=0, atol=1e-6)


@pytest.mark.slow
@PROTOCOLS
def test_first_runs_have_the_recomputed_scores_and_intervals(protocol: str) -> None:
    found = scores(
        scored(protocol).of(sample=1), by=["language"], metrics=["accuracy", "macro_f1", "missing_rate"]
    ).frame
    for statistic, metric, missing in (
        ("accuracy_run1", "accuracy", "wrong"),
        ("accuracy_run1_answered_only", "accuracy", "missing"),
        ("macro_f1_gold_labels_run1", "macro_f1", "wrong"),
        ("na_rate_run1", "missing_rate", "wrong"),
    ):
        ours = found[(found["metric"] == metric) & (found["missing"] == missing)]
        both = beside(of_protocol(protocol, statistic), ours)
        assert (both["n"] == both["n_answers"]).all()
        assert_recomputed(both)


@pytest.mark.long
@PROTOCOLS
def test_all_runs_have_the_recomputed_accuracy_and_pass_at_k(protocol: str) -> None:
    made = scored(protocol)
    pooled = scores(made, by=["language"], metrics=["accuracy"], missing=["wrong"]).frame
    both = beside(of_protocol(protocol, "accuracy_mean5"), pooled)
    assert_recomputed(both)
    several = passes(made, by=["language"], metrics=["pass_at_k"], draws=0).frame
    both = beside(of_protocol(protocol, "pass_at_k_unbiased"), several, k="k")
    assert len(both) == 140
    assert_recomputed(both)


@pytest.mark.long
@PROTOCOLS
def test_alphas_of_the_raters_layer_are_the_recomputed_ones(protocol: str) -> None:
    given = judgments(protocol)
    scored_items = set(scored(protocol).of(task="joke_type").frame["item_id"].astype(str))
    given = given[(given["dimension"] == "joke_type") & given["item_id"].isin(scored_items)]
    of_runs = of_protocol(protocol, "krippendorff_alpha_between_runs").dropna(subset="value")
    of_models = of_protocol(protocol, "krippendorff_alpha_models")
    assert (len(of_runs), len(of_models)) == (11, 4)
    for row in of_runs.itertuples():
        own = given[(given["judge_id"] == row.model) & (given["language"] == row.language)]
        runs = own.assign(judge_id="run " + own["sample"].astype(str), sample=1)
        assert alpha_of(runs) == pytest.approx(row.value, abs=RECOMPUTED_DIGITS)
    first = given[given["sample"] == 1]
    silent = first.assign(value=first["value"].fillna("none apply"), status="ok")
    for row in of_models.itertuples():
        chosen = silent if row.note == "run1, NA as category" else first
        found = alpha_of(chosen[chosen["language"] == row.language])
        assert found == pytest.approx(row.value, abs=RECOMPUTED_DIGITS)


@pytest.mark.long
def test_only_jokes_whose_lines_match_their_labels_have_the_recomputed_accuracy() -> None:
    made = scored("aligned")
    some = made.of(task="line", sample=1)
    some = some.where(some.frame["aligned"].astype(bool).to_numpy())
    found = scores(some, by=["language"], metrics=["accuracy"], missing=["wrong"], draws=0).frame
    both = beside(of_protocol("aligned", "accuracy_run1_aligned_jokes_only"), found)
    assert_recomputed(both)
    assert (both["n"] == both["n_answers"]).all()


@pytest.mark.long
def test_majority_baseline_is_the_recomputed_one_and_above_most_models() -> None:
    found = scores(scored("aligned").of(sample=1), by=["language"], metrics=["accuracy"], draws=0).frame
    found = found[(found["judge"] == "majority class") & (found["missing"] == "wrong")]
    theirs = reference("extra_reference").query("statistic == 'majority_baseline_acc'")
    both = theirs.merge(found, on=["language", "task"])
    assert len(both) == 4
    assert_recomputed(both.drop(columns="interval"))
    found = scores(scored("aligned"), by=["language"], metrics=["accuracy"], missing=["wrong"], draws=0).frame
    keys = ["task", "language"]
    baseline = found[found["judge"] == "majority class"].set_index(keys)["estimate"]
    models = found[found["judge_kind"] == "model"].set_index(keys)["estimate"]
    assert (models < baseline.reindex(models.index)).mean() > 0.5


@pytest.mark.long
def test_runs_that_are_copies_of_each_other_are_found() -> None:
    made = scored("lenient")
    alike = passes(made, by=["language"], k=[1], draws=0, strata=()).extra["samples"]
    files = pd.read_csv(FOLDER / "duplicate_runs.csv")
    files = files[files["perturbation"] == "none"].assign(task=files["task"].map(TASKS))
    both = beside(files.rename(columns={"lang": "language"}), alike)
    assert len(both) == 28
    assert (both["n_distinct"] <= both["distinct_files"]).all()
    english = both[(both["language"] == "en") & (both["n_distinct"] < 5)]
    assert len(english) == 14
