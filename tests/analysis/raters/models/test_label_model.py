"""The label model: crowd-kit's Dawid-Skene, simulated truth, real labels, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from conjury.analysis.raters import ModelFit, label_model
from conjury.analysis.raters.models.labels.data import class_posterior, confusion_of, read_labels
from conjury.analysis.raters.models.labels.tables import FRESH, LabelDraws, told_of
from conjury.inference.errors import InputError

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


def _probabilities(fit: ModelFit) -> pd.DataFrame:
    return fit.extra["items"].pivot(index="item_id", columns="label", values="probability")[CLASSES]


def test_class_probabilities_at_crowd_kits_estimates_are_crowd_kits(
    labels: pd.DataFrame, crowd_kit: pd.DataFrame
) -> None:
    data = read_labels(labels, labels=CLASSES)
    errors = pd.read_csv(FIXTURES / "crowd_kit_errors.csv").set_index(["worker", "truth", "label"])[
        "probability"
    ]
    confusion = np.array(
        [[[errors[judge, k, label] for label in CLASSES] for k in CLASSES] for judge in data.ratings.judges]
    )
    prevalence = pd.read_csv(FIXTURES / "crowd_kit_priors.csv").set_index("label")["probability"][CLASSES]
    found = class_posterior(prevalence.to_numpy(), confusion, data.patterns)[data.patterns.pattern]
    np.testing.assert_allclose(found, crowd_kit.loc[list(data.ratings.items)].to_numpy(), atol=1e-6)


def test_a_person_who_labels_again_counts_once(labels: pd.DataFrame) -> None:
    people = labels[labels["judge_kind"] == "human"]
    again = pd.concat([people.assign(sample=2), labels.assign(sample=1)])
    once, twice = read_labels(labels), read_labels(again)
    assert sorted(zip(twice.ratings.judges, twice.answers, strict=True)) == sorted(
        zip(once.ratings.judges, once.answers, strict=True)
    )
    assert any(f"{len(people):,} repeated judgments by people are not used" in note for note in twice.notes)
    assert not any("repeated" in note for note in once.notes)


@pytest.mark.bayes
def test_classes_and_accuracies_are_near_those_of_maximum_likelihood(
    fitted: ModelFit, labels: pd.DataFrame, crowd_kit: pd.DataFrame
) -> None:
    ours = _probabilities(fitted).loc[crowd_kit.index]
    difference = np.abs(ours.to_numpy() - crowd_kit.to_numpy())
    assert difference.mean() < 0.02
    assert (ours.to_numpy().argmax(axis=1) == crowd_kit.to_numpy().argmax(axis=1)).mean() > 0.97
    errors = pd.read_csv(FIXTURES / "crowd_kit_errors.csv")
    prevalence = pd.read_csv(FIXTURES / "crowd_kit_priors.csv").set_index("label")["probability"]
    right = errors[errors["truth"] == errors["label"]]
    theirs = (right["probability"] * right["truth"].map(prevalence)).groupby(right["worker"]).sum()
    frame = fitted.frame[fitted.frame["quantity"] == "accuracy"].set_index("judge")
    off = (frame["estimate"] - theirs.loc[frame.index]) / frame["std_error"]
    assert off.abs().max() < 2


@pytest.mark.bayes
def test_simulated_accuracies_and_confusion_are_recovered(fitted: ModelFit, labels: pd.DataFrame) -> None:
    right = (labels["value"] == labels["truth"]).groupby(labels["judge_id"]).mean()
    frame = fitted.frame[fitted.frame["quantity"] == "accuracy"].set_index("judge")
    assert ((frame["estimate"] - right.loc[frame.index]).abs() < 3 * frame["std_error"]).all()
    seen = labels.groupby(["judge_id", "truth"])["value"].value_counts(normalize=True)
    raters = fitted.extra["raters"]
    keys = list(zip(raters["judge"], raters["truth"], raters["label"], strict=True))
    observed = np.array([seen.get(key, 0.0) for key in keys])
    inside = (raters["lower"] <= observed) & (observed <= raters["upper"])
    assert inside.sum() >= stats.binom.ppf(0.001, len(raters), 0.95)
    assert fitted.frame["rhat"].max() < 1.03


@pytest.mark.bayes
def test_class_probabilities_are_calibrated(fitted: ModelFit, labels: pd.DataFrame) -> None:
    truth = labels.drop_duplicates("item_id").set_index("item_id")["truth"]
    ours = _probabilities(fitted)
    best = ours.idxmax(axis=1) == truth.loc[ours.index]
    sure = ours.max(axis=1)
    error = np.sqrt((sure * (1 - sure)).sum()) / len(sure)
    assert abs(best.mean() - sure.mean()) < 3 * error
    doubtful = sure < 0.9
    assert best[doubtful].mean() < best[~doubtful].mean()
    assert best[~doubtful].mean() > 0.95


@pytest.mark.bayes
def test_tables_say_who_is_better_than_a_fresh_person(fitted: ModelFit) -> None:
    replacement = fitted.extra["replacement"]
    assert replacement["model"].tolist() == ["model_0", "model_1"]
    assert replacement["probability_better"].between(0, 1).all()
    assert ((replacement["estimate"] > 0) == (replacement["probability_better"] > 0.5)).all()
    quantities = set(fitted.frame["quantity"])
    assert {
        "prevalence",
        "accuracy",
        "accuracy of a fresh person",
        "agreement with a fresh person",
    } <= quantities
    confusion = fitted.extra["confusion"]
    sums = confusion.groupby(["group", "truth"], observed=True)["estimate"].sum()
    np.testing.assert_allclose(sums, 1.0)
    assert confusion["group"].unique().tolist() == ["human", "model_0", "model_1"]
    assert len(fitted.extra["check"]) == 8 * 3
    assert not any("traded their names" in note for note in fitted.notes)
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
    place = (prior["judge"] == "model_1") & (prior["label"] == CLASSES[2])
    assert (mine == 2).mean() == pytest.approx(prior.loc[place, "expected"].iloc[0])
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


@pytest.mark.bayes
@pytest.mark.shared
def test_real_labels_of_people_and_models_are_described(shared: Path) -> None:
    table = pd.read_parquet(shared / "data" / "ratings" / "annotations.parquet")
    framing = table[(table["dataset"] == "framing") & table["value"].isin(["yes", "no"])]
    items = framing["item_id"].unique()[:500]
    found = label_model(framing[framing["item_id"].isin(items)], draws=400, tune=400, seed=1)
    accuracy = found.frame[found.frame["quantity"] == "accuracy"].set_index("judge")["estimate"]
    assert accuracy.between(0.6, 0.95).all()
    assert accuracy["gpt-4o"] > accuracy["mistral-v03"]
    assert found.frame["rhat"].max() < 1.05
    assert any("agreement of people is" in note for note in found.notes)


def _table(*rows: tuple[str, str, str, object]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])


def _given(
    judges: tuple[str, ...], values: list[object], start: str = "i"
) -> list[tuple[str, str, str, object]]:
    return [(judge, "human", f"{start}{k}", value) for judge in judges for k, value in enumerate(values)]


TWO, MIXED = ("ann", "bob"), ["no", "yes", "yes"]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (_given(("ann",), MIXED), {}, "there is one judge"),
        (_given(("ann",), MIXED) + _given(("bob",), MIXED, "j"), {}, "no item has labels by two judges"),
        (_given(TWO, ["yes"] * 3), {}, "Every judgment is 'yes'"),
        (_given(TWO, [k * 7 for k in range(12)]), {}, "12 different numbers; the label model"),
        (_given(TWO, [f"word {k}" for k in range(21)]), {}, "21 different labels, more than 20"),
        (_given(TWO, [*MIXED]), {"labels": ["yes", "maybe"]}, "contains 'no', which is not among the labels"),
        (_given(TWO, [*MIXED]), {"labels": ["yes", "no", "yes"]}, "names a label twice"),
        (_given(TWO, [*MIXED]), {"priors": {"wrongs": (0, 1)}}, "no prior 'wrongs'"),
    ],
)
def test_what_the_model_would_mean_nothing_for_is_refused(
    rows: list[tuple[str, str, str, object]], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        label_model(_table(*rows), **options)


def with_a_stray_label() -> pd.DataFrame:
    rows = [
        (judge, "human", f"i{k}", "n/a" if k < 4 and judge == "ann" else "yes" if k % 2 else "no")
        for judge in ("ann", "bob", "cay")
        for k in range(400)
    ]
    return _table(*rows)


def test_labels_too_rare_for_the_chains_are_set_aside_with_a_note() -> None:
    data = read_labels(with_a_stray_label())
    assert data.labels == ("no", "yes")
    assert len(data.label) == 1196
    assert any(
        note.startswith("Label 'n/a' is used in 4 of 1,200 judgments, fewer than 10: they are set aside")
        for note in data.notes
    )


def test_rare_labels_are_kept_where_they_are_asked_for_or_tables_are_small() -> None:
    assert "n/a" in read_labels(with_a_stray_label(), min_count=0).labels
    assert "n/a" in read_labels(with_a_stray_label(), labels=["no", "yes", "n/a"]).labels
    assert "n/a" in read_labels(with_a_stray_label().head(500)).labels


def test_few_numbers_are_names_in_their_own_order() -> None:
    rows = [(judge, "human", f"i{k}", float(k % 3)) for judge in ("ann", "bob", "cay") for k in range(9)]
    data = read_labels(_table(*rows))
    assert data.labels == ("0", "1", "2")
    assert read_labels(_table(*rows), labels=[2, 1, 0]).labels == ("2", "1", "0")


def test_items_with_one_label_and_panels_of_two_people_are_told() -> None:
    rows = [(judge, "human", f"i{k}", "yes" if k % 2 else "no") for judge in ("ann", "bob") for k in range(4)]
    data = read_labels(_table(*rows, ("ann", "human", "alone", "no")))
    assert any("more than two judges" in note for note in data.notes)
    half = np.full((1, 10, 2, 2, 2), 0.5) + 0.3 * np.array([[1, -1], [-1, 1]])
    fresh = np.full((1, 10, 1, FRESH, 2, 2), 0.5)
    draws = LabelDraws(np.full((1, 10, 2), 0.5), half, fresh)
    assert any("has two people" in note for note in told_of(data, draws))


def test_chains_that_name_classes_otherwise_are_told() -> None:
    rows = [
        (judge, "human", f"i{k}", "yes" if k % 2 else "no")
        for judge in ("ann", "bob", "cay")
        for k in range(4)
    ]
    data = read_labels(_table(*rows))
    good = confusion_of(np.full((1, 10, 3, 2), -1.5), 2)
    fresh = np.full((2, 10, 1, FRESH, 2, 2), 0.5)
    draws = LabelDraws(np.full((2, 10, 2), 0.5), np.concatenate([good, good[..., ::-1, :]]), fresh)
    assert "In 1 of 2 chains classes have traded their names" in told_of(data, draws)[0]
    assert not told_of(data, LabelDraws(draws.prevalence, np.concatenate([good, good]), fresh))
