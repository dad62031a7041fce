"""Checks that compare tables: lengths and counts, repeated rows, and the public jokes of several lines."""

from __future__ import annotations

import pandas as pd
import pytest

from conjury.analysis.checks.files.lengths import lengths
from conjury.analysis.checks.files.repeated_keys import repeated_keys


def items(n: int = 20, **columns: object) -> pd.DataFrame:
    texts = [f"One {k}.\nTwo.\nThree." for k in range(n)]
    return pd.DataFrame({"item_id": [f"j{k:02d}" for k in range(n)], "text": texts, **columns})


def gold(n_lines: list[int]) -> pd.DataFrame:
    rows = [(f"j{k:02d}", f"line_{line}", "setup") for k, n in enumerate(n_lines) for line in range(1, n + 1)]
    return pd.DataFrame(rows, columns=["item_id", "label_set", "label"])


def judgments(judges: dict[str, int], n_lines: int = 3, samples: int = 1) -> pd.DataFrame:
    rows = [
        (judge, "model", "p", f"j{k:02d}", sample, f"line_{line}", "setup", "ok")
        for judge, n in judges.items()
        for k in range(n)
        for sample in range(1, samples + 1)
        for line in range(1, n_lines + 1)
    ]
    columns = ["judge_id", "judge_kind", "prompt_id", "item_id", "sample", "dimension", "value", "status"]
    return pd.DataFrame(rows, columns=columns)


def test_tables_that_agree_pass() -> None:
    check = lengths(items(), gold([3] * 20), judgments({"m": 20, "k": 20}, samples=2))
    assert (check.verdict, check.rows) == ("pass", None)
    assert check.finding.startswith("No number differs (gold labels and lines, labels of answers and lines, ")
    for alone in (lengths(items()), lengths(None, gold([3]))):
        assert alone.verdict == "not_applicable"


def test_items_with_another_number_of_gold_labels_than_lines_are_an_error() -> None:
    check = lengths(items(), gold([3] * 18 + [4, 2]))
    assert check.verdict == "error"
    assert "differs from the number of lines in 2 of 20 items (10.0%)" in check.finding
    assert check.rows is not None
    assert check.rows[["item_id", "n_lines", "n_labels"]].to_numpy().tolist() == [
        ["j18", 3, 4],
        ["j19", 3, 2],
    ]
    assert lengths(items(100), gold([3] * 99 + [4])).verdict == "warning"


def test_answers_with_another_number_of_labels_are_counted_by_judge() -> None:
    answers = pd.concat([judgments({"m": 20}), judgments({"k": 20}, n_lines=2)])
    check = lengths(items(), None, answers)
    assert check.verdict == "warning"
    assert (
        "k gave another number of labels than there are lines in 20 of 20 answers (100.0%)" in check.finding
    )
    table = check.table.set_index(["label", "judge"])
    assert table.loc[("labels of answers and lines", "m"), "n_differ"] == 0
    assert table.loc[("labels of answers and lines", "k"), "estimate"] == 1


def test_judgments_of_unknown_items_are_an_error_and_gold_labels_a_warning() -> None:
    assert lengths(items(19), None, judgments({"m": 20})).verdict == "error"
    check = lengths(items(19), gold([3] * 20))
    assert check.verdict == "warning"
    assert check.finding.startswith("1 item with gold labels is not in the table of items.")


@pytest.mark.parametrize(("n", "verdict"), [(20, "pass"), (18, "warning"), (5, "pass")])
def test_few_items_without_judgments_were_lost_and_many_were_not_asked(n: int, verdict: str) -> None:
    assert lengths(items(), None, judgments({"m": n})).verdict == verdict


def test_items_of_a_modality_that_no_judge_takes_are_not_lost() -> None:
    modality = ["text"] * 17 + ["video"] * 3
    assert lengths(items(modality=modality), None, judgments({"m": 17})).verdict == "pass"
    assert lengths(items(modality=["text"] * 20), None, judgments({"m": 17})).verdict == "warning"
    both = lengths(items(modality=modality), None, judgments({"m": 17, "k": 20}))
    assert both.verdict == "pass"


def test_runs_with_different_items_are_named() -> None:
    check = lengths(items(), None, judgments({"m": 20, "k": 17}))
    assert check.verdict == "warning"
    assert "1 of 2 runs under p lack items of other runs (at most 3 of 20)" in check.finding
    assert check.rows is not None
    assert check.rows["item_id"].tolist() == ["j17", "j18", "j19"]


def test_a_row_that_is_there_under_another_spelling_is_repeated() -> None:
    table = judgments({"GPT-4": 5}, n_lines=1)
    check = repeated_keys(pd.concat([table, table.iloc[:2].assign(judge_id="gpt-4 ")]))
    assert check.verdict == "warning"
    assert check.rows is not None
    assert check.rows[["row", "earlier"]].to_numpy().tolist() == [[6, 1], [7, 2]]
    assert check.rows["spelling"].all()
    assert "2 rows of 1 table have the key of an earlier row" in check.finding
    other = repeated_keys(pd.concat([table, table.iloc[[0]].assign(value="other")]))
    assert other.verdict == "error"
    assert "1 of them have another value" in other.finding


def test_samples_lines_and_conditions_are_no_repetitions_and_ids_read_as_numbers_are() -> None:
    table = judgments({"m": 5, "k": 5}, samples=3)
    both = pd.concat([table.assign(condition="none"), table.assign(condition="drift")])
    assert repeated_keys(both, items=items(), labels=gold([3] * 5)).verdict == "pass"
    assert repeated_keys().verdict == "not_applicable"
    labels = pd.DataFrame({"item_id": ["1", "2", "1.0"], "label_set": "t", "label": ["a", "b", "a"]})
    assert repeated_keys(labels=labels).table.iloc[0]["repeated"] == 1
