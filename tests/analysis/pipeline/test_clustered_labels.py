"""Labels of items that a study calls related: intervals resample what they belong to, not the items."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from conjury.analysis.benchmark.data.label_answers import LabelAnswers
from conjury.analysis.pipeline.item_steps import plan_labels
from conjury.analysis.pipeline.runner import FitOptions, fit
from conjury.inference.study import ItemStudy, load_any_study
from conjury.inference.tables.files import STUDIES

JOKES = [f"j{number}_{order}" for number in range(12) for order in ("given", "swapped")]


@pytest.fixture
def answered() -> LabelAnswers:
    """Answers that are right for both orders of a pair or for neither."""
    study = load_any_study(STUDIES / "harm_or_humor")
    assert isinstance(study, ItemStudy)
    items = pd.DataFrame({"item_id": JOKES, "pair": [joke.partition("_")[0] for joke in JOKES]})
    items = items.assign(modality="text", language="en", text="A joke.")
    gold = pd.DataFrame({"item_id": JOKES, "label_set": "harm", "label": "safe"})
    wrong = items["pair"].isin([f"j{number}" for number in range(4)])
    judged = pd.DataFrame({"judge_id": "one", "judge_kind": "model", "item_id": JOKES, "prompt_id": "text"})
    judged = judged.assign(sample=1, dimension="harm", value=wrong.map({True: "harmful", False: "safe"}))
    people = [judged.assign(judge_id=name, judge_kind="human", prompt_id=None) for name in ("p", "q")]
    judged = pd.concat([judged, *people], ignore_index=True).assign(status="ok", rule="label/strict@2")
    judged["judge_kind"] = judged["judge_kind"].astype("category")
    unclustered = study.model_copy(update={"cluster": None})
    return LabelAnswers(unclustered, judged, gold, items)


def accuracy(answered: LabelAnswers) -> pd.Series:  # type: ignore[type-arg]
    plan = plan_labels(answered, FitOptions(draws=2000))
    result = fit(plan).by_name["scores"]
    rows = result.frame.query("metric == 'accuracy' and missing == missing.iloc[0]")
    return rows.iloc[0]


@pytest.mark.long
def test_scores_are_clustered_by_what_the_study_names_and_their_standard_errors_grow(answered):
    alone = accuracy(answered)
    study = answered.study.model_copy(update={"cluster": "pair"})
    together = accuracy(replace(answered, study=study))
    assert (alone["n_clusters"], together["n_clusters"]) == (24, 12)
    assert together["estimate"] == alone["estimate"] == pytest.approx(2 / 3)
    # a share of pairs that are right or wrong together has the variance of 12 units, not of 24
    assert together["std_error"] / alone["std_error"] == pytest.approx(2**0.5, rel=0.06)


@pytest.mark.long
def test_items_without_the_column_are_resampled_one_by_one(answered):
    study = answered.study.model_copy(update={"cluster": "pair"})
    assert answered.items is not None
    rest = replace(answered, study=study, items=answered.items.drop(columns="pair"))
    assert accuracy(rest)["n_clusters"] == 24
