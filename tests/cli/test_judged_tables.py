"""Tables that ``conjury judge`` and ``conjury compare-runs`` read, refuse, or describe in a note."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.inference.tables.files import EXAMPLES

pytestmark = pytest.mark.long

Run = Callable[..., Any]


def estimates(ended: Any) -> dict[str, Any]:
    """Estimates that a command printed as JSON, by name."""
    assert ended.code == 0, ended.err
    return {one["name"]: one for one in json.loads(ended.out)["estimates"]}


def test_ratings_with_an_empty_cell_are_those_of_the_complete_rows(tmp_path: Path, conjury: Run) -> None:
    random = np.random.default_rng(7)
    quality = random.normal(50, 10, 40)
    frame = pd.DataFrame({name: quality + random.normal(0, 4, 40) for name in ("judge", "human")}).round(1)
    frame.drop(index=3).to_csv(tmp_path / "complete.csv", index=False)
    for column in ("judge", "human"):
        gap = frame.copy()
        gap.loc[3, column] = np.nan
        gap.to_csv(tmp_path / "gap.csv", index=False)
        result, expected = (
            estimates(conjury(f"judge {name}.csv --judge judge --human human --json", cwd=tmp_path))
            for name in ("gap", "complete")
        )
        assert [result[name] for name in ("icc", "pearson", "bias")] == [
            expected[name] for name in ("icc", "pearson", "bias")
        ]


def prompts(n: int = 100, times: int = 5, seed: int = 1) -> pd.DataFrame:
    """Verdicts on several answers of each prompt, which people label alike."""
    random = np.random.default_rng(seed)
    truth = np.repeat(random.random(n) < 0.5, times)
    verdict = np.where(random.random(n * times) < 0.8, truth, ~truth)
    labels = np.array(["no", "yes"])
    return pd.DataFrame(
        {
            "prompt_id": np.repeat(np.arange(n), times),
            "judge": labels[verdict.astype(int)],
            "human": labels[truth.astype(int)],
        }
    )


def test_rows_of_one_prompt_are_clustered_and_the_page_says_so(tmp_path: Path, conjury: Run) -> None:
    prompts().to_csv(tmp_path / "a.csv", index=False)
    expected = estimates(conjury("judge a.csv --id prompt_id --json", cwd=tmp_path))
    result = estimates(conjury("judge a.csv --json", cwd=tmp_path))
    assert result == expected
    assert expected["kappa"]["clusters"] == 100
    assert "Column 'prompt_id' repeats (500 rows about 100 items)" in conjury("judge a.csv", cwd=tmp_path).out


def test_runs_of_rows_with_an_id_are_clustered_by_the_prompt_that_repeats(
    tmp_path: Path, conjury: Run
) -> None:
    frame = prompts().assign(id=range(500))
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.assign(judge=prompts(seed=2)["judge"]).to_csv(tmp_path / "b.csv", index=False)
    result = estimates(conjury("compare-runs a.csv b.csv --json", cwd=tmp_path))
    expected = estimates(conjury("compare-runs a.csv b.csv --json --cluster prompt_id", cwd=tmp_path))
    assert result == expected
    assert result["accuracy_difference"]["clusters"] == 100
    assert "name another with --cluster" in conjury("compare-runs a.csv b.csv", cwd=tmp_path).out


@pytest.mark.parametrize("column", ["topic_id", "question"])
def test_a_column_that_may_name_items_is_pointed_out(tmp_path: Path, conjury: Run, column: str) -> None:
    frame = prompts().rename(columns={"prompt_id": column})
    frame[column] = "Which of these is longer? " + frame[column].astype(str)
    frame.to_csv(tmp_path / "a.csv", index=False)
    ended = conjury("judge a.csv", cwd=tmp_path)
    assert f"Column '{column}' repeats, and rows are treated as independent" in " ".join(ended.out.split())
    assert estimates(conjury("judge a.csv --json", cwd=tmp_path))["kappa"]["clusters"] == 500


@pytest.mark.parametrize("copied", [240, 7])
def test_rows_that_are_there_twice_are_refused_and_add_nothing_to_their_items(
    tmp_path: Path, conjury: Run, copied: int
) -> None:
    frame = pd.read_csv(EXAMPLES / "judge" / "comments.csv")
    frame.to_csv(tmp_path / "once.csv", index=False)
    pd.concat([frame, frame.head(copied)]).to_csv(tmp_path / "twice.csv", index=False)
    ended = conjury("judge twice.csv --human ann", cwd=tmp_path)
    assert ended.code == 2
    assert "row 241 repeats an earlier row in every column" in ended.err
    if copied == 240:
        result, expected = (
            estimates(conjury(f"judge {name}.csv --human ann --id id --json", cwd=tmp_path))["kappa"]
            for name in ("twice", "once")
        )
        assert [result[key] for key in ("estimate", "clusters")] == [
            pytest.approx(expected["estimate"]),
            expected["clusters"],
        ]
        assert result["std_error"] == pytest.approx(expected["std_error"])


def test_labels_of_the_judge_alone_are_the_first_note_of_the_first_screen(
    tmp_path: Path, conjury: Run
) -> None:
    rows = ["safe.,safe", "rude,rude"] * 20 + ["judge,human"] + ["unsure,safe"] * 3
    (tmp_path / "a.csv").write_text("\n".join(["judge,human", *rows]) + "\n")
    notes = [line for line in conjury("judge a.csv", cwd=tmp_path).out.splitlines() if "Note: " in line]
    assert "what people never do: 'unsure' (3 rows)" in notes[0]
    assert ("repeats the header" in notes[1], "'safe' and 'safe.'" in notes[2]) == (True, True)


def test_few_labels_that_are_alike_are_no_copies(tmp_path: Path, conjury: Run) -> None:
    frame = prompts().drop(columns="prompt_id").assign(language=["en", "de"] * 250)
    frame.to_csv(tmp_path / "a.csv", index=False)
    ended = conjury("judge a.csv", cwd=tmp_path)
    assert ended.code == 0
    assert "repeat" not in ended.out


def systems(n: int = 1000) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Verdicts on the answers of two systems to the same prompts, with labels of both systems' answers."""
    random, labels = np.random.default_rng(1), np.array(["fail", "pass"])
    labelled, tables = random.random(n) < 0.2, []
    for rate in (0.60, 0.65):
        good = random.random(n) < rate
        verdict = np.where(random.random(n) < 0.85, good, ~good)
        human = np.where(labelled, labels[good.astype(int)], "")
        tables.append(pd.DataFrame({"id": range(n), "judge": labels[verdict.astype(int)], "human": human}))
    return tables[0], tables[1]


def test_labels_of_two_systems_are_not_taken_for_those_of_one(tmp_path: Path, conjury: Run) -> None:
    tables = dict(zip(("old", "new"), systems(), strict=True))
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    ended = conjury("compare-runs old.csv new.csv --id id", cwd=tmp_path)
    assert ended.code == 2
    assert "'human' differs in 82 of 188 shared rows" in ended.err
    assert "by `conjury compare-systems`" in ended.err
    for half, (name, table) in enumerate(tables.items()):
        labelled = np.flatnonzero(table["human"] != "")
        table.loc[labelled[half::2], "human"] = ""
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    ended = conjury("compare-runs old.csv new.csv", cwd=tmp_path)
    assert ended.code == 2
    assert "94 rows in old alone, of 94 in new alone and of 0 in both" in ended.err


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("v3_judge", "v3_human", "v4_judge", "v4_human"), "are called after 'v3_judge' and 'v4_judge'"),
        (("w", "x", "y", "z"), "as where these are labels of two systems' answers"),
    ],
)
def test_columns_of_labels_of_two_systems_are_not_two_people(
    tmp_path: Path, conjury: Run, names: tuple[str, ...], problem: str
) -> None:
    old, new = systems()
    columns = [old["judge"], old["human"], new["judge"], new["human"]]
    pd.DataFrame({"id": old["id"]} | dict(zip(names, columns, strict=True))).to_csv(
        tmp_path / "both.csv", index=False
    )
    judges, people = ",".join(names[::2]), ",".join(names[1::2])
    ended = conjury(f"compare-runs both.csv both.csv --judge {judges} --human {people}", cwd=tmp_path)
    assert ended.code == 2
    assert problem in ended.err
    if names[0] == "v3_judge":
        single = conjury(f"judge both.csv --judge {names[0]} --human {people}", cwd=tmp_path)
        assert single.code == 2
        assert problem in single.err


def test_people_who_labelled_the_same_answers_are_compared_with_both_judges(
    tmp_path: Path, conjury: Run
) -> None:
    frame = prompts(300, 1).rename(columns={"human": "rater_1", "judge": "judge_1"})
    frame["rater_2"], frame["judge_2"] = frame["rater_1"], prompts(300, 1, seed=2)["judge"]
    frame.loc[::9, "rater_2"] = "no"
    frame.to_csv(tmp_path / "a.csv", index=False)
    command = "compare-runs a.csv a.csv --judge judge_1,judge_2 --human rater_1,rater_2"
    assert conjury(command, cwd=tmp_path).code == 0


def test_answers_that_differ_and_people_of_other_names_are_pointed_out(tmp_path: Path, conjury: Run) -> None:
    old, new = systems()
    old.assign(output=[f"a{k}" for k in range(1000)]).to_csv(tmp_path / "old.csv", index=False)
    new = new.assign(output=[f"b{k}" for k in range(1000)])
    new.drop(columns="human").to_csv(tmp_path / "new.csv", index=False)
    out = " ".join(conjury("compare-runs old.csv new.csv", cwd=tmp_path).out.split())
    assert "'output' differs between old and new in 1,000 of 1,000 pairs" in out
    new.rename(columns={"human": "expert"}).to_csv(tmp_path / "new.csv", index=False)
    ended = conjury("compare-runs old.csv new.csv", cwd=tmp_path)
    assert ended.code == 2
    assert "name those of both with --human" in ended.err


def test_items_that_two_files_name_differently_are_not_paired_by_order(tmp_path: Path, conjury: Run) -> None:
    old, new = systems(40)
    old.drop(columns="human").to_csv(tmp_path / "old.csv", index=False)
    shuffled = new.drop(columns="human").sample(frac=1, random_state=1)
    shuffled.rename(columns={"id": "item"}).to_csv(tmp_path / "new.csv", index=False)
    ended = conjury("compare-runs old.csv new.csv", cwd=tmp_path)
    assert ended.code == 2
    assert "Items are in column 'id' of old.csv and in column 'item' of new.csv; give" in " ".join(
        ended.err.split()
    )
    expected = (old["judge"] != new["judge"]).mean()
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    old.assign(item_id=range(100, 140)).drop(columns="human").to_csv(tmp_path / "old.csv", index=False)
    for command in ("compare-runs old.csv new.csv --json", "compare-runs new.csv old.csv --json"):
        result = estimates(conjury(command, cwd=tmp_path))  # by the column that both files have
        assert result["flips"]["estimate"] == pytest.approx(expected)
    shuffled.drop(columns="id").to_csv(tmp_path / "new.csv", index=False)
    out = conjury("compare-runs old.csv new.csv", cwd=tmp_path).out
    assert "Rows are paired by their order" in " ".join(out.split())


def test_ratings_and_counts_have_limits_in_their_unit(tmp_path: Path, conjury: Run) -> None:
    random = np.random.default_rng(1)
    quality = random.normal(50, 10, 60)
    frame = pd.DataFrame({name: quality + random.normal(0, 4, 60) for name in ("judge", "human")}).round(1)
    frame.to_csv(tmp_path / "a.csv", index=False)
    limits = "--fail-over absolute_error=60 --fail-under people_mean=20 --fail-under icc.n=40"
    assert conjury(f"judge a.csv {limits}", cwd=tmp_path).code == 0
    assert conjury("compare-runs a.csv a.csv --margin 5", cwd=tmp_path).code == 0
    assert "did you mean 0.85?" in conjury("judge a.csv --threshold 85", cwd=tmp_path).err
