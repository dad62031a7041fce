"""Every analysis of a benchmark in one run: what is planned, what is left out, in which order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fits import fit_labels

from conjury.analysis.benchmark import score, scores
from conjury.analysis.benchmark.annotators import annotators, distinctions
from conjury.analysis.benchmark.cards import cards, length_effects
from conjury.analysis.benchmark.data.answered import Answered, missing_in_words, score_study, task_in_words
from conjury.analysis.benchmark.data.scoring import rule_of
from conjury.analysis.pipeline.items import by_published_rules, plan_labels
from conjury.analysis.pipeline.run import FitOptions
from conjury.inference.errors import InputError
from conjury.inference.readers.labels import read_labels
from conjury.inference.study import ItemStudy, load_any_study
from conjury.inference.tables import read_table, write_table

OPTIONS = FitOptions(draws=0)


def study(name: str) -> ItemStudy:
    found = load_any_study(name)
    assert isinstance(found, ItemStudy)
    return found


def answered(name: str, judges: tuple[str, ...] = ("one", "two"), samples: int = 1) -> Answered:
    """Made-up answers to the items of a study: gold with mistakes and gaps."""
    known = study(name)
    assert known.gold is not None
    items, gold = read_table(known.folder / known.items), read_labels(known.folder / known.gold.file, known)
    random = np.random.default_rng(1)
    covers = {label: name for name, labels in known.gold.covers.items() for label in labels}
    prompts = items.set_index("item_id").get("modality")
    rows = []
    for judge in judges:
        for sample in range(1, samples + 1):
            for row in gold.to_dict("records"):
                task = str(row["label_set"])
                labels = known.label_sets["line" if task.startswith("line_") else task].labels
                right = covers.get(row["label"], row["label"])
                value = right if random.uniform() < 0.6 else random.choice([label.id for label in labels])
                gap = random.uniform() < 0.1
                prompt = "joke" if task == "joke_type" else "lines"
                if name == "harm_or_humor":
                    prompt = str(prompts.loc[row["item_id"]])
                rows.append((judge, "model", row["item_id"], prompt, sample, task, None if gap else value,
                             "empty" if gap else "ok", "label/strict@2"))  # fmt: skip
    names = [
        "judge_id",
        "judge_kind",
        "item_id",
        "prompt_id",
        "sample",
        "dimension",
        "value",
        "status",
        "rule",
    ]
    return Answered(known, pd.DataFrame(rows, columns=names), gold, items)


@pytest.mark.long
def test_every_analysis_of_jokes_is_run_and_recorded() -> None:
    given = answered("multiturn", samples=2)
    lenient = given.judgments.assign(rule="label/lenient@2")
    fitted = fit_labels(replace(given, others=[lenient]), OPTIONS)
    assert [one.name for one in fitted.results] == [
        "readings", "scores", "scores_language", "differences", "mixed", "passes", "passes_language",
        "confusion_joke_type", "by_label_joke_type", "confusion_line", "by_label_line", "lengths", "cards",
    ]  # fmt: skip
    assert set(fitted.tables) >= {"scores", "readings__compared", "lengths__ends", "cards"}
    by = fitted.by_name["scores_language"].frame["language"]
    assert list(by.cat.categories) == ["en", "es"]
    assert fitted.by_name["readings"].extra["compared"]["status"].isin(["agree", "neither"]).all()


def test_a_stratum_with_prompts_of_its_own_splits_every_table() -> None:
    given = answered("harm_or_humor")
    names = [planned.name for planned in plan_labels(given, OPTIONS).steps]
    assert [name for name in names if name.startswith("scores")] == [
        "scores_modality",
        "scores_modality_language",
    ]


def test_missing_answers_count_as_wrong_as_nothing_or_as_the_study_says() -> None:
    known = study("harm_or_humor")
    judged = pd.DataFrame(
        {
            "judge_id": "one",
            "judge_kind": "model",
            "item_id": ["a", "b", "c", "d"],
            "dimension": "harm",
            "value": ["harmful", None, None, None],
            "status": ["ok", "empty", "refused", "error"],
        }
    )
    gold = pd.DataFrame({"item_id": list("abcd"), "label_set": "harm", "label": "explicit"})
    found = scores(score_study(Answered(known, judged, gold), judged), metrics=["accuracy"], draws=0).frame
    ours = found[found["judge"] == "one"].set_index("missing")
    assert ours["estimate"].to_dict() == pytest.approx({"wrong": 1 / 4, "missing": 1.0, "study": 2 / 3})
    assert ours["n_units"].to_dict() == {"wrong": 4, "missing": 1, "study": 3}
    assert "empty: 'Harmful'; refused, truncated, unparsed: wrong; error: left out" in missing_in_words(known)


def test_a_rule_for_missing_answers_may_name_a_label_of_a_task_that_was_not_judged() -> None:
    given = answered("multiturn", judges=("one",))
    known = given.study.model_copy(update={"missing": {"empty": "punchline"}})
    asked = given.judgments[given.judgments["dimension"] == "joke_type"]
    assert score_study(replace(given, study=known), asked).policy == {"empty": "punchline"}


def test_pooled_scores_and_lengths_know_the_strata_that_they_pool() -> None:
    planned = {one.name: one for one in plan_labels(answered("multiturn"), OPTIONS).steps}
    pooled, split, lengths = (planned[name].call() for name in ("scores", "scores_language", "lengths"))
    assert (pooled.frame["judge"] == "majority class by stratum").any()
    assert not (split.frame["judge"] == "majority class by stratum").any()
    assert lengths.settings["by"] == ["language"]


def test_perturbed_items_are_compared_and_not_scored() -> None:
    given = answered("multiturn")
    copies = given.judgments.assign(
        base_item_id=given.judgments["item_id"],
        item_id=given.judgments["item_id"] + "-typos",
        condition="orthographic",
    )
    plain = given.judgments.assign(condition="none", base_item_id=given.judgments["item_id"])
    both = replace(given, judgments=pd.concat([plain, copies], ignore_index=True))
    planned = {one.name: one for one in plan_labels(both, OPTIONS).steps}
    assert {"robustness", "robustness_language"} <= set(planned)
    assert planned["robustness_language"].title.endswith("by language")
    kept = planned["scores"].call().frame.query("judge == 'one' and task == 'joke_type'")
    assert kept["n_items"].max() == given.labels["item_id"].nunique()


def test_answers_by_published_rules_keep_their_condition() -> None:
    given = answered("multiturn")
    read = given.judgments.head(4).assign(rule="label/published@1")
    copies = read.assign(item_id=read["item_id"] + "__drift", condition="drift")
    kept = by_published_rules(replace(given, judgments=pd.concat([read, copies], ignore_index=True)))["v2"]
    assert kept["condition"].tolist() == ["none"] * 4 + ["drift"] * 4


@pytest.mark.long
def test_people_whose_votes_are_gold_are_compared_with_each_other_and_not_scored() -> None:
    given = answered("harm_or_humor", judges=("one",))
    people = given.labels.assign(judge_kind="human", prompt_id=None, sample=1, status="ok", rule=None)
    people = people.rename(columns={"label_set": "dimension", "label": "value"}).drop(columns="raw")
    both = pd.concat(
        [given.judgments, *(people.assign(judge_id=name) for name in ("ann", "bob"))], ignore_index=True
    )
    fitted = fit_labels(replace(given, judgments=both), OPTIONS)
    assert set(fitted.by_name["scores_modality"].frame.query("judge_kind != 'baseline'")["judge"]) == {"one"}
    found = fitted.by_name["annotators"].frame
    assert (found["estimate"].dropna() == 1).all()
    assert any("People are not scored" in note for note in fitted.notes)


@pytest.mark.long
def test_what_cannot_be_run_is_left_out_with_a_note() -> None:
    given = answered("multiturn")
    assert given.items is not None
    bare = replace(given, items=given.items.assign(text="same"))
    fitted = fit_labels(bare, OPTIONS)
    assert "lengths" not in fitted.by_name
    assert any(note.startswith("Scores by the length of items: not computed.") for note in fitted.notes)


def test_strings_of_a_published_evaluation_are_not_scored_as_labels() -> None:
    given = answered("multiturn")
    published = replace(given, judgments=given.judgments.assign(rule="label/published@1"))
    planned = [one.name for one in plan_labels(published, OPTIONS).steps]
    assert planned == ["readings", "beside_print"]
    assert rule_of(published.judgments) == "published"
    assert rule_of(given.judgments.drop(columns="rule")) == ""


def test_published_numbers_that_are_not_compared_are_among_the_notes_that_are_printed() -> None:
    given = answered("multiturn")
    read = given.judgments.assign(rule="label/published@1", judge_id="qwen3_8b", condition="shuffled")
    read = read.drop_duplicates(["item_id", "sample", "dimension"])
    plain = replace(given, judgments=pd.concat([read.assign(condition="none"), read], ignore_index=True))
    fitted = fit_labels(plain, OPTIONS)
    assert set(fitted.by_name["beside_print"].frame["condition"]) == {"none"}
    assert any(
        "published numbers are not compared: there are no answers" in note for note in fitted.all_notes
    )
    assert any(note.startswith("Answers under shuffled are not compared") for note in fitted.all_notes)


def of_every_seventh_item(given: Answered) -> Answered:
    kept = given.labels["item_id"].unique()[::7]
    return replace(given, judgments=given.judgments[given.judgments["item_id"].isin(kept)])


def by_language(rule: str, given: Answered) -> list[pd.DataFrame]:
    """Judgments as a file for each language, read by a rule."""
    language = given.judgments["item_id"].map(given.items.set_index("item_id")["language"])
    ruled = given.judgments.assign(rule=f"label/{rule}@1")
    return [ruled[language == level] for level in ("en", "es")]


def test_files_of_one_rule_are_one_reading() -> None:
    given = of_every_seventh_item(answered("multiturn", judges=("one",)))
    lenient = replace(given, judgments=given.judgments.assign(rule="label/lenient@1"))
    others = [*by_language("strict", given), *by_language("published", given)]
    read = replace(lenient, others=others)
    assert [len(table) for table in read.parsed] == [len(given.judgments)] * 2
    assert [len(table) for table in by_published_rules(read).values()] == [len(given.judgments)]
    first = plan_labels(read, OPTIONS).steps[0].call()
    assert first.extra["compared"]["n"].sum() == len(given.judgments)
    with pytest.raises(
        InputError, match=r"two tables contain the judgment of 'one' .* by rule 'strict'; give"
    ):
        plan_labels(replace(lenient, others=[*others, others[0]]), OPTIONS)


def test_a_file_of_the_rule_of_the_data_is_read_with_them() -> None:
    given = of_every_seventh_item(answered("multiturn", judges=("one",)))
    english, spanish = by_language("strict", given)
    read = replace(given, judgments=english, others=[spanish])
    assert len(read.parsed) == 1
    assert plan_labels(read, OPTIONS).steps[0].call().frame["n"].sum() == len(given.judgments)


def test_copies_whose_judgments_name_no_condition_are_those_of_the_items() -> None:
    given = of_every_seventh_item(answered("multiturn", judges=("one",)))
    assert given.items is not None
    plain = given.items.assign(item_id=given.items["item_id"].astype("string"))
    copies = plain.assign(
        base_item_id=plain["item_id"], item_id=plain["item_id"] + "-typos", condition="orthographic"
    )
    items = pd.concat([plain.assign(condition="none"), copies], ignore_index=True)
    renamed = given.judgments.assign(item_id=given.judgments["item_id"] + "-typos")
    both = pd.concat([given.judgments, renamed], ignore_index=True).assign(condition=pd.NA)
    found = replace(given, items=items, judgments=both)
    assert len(found.unperturbed) == len(given.judgments)
    contrary = replace(found, judgments=both.assign(condition="none"))
    with pytest.raises(InputError, match="is another than that of the item"):
        plan_labels(contrary, OPTIONS)


def test_what_scoring_left_out_is_said_once() -> None:
    given = of_every_seventh_item(answered("multiturn", judges=("one",), samples=2))
    surplus = given.judgments.iloc[[-1]].assign(dimension="line_99", lines_shown=3)
    judgments = pd.concat([given.judgments.assign(lines_shown=3), surplus], ignore_index=True)
    read = replace(given, judgments=judgments)
    assert sum("beyond those shown" in note for note in read.scored.notes) == 1
    results = {one.name: one for one in plan_labels(read, OPTIONS).steps}
    for name in ("scores", "confusion_line"):
        assert not set(results[name].call().notes) & set(read.scored.notes)


def test_tasks_are_named_by_the_prompt_that_asks_for_them() -> None:
    assert task_in_words(study("multiturn"), "line") == "Purpose of lines"
    assert task_in_words(study("harm_or_humor"), "harm") == "Harm"


def test_length_effects_are_scores_of_groups_of_items() -> None:
    n = 40
    items = pd.DataFrame({"item_id": [f"j{k}" for k in range(n)], "text": ["x" * (k + 1) for k in range(n)]})
    given = ["safe"] * 20 + ["harmful"] * 20
    judged = items.assign(judge_id="gpt", judge_kind="model", dimension="harm", value=given)
    gold = pd.DataFrame({"item_id": items["item_id"], "label_set": "harm", "label": "safe"})
    gold.loc[0, "label"] = "harmful"
    found = length_effects(score(judged, gold), items, draws=50, metrics=["accuracy"])
    assert found.frame["estimate"].tolist() == [0.9, 1.0, 0.0, 0.0]
    assert found.frame["longest"].tolist() == [10, 20, 30, 40]
    assert found.extra["ends"]["estimate"].item() == pytest.approx(-0.9)
    with pytest.raises(InputError, match="two groups of lengths"):
        length_effects(score(judged, gold), items.assign(text="same"), draws=0)


def test_cards_pick_the_item_that_every_judge_misses_with_its_raw_answer() -> None:
    judged = pd.DataFrame(
        {"judge_id": ["a", "b"] * 2, "judge_kind": "model", "prompt_id": "joke", "sample": 1,
         "item_id": ["j1", "j1", "j2", "j2"], "dimension": "harm", "value": [*["safe"] * 3, "harmful"]}
    )  # fmt: skip
    gold = pd.DataFrame({"item_id": ["j1", "j2"], "label_set": "harm", "label": ["harmful", "safe"]})
    items = pd.DataFrame({"item_id": ["j1", "j2"], "text": ["A dog.", "A cat."]})
    raw = judged[["judge_id", "prompt_id", "item_id", "sample"]].assign(text=["r1", "r2", "r3", "r4"])
    found = cards(score(judged, gold), items, responses=raw).frame
    assert found[["reason", "item_id"]].drop_duplicates().values.tolist() == [
        ["hard", "j1"],
        ["divided", "j2"],
    ]
    assert found["raw"].tolist() == ["r1", "r2", "r3", "r4"]
    with pytest.raises(InputError, match="nothing to show"):
        cards(score(judged, gold), items.assign(item_id=["x", "y"]))


def test_agreement_on_kinds_of_harm_is_among_those_who_see_harm() -> None:
    rows = [("a", "j1", "safe"), ("b", "j1", "implicit"), ("a", "j2", "implicit"), ("b", "j2", "explicit")]
    votes = pd.DataFrame(rows, columns=["judge_id", "item_id", "value"]).assign(judge_kind="human")
    covers = {"harmful": ["implicit", "explicit"], "safe": ["safe"]}
    told = distinctions(votes, covers)
    assert told.groupby("dimension").size().to_dict() == {"harmful_vs_safe": 4, "implicit_vs_explicit": 3}
    found = annotators(votes.assign(dimension="harm"), covers=covers, draws=0, coefficients=["percent"]).frame
    assert found.set_index("dimension")["estimate"].to_dict() == {
        "harmful_vs_safe": 0.5, "implicit_vs_explicit": 0.0
    }  # fmt: skip
    with pytest.raises(InputError, match="not two people"):
        annotators(votes.assign(judge_id="a", dimension="harm"))


def test_labels_as_they_were_written_outlive_being_read_twice(tmp_path: Path) -> None:
    known = study("multiturn")
    written = pd.DataFrame({"item_id": ["j1"], "label_set": ["joke_type"], "label": ["Absurdism"]})
    write_table(written, tmp_path / "labels.csv")
    once = read_labels(tmp_path / "labels.csv", known)
    write_table(once, tmp_path / "again.parquet")
    assert read_labels(tmp_path / "again.parquet", known)[["label", "raw"]].values.tolist() == [
        ["surreal_absurdism", "Absurdism"]
    ]
