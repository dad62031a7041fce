"""Who wrote labels, whether blind, and how rows were chosen limits what is computed and what is claimed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases

import conjury
from conjury.inference.errors import InputError

pytestmark = pytest.mark.long


def answers(prompts: int = 150, labelled: int = 60, seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    common, parts = rng.normal(0, 0.8, prompts), []
    for place, name in enumerate(("old", "new")):
        quality = common + rng.normal(0, 0.6, prompts) + 0.25 * place
        people = np.where(np.arange(prompts) < labelled, quality, np.nan)
        score = quality + rng.normal(0, 0.4, prompts)
        parts.append(pd.DataFrame({"prompt": range(prompts), "system": name, "score": score, "ann": people}))
    return pd.concat(parts, ignore_index=True)


def compare(table: pd.DataFrame, **options: Any) -> Any:
    return conjury.compare_systems(table, "score", "ann", id="prompt", **options)


def graded(n: int = 200, labelled: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    good = rng.random(n) < 0.6
    verdict = np.where(rng.random(n) < 0.85, good, ~good)
    words = [np.where(part, "pass", "fail").astype(object) for part in (verdict, good)]
    words[1][labelled:] = None
    return pd.DataFrame({"row": range(n), "verdict": words[0], "ann": words[1]})


def states(result: Any) -> dict[str, str]:
    return dict(result.extra["labels"].set_index("system")["state"])


def test_labels_of_models_are_set_aside_and_never_called_peoples() -> None:
    table = answers()
    by_model = table["prompt"] >= 40
    table["label_by"] = np.where(table["ann"].isna(), "", np.where(by_model, "model gpt-5", "person ann"))
    result, people = compare(table), compare(table.assign(ann=table["ann"].mask(by_model)))
    assert result.frame["estimate"].tolist() == people.frame["estimate"].tolist()
    assert any("40 labels were written by a model and are not used" in note for note in result.notes)
    assert "40 labels were written by a model" in str(result.claims())
    assert result.settings["provenance"]["label_by"] == {"person": 80, "model": 40}
    for run in (compare, lambda table, **options: conjury.judge(table, "score", "ann", **options)):
        with pytest.raises(InputError, match="all 120 labels of 'ann' were written by a model"):
            run(answers(), labelled={"by": "model"})


def test_self_selected_labels_give_no_level_and_caution_beside_others() -> None:
    table = answers()
    assert states(compare(table, labelled={"sampled": "chosen"})) == {"old": "NO LEVEL", "new": "NO LEVEL"}
    table["label_sampled"] = np.where(table["prompt"] < 20, "chosen", "random")
    mixed = compare(table)
    assert states(mixed) == {"old": "CAUTION", "new": "CAUTION"}
    rest = compare(table.assign(ann=table["ann"].mask(table["prompt"] < 20)))
    assert mixed.frame["estimate"].tolist() == rest.frame["estimate"].tolist()
    assert "20 self-selected labels are not used" in mixed.extra["labels"]["reason"].iloc[0]
    table.loc[table["system"] == "new", "label_sampled"] = "volunteered"
    assert states(compare(table)) == {"old": "CAUTION", "new": "NO LEVEL"}


def test_people_who_saw_the_judge_and_a_judge_that_saw_labels_lower_the_state() -> None:
    table = answers()
    informed = compare(table, labelled={"blind": "no"})
    assert states(informed) == {"old": "CAUTION", "new": "CAUTION"}
    assert "People saw the judge's answer before they gave 120 labels" in str(informed.claims())
    seen = compare(table.assign(judge_saw_label=np.where(table["prompt"] < 10, "yes", "no")))
    assert seen.settings["n_labelled"] == 100
    with pytest.raises(InputError, match="the judge saw all labels"):
        compare(table, labelled={"judge_saw": "yes"})
    copied = table.assign(score=table["ann"].fillna(table["score"]))
    assert states(compare(copied)) == {"old": "CAUTION", "new": "CAUTION"}
    assert "as if it had seen them" in compare(copied).extra["labels"]["reason"].iloc[0]


def test_rows_drawn_by_the_judges_answer_are_weighted_by_it() -> None:
    table = graded(400, 200).assign(system=lambda t: np.where(t["row"] % 2, "new", "old"))
    result = conjury.compare_systems(table, "verdict", "ann", id="row", labelled={"sampled": "judge"})
    assert states(result) == {"old": "CAUTION", "new": "CAUTION"}
    assert result.settings["weighted"]
    by_chance = table.assign(ann=table["ann"].mask((table["verdict"] == "pass") & (table["row"] % 6 < 4)))
    assert states(conjury.compare_systems(by_chance, "verdict", "ann", id="row"))["new"] == "CAUTION"
    stated = conjury.compare_systems(by_chance, "verdict", "ann", id="row", labelled={"sampled": "random"})
    assert (states(stated)["new"], stated.settings["weighted"]) == ("OK", False)
    assert any("by chance if drawn as stated" in note for note in stated.notes)


def test_a_judge_beside_self_selected_labels_has_no_rate_over_all_rows() -> None:
    table = graded()
    result = conjury.judge(table, "verdict", "ann", labelled={"sampled": "chosen"})
    assert result.verdict[0].startswith("All labels are of rows that people chose themselves")
    assert not result.frame["part"].eq("corrected").any()
    assert "numbers are about these rows" in str(result.claims())
    table["label_sampled"] = np.where(table["row"] < 30, "chosen", "random")
    some = conjury.judge(table, "verdict", "ann")
    assert some.settings["n_both"] == 50
    assert any("30 labels are of rows that people chose" in note for note in some.notes)


def test_what_is_not_stated_is_a_limit_of_the_claims() -> None:
    text = "It is not stated who wrote the labels, whether people labelled without the judge's answer, how"
    assert text in str(conjury.judge(graded(), "verdict", "ann").claims())
    known = {"by": "person", "blind": "yes", "sampled": "random"}
    assert "not stated" not in str(conjury.judge(graded(), "verdict", "ann", labelled=known).claims())


def test_provenance_in_a_file_of_labels_goes_with_them() -> None:
    table = answers()
    labels = table.dropna(subset="ann")[["prompt", "system", "ann"]].assign(label_sampled="hand-picked")
    result = compare(table.drop(columns="ann"), labels=labels)
    assert states(result) == {"old": "NO LEVEL", "new": "NO LEVEL"}


def test_two_versions_of_a_judge_are_said() -> None:
    table = graded().assign(judge_model=lambda t: np.where(t["row"] % 2, "v1", "v2"))
    notes = conjury.judge(table, "verdict", "ann").notes
    assert any("Column 'judge_model' has 2 values" in note for note in notes)


@pytest.mark.parametrize(("change", "labelled", "part"), cases(__file__, "not understood"))
def test_statements_that_are_not_understood_are_asked_about(
    change: dict[str, str], labelled: dict[str, str] | None, part: str
) -> None:
    with pytest.raises(InputError) as refusal:
        compare(answers(30, 12).assign(**change), labelled=labelled)
    assert part in str(refusal.value)


@pytest.mark.parametrize("copied", ["ben", "their mean"])
def test_a_judge_that_copies_one_of_several_people_or_their_mean_is_said(copied: str) -> None:
    rng = np.random.default_rng(3)
    quality = rng.normal(3, 1, 60)
    people = {
        name: np.clip(np.round(quality + rng.normal(0, 0.8, 60)), 1, 5) for name in ("ann", "ben", "eva")
    }
    table = pd.DataFrame(people)
    table.loc[50:, "ben"] = np.nan
    honest = table.assign(score=np.clip(np.round(quality + rng.normal(0, 0.8, 60)), 1, 5))
    assert "as if it had seen" not in str(conjury.judge(honest, "score", list(people)).notes)
    score = table.mean(axis=1).round(12) if copied == "their mean" else table[copied].fillna(3)
    notes = conjury.judge(table.assign(score=score), "score", list(people)).notes
    count = 50 if copied == "ben" else 60
    assert any(f"in all {count} rows that have one, as if it had seen them" in note for note in notes)


def test_ratings_that_a_model_wrote_are_not_those_of_people_in_analyses_of_raters() -> None:
    ratings = [
        (f"q{n}", rater, 1 + (n + shift) % 4, f"{by} {rater}", "no" if n < 3 else "blind")
        for n in range(12)
        for shift, (rater, by) in enumerate([("ann", "person"), ("bob", "person"), ("cyd", "model")])
    ]
    table = pd.DataFrame(ratings, columns=["item", "rater", "score", "label_by", "label_blind"])
    result = conjury.agreement(table, "krippendorff", draws=0)
    alone = table[table["rater"] != "cyd"].drop(columns=["label_by", "label_blind"])
    without = conjury.agreement(alone, "krippendorff", draws=0)
    assert result.frame["estimate"].tolist() == without.frame["estimate"].tolist()
    notes = " ".join(map(str, result.notes))
    assert "12 labels were written by a model and are not used" in notes
    assert "before they gave 6 labels" in notes
    with pytest.raises(InputError, match="'label_by' says 'person' and 'model' of labels of item 'q0'"):
        conjury.judge(table, "ann", ["bob", "cyd"])
