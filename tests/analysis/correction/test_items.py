"""Means, shares, quantiles and scores among people, corrected by models: references and degenerate cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import hypergeom, norm, pearsonr

from conjury.analysis.benchmark import score, scores
from conjury.analysis.correction.selection import selection_p
from conjury.analysis.numerics.rating_panel import RowClusters
from conjury.analysis.raters import means, prediction_powered
from conjury.inference.errors import InputError

REFERENCES = Path(__file__).parents[2] / "fixtures" / "correction"


def judged(values: Sequence[Any], judge: str, kind: str, first: int = 0, **more: Any) -> pd.DataFrame:
    ids = [f"i{k:04d}" for k in range(first, first + len(values))]
    return pd.DataFrame(
        {"judge_id": judge, "judge_kind": kind, "item_id": ids, "value": values, "status": "ok", **more}
    )


def simple(outcome: str, prediction: str) -> pd.DataFrame:
    table = pd.read_csv(REFERENCES / "simple.csv")
    people = table[outcome].dropna().to_numpy(float)
    return pd.concat(
        [judged(people, "ann", "human"), judged(table[prediction].to_numpy(float), "gpt", "model")]
    )


def by_source(table: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return prediction_powered(table, **options).frame.set_index("source")


def drawn(n: int, labelled: int, noise: float = 0.5, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, n)
    return quality[:labelled] + rng.normal(0, noise, labelled), quality + 1 + rng.normal(0, noise, n)


def pair(human: Sequence[Any], model: Sequence[Any]) -> pd.DataFrame:
    return pd.concat([judged(human, "ann", "human"), judged(model, "gpt", "model")])


@pytest.mark.long
def test_a_map_of_ratings_shortens_intervals_of_means_shares_and_quantiles_by_a_bent_model() -> None:
    rng = np.random.default_rng(2)
    quality = rng.normal(0, 1, 400)
    bent = 1 / (1 + np.exp(-3 * (quality + rng.normal(0, 0.35, 400)) - 2.5))
    table = pair(quality[:80], bent)
    for options in ({}, {"statistic": "proportion", "at_least": 1.0}, {"statistic": "quantile", "q": 0.3}):
        width = {}
        for calibration in (False, True):
            row = by_source(table, calibration=calibration, **options).loc["corrected"]
            width[calibration] = row["upper"] - row["lower"]
        assert width[True] < 0.92 * width[False], options


def test_labels_without_an_order_have_no_map() -> None:
    table = pair(["good", "bad"] * 10, ["good", "bad"] * 30)
    with pytest.raises(InputError, match="labels have no order, so that no monotone map of them exists"):
        prediction_powered(table, statistic="share", calibration=True)


def ppi_py(outcome: str, prediction: str, lam: str) -> pd.DataFrame:
    rows = "data == 'simple' and outcome == @outcome and prediction == @prediction and lam == @lam"
    return pd.read_csv(REFERENCES / "ppi_py.csv").query(rows).set_index("function")


@pytest.mark.parametrize(("outcome", "prediction"), [("y", "y_model"), ("b", "b_p"), ("b", "b_model")])
def test_means_with_weight_one_are_those_of_ppi_py(outcome: str, prediction: str) -> None:
    wanted = ppi_py(outcome, prediction, "1")
    table = simple(outcome, prediction)
    made = by_source(table, tuning="none", folds=1).loc["corrected"]
    np.testing.assert_allclose(made["estimate"], wanted["estimate"]["ppi_mean_pointestimate"], rtol=1e-11)
    # ppi_py divides variances by n and N, where ours has n - 1 and N - 1
    model = table.loc[table["judge_id"] == "gpt", "value"].to_numpy(float)
    n = 300
    human = table.loc[table["judge_id"] == "ann", "value"].to_numpy(float)
    theirs = (wanted["upper"]["ppi_mean_ci"] - wanted["lower"]["ppi_mean_ci"]) / 2 / ndtri(0.975)
    parts = (human - model[:n]).var() / n, model[n:].var() / 1000
    np.testing.assert_allclose(theirs, np.sqrt(sum(parts)), rtol=1e-10)
    ours = np.sqrt(parts[0] * n / (n - 1) + parts[1] * 1000 / 999)
    np.testing.assert_allclose(made["std_error"], ours, rtol=1e-10)
    known = ppi_py(outcome, prediction, "tuned").loc["ppi_mean_pointestimate"]
    made = by_source(table, tuning="scalar", folds=1).loc["corrected"]
    # ppi_py: covariance with denominator n, over (1/n + 1/N) times the variance of all the model's answers
    apart = model[:n].var(ddof=1) / n + model[n:].var(ddof=1) / 1000
    pooled = (1 / n + 1 / 1000) * model.var(ddof=1)
    assert made["weight"] * apart / pooled * (n - 1) / n == pytest.approx(known["used"], rel=1e-9)


def test_a_tuned_mean_is_the_optimal_one() -> None:
    table = simple("y", "y_model")
    values = table["value"].to_numpy(float)
    human, model = values[:300], values[300:]
    labelled, other = model[:300], model[300:]
    weight = np.cov(human, labelled)[0, 1] / 300 / (labelled.var(ddof=1) / 300 + other.var(ddof=1) / 1000)
    made = by_source(table, folds=1).loc["corrected"]
    np.testing.assert_allclose(made["weight"], weight, rtol=1e-12)
    np.testing.assert_allclose(
        made["estimate"], human.mean() + weight * (other.mean() - labelled.mean()), rtol=1e-12
    )
    ipd = pd.read_csv(REFERENCES / "ipd.csv")
    (known,) = ipd.query("outcome == 'y' and method == 'pspa' and model == 'mean'").itertuples()
    assert made["estimate"] == pytest.approx(known.estimate, rel=1e-4)
    assert made["std_error"] == pytest.approx(known.std_error, rel=3e-3)


def test_people_alone_have_the_t_interval_of_a_mean() -> None:
    human, model = drawn(200, 30)
    made = by_source(pair(human, model)).loc["human only"]
    np.testing.assert_allclose(made["std_error"], human.std(ddof=1) / np.sqrt(30), rtol=1e-12)
    assert made["df"] == 29


def test_quantiles_are_those_of_ppi_py_up_to_a_step_of_the_grid() -> None:
    q = 0.25
    references = pd.read_csv(REFERENCES / "ppi_py.csv").set_index("option")
    wanted = references.loc[f"q={q};exact_grid=True"].set_index("function")
    table = simple("y", "y_model")
    made = by_source(table, statistic="quantile", q=q, tuning="none", folds=1).loc["corrected"]
    values = table["value"].to_numpy(float)
    grid = np.unique(values)
    human, labelled, other = (part[:, None] for part in np.split(values, [300, 600]))
    below = (other <= grid).mean(0) + (human <= grid).mean(0) - (labelled <= grid).mean(0)
    # ppi_py takes the value where the share is nearest to q, and the last value that is not rejected;
    # ours are the first value where the share is q, and the first value that is rejected
    assert made["estimate"] == grid[(below >= q - 1e-9).argmax()]
    assert abs(made["estimate"] - wanted["estimate"]["ppi_quantile_pointestimate"]) < 0.01
    assert made["lower"] == wanted["lower"]["ppi_quantile_ci"]
    steps = np.searchsorted(grid, [wanted["upper"]["ppi_quantile_ci"], made["upper"]])
    assert steps[1] - steps[0] == 1


def test_the_median_of_ratings_on_few_categories_has_an_interval_that_contains_it() -> None:
    human, model = drawn(400, 80)
    table = pair(np.clip(np.round(human), 1, 5), np.clip(np.round(model), 1, 5))
    made = by_source(table, statistic="quantile")
    assert (made["lower"] <= made["estimate"]).all()
    assert (made["estimate"] <= made["upper"]).all()
    assert made.loc["corrected", "estimate"] == 3


def test_proportions_and_shares_agree() -> None:
    human, model = (np.clip(np.round(values), 1, 5) for values in drawn(300, 60))
    table = pair(human, model)
    share = prediction_powered(table, statistic="share", tuning="none", folds=1).frame
    shares = share[share["source"] == "corrected"].set_index("level")["estimate"]
    np.testing.assert_allclose(shares.sum(), 1, rtol=1e-12)
    above = by_source(table, statistic="proportion", at_least=4, tuning="none", folds=1)
    np.testing.assert_allclose(above.loc["corrected", "estimate"], shares["4"] + shares["5"], rtol=1e-12)


def test_a_constant_model_changes_nothing() -> None:
    human, _ = drawn(100, 30)
    made = by_source(pair(human, [3.0] * 100))
    for name in ("estimate", "std_error", "lower", "upper"):
        np.testing.assert_allclose(made.loc["corrected", name], made.loc["human only", name], rtol=1e-12)


def test_a_perfect_and_an_opposite_model_give_the_same() -> None:
    _, model = drawn(400, 0)
    perfect, opposite = by_source(pair(model[:40], model)), by_source(pair(model[:40], -model))
    for name in ("estimate", "std_error", "gain"):
        np.testing.assert_allclose(perfect.loc["corrected", name], opposite.loc["corrected", name], rtol=1e-9)
    assert perfect.loc["corrected", "rho"] == pytest.approx(1)
    assert opposite.loc["corrected", "weight"] < 0
    assert perfect.loc["corrected", "gain"] > 5


def test_a_second_copy_of_a_model_changes_nothing() -> None:
    human, model = drawn(200, 50)
    one = by_source(pair(human, model), folds=1)
    two = by_source(pd.concat([pair(human, model), judged(model, "copy", "model")]), folds=1)
    np.testing.assert_allclose(two.loc["corrected", "estimate"], one.loc["corrected", "estimate"], rtol=1e-9)
    np.testing.assert_allclose(
        two.loc["corrected", ["weight_gpt", "weight_copy"]].sum(), one.loc["corrected", "weight"], rtol=1e-9
    )


def test_a_refused_answer_counts_as_the_models_mean() -> None:
    human, model = drawn(200, 50)
    table = pair(human, model)
    refused = (table["judge_id"] == "gpt") & table["item_id"].isin(["i0003", "i0150"])
    told = prediction_powered(table.assign(status=np.where(refused, "refused", "ok")))
    filled = table["value"].mask(refused, table["value"][(table["judge_id"] == "gpt") & ~refused].mean())
    wanted = by_source(table.assign(value=filled)).loc["corrected"]
    made = told.frame.set_index("source").loc["corrected"]
    np.testing.assert_allclose(made["estimate"], wanted["estimate"], rtol=1e-12)
    np.testing.assert_allclose(made["std_error"], wanted["std_error"], rtol=1e-12)
    assert any("gpt gave no usable answer to 2 items" in note for note in told.notes)


def test_a_refused_label_is_a_category() -> None:
    labels = np.array(["safe", "harmful"])[np.random.default_rng(2).integers(0, 2, 120)]
    table = pair(labels[:40], labels)
    refused = (table["judge_id"] == "gpt") & table["item_id"].isin(["i0003", "i0100"])
    made = prediction_powered(
        table.assign(status=np.where(refused, "refused", "ok")), statistic="share", tuning="none", folds=1
    ).frame
    corrected = made[made["source"] == "corrected"].set_index("level")["estimate"]
    share = (labels == "safe").astype(float)
    own = np.where(np.isin(np.arange(120), [3, 100]), 0.0, share)
    wanted = share[:40].mean() + own[40:].mean() - own[:40].mean()
    np.testing.assert_allclose(corrected["safe"], wanted, rtol=1e-12)


def test_items_of_several_people_count_once_and_people_may_be_clusters() -> None:
    human, model = drawn(200, 40)
    rng = np.random.default_rng(4)
    severity = rng.normal(0, 1, 8)
    people = pd.concat(
        judged(human + severity[k] + rng.normal(0, 0.3, 40), f"p{k}", "human").iloc[k % 2 :: 2 - k % 2]
        for k in range(8)
    )
    table = pd.concat([people, judged(model, "gpt", "model")])
    made = by_source(table)
    mean = people.groupby("item_id")["value"].mean().mean()
    assert made.loc["human only", "estimate"] == pytest.approx(mean, rel=1e-12)
    crossed = by_source(table, cluster=["item_id", "judge_id"])
    assert crossed.loc["human only", "std_error"] > 1.5 * made.loc["human only", "std_error"]
    assert crossed.loc["human only", "df"] == 7
    turned = table.assign(item_id=[f"i{199 - int(item[1:]):04d}" for item in table["item_id"]])
    turned = by_source(turned, cluster=["item_id", "judge_id"], folds=1)["std_error"]
    plain = by_source(table, cluster=["item_id", "judge_id"], folds=1)["std_error"]
    np.testing.assert_allclose(turned, plain, rtol=1e-9)


def test_strata_are_those_of_each_alone() -> None:
    human, model = drawn(300, 90)
    table = pair(human, model)
    items = pd.DataFrame({"item_id": table["item_id"].unique(), "kind": ["a", "b", "c"] * 100})
    whole = means(table, items, by="kind", overall=True, correct="ppi").frame.set_index(["kind", "source"])
    alone = by_source(table[table["item_id"].isin(items.loc[items["kind"] == "b", "item_id"])])
    for source in ("human only", "corrected", "gpt only"):
        assert whole.loc[("b", source), "std_error"] == pytest.approx(alone.loc[source, "std_error"])
    assert ("overall", "corrected") in whole.index


def test_a_cluster_holds_its_items_together() -> None:
    human, model = drawn(300, 90)
    once = pair(human, model)
    doubled = pd.concat([once, once.assign(item_id=once["item_id"] + "again")])
    topic = doubled["item_id"].str.removesuffix("again")
    made, wanted = by_source(doubled.assign(topic=topic), cluster="topic", folds=1), by_source(once, folds=1)
    assert made.loc["corrected", "std_error"] == pytest.approx(wanted.loc["corrected", "std_error"])


@pytest.mark.parametrize(("people", "model"), [("ab" * 45, "a" * 300), ("aba", "bab" + "abc" * 99)])
def test_labels_that_few_items_lack_are_no_sign_of_a_choice_of_items(people: str, model: str) -> None:
    corrected = prediction_powered(pair(list(people), list(model)), statistic="share")
    assert "random sample" not in " ".join(map(str, corrected.notes))


@pytest.mark.long
def test_sampling_probabilities_undo_the_choice_of_items() -> None:
    rng = np.random.default_rng(8)
    quality = rng.normal(3, 1, 4000)
    chosen = np.where(quality > 3, 0.3, 0.05)
    labelled = rng.random(4000) < chosen
    model = judged(quality + rng.normal(0, 0.3, 4000), "gpt", "model")
    table = pd.concat([judged(quality, "ann", "human")[labelled], model])
    table["sampling_probability"] = np.concatenate([chosen[labelled], chosen])
    made = by_source(table)
    assert made.loc["corrected", "lower"] < 3 < made.loc["corrected", "upper"]
    naive = prediction_powered(table.drop(columns="sampling_probability"))
    assert naive.frame.set_index("source").loc["corrected", "lower"] > 3.05
    assert any("hardly a random sample" in note for note in naive.notes)
    with pytest.raises(InputError, match="'sampling_probability' has no number above 0"):
        prediction_powered(table.assign(sampling_probability=0.0))


def test_labels_chosen_where_a_model_is_uncertain_are_refused() -> None:
    human, model = drawn(300, 60)
    table = pair(human, model)
    sure = np.r_[np.full(60, np.nan), np.linspace(0.5, 0.6, 60), np.linspace(0.8, 0.99, 240)]
    with pytest.raises(InputError, match="gpt is far less certain about the labelled items"):
        prediction_powered(table.assign(probability=sure))
    fair = np.r_[np.full(60, np.nan), np.random.default_rng(1).uniform(0.5, 1, 300)]
    assert len(prediction_powered(table.assign(probability=fair)).frame) == 3


CLASSES = np.array(["safe", "harmful"])


def labelled(
    n: int = 400, few: int = 100, seed: int = 3
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    gold = rng.random(n) < 0.4

    def noisy(error: float) -> np.ndarray:
        return CLASSES[np.where(rng.random(n) < error, ~gold, gold).astype(int)]

    judgments = judged(noisy(0.2), "A", "model", dimension="harm", probability=rng.uniform(0.5, 1, n))
    every = pd.DataFrame(
        {"item_id": judgments["item_id"], "label_set": "harm", "label": CLASSES[gold.astype(int)]}
    )
    return judgments, every.iloc[:few], every.assign(label=noisy(0.08)), every


def corrected_scores(
    judgments: pd.DataFrame, few: pd.DataFrame, model: pd.DataFrame, **options: Any
) -> pd.DataFrame:
    return scores(score(judgments, few), correct="ppi", model=score(judgments, model), **options).frame


def test_accuracy_is_a_mean_of_hits() -> None:
    judgments, few, model, _ = labelled()
    made = corrected_scores(judgments, few, model, metrics=["accuracy"], missing=["wrong"], folds=1)
    made = made.set_index("source")
    own = judgments["value"].to_numpy()
    hits = pair((own[:100] == few["label"]).astype(float), (own == model["label"]).astype(float))
    wanted = by_source(hits, folds=1)
    for name in ("estimate", "std_error", "df", "lower", "upper"):
        np.testing.assert_allclose(made.loc["corrected", name], wanted.loc["corrected", name], rtol=1e-7)
        np.testing.assert_allclose(made.loc["model only", name], wanted.loc["gpt only", name], rtol=1e-7)


@pytest.mark.long
def test_influence_on_scores_is_that_of_leaving_units_out() -> None:
    judgments, few, model, _ = labelled(180, 60)
    of_class = [f"{name}_harmful" for name in ("precision", "recall", "specificity")]
    options = {"metrics": ["macro_f1", "mcc", *of_class, "balanced_accuracy"], "missing": ["wrong"]}
    made = corrected_scores(judgments, few, model, **options)
    own = made[made["source"] == "human only"].set_index("metric")
    human = score(judgments, few)

    def found(kept: np.ndarray) -> np.ndarray:
        table = scores(human.where(kept), draws=0, **options).frame
        return table[table["judge"] == "A"]["estimate"].to_numpy()

    without = np.array([found(np.arange(60) != k) for k in range(60)])
    jackknife = np.sqrt(59 / 60 * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    np.testing.assert_allclose(own["estimate"], found(np.ones(60, dtype=bool)), rtol=1e-12)
    np.testing.assert_allclose(own["std_error"], jackknife, rtol=0.05)


@pytest.mark.long
def test_units_chosen_by_the_certainty_of_the_judge_need_their_probabilities() -> None:
    judgments, _, model, every = labelled()
    doubtful = judgments.sort_values("probability", key=lambda p: (p - 0.5).abs())["item_id"].head(100)
    few = every[every["item_id"].isin(doubtful)]
    by_model = score(judgments, model)
    with pytest.raises(
        InputError, match=r"^A is far less certain about the labelled units than about others"
    ):
        scores(score(judgments, few), correct="ppi", model=by_model, metrics=["accuracy"])
    items = judgments[["item_id"]].assign(sampling_probability=1.0 - judgments["probability"] * 0.9)
    weighted = score(judgments, few, items=items)
    made = scores(weighted, correct="ppi", model=score(judgments, model, items=items), metrics=["accuracy"])
    assert made.settings["weighted"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": False}, "needs the labels of a model"),
        ({"model": False, "correct": None, "folds": 3}, "folds applies to correct='ppi'"),
        ({"metrics": ["missing_rate"]}, "none depends on labels"),
        ({"strata": ["judge"]}, "strata has no effect with correct='ppi': there are no baselines"),
        ({"draws": 0}, "draws has no effect with correct='ppi': intervals need no bootstrap"),
    ],
)
def test_scores_that_cannot_be_corrected_so_are_refused(options: dict[str, Any], message: str) -> None:
    judgments, few, model, _ = labelled()
    labels = {"model": score(judgments, model)} if options.pop("model", True) else {}
    with pytest.raises(InputError, match=message):
        scores(score(judgments, few), **{"correct": "ppi", **labels, **options})


def test_means_take_a_model_with_a_correction_alone_and_draws_without() -> None:
    with pytest.raises(InputError, match="model applies to correct='ppi'"):
        means(pair(*drawn(60, 20)), model="gpt")
    with pytest.raises(InputError, match="draws has no effect with correct='ppi'"):
        means(pair(*drawn(60, 20)), correct="ppi", draws=100)


@pytest.mark.long
def test_units_are_counted_once_however_often_they_were_answered() -> None:
    judgments, few, model, _ = labelled()
    twice = pd.concat([judgments.assign(sample=1), judgments.assign(sample=2)])
    options = {"metrics": ["accuracy"], "missing": ["wrong"]}
    once, made = (corrected_scores(rows, few, model, **options) for rows in (judgments, twice))
    counts = ["n_labelled", "n_other"]
    pd.testing.assert_frame_equal(made[counts], once[counts])


def test_intervals_of_scores_end_where_scores_end() -> None:
    judgments, few, model, _ = labelled()
    made = corrected_scores(judgments, few.iloc[:3], model, missing=["wrong"])
    known = made.dropna(subset=["lower", "upper"])
    assert (known["lower"] <= known["upper"]).all()
    of_people = made[made["source"] == "human only"].set_index("metric")
    assert of_people["upper"].max() <= 1
    assert of_people["lower"].drop("mcc").min() >= 0
    assert of_people["lower"].min() >= -1


def test_there_is_no_gain_where_the_corrected_estimate_has_no_variance() -> None:
    human = ["rare", *["usual"] * 9]
    table = pair(human, [*human, *["usual"] * 30])
    made = prediction_powered(table, statistic="share", folds=1, tuning="none").frame
    assert made["gain"].isna().all()


def test_a_sample_that_is_not_random_has_twice_the_smaller_tail_of_fishers_exact_test() -> None:
    value, chosen = np.zeros(60), np.arange(60) < 20
    value[[*range(9), *range(50, 56)]] = 1
    known = hypergeom(60, 15, 20)  # 9 of the 15 are among the 20
    found = selection_p(value[:, None], chosen, RowClusters.of_rows(60))
    assert found == pytest.approx(2 * min(known.cdf(9), known.sf(8)))
    flipped = selection_p(np.column_stack([value, 1 - value]), chosen, RowClusters.of_rows(60))
    assert flipped == pytest.approx(found)


def test_numbers_of_a_sample_are_tested_by_their_correlation_with_it_and_rows_of_a_unit_count_once() -> None:
    rng = np.random.default_rng(4)
    value = rng.normal(size=200)
    chosen = rng.random(200) < 0.3 + 0.15 * (value > 0)
    correlation = abs(pearsonr(value, chosen).statistic)
    assert 0.01 < 2 * norm.sf(correlation * np.sqrt(199)) < 0.2
    rank = np.argsort(np.argsort((value - value.mean()) * (chosen - chosen.mean())))
    opposed = RowClusters.numbered(np.minimum(rank, 199 - rank))  # which count no less than single rows
    by_unit = RowClusters.numbered(np.repeat(np.arange(200), 3))
    for times, clusters in ((1, RowClusters.of_rows(200)), (1, opposed), (3, by_unit)):
        expected = 2 * norm.sf(correlation * np.sqrt((200 * times - 1) / times))
        values, flags = np.repeat(value, times), np.repeat(chosen, times)
        for columns in ([values], [-values], [values, -values]):
            found = selection_p(np.column_stack(columns), flags, clusters)
            assert found == pytest.approx(len(columns) * expected)


@pytest.mark.long
def test_classes_and_judges_of_both_tables_of_labels_have_to_fit() -> None:
    judgments, few, model, _ = labelled()
    odd = model.assign(label=model["label"].where(model.index < 399, "odd"))
    options = {"correct": "ppi", "metrics": ["accuracy"]}
    answered = judgments.assign(value=judgments["value"].where(judgments.index != 50, "odd"))
    for rows, fits in ((judgments, True), (answered, False)):
        people = score(rows, few, classes=[*CLASSES])
        by_model = score(rows, odd, classes=[*CLASSES, "odd"])
        if fits:
            assert len(scores(people, model=by_model, **options).frame)
            continue
        with pytest.raises(InputError, match="its classes differ from those of scored"):
            scores(people, model=by_model, **options)
    for part in (model[:100], model[100:]):  # of the units that people labelled, or of the others alone
        with pytest.raises(InputError, match="two clusters of units that people and every model labelled"):
            corrected_scores(judgments, few, part)
        both = {name: score(judgments, labels) for name, labels in (("x", model), ("y", part))}
        with pytest.raises(InputError, match="two of others that every model labelled"):
            scores(score(judgments, few), correct="ppi", model=both)
    other = score(judgments.assign(judge_id="B"), model)
    with pytest.raises(InputError, match=r"no unit of judge 'A' has a label by .+; give"):
        scores(score(judgments, few), model=other, **options)


@pytest.mark.long
def test_scores_of_units_that_are_unlike_others_have_a_note() -> None:
    judgments, _, model, every = labelled()
    alike = judgments["value"].to_numpy() == model["label"].to_numpy()
    few = every[alike].head(100)
    made = scores(score(judgments, few), correct="ppi", model=score(judgments, model), metrics=["accuracy"])
    assert any("hardly a random sample" in note for note in made.notes)


def test_few_clusters_with_most_labelled_units_are_named() -> None:
    judgments, few, model, _ = labelled()
    topic = np.where(np.arange(400) < 90, 0, np.arange(400))
    items = judgments[["item_id"]].assign(topic=topic.astype(str))
    both = (score(judgments, labels, items=items) for labels in (few, model))
    options = {"correct": "ppi", "metrics": ["accuracy"], "cluster": "topic"}
    found = scores(next(both), model=next(both), **options)
    assert any("A, labelled items: The 11 clusters weigh as 1.2 equal ones" in note for note in found.notes)
