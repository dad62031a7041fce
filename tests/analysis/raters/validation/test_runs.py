"""Two runs on the same items: differences against other packages and hand counts, pairing, limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from conjury.analysis.raters.validation import Validation, compare_runs, judge
from conjury.analysis.raters.validation.gates import gates_of, outcomes
from conjury.inference.errors import InputError

pytestmark = pytest.mark.long


def runs(n: int = 200, seed: int = 2) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two runs, the second better; people with the first."""
    random = np.random.default_rng(seed)
    truth = random.choice(["ok", "spam"], n, p=[0.7, 0.3])

    def answers(right: float) -> np.ndarray:
        return np.where(random.random(n) < right, truth, random.choice(["ok", "spam"], n))

    first = pd.DataFrame(
        {"id": range(n), "verdict": answers(0.6), "label": truth, "by": random.choice(["x", "y", "z"], n)}
    )
    return first, pd.DataFrame({"id": range(n), "verdict": answers(0.8)})


def row(result: Validation, name: str) -> Any:
    return result.frame.set_index("name").loc[name]


def test_flips_and_changes_are_counted() -> None:
    first, second = runs()
    found = compare_runs(first, second, "verdict", id="id")
    changed = first["verdict"] != second["verdict"]
    assert row(found, "flips")["estimate"] == pytest.approx(changed.mean())
    crossed = pd.crosstab(first["verdict"], second["verdict"])
    for _, one in found.extra["changes"].iterrows():
        assert one["n"] == crossed.loc[one["a"], one["b"]]
    assert row(found, "kappa_between")["estimate"] == pytest.approx(
        cohens_kappa(crossed.to_numpy(), return_results=False)
    )


def test_a_difference_in_agreement_has_mcnemars_mid_p_and_the_interval_of_bonett_and_price() -> None:
    first, second = runs()
    found = row(compare_runs(first, second, "verdict", "label", id="id"), "accuracy_difference")
    right = [one["verdict"] == first["label"] for one in (first, second)]
    one, other = int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())
    exact = mcnemar([[0, one], [other, 0]], exact=True).pvalue
    assert found["p"] < exact < found["p"] + 0.1
    assert found["estimate"] == pytest.approx((other - one) / 200)
    worse, better = (one + 1) / 202, (other + 1) / 202
    half = 1.959964 * np.sqrt((worse + better - (better - worse) ** 2) / 202)
    assert (found["lower"], found["upper"]) == pytest.approx((better - worse - half, better - worse + half))


def test_kappas_of_both_runs_are_those_of_each_alone_and_their_difference_is_paired() -> None:
    first, second = runs()
    found = compare_runs(first, second, "verdict", "label", id="id")
    each = [judge(one.assign(label=first["label"]), "verdict", "label") for one in (first, second)]
    for name, one in zip(("kappa_a", "kappa_b"), each, strict=True):
        assert row(found, name)["estimate"] == pytest.approx(row(one, "kappa")["estimate"])
        assert row(found, name)["lower"] == pytest.approx(row(one, "kappa")["lower"])
    difference = row(found, "kappa_difference")
    gold, *given = (one == "spam" for one in (first["label"], first["verdict"], second["verdict"]))
    rows = np.random.default_rng(1).integers(0, 200, (600, 200))
    drawn = [kappas(one.to_numpy()[rows], gold.to_numpy()[rows]) for one in given]
    assert difference["std_error"] == pytest.approx(np.std(drawn[1] - drawn[0], ddof=1), rel=0.1)


def kappas(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Kappa of flags, a sample per row."""
    chance = x.mean(axis=1) * y.mean(axis=1) + (1 - x.mean(axis=1)) * (1 - y.mean(axis=1))
    return np.asarray(((x == y).mean(axis=1) - chance) / (1 - chance))


def rare(n: int = 100) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Six labels of the rare class: the first run misses three, the second gives one too many."""
    label = np.array(["no"] * (n - 6) + ["yes"] * 6, dtype=object)
    first, second = label.copy(), label.copy()
    first[n - 6 : n - 3], second[0] = "no", "yes"
    return (
        pd.DataFrame({"id": range(n), "verdict": first, "label": label}),
        pd.DataFrame({"id": range(n), "verdict": second}),
    )


NUMBERS = ["estimate", "lower", "upper"]


def test_differences_of_coefficients_change_their_sign_with_the_order_of_the_runs() -> None:
    first, second = rare()
    turned = first.assign(verdict=second["verdict"]), second.assign(verdict=first["verdict"])
    orders = [compare_runs(*runs, "verdict", "label", id="id") for runs in ((first, second), turned)]
    for measure in ("kappa", "alpha", "ac1"):
        found, other = (row(result, f"{measure}_difference") for result in orders)
        estimate, lower, upper = (float(other[name]) for name in NUMBERS)
        assert [-estimate, -upper, -lower] == pytest.approx([float(found[name]) for name in NUMBERS])
        assert found["p"] == pytest.approx(other["p"])
        assert (found["p"] < 0.05) == (found["lower"] > 0 or found["upper"] < 0)


def test_differences_of_coefficients_allow_for_answers_that_were_not_seen() -> None:
    first, second = rare()
    found = compare_runs(first, second, "verdict", "label", id="id")
    # Linearised limits were -0.14 and 0.67: wide enough only for what the six rows showed.
    assert row(found, "kappa_difference")["lower"] < -0.2
    assert row(found, "kappa_difference")["detectable"] > 0.7
    other = second.assign(label=first["label"])  # whose answers sort after those of the first run
    for one in (other, first):
        equal = row(compare_runs(one, one, "verdict", "label", id="id"), "kappa_difference")
        assert (equal["estimate"], equal["p"]) == (0, 1)
    assert equal["lower"] < -0.3 < 0.3 < equal["upper"]
    assert equal["p_equivalence"] > 0.05


def test_levels_of_a_subgroup_are_adjusted_after_holm() -> None:
    first, second = runs(300)
    found = compare_runs(first, second, "verdict", "label", id="id", by="by").frame
    tested = found[found["name"].str.match(r"accuracy_difference\[by=")]
    assert len(tested) == 3
    known = multipletests(tested["p"].astype(float), method="holm")[1]
    assert tested["p_adjusted"].astype(float).tolist() == pytest.approx(known.tolist())
    second["verdict"] = second["verdict"].where(second.index > 29)
    fewer = compare_runs(first, second, "verdict", id="id")
    assert row(fewer, "answered_difference")["estimate"] == pytest.approx(-0.1)
    assert "The share of answers is 100.0% in A and 90.0% in B (" in " ".join(fewer.verdict)


def test_equivalence_of_ratings_is_that_of_two_one_sided_tests() -> None:
    random = np.random.default_rng(3)
    first = pd.DataFrame({"score": random.normal(50, 9, 80).round(1)})
    second = first + random.normal(0.2, 2, (80, 1)).round(1)
    found = row(compare_runs(first, second, "score", margin=1.0), "mean_difference")
    known = ttost_paired(second["score"].to_numpy(), first["score"].to_numpy(), -1.0, 1.0)[0]
    assert found["p_equivalence"] == pytest.approx(known)
    assert found["margin"] == 1.0


def test_items_are_paired_by_id_and_repeats_in_their_order() -> None:
    first = pd.DataFrame({"id": ["a", "a", "b", "c"], "v": ["x", "y", "x", "y"]})
    second = pd.DataFrame({"id": ["d", "b", "a", "a"], "v": ["y", "x", "x", "x"]})
    found = compare_runs(first, second, "v", id="id")
    assert row(found, "flips")["n"] == 3
    assert row(found, "flips")["estimate"] == pytest.approx(1 / 3)
    assert row(found, "flips")["clusters"] == 2
    assert "1 row of A without a match: excluded." in found.notes
    assert "1 row of B without a match: excluded." in found.notes


def test_labels_that_one_of_two_tables_lacks_are_those_of_the_other() -> None:
    first, second = runs()
    whole = compare_runs(first, second, "verdict", "label", id="id").frame
    n = np.arange(len(first))
    parts = (
        one.assign(label=first["label"].where((n % 3 != k) | (n > 150)))
        for k, one in enumerate((first, second))
    )
    found = compare_runs(*parts, "verdict", "label", id="id")
    assert found.frame["estimate"].tolist() == pytest.approx(whole["estimate"].tolist(), nan_ok=True)
    assert any("'label' is that of" in note and "has none" in note for note in found.notes)


def test_clusters_widen_intervals() -> None:
    first, second = runs(100)
    repeated = {"id": range(400), "text": [*range(100)] * 4}
    many = [pd.concat([one] * 4, ignore_index=True).assign(**repeated) for one in (first, second)]
    once = row(compare_runs(first, second, "verdict", "label", id="id"), "kappa_difference")
    clustered = row(compare_runs(*many, "verdict", "label", id="id", cluster="text"), "kappa_difference")
    naive = row(compare_runs(*many, "verdict", "label", id="id"), "kappa_difference")
    assert clustered["std_error"] == pytest.approx(once["std_error"])
    assert naive["std_error"] < 0.6 * once["std_error"]
    keyed = [one.drop(columns=["id", "text"]).assign(key=[*range(100)] * 4) for one in many]
    by_key = row(compare_runs(*keyed, "verdict", "label", id="key"), "kappa_difference")
    assert by_key["std_error"] == pytest.approx(once["std_error"])


def test_labels_with_known_probabilities_count_as_copies_of_rows() -> None:
    first, second = runs(120)
    copies = np.arange(120) % 3 + 1
    first["sampling_probability"] = np.where(copies < 3, 1 / copies, 1 / 3)
    found = compare_runs(first, second, "verdict", "label", id="id", by="by")
    many = [table.loc[table.index.repeat(copies)].assign(id=range(copies.sum())) for table in (first, second)]
    plain = compare_runs(
        many[0].drop(columns="sampling_probability"), many[1], "verdict", "label", id="id", by="by"
    )
    names = ["accuracy_a", "accuracy_difference", "kappa_b", "kappa_difference", "ac1_difference"]
    names += ["recall_difference[spam]", "accuracy_difference[by=y]"]
    for name in names:
        assert row(found, name)["estimate"] == pytest.approx(row(plain, name)["estimate"]), name
        assert row(found, name)["lower"] < row(plain, name)["lower"], name
    assert row(found, "flips")["estimate"] == pytest.approx((first["verdict"] != second["verdict"]).mean())
    assert any("weighted by 'sampling_probability'" in note for note in found.notes)
    grade = {"ok": 1.0, "spam": 2.5}
    rated = [table.replace({"verdict": grade, "label": grade}) for table in (first, second)]
    errors = [(table["verdict"] - rated[0]["label"]).abs() for table in rated]
    means = compare_runs(*rated, "verdict", "label", id="id", scale="interval")
    expected = np.average(errors[1] - errors[0], weights=copies)
    assert row(means, "absolute_error_difference")["estimate"] == pytest.approx(expected)


def test_labels_that_are_no_peoples_or_of_chosen_rows_do_not_count() -> None:
    first, second = runs(90)
    with pytest.raises(InputError, match="all 90 labels of 'label' were written by a model"):
        compare_runs(first, second, "verdict", "label", id="id", labelled={"by": "model"})
    marks = second.assign(label_sampled=np.where(np.arange(90) < 30, "chosen", "random"))
    found = compare_runs(first, marks, "verdict", "label", id="id")
    fewer = compare_runs(
        first.assign(label=first["label"].where(np.arange(90) >= 30)), second, "verdict", "label", id="id"
    )
    assert (
        row(found, "kappa_difference")[NUMBERS].tolist() == row(fewer, "kappa_difference")[NUMBERS].tolist()
    )
    assert "30 labels are of rows that people chose themselves" in found.claims().does_not_say


# Limits for continuous integration.


def test_limits_are_met_or_not_by_any_number_of_the_page() -> None:
    first, _ = runs()
    found = judge(first, "verdict", "label", by="by")
    kappa = row(found, "kappa")
    gates = gates_of(
        ["kappa.lower=0.9", f"kappa={kappa['estimate']}", "recall[spam].n=5", "accuracy[by=x].upper=0.1"],
        ["kappa.upper=0.95", "accuracy.std_error=0.001"],
    )
    assert [one.passes for one in outcomes(found, gates)] == [False, True, True, True, True, False]
    assert "FAILS: kappa.lower" in str(outcomes(found, gates)[0])
    assert [one.bound for one in gates_of(["people_mean=-1e6"], ["people_mean=1e6"])] == [-1e6, 1e6]


def test_a_limit_without_a_value_fails() -> None:
    found = judge(pd.DataFrame({"a": ["x"], "b": ["x"]}), "a", "b")
    gates = outcomes(found, gates_of(["kappa.lower=0"], ["kappa.upper=1"]))
    assert [one.passes for one in gates] == [False, False]


@pytest.mark.parametrize("name", ["id", "prompt", "number"])
def test_tables_in_different_orders_are_not_paired_by_their_order(name: str) -> None:
    first, second = runs(40)
    items = {"prompt": "an answer about question {}", "number": "{}"}.get(name, "q{}")
    values = [items.format(k) for k in range(40)]
    tables = [one.drop(columns="id").assign(**{name: values}) for one in (first, second)]
    turned = tables[1].sample(frac=1, random_state=1)
    with pytest.raises(InputError, match=f"in row 1 the items differ by column '{name}'.*--id"):
        compare_runs(tables[0], turned, "verdict", "label")
    by_item = row(compare_runs(tables[0], turned, "verdict", "label", id=name), "kappa_b")
    assert by_item["estimate"] == row(compare_runs(*tables, "verdict", "label"), "kappa_b")["estimate"]


def test_tables_that_number_their_rows_by_themselves_are_paired_by_their_order() -> None:
    first, second = runs(40)
    found = compare_runs(first, second.assign(id=range(100, 140)), "verdict", "label")
    assert row(found, "flips")["n"] == 40
    texts = [f"question number {k}" for k in range(40)]
    tables = [
        one.assign(text=texts, place=np.random.default_rng(k).permutation(40)).drop(columns="id")
        for k, one in enumerate((first, second))
    ]
    assert row(compare_runs(*tables, "verdict", "label"), "flips")["n"] == 40


def test_a_coefficient_without_a_value_is_no_number_in_a_sentence() -> None:
    for n in (1, 4):
        table = pd.DataFrame({"verdict": ["a"] * n, "label": ["a"] * n})
        text = " ".join(compare_runs(table, table[["verdict"]], "verdict", "label").verdict)
        assert "The kappa with people has no value in A and B." in text
        assert "nan" not in text


def test_few_clusters_with_most_rows_are_named() -> None:
    first, second = runs(100)
    topic = [0] * 88 + [*range(1, 13)]
    found = compare_runs(first.assign(topic=topic), second, "verdict", "label", id="id", cluster="topic")
    assert any("13 clusters weigh as 1.3 equal ones" in note for note in found.notes)
    judged = judge(first.assign(topic=topic), "verdict", "label", id="topic")
    assert any("13 clusters weigh as 1.3 equal ones" in note for note in judged.notes)
