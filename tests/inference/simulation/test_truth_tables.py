"""Truth tables: the most specific row counts, and a mistake is refused with its place and a remedy."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
from cases import cases
from fakes.studies import RATINGS, items, write_study

from conjury.inference.errors import InputError
from conjury.inference.simulation import read_label_truth, read_rating_truth, simulate, simulate_ratings
from conjury.inference.simulation.conjoint.judges import COLUMNS, read_truth_table
from conjury.inference.simulation.labels.label_truth import columns_of
from conjury.inference.study import ItemStudy, load_any_study, load_study

# --- choices --------------------------------------------------------------------------------------

ROW = ("m", "model", "baseline", "part_worth", "slur", "racism", "1.0")


def choices(*rows: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.mark.parametrize(("change", "remedy"), cases(__file__, "choices"))
def test_a_bad_truth_table_of_choices_is_refused_with_its_row(moderation, change, remedy):
    bad = choices(ROW, ROW)
    bad.loc[1, list(change)] = list(change.values())
    with pytest.raises(InputError, match=rf"truth table, row 2: .*{remedy}"):
        read_truth_table(bad, moderation)


def test_a_bad_truth_file_is_refused_with_its_line(moderation, tmp_path):
    path = tmp_path / "truth.csv"
    choices(ROW, ROW).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"truth.csv:3: .*given twice for .*; keep one row"):
        read_truth_table(path, moderation)
    choices(ROW).drop(columns="value").to_csv(path, index=False)
    with pytest.raises(InputError, match="column 'value' is missing; add it"):
        read_truth_table(path, moderation)
    path.write_text("")
    with pytest.raises(InputError, match="the file is empty"):
        read_truth_table(path, moderation)
    panel = choices(
        *(
            ("human", "human", "", name, "", "", value)
            for name, value in (("inattention", "0.5"), ("reliability", "0.9"))
        )
    )
    (guessing,) = read_truth_table(panel.iloc[:1], moderation)
    assert guessing.reliability == 0.75  # half of the inattentive answers agree
    with pytest.raises(InputError, match=r"reliability of 0.9 cannot be reached with 50.0% inattentive"):
        read_truth_table(panel, moderation)


# --- ratings --------------------------------------------------------------------------------------


def edited(table: list[str], how: str, old: str, new: str) -> list[str]:
    """A table with a line added, a line changed or removed, lines excluded, or its header renamed."""
    if how == "add":
        return [table[0], new, *table[1:]]
    if how == "without":
        return [line for line in table if old not in line]
    if how == "rename":
        return [table[0].replace(old, new), *table[1:]]
    at = next(n for n, line in enumerate(table) if line.startswith(old))
    return [*table[:at], *([new] if new else []), *table[at + 1 :]]


@pytest.mark.parametrize(("how", "old", "new", "problem"), cases(__file__, "ratings"))
def test_a_bad_table_of_ratings_is_refused_with_its_line(oogiri, tmp_path, how, old, new, problem):
    path = tmp_path / "truth.csv"
    lines = (oogiri.folder / "truth.csv").read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(edited(lines, how, old, new)) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=problem) as refused:
        read_rating_truth(path, oogiri)
    assert "\n" not in str(refused.value)


def test_studies_that_cannot_be_simulated_say_why(moderation, oogiri, tmp_path):
    folder = shutil.copytree(moderation.folder, tmp_path / "moderation")
    (folder / "truth.csv").unlink()
    missing = "'moderation' has no truth table, so its choices cannot be simulated; write .* judge, "
    with pytest.raises(InputError, match=missing):
        simulate(load_study(folder), seed=1)
    bare = load_any_study(write_study(tmp_path / "posts", items(RATINGS)))
    with pytest.raises(InputError, match="Study 'posts' has no truth table"):
        simulate_ratings(bare, 1)
    with pytest.raises(InputError, match="Study posts has no rating scales or no assignment"):
        simulate_ratings(bare, 1, raters=oogiri.folder / "truth.csv")
    with pytest.raises(InputError, match="there is no such file"):
        simulate_ratings(oogiri, 1, raters=tmp_path / "none.csv")


# --- labels ---------------------------------------------------------------------------------------


def labels(study: ItemStudy, *rows: dict[str, str]) -> pd.DataFrame:
    first = [
        {"parameter": "items", "language": "en", "value": "10"},
        {"parameter": "gold", "gold": "dark", "value": "1"},
        of_model(),
    ]
    return pd.DataFrame([*first, *rows], columns=columns_of(study), dtype="string").fillna("")


def of_model(parameter: str = "accuracy", **cells: str) -> dict[str, str]:
    row = {"judge": "qwen3_8b", "judge_kind": "model", "parameter": parameter, "value": "0.3"}
    return {**row, **cells}


def test_the_row_with_most_cells_filled_in_counts(multiturn):
    more = (
        {"parameter": "accuracy", "judge_kind": "model", "value": "0.1"},
        of_model(gold="dark", value="0.9"),
    )
    truth = read_label_truth(labels(multiturn, *more), multiturn)
    keys = {"judge_kind": "model", "task": "joke_type", "language": "en", "judge": "qwen3_8b"}
    assert truth.value("accuracy", {**keys, "judge": "olmo3_7b"}) == 0.1
    assert truth.value("accuracy", {**keys, "gold": "dry"}) == 0.3
    assert truth.value("accuracy", {**keys, "gold": "dark"}) == 0.9
    assert truth.value("consistency", keys, 0.5) == 0.5
    with pytest.raises(InputError, match=r"consistency is not given for .*judge qwen3_8b"):
        truth.value("consistency", keys)


@pytest.mark.parametrize(("row", "problem"), cases(__file__, "labels"))
def test_a_bad_table_of_labels_is_refused_with_its_row(multiturn, row, problem):
    with pytest.raises(InputError, match=problem):
        read_label_truth(labels(multiturn, row), multiturn)


def test_the_tables_of_labels_that_ship_name_judges_of_their_studies(multiturn, harm_or_humor):
    for study in (multiturn, harm_or_humor):
        truth = read_label_truth(study.folder / "label_truth.csv", study)
        assert set(truth.judges) == {judge.id for judge in study.judges}
