"""Published tables checked by their descriptions: groups, settings, guesses, verdicts and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cases import cases
from published_formats import WRITERS

from conjury.analysis.audit.arithmetic import Finding
from conjury.analysis.audit.published import check_table, check_tables, read_description, write_description
from conjury.analysis.audit.published.checked_tables import under_alternative
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

RATINGS = "group,n,mean,sd\nA,10,2.30,0.82\nB,10,2.35,0.82\nC,10,-,0.82\n"
DESCRIBED = """
title: Ratings
groups:
  - check: mean_sd
    name: ratings
    by: group
    numbers: {mean: mean, sd: sd}
    settings:
      scale: [1, 5]
      n: {column: n}
"""


def written(folder: Path, table: str, description: str = "", name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(table, encoding="utf-8")
    if description:
        path.with_suffix(".yaml").write_text(description, encoding="utf-8")
    return path


def verdicts(result: Result) -> dict[tuple[str, str], str]:
    return {(row.place, row.quantity): row.verdict for row in result.extra["numbers"].itertuples()}


@pytest.mark.long
def test_numbers_have_the_verdicts_of_their_groups(tmp_path: Path) -> None:
    result = check_table(written(tmp_path, RATINGS, DESCRIBED))
    found = verdicts(result)
    assert found["ratings, A", "mean"] == "consistent"
    assert found["ratings, B", "mean"] == "inconsistent"  # a sum of 23.5 to ten ratings
    frame = result.frame
    assert frame.loc[frame["place"] == "ratings, B", "published"].unique().tolist() == ["2.35", "0.82"]
    assert frame.loc[frame["place"] == "ratings, B", "row"].unique().tolist() == [3]
    assert frame["n_definitions"].min() >= 1
    assert result.notes == (
        "Means and standard deviations of ratings: 1 group of table.csv not checked, since mean is missing.",
        "table.csv: 1 of 5 numbers are in no group of its description.",
    )
    assert (result.settings["titles"], result.settings["files"]) == ({"table.csv": "Ratings"}, ["table.csv"])


def test_a_number_that_two_checks_are_about_has_the_gravest_verdict(tmp_path: Path) -> None:
    table = "label,count\nyes,3\nno,4\ntotal,8\n"
    description = """
groups:
  - check: counts
    by: []
    numbers:
      total: {column: count, where: {label: total}}
      "{label}": {column: count, where: {label: ["yes", "no"]}}
  - check: percentages
    by: []
    numbers: {"{label}": {column: count, percent: true, where: {label: ["yes", "no"]}}}
"""
    numbers = check_table(written(tmp_path, table, description)).extra["numbers"].set_index("quantity")
    assert numbers.loc["total", "verdict"] == "conditional"  # a part that is not published
    assert numbers.loc["yes", "checks"] == "counts, percentages"
    assert len(numbers) == 3


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_gives_the_same_result(kind: str, tmp_path: Path) -> None:
    columns = ("Group", "Mean (SD)", "n")
    rows = [("A", "2.30 (0.82)", "10"), ("B", "2.35 (0.82)", "10"), ("", "2.41 (0.90)", "12")]
    description = """
groups:
  - check: mean_sd
    by: [Group, n]
    numbers:
      mean: Mean (SD)
      sd: {column: Mean (SD), part: parenthesis}
    settings: {scale: [1, 5], n: {column: n}}
"""
    results = {
        name: check_table(written(tmp_path, WRITERS[name](columns, rows), description, f"table.{name}"))
        for name in dict.fromkeys(("csv", kind))
    }
    same = ["place", "quantity", "published", "check", "verdict", "under", "chance", "reason"]
    first, second = (results[name].frame[same] for name in ("csv", kind))
    assert first.equals(second)
    assert first["place"].unique().tolist() == ["A, n 10", "B, n 10", "B, n 12"]  # an empty key repeats


def test_settings_are_looked_up_by_key_and_read_from_cells(tmp_path: Path) -> None:
    table = "size,rated,mean\nsmall,1-5,2.35\nlarge,1-5,2.35\nother one,1-5,2.35\n"
    by_key = "{by: size, values: {small: 10, large: 20, other: [10, 20]}}"
    description = f"""
groups:
  - check: mean_sd
    by: size
    numbers: {{mean: mean}}
    settings: {{scale: [1, 5], n: {by_key}}}
"""
    found = verdicts(check_table(written(tmp_path, table, description)))
    assert [found[name, "mean"] for name in ("small", "large", "other one")] == [
        "inconsistent",
        "consistent",
        "consistent",
    ]


@pytest.mark.long
def test_alternatives_are_named_where_numbers_are_consistent_under_them_only(tmp_path: Path) -> None:
    alternatives = "    alternatives:\n      the second sample: {n: 40}\n      the third sample: {n: 37}\n"
    result = check_table(written(tmp_path, RATINGS, DESCRIBED + alternatives))
    row = result.frame[
        (result.frame["place"] == "ratings, B") & (result.frame["reason"].str.contains("The mean 2.35 is"))
    ]
    assert row["verdict"].tolist() == ["conditional"]
    assert row["under"].iloc[0] == "the second sample; the third sample"
    plain = check_table(written(tmp_path, RATINGS, DESCRIBED)).frame
    assert set(plain.loc[plain["place"] == "ratings, B", "verdict"]) == {"inconsistent"}
    assert row["n_definitions"].iloc[0] == 7 + 1 + 1  # each alternative is consistent at once
    assert plain.loc[row.index[0], "n_definitions"] == 7


def test_alternatives_leave_consistent_numbers_and_count_what_was_tried() -> None:
    good = Finding("c", ("a",), "consistent", "fits", chance=0.2)
    bad = Finding("c", ("b",), "inconsistent", "does not fit", n_definitions=3, chance=0.4)
    others = [Finding("c", ("a",), "inconsistent", ""), Finding("c", ("b",), "consistent", "", chance=0.3)]
    first, second = under_alternative([good, bad], "the other", others)
    assert first == good
    assert (second.verdict, second.under, second.n_definitions) == ("conditional", ("the other",), 4)
    assert second.chance == pytest.approx(0.7)
    still = under_alternative([bad], "the other", [Finding("c", ("b",), "inconsistent", "", chance=0.9)])
    assert (still[0].verdict, still[0].under, still[0].chance) == ("inconsistent", (), 1.0)


def test_a_result_without_a_group_that_can_be_checked_is_empty(tmp_path: Path) -> None:
    description = DESCRIBED.replace("    by: group\n", "    rows: {group: C}\n")
    result = check_table(written(tmp_path, RATINGS, description))
    assert (len(result.frame), len(result.extra["numbers"])) == (0, 0)


def test_columns_are_guessed_and_shown(tmp_path: Path) -> None:
    path = written(tmp_path, "Group,Mean,Std. Dev.\nA,2.30,0.82\n")
    result = check_table(path)
    assert (
        "Guessed: column 'Std. Dev.' is the standard deviation; write table.yaml to correct it."
        in result.notes
    )
    assert set(result.frame["verdict"]) == {"untested"}  # nobody says what the scale is
    assert result.frame["reason"].str.contains("scale is missing").all()


@pytest.mark.parametrize("header", ["M (SD)", "Mean \u00b1 SD", "English: Mean (SD)"])
def test_two_quantities_of_one_column_are_guessed(header: str, tmp_path: Path) -> None:
    cell = "2.30 \u00b1 0.82" if "\u00b1" in header else "2.30 (0.82)"
    frame = check_table(written(tmp_path, f"Group,{header}\nA,{cell}\n")).frame
    assert dict(zip(frame["quantity"], frame["published"], strict=True)) == {"mean": "2.30", "sd": "0.82"}


def test_a_guess_is_written_and_read_back(tmp_path: Path) -> None:
    path = written(tmp_path, "Label A,Label B,Total\n3,4,7\n5,5,11\n")
    guessed = check_table(path)
    file = write_description(path)
    assert file.name == "table.yaml"
    assert file.read_text(encoding="utf-8").startswith("# counts: Counts that sum to a total. Settings: ")
    described = check_table(path)
    assert described.frame.equals(guessed.frame)
    assert described.notes == ()
    with pytest.raises(InputError, match=r"table.yaml already exists"):
        write_description(path)


def test_columns_that_say_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"the columns \(x, y\) do not identify the numbers; write table.yaml"
    ):
        check_table(written(tmp_path, "x,y\n1,2\n"))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    cases(__file__, "descriptions_that_do_not_fit_are_refused_with_file_and_line"),
)  # fmt: skip
def test_descriptions_that_do_not_fit_are_refused_with_file_and_line(
    old: str, new: str, sentence: str | None, tmp_path: Path
) -> None:
    assert old in DESCRIBED
    path = written(tmp_path, RATINGS, DESCRIBED.replace(old, new, 1))
    if sentence is None:
        assert len(check_table(path).frame)
        return
    with pytest.raises(InputError, match=sentence) as refusal:
        check_table(path)
    assert "\n" not in str(refusal.value)


def test_a_setting_that_differs_within_a_group_is_refused(tmp_path: Path) -> None:
    table = "part,n,mean\ntotal,10,2.3\na,5,2.2\nb,6,2.4\n"
    description = """
groups:
  - check: weighted_mean
    by: []
    numbers:
      total: {column: mean, where: {part: total}}
      "{part}": {column: mean, where: {part: [a, b]}}
    settings: {n: {column: n}}
"""
    with pytest.raises(InputError, match=r"several values of the setting 'n' \(10, 5, 6\)"):
        check_table(written(tmp_path, table, description))
    once = description.replace("{column: n}", "{column: n, where: {part: total}}")
    assert len(check_table(written(tmp_path, table, once)).frame) == 3


def test_several_files_are_one_result(tmp_path: Path) -> None:
    first = written(tmp_path, RATINGS, DESCRIBED)
    second = written(tmp_path, RATINGS, DESCRIBED, "second.csv")
    both, one = check_tables([first, second]), check_table(first)
    assert len(both.frame) == 2 * len(one.frame)
    assert both.frame["finding"].nunique() == 2 * one.frame["finding"].nunique()
    assert both.settings["files"] == ["table.csv", "second.csv"]
    with pytest.raises(InputError, match="Two files have the name"):
        check_tables([first, first])
    with pytest.raises(InputError, match="no table to check"):
        check_tables([])


def test_a_description_elsewhere_takes_the_place_of_the_one_beside_the_table(tmp_path: Path) -> None:
    path = written(tmp_path, RATINGS, "groups: [")
    other: Any = tmp_path / "other.yaml"
    other.write_text(DESCRIBED, encoding="utf-8")
    assert check_table(path, other).frame.equals(check_table(path, read_description(other)).frame)


def test_roles_in_a_column_of_names_are_guessed(tmp_path: Path) -> None:
    table = "judge,statistic,value\nA,mean,2.30\nA,std,0.82\nB,mean,2.35\nB,std,-\n"
    result = check_table(written(tmp_path, table))
    guessed = "Guessed: column 'value' where 'statistic' is std is the standard deviation; "
    assert any(note.startswith(guessed) for note in result.notes)
    assert sorted(verdicts(result)) == [("A", "mean"), ("A", "sd"), ("B", "mean")]


def test_parts_of_a_total_are_guessed_in_long_tables(tmp_path: Path) -> None:
    table = "language,label,count\nen,yes,3\nen,no,4\nen,total,7\nes,yes,1\nes,no,1\nes,total,3\n"
    found = verdicts(check_table(written(tmp_path, table)))
    assert found["en", "yes"] == found["en", "total"] == "consistent"
    assert found["es", "no"] == found["es", "total"] == "conditional"
