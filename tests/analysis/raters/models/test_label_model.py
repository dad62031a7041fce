"""The label model: crowd-kit's Dawid-Skene, simulated truth, real labels, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge
from scipy import stats

from conjury.analysis.raters import ModelFit, label_model
from conjury.analysis.raters.models.labels.label_tables import FRESH, LabelDraws, notes_on_classes
from conjury.analysis.raters.models.labels.panel_labels import class_posterior, confusion_of, read_labels

FIXTURES = Path(__file__).parents[3] / "fixtures" / "raters"
CLASSES = ["safe", "implicit", "explicit"]


@pytest.fixture(scope="module")
def labels() -> pd.DataFrame:
    """400 items with three classes, labels by 4 of 6 people and by 2 models, and the truth."""
    return pd.read_csv(FIXTURES / "crowd_kit_labels.csv")


@pytest.fixture(scope="module")
def crowd_kit() -> pd.DataFrame:
    """Class probabilities of crowd-kit's maximum likelihood, a row an item."""
    return pd.read_csv(FIXTURES / "crowd_kit_classes.csv").set_index("item_id")[CLASSES]


@pytest.fixture(scope="module")
def fitted(labels: pd.DataFrame) -> ModelFit:
    return label_model(labels.drop(columns="truth"), labels=CLASSES, draws=500, tune=400, seed=3)


@pytest.fixture(scope="module")
def errors() -> tuple[pd.DataFrame, pd.Series]:  # type: ignore[type-arg]
    """Error rates of each worker and prevalences, by crowd-kit's maximum likelihood."""
    priors = pd.read_csv(FIXTURES / "crowd_kit_priors.csv").set_index("label")["probability"]
    return pd.read_csv(FIXTURES / "crowd_kit_errors.csv"), priors


def accuracies(fit: ModelFit) -> pd.DataFrame:
    return fit.frame[fit.frame["quantity"] == "accuracy"].set_index("judge")


def probabilities(fit: ModelFit) -> pd.DataFrame:
    return fit.extra["items"].pivot(index="item_id", columns="label", values="probability")[CLASSES]


def test_class_probabilities_at_crowd_kits_estimates_are_crowd_kits(
    labels: pd.DataFrame,
    crowd_kit: pd.DataFrame,
    errors: tuple[pd.DataFrame, pd.Series],  # type: ignore[type-arg]
) -> None:
    data = read_labels(labels, labels=CLASSES)
    rates = errors[0].set_index(["worker", "truth", "label"])["probability"]
    cells = [(judge, k, label) for judge in data.ratings.judges for k in CLASSES for label in CLASSES]
    confusion = rates[cells].to_numpy().reshape(-1, 3, 3)
    found = class_posterior(errors[1][CLASSES].to_numpy(), confusion, data.patterns)[data.patterns.pattern]
    np.testing.assert_allclose(found, crowd_kit.loc[list(data.ratings.items)].to_numpy(), atol=1e-6)


def test_a_person_who_labels_again_counts_once(labels: pd.DataFrame) -> None:
    people = labels[labels["judge_kind"] == "human"]
    once, twice = map(read_labels, (labels, pd.concat([people.assign(sample=2), labels.assign(sample=1)])))
    counts = [sorted(zip(one.ratings.judges, one.answers, strict=True)) for one in (once, twice)]
    assert counts[0] == counts[1]
    assert any(f"{len(people):,} repeated judgments by people are not used" in note for note in twice.notes)
    assert not any("repeated" in note for note in once.notes)


@pytest.mark.bayes
def test_classes_and_accuracies_are_near_those_of_maximum_likelihood(
    fitted: ModelFit,
    crowd_kit: pd.DataFrame,
    errors: tuple[pd.DataFrame, pd.Series],  # type: ignore[type-arg]
) -> None:
    ours, theirs = probabilities(fitted).loc[crowd_kit.index].to_numpy(), crowd_kit.to_numpy()
    assert np.abs(ours - theirs).mean() < 0.02
    assert (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean() > 0.97
    right = errors[0].query("truth == label")
    known = (right["probability"] * right["truth"].map(errors[1])).groupby(right["worker"]).sum()
    frame = accuracies(fitted)
    assert ((frame["estimate"] - known.loc[frame.index]) / frame["std_error"]).abs().max() < 2


@pytest.mark.bayes
def test_simulated_accuracies_confusion_and_classes_are_recovered(
    fitted: ModelFit, labels: pd.DataFrame
) -> None:
    right = (labels["value"] == labels["truth"]).groupby(labels["judge_id"]).mean()
    frame = accuracies(fitted)
    assert ((frame["estimate"] - right.loc[frame.index]).abs() < 3 * frame["std_error"]).all()
    seen = labels.groupby(["judge_id", "truth"])["value"].value_counts(normalize=True)
    raters = fitted.extra["raters"].set_index(["judge", "truth", "label"])
    inside = seen.reindex(raters.index, fill_value=0.0).between(raters["lower"], raters["upper"])
    assert inside.sum() >= stats.binom.ppf(0.001, len(raters), 0.95)
    assert fitted.frame["rhat"].max() < 1.03
    ours, truth = probabilities(fitted), labels.drop_duplicates("item_id").set_index("item_id")["truth"]
    best, sure = ours.idxmax(axis=1) == truth.loc[ours.index], ours.max(axis=1)
    error = np.sqrt((sure * (1 - sure)).sum()) / len(sure)
    assert abs(best.mean() - sure.mean()) < 3 * error
    doubtful = sure < 0.9
    assert best[doubtful].mean() < best[~doubtful].mean()
    assert best[~doubtful].mean() > 0.95


def panel(accuracies: list[float], seed: int) -> pd.DataFrame:
    """Labels of 120 items of three classes, each by three people; errors are other labels at random."""
    rng, rows = np.random.default_rng([seed, 7]), []
    truth = rng.integers(3, size=120)
    for item, right in enumerate(truth):
        for j in rng.choice(len(accuracies), 3, replace=False):
            wrong = (right + rng.integers(1, 3)) % 3
            label = right if rng.random() < accuracies[j] else wrong
            rows.append((f"w{j}", "human", f"i{item:03d}", CLASSES[label]))
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])


@pytest.mark.bayes
@pytest.mark.parametrize(("last", "seed"), [(1 / 3, 0), (0.8, 1)], ids=["a guesser", "equals"])
def test_one_who_labels_at_random_is_not_pulled_to_the_panel_and_alone_is_named(
    last: float, seed: int
) -> None:
    fit = label_model(panel([0.85, 0.8, 0.9, 0.75, 0.85, last], seed), draws=300, seed=1)
    estimates, named = accuracies(fit), [note for note in fit.notes if "follows the panel" in note]
    assert fit.frame["rhat"].max() < 1.05
    assert estimates["estimate"].drop("w5").between(0.7, 0.95).all()
    assert estimates.loc["w5", "lower"] < last < estimates.loc["w5", "upper"]
    assert (estimates.loc["w5", "estimate"] < 0.42) == (last < 0.5)
    assert [note.startswith("'w5' ") for note in named] == ([True] if last < 0.5 else [])


@pytest.mark.bayes
def test_tables_say_who_is_better_than_a_fresh_person(fitted: ModelFit) -> None:
    replacement = fitted.extra["replacement"]
    assert replacement["model"].tolist() == ["model_0", "model_1"]
    assert replacement["probability_better"].between(0, 1).all()
    assert ((replacement["estimate"] > 0) == (replacement["probability_better"] > 0.5)).all()
    expected = {"prevalence", "accuracy", "accuracy of a new person", "agreement with a new person"}
    assert expected <= set(fitted.frame["quantity"])
    confusion = fitted.extra["confusion"]
    np.testing.assert_allclose(confusion.groupby(["group", "truth"], observed=True)["estimate"].sum(), 1.0)
    assert confusion["group"].unique().tolist() == ["human", "model_0", "model_1"]
    assert len(fitted.extra["check"]) == 8 * 3
    assert not any("are switched" in note for note in fitted.notes)
    assert len(fitted.plot().axes) == 3


@pytest.mark.bayes
def test_what_the_priors_make_stands_beside_what_the_fitted_model_makes(
    fitted: ModelFit, tmp_path: Path
) -> None:
    import arviz

    keys = ["judge", "label", "observed"]
    check, prior = fitted.extra["check"], fitted.extra["prior_check"]
    pd.testing.assert_frame_equal(check[keys], prior[keys])
    assert ((prior["upper"] - prior["lower"]) > (check["upper"] - check["lower"])).all()
    assert fitted.extra["prior_agreement"]["statistic"].equals(fitted.extra["agreement"]["statistic"])
    stored = arviz.from_netcdf(fitted.save(tmp_path / "draws.nc"))
    made = stored["prior_predictive"]["value"]
    assert made.sizes["draw"] == 100
    mine = made.values[0][:, made["judge_of_judgment"].values == "model_1"]
    expected = prior.set_index(["judge", "label"])["expected"]["model_1", CLASSES[2]]
    assert (mine == 2).mean() == pytest.approx(expected)
    assert list(stored["observed_data"]["value"].attrs["labels"]) == CLASSES
    assert stored["posterior_predictive"]["value"].shape == made.shape


@pytest.mark.bayes
def test_a_constant_rater_samples_of_a_model_and_an_unused_label_are_taken(labels: pd.DataFrame) -> None:
    some = labels[labels["item_id"].isin(labels["item_id"].unique()[:120])].drop(columns="truth")
    again = some[some["judge_id"] == "model_0"].assign(sample=2)
    always = some.drop_duplicates("item_id").assign(judge_id="lazy", judge_kind="human", value="safe")
    table = pd.concat([some.assign(sample=1), again, always.assign(sample=1)], ignore_index=True)
    arguments = {"labels": [*CLASSES, "unclear"], "draws": 150, "tune": 250}
    found, once_more = (label_model(table, seed=5, **arguments) for _ in range(2))
    frame = found.frame.set_index(["quantity", "judge", "label"])["estimate"]
    assert frame["prevalence", "", "unclear"] < 0.05
    assert frame["accuracy", "lazy", ""] < frame["accuracy", "model_1", ""]
    assert found.frame.loc[found.frame["judge"] == "model_0", "n_ratings"].iloc[0] == 240
    assert any("'unclear' is used by nobody" in note for note in found.notes)
    assert any("lazy: the same rating" in note for note in found.notes)
    pd.testing.assert_frame_equal(found.frame, once_more.frame)
    for name in ("items", "replacement", "agreement"):
        pd.testing.assert_frame_equal(found.extra[name], once_more.extra[name])


def given(judges: str, values: list[Any]) -> pd.DataFrame:
    """The same labels of the same items by each judge."""
    return by_judge(dict.fromkeys(judges.split(), values))


@pytest.fixture(scope="module")
def stray() -> pd.DataFrame:
    """Two labels of 400 items by three people, and 'odd' for four."""
    table = given("ann bob cay", ["no", "yes"] * 200)
    table.loc[:3, "value"] = "odd"
    return table


def test_labels_too_rare_for_the_chains_are_set_aside_with_a_note(stray: pd.DataFrame) -> None:
    data = read_labels(stray)
    assert data.labels == ("no", "yes")
    assert len(data.label) == 1196
    sentence = "Label 'odd' is used in 4 of 1,200 judgments, fewer than 10: they are excluded"
    assert any(note.startswith(sentence) for note in data.notes)


def test_rare_labels_are_kept_where_they_are_asked_for_or_tables_are_small(stray: pd.DataFrame) -> None:
    assert "odd" in read_labels(stray, min_count=0).labels
    assert "odd" in read_labels(stray, labels=["no", "yes", "odd"]).labels
    assert "odd" in read_labels(stray.head(500)).labels


def test_few_numbers_are_names_in_their_own_order() -> None:
    table = given("ann bob cay", [0.0, 1.0, 2.0] * 3)
    assert read_labels(table).labels == ("0", "1", "2")
    assert read_labels(table, labels=[2, 1, 0]).labels == ("2", "1", "0")


def test_single_labels_panels_of_two_and_chains_that_name_classes_otherwise_are_told() -> None:
    yes_no = ["no", "yes"] * 2
    data = read_labels(pd.concat([given("ann bob", yes_no), given("ann", ["no"]).assign(item_id="alone")]))
    assert any("more than two judges" in note for note in data.notes)
    half = np.full((1, 10, 2, 2, 2), 0.5) + 0.3 * np.array([[1, -1], [-1, 1]])
    fresh = np.full((2, 10, 1, FRESH, 2, 2), 0.5)
    draws = LabelDraws(np.full((1, 10, 2), 0.5), half, fresh[:1])
    assert any("has two people" in note for note in notes_on_classes(data, draws))
    data, good = read_labels(given("ann bob cay", yes_no)), confusion_of(np.full((1, 10, 3, 2), -1.5), 2)
    switched, alike = (
        notes_on_classes(data, LabelDraws(np.full((2, 10, 2), 0.5), np.concatenate([good, second]), fresh))
        for second in (good[..., ::-1, :], good)
    )
    assert "In 1 of 2 chains labels of classes are switched" in switched[0]
    assert not alike
