"""Published numbers of labels compared with ours, and with each other."""

from __future__ import annotations

import made_up_benchmark as made
import pandas as pd
import pytest

from conjury.analysis.audit import compare_harm, compare_multiturn, published_numbers
from conjury.analysis.audit.harm_or_humor import harm_checks, implied
from conjury.analysis.figures import draw as figure_of
from conjury.analysis.results import Result
from conjury.inference.errors import InputError


def test_the_dashed_line_of_pooled_scores_is_the_most_frequent_label_of_each_stratum() -> None:
    frame = made.scores(by=()).frame.query("metric == 'accuracy' and task == 'line'")
    by_stratum = frame[frame["judge"] == "majority class"].assign(
        judge="majority class by stratum", estimate=0.45
    )
    figure = figure_of(
        Result(pd.concat([frame, by_stratum], ignore_index=True), "scores", settings={"by": []})
    )
    drawn = {text.get_text() for text in figure.legends[0].get_texts()}
    assert drawn == {"Always the most frequent label of each stratum", "Random label"}


def test_macro_f1_follows_from_what_was_printed_of_texts_and_pictures() -> None:
    found = implied(published_numbers("harm_or_humor_metrics"), published_numbers("harm_or_humor_counts"))
    apart = (found["implied_macro_f1"] - found["macro_f1"]).abs()[found["table"] < 6]
    assert len(apart) == 42
    assert (apart < 0.001).sum() == 40
    clips = found[found["table"] == 6]
    assert (clips["macro_f1"] > clips["accuracy"]).all()
    assert clips.loc[clips["judge"] == "GPT-5 Pro", "specificity"].item() > 1


def test_checks_say_that_printed_agreement_cannot_be_that_of_pairs() -> None:
    told = harm_checks().set_index("check")["finding"]
    assert "6 of 6 cells" in told["agreement above chance"]
    assert "6 of 6 models" in told["macro-F1 of clips"]


def test_numbers_of_judges_who_were_printed_stand_beside_print() -> None:
    frame = made.harm().frame.assign(judge=lambda rows: rows["judge"].replace("qwen3_8b", "gpt_5_2"))
    results = {"scores_modality_language": Result(frame, "scores")}
    found = compare_harm(results, {"gpt_5_2": "GPT-5.2"}).frame
    assert set(found["judge"]) == {"gpt_5_2"}
    text = found[(found["set"] == "text en") & (found["metric"] == "accuracy")]
    assert text["printed"].item() == pytest.approx(0.903)
    with pytest.raises(InputError, match="no published number"):
        compare_harm(results, {"qwen3_32b": "Another"})
    for nothing in (results, {}):
        with pytest.raises(InputError, match="no published number"):
            compare_harm(nothing, {})


def test_without_answers_by_published_rules_there_is_nothing_beside_print() -> None:
    with pytest.raises(InputError, match="no published number"):
        compare_multiturn({}, pd.DataFrame())


def test_answers_to_perturbed_items_stand_beside_print_by_condition() -> None:
    gold = pd.DataFrame({"item_id": ["j1", "j2", "j3"], "label_set": "joke_type", "label": ["dry"] * 3})
    plain = pd.DataFrame({"judge_id": "qwen3_8b", "judge_kind": "model", "item_id": gold["item_id"],
                          "dimension": "joke_type", "value": "dry", "language": "en"})  # fmt: skip
    copies = plain.assign(item_id=plain["item_id"] + "__drift", base_item_id=plain["item_id"], value="dark",
                          condition="drift")  # fmt: skip
    both = pd.concat([plain.assign(condition="none"), copies], ignore_index=True)
    found = compare_multiturn({"v1": both}, gold)
    accuracy = found.frame[found.frame["metric"] == "accuracy"].set_index("condition")
    assert accuracy["table"].to_dict() == {"none": 9, "drift": 15}
    assert accuracy["aligned"].to_dict() == {"none": 1, "drift": 0}
    assert any(
        "252 published numbers are not compared" in note and "cultural" in note for note in found.notes
    )
    alone = compare_multiturn({"v1": plain}, gold)
    assert set(alone.frame["condition"]) == {"none"}
    assert any("336 published numbers" in note and "drift" in note for note in alone.notes)
    as_published = compare_multiturn({"v1": both.replace({"condition": {"drift": "sem_drift"}})}, gold)
    pd.testing.assert_frame_equal(as_published.frame, found.frame)
    other = compare_multiturn({"v1": both.replace({"condition": {"drift": "shuffled"}})}, gold)
    assert any(
        "Answers under shuffled are not compared" in note and "drift" in note and "sem_drift" in note
        for note in other.notes
    )
    without_bases = compare_multiturn({"v1": plain.assign(condition="none")}, gold)
    assert without_bases.frame["aligned"].equals(alone.frame["aligned"])
