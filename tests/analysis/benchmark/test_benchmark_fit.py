"""All analyses of a benchmark in one run: what is planned, what is excluded, in which order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fits import fit_labels
from made_up.labels import answers_to, gold_of

from conjury.analysis.benchmark import passes, score, scores
from conjury.analysis.benchmark.annotators import annotators, distinctions
from conjury.analysis.benchmark.cards import cards, length_effects
from conjury.analysis.benchmark.data.label_answers import LabelAnswers, missing_in_words, score_study
from conjury.analysis.benchmark.data.scoring import rule_of
from conjury.analysis.figures import alt as alt_of
from conjury.analysis.pipeline.item_steps import plan_labels
from conjury.analysis.pipeline.recovery import label_recovery
from conjury.analysis.pipeline.runner import FitOptions
from conjury.analysis.pipeline.wings.published import by_published_rules
from conjury.analysis.results import Result
from conjury.inference.errors import InputError
from conjury.inference.readers.judged.gold_labels import read_labels
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import ItemStudy, load_any_study
from conjury.inference.tables import read_table, write_table

pytestmark = pytest.mark.long

OPTIONS = FitOptions(draws=0)


@cache
def study(name: str) -> ItemStudy:
    found = load_any_study(name)
    assert isinstance(found, ItemStudy)
    return found


@cache
def answered(name: str = "multiturn", judges: tuple[str, ...] = ("one",), samples: int = 1) -> LabelAnswers:
    """Made-up answers to the items of a study: gold with mistakes and missing answers."""
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
                answer = (None, "empty") if random.uniform() < 0.1 else (value, "ok")
                prompt = "joke" if task == "joke_type" else "lines"
                if name == "harm_or_humor":
                    prompt = str(prompts.loc[row["item_id"]])
                rows.append((judge, row["item_id"], prompt, sample, task, *answer))
    names = ["judge_id", "item_id", "prompt_id", "sample", "dimension", "value", "status"]
    judged = pd.DataFrame(rows, columns=names).assign(judge_kind="model", rule="label/strict@2")
    return LabelAnswers(known, judged, gold, items)


def of_every_seventh_item(samples: int = 1) -> LabelAnswers:
    given = answered(samples=samples)
    kept = given.labels["item_id"].unique()[::7]
    return replace(given, judgments=given.judgments[given.judgments["item_id"].isin(kept)])


def steps(given: LabelAnswers) -> dict[str, Any]:
    return {planned.name: planned for planned in plan_labels(given, OPTIONS).steps}


def both(*tables: pd.DataFrame) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True)


def some(notes: Iterable[str], text: str) -> bool:
    return any(text in note for note in notes)


def test_every_analysis_of_jokes_is_run_and_recorded() -> None:
    given = answered(judges=("one", "two"), samples=2)
    lenient = given.judgments.assign(rule="label/lenient@3")
    fitted = fit_labels(replace(given, others=[lenient]), OPTIONS)
    assert [one.name for one in fitted.results] == [
        "readings", "scores", "scores_language", "differences", "gaps_language", "mixed", "passes",
        "passes_language", "confusion_joke_type", "by_label_joke_type", "confusion_line", "by_label_line",
        "lengths", "cards", "protocol",
    ]  # fmt: skip
    protocol = fitted.by_name["protocol"].frame.set_index(["judge", "task", "set", "metric", "k"])["estimate"]
    assert protocol["one", "joke_type", "full", "accuracy", 1] > 0.3  # on their own items, by labels in words
    assert set(fitted.tables) >= {"scores", "readings__compared", "lengths__ends", "cards"}
    by = fitted.by_name["scores_language"].frame["language"]
    assert list(by.cat.categories) == ["en", "es"]
    assert fitted.by_name["readings"].extra["compared"]["status"].isin(["agree", "neither"]).all()


def test_a_stratum_with_prompts_of_its_own_splits_every_table() -> None:
    planned = steps(answered("harm_or_humor"))
    assert [n for n in planned if n.startswith("scores")] == ["scores_modality", "scores_modality_language"]
    assert ("gaps_label" in planned, "gaps_label" in steps(answered())) == (
        True,
        False,
    )  # harm has two labels


def test_missing_answers_are_wrong_excluded_or_scored_as_the_study_says() -> None:
    known = study("harm_or_humor")
    status = ["ok", "empty", "refused", "error"]
    judged = answers_to("abcd", ["harmful", None, None, None], status=status)
    judged["judge_id"] = "gemini_3_pro"
    given = LabelAnswers(known, judged, gold_of("abcd", "explicit"))
    found = scores(score_study(given, judged), metrics=["accuracy"], draws=0).frame
    ours = found[found["judge"] == "gemini_3_pro"].set_index("missing")
    assert ours["estimate"].to_dict() == pytest.approx({"wrong": 1 / 4, "missing": 1.0, "study": 2 / 3})
    assert ours["n_units"].to_dict() == {"wrong": 4, "missing": 1, "study": 3}
    assert "; empty of Gemini 3 Pro, empty of Gemini 2.5 Pro: 'Harmful'" in missing_in_words(known)
    given = answered()
    punchline = given.study.model_copy(update={"missing": {"empty": "punchline"}})
    asked = given.judgments[given.judgments["dimension"] == "joke_type"]  # lines were not judged
    assert score_study(replace(given, study=punchline), asked).policy == {"empty": "punchline"}


def test_pooled_scores_and_lengths_name_the_strata_that_they_pool() -> None:
    planned = steps(answered())
    pooled, split, lengths = (planned[name].call() for name in ("scores", "scores_language", "lengths"))
    assert (pooled.frame["judge"] == "majority class by stratum").any()
    assert not (split.frame["judge"] == "majority class by stratum").any()
    assert lengths.settings["by"] == ["language"]
    assert "passes" not in planned  # of one answer per item


def test_perturbed_items_are_compared_and_not_scored() -> None:
    given = answered(judges=("one", "two"))
    item = given.judgments["item_id"]
    copies = given.judgments.assign(base_item_id=item, item_id=item + "-typos", condition="orthographic")
    plain = given.judgments.assign(condition="none", base_item_id=item)
    planned = steps(replace(given, judgments=both(plain, copies)))
    assert {"robustness", "robustness_language"} <= set(planned)
    assert planned["robustness_language"].title.endswith("by language")
    kept = planned["scores"].call().frame.query("judge == 'one' and task == 'joke_type'")
    assert kept["n_items"].max() == given.labels["item_id"].nunique()


def test_people_whose_votes_are_gold_are_compared_with_each_other_and_not_scored() -> None:
    given = answered("harm_or_humor")
    people = given.labels.rename(columns={"label_set": "dimension", "label": "value"}).drop(columns="raw")
    people = people.assign(judge_kind="human", prompt_id=None, sample=1, status="ok", rule=None)
    judgments = both(given.judgments, *(people.assign(judge_id=name) for name in ("ann", "bob")))
    fitted = fit_labels(replace(given, judgments=judgments), OPTIONS)
    assert set(fitted.by_name["scores_modality"].frame.query("judge_kind != 'baseline'")["judge"]) == {"one"}
    assert (fitted.by_name["annotators"].frame["estimate"].dropna() == 1).all()
    assert some(fitted.notes, "Only models are scored")


def test_what_cannot_be_run_is_excluded_with_a_note() -> None:
    given = answered(judges=("one", "two"))
    fitted = fit_labels(replace(given, items=given.items.assign(text="same")), OPTIONS)
    assert "lengths" not in fitted.by_name
    assert some(fitted.notes, "Scores by the length of items: not computed.")


def test_strings_of_a_published_evaluation_are_not_scored_as_labels() -> None:
    given = answered()
    published = replace(given, judgments=given.judgments.assign(rule="label/published@1"))
    assert list(steps(published)) == ["readings", "published_scores"]
    assert rule_of(published.judgments) == "published"
    assert rule_of(given.judgments.drop(columns="rule")) == ""
    read = published.judgments.head(4)
    copies = read.assign(item_id=read["item_id"] + "__drift", condition="drift")
    kept = by_published_rules(replace(given, judgments=both(read, copies)))["v2"]
    assert kept["condition"].tolist() == ["none"] * 4 + ["drift"] * 4


def test_notes_name_published_numbers_that_are_not_compared() -> None:
    given = answered()
    read = given.judgments.assign(rule="label/published@1", judge_id="qwen3_8b", condition="shuffled")
    plain = replace(given, judgments=both(read.assign(condition="none"), read))
    fitted = fit_labels(plain, OPTIONS)
    assert set(fitted.by_name["published_scores"].frame["condition"]) == {"none"}
    assert some(fitted.all_notes, "published numbers are not compared: there are no answers")
    assert some(fitted.all_notes, "Answers under shuffled are not compared")


def by_language(rule: str, given: LabelAnswers) -> list[pd.DataFrame]:
    """Judgments as one file per language, parsed by a rule."""
    language = given.judgments["item_id"].map(given.items.set_index("item_id")["language"])
    ruled = given.judgments.assign(rule=f"label/{rule}@1")
    return [ruled[language == level] for level in ("en", "es")]


def test_files_of_one_rule_are_combined() -> None:
    given = of_every_seventh_item()
    n = len(given.judgments)
    lenient = replace(given, judgments=given.judgments.assign(rule="label/lenient@1"))
    others = [*by_language("strict", given), *by_language("published", given)]
    read = replace(lenient, others=others)
    assert [len(table) for table in read.parsed] == [n] * 2
    assert [len(table) for table in by_published_rules(read).values()] == [n]
    assert steps(read)["readings"].call().extra["compared"]["n"].sum() == n
    twice = r"two tables contain the judgment of 'one' .* by rule 'strict'; give"
    with pytest.raises(InputError, match=twice):
        plan_labels(replace(lenient, others=[*others, others[0]]), OPTIONS)
    english, spanish = by_language("strict", given)
    read = replace(given, judgments=english, others=[spanish])
    assert len(read.parsed) == 1
    assert steps(read)["readings"].call().frame["n"].sum() == n


def test_copies_whose_judgments_name_no_condition_are_those_of_the_items() -> None:
    given = of_every_seventh_item()
    plain = given.items.assign(item_id=given.items["item_id"].astype("string"), condition="none")
    name = plain["item_id"]
    items = both(plain, plain.assign(base_item_id=name, item_id=name + "-typos", condition="orthographic"))
    renamed = given.judgments.assign(item_id=given.judgments["item_id"] + "-typos")
    judgments = both(given.judgments, renamed)
    found = replace(given, items=items, judgments=judgments.assign(condition=pd.NA))
    assert len(found.unperturbed) == len(given.judgments)
    with pytest.raises(InputError, match="is another than that of the item"):
        plan_labels(replace(found, judgments=judgments.assign(condition="none")), OPTIONS)


def test_what_scoring_excludes_is_noted_once() -> None:
    given = of_every_seventh_item(samples=2)
    surplus = given.judgments.iloc[[-1]].assign(dimension="line_99")
    read = replace(given, judgments=both(given.judgments, surplus).assign(lines_shown=3))
    assert sum("beyond those shown" in note for note in read.scored.notes) == 1
    planned = steps(read)
    for name in ("scores", "confusion_line"):
        assert not set(planned[name].call().notes) & set(read.scored.notes)


def of_lengths(n: int) -> pd.DataFrame:
    """Items with texts of 1, 2, ... letters."""
    return pd.DataFrame(
        {"item_id": [f"j{k:02d}" for k in range(n)], "text": ["x" * (k + 1) for k in range(n)]}
    )


def test_length_effects_are_scores_of_groups_of_items() -> None:
    items = of_lengths(40)
    gold = gold_of(items["item_id"], ["harmful"] + ["safe"] * 39)
    scored = score(answers_to(items["item_id"], ["safe"] * 20 + ["harmful"] * 20), gold)
    found = length_effects(scored, items, draws=50, metrics=["accuracy"])
    assert found.frame["estimate"].tolist() == [0.9, 1.0, 0.0, 0.0]
    assert found.frame["longest"].tolist() == [10, 20, 30, 40]
    assert found.extra["ends"]["estimate"].item() == pytest.approx(-0.9)
    with pytest.raises(InputError, match="two groups of lengths"):
        length_effects(scored, items.assign(text="same"), draws=0)


def test_items_that_are_there_twice_count_once_and_are_refused_if_they_differ() -> None:
    items = of_lengths(8)
    twice = pd.concat([items, items.iloc[[3]]], ignore_index=True)
    contrary = twice.assign(text=[*twice["text"][:-1], "other"])
    gold = gold_of(items["item_id"], ["harmful"] + ["safe"] * 7)
    answers = answers_to(items["item_id"], ["safe"] * 4 + ["harmful"] * 4)
    scored = score(answers, gold)
    verbs = (
        lambda items: length_effects(scored, items, draws=0, metrics=["accuracy"]).frame,
        lambda items: cards(scored, items).frame,
        lambda items: score(answers, gold, items=items).frame,
    )
    for verb in verbs:
        pd.testing.assert_frame_equal(verb(twice), verb(items))
        with pytest.raises(
            InputError, match=r"row 9 of column 'item_id' repeats an earlier item with other values"
        ):
            verb(contrary)


def test_differences_between_languages_are_no_effect_of_length() -> None:
    """Short items in one language are all right, long ones in another all but one wrong."""
    n = np.arange(80)
    language = np.repeat(["en", "es"], 40)
    items = of_lengths(80).assign(language=language)
    gold = gold_of(items["item_id"], "safe")
    value = np.where((language == "en") ^ (n % 10 == 0), "safe", "harmful")
    made = score(answers_to(items["item_id"], value), gold, items=items)
    across = length_effects(made, items, metrics=["accuracy"], draws=200).extra["ends"]
    assert across["estimate"].item() < -0.7
    found = length_effects(made, items, within=["language"], draws=200)
    right = found.extra["ends"].query("metric == 'accuracy'").set_index("language")
    assert right["estimate"].abs().max() < 0.15
    smallest = min(1, right["p"].min() * right["p"].notna().sum())  # adjusted within a task and metric
    assert right["p_adjusted"].min() == pytest.approx(smallest)
    assert found.frame.groupby("language")["longest"].max().to_dict() == {"en": 40, "es": 80}
    assert found.settings["by"] == ["language"]
    assert "Lengths are grouped and compared within each value of language." in found.notes
    alike = items.assign(text=items["text"].where(items["language"] == "en", "same"))
    found = length_effects(made, alike, within=["language"], draws=0)
    assert set(found.frame["language"]) == {"en"}
    assert some(found.notes, "40 items are excluded")
    assert not some(found.notes, "no text")


def test_cards_show_the_item_that_every_judge_misses_with_its_raw_answer() -> None:
    judged = answers_to(["j1", "j1", "j2", "j2"], [*["safe"] * 3, "harmful"], prompt_id="joke", sample=1)
    judged["judge_id"] = ["a", "b"] * 2
    gold = gold_of(["j1", "j2"], ["harmful", "safe"])
    items = pd.DataFrame({"item_id": ["j1", "j2"], "text": ["A dog.", "A cat."]})
    raw = judged[["judge_id", "prompt_id", "item_id", "sample"]].assign(text=["r1", "r2", "r3", "r4"])
    found = cards(score(judged, gold), items, responses=raw).frame
    reasons = found[["reason", "item_id"]].drop_duplicates().values.tolist()
    assert reasons == [["hard", "j1"], ["divided", "j2"]]
    assert found["raw"].tolist() == ["r1", "r2", "r3", "r4"]
    with pytest.raises(InputError, match="no items can be shown"):
        cards(score(judged, gold), items.assign(item_id=["x", "y"]))


def test_the_item_with_most_missing_answers_is_shown_and_none_if_all_are_answered() -> None:
    gold = gold_of(["j1", "j2", "j3"], "safe")
    items = pd.DataFrame({"item_id": ["j1", "j2", "j3"], "text": ["A dog.", "A cat.", "A hen."]})
    for value, shown in ((["safe", "safe", None], ["j3"]), (["safe"] * 3, [])):
        judged = answers_to(items["item_id"], value, status=["ok" if one else "refused" for one in value])
        picked = cards(score(judged, gold), items, reasons=["silent", "easy"]).frame
        assert picked.loc[picked["reason"] == "silent", "item_id"].tolist() == shown


def test_agreement_on_kinds_of_harm_is_among_people_who_see_harm() -> None:
    rows = [("a", "j1", "safe"), ("b", "j1", "implicit"), ("a", "j2", "implicit"), ("b", "j2", "explicit")]
    votes = pd.DataFrame(rows, columns=["judge_id", "item_id", "value"]).assign(judge_kind="human")
    covers = {"harmful": ["implicit", "explicit"], "safe": ["safe"]}
    sizes = distinctions(votes, covers).groupby("dimension").size().to_dict()
    assert sizes == {"harmful_vs_safe": 4, "implicit_vs_explicit": 3}
    found = annotators(votes.assign(dimension="harm"), covers=covers, draws=0, coefficients=["percent"]).frame
    estimates = found.set_index("dimension")["estimate"].to_dict()
    assert estimates == {"harmful_vs_safe": 0.5, "implicit_vs_explicit": 0.0}
    with pytest.raises(InputError, match="at least two people"):
        annotators(votes.assign(judge_id="a", dimension="harm"))


def test_raw_labels_are_kept_when_they_are_read_twice(tmp_path: Path) -> None:
    written = pd.DataFrame({"item_id": ["j1"], "label_set": ["joke_type"], "label": ["Absurdism"]})
    write_table(written, tmp_path / "labels.csv")
    write_table(read_labels(tmp_path / "labels.csv", study("multiturn")), tmp_path / "again.parquet")
    again = read_labels(tmp_path / "again.parquet", study("multiturn"))
    assert again[["label", "raw"]].values.tolist() == [["surreal_absurdism", "Absurdism"]]


def simulated(name: str, **options: object) -> tuple[LabelAnswers, pd.DataFrame]:
    made = simulate_labels(study(name), seed=3, **options)
    return LabelAnswers(study(name), made.judgments, made.labels, made.items), made.truth


def test_scores_of_all_items_cells_and_gold_labels_are_compared_with_the_truth() -> None:
    given, truth = simulated("harm_or_humor", items=240, judges=["gpt_4o", "human"])
    scored = score_study(given, given.of_models)
    people = given.judgments[given.judgments["judge_kind"] == "human"]
    covers = given.study.gold.covers
    found = label_recovery(
        {
            "whole": scores(scored, by=["modality"], draws=200),
            "cells": scores(scored, by=["modality", "language"], draws=200),
            "half": scores(scored, by=["language"], draws=0),
            "people": annotators(people, by=["modality"], items=given.items, covers=covers, draws=0),
        },
        truth,
    )
    whole = found[found["analysis"] == "whole"]
    assert set(whole["quantity"]) == {"accuracy", "accuracy_answered", "missing"}
    assert {"", "implicit", "explicit"} == set(whole["gold"])
    assert (whole["modality"] == "").all()
    assert not (found["analysis"] == "half").any()
    accuracy = "quantity == 'accuracy' and prompt == 'text' and gold == ''"
    of_all = truth.query(f"{accuracy} and language == ''")
    assert whole.query(accuracy)["truth"].item() == of_all["value"].item()
    assert set(found.loc[found["analysis"] == "cells", "language"]) >= {"en", "ar"}
    people = found[found["analysis"] == "people"]
    assert set(people["quantity"]) == {"percent_agreement", "fleiss_kappa"}
    assert (people["truth"] - people["estimate"]).abs().max() < 0.15
    assert found["inside"].mean() > 0.8
    assert "Accuracy of the answers given" in alt_of(Result(found, "recovery"))


def test_passes_are_compared_with_the_truth_of_the_same_number_of_answers() -> None:
    given, truth = simulated("multiturn", items=60, judges=["qwen3_8b"], samples=3)
    result = passes(score_study(given, given.unperturbed), draws=200)
    found = label_recovery({"passes": result}, truth)
    joke = found[(found["task"] == "joke_type") & (found["quantity"] == "pass_at_k")]
    assert joke["k"].tolist() == ["1", "2", "3"]
    assert joke["truth"].is_monotonic_increasing
    assert found["inside"].mean() > 0.7
    other = replace(result, frame=result.frame.assign(judge="another"))
    assert label_recovery({"passes": other}, truth).empty


def test_a_share_of_missing_answers_is_compared_once() -> None:
    key = {"judge": "gpt", "prompt": "text", "task": "harm"}
    frame = pd.DataFrame({**key, "metric": "missing_rate", "missing": ["wrong", "missing"]})
    frame = frame.assign(estimate=0.1, lower=0.0, upper=0.2)
    truth = pd.DataFrame({**key, "quantity": ["missing"], "condition": "none", "gold": "", "k": pd.NA})
    result = Result(frame, "scores", settings={"by": []})
    found = label_recovery({"scores": result}, truth.assign(value=0.3))
    assert found[["truth", "inside"]].to_numpy().tolist() == [[pytest.approx(0.3), False]]


def test_estimates_by_one_of_two_strata_are_of_all_items_if_each_of_several_prompts_has_one_level() -> None:
    key = {"judge": "gpt", "prompt": ["text", "picture"], "task": "harm"}
    frame = pd.DataFrame({**key, "modality": ["words", "image"], "metric": "accuracy", "missing": "wrong"})
    result = Result(
        frame.assign(estimate=[0.6, 0.7], lower=0.5, upper=0.8), "scores", settings={"by": ["modality"]}
    )
    truth = pd.DataFrame({**key, "quantity": "accuracy", "condition": "none", "gold": "", "k": pd.NA})
    truth = truth.assign(modality="", language="", value=[0.7, 0.9])
    compared = label_recovery({"scores": result}, truth)
    columns = ["prompt", "modality", "truth", "estimate", "inside"]
    assert compared[columns].to_numpy().tolist() == [
        ["text", "", 0.7, 0.6, True],
        ["picture", "", 0.9, 0.7, False],
    ]
    of_text = replace(result, frame=result.frame.iloc[:1])
    assert label_recovery({"scores": of_text}, truth).empty


def test_calibration_is_fitted_where_answers_have_probabilities() -> None:
    plain = of_every_seventh_item()
    assert "calibration" not in steps(plain)
    sure = np.random.default_rng(2).uniform(0.3, 0.9, len(plain.judgments))
    given = replace(plain, judgments=plain.judgments.assign(probability=sure))
    planned = steps(given)
    assert list(planned).index("calibration") > list(planned).index("scores")
    found = planned["calibration"].call()
    assert set(found.frame["event"]) == {"given label"}
    assert found.frame["estimate"].notna().any()
    assert "slope" in alt_of(found)
