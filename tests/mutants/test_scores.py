"""Counts by room; the page of the site and the list of equivalent mutants agree with the checkout."""

from __future__ import annotations

from pathlib import Path

from mutants import scores

ROOT = Path(__file__).parents[2]


def told(verdict: str, text: str = "x = 1") -> dict[str, str]:
    return {"verdict": verdict, "room": "analysis/raters", "file": "f.py", "text": text, "becomes": "x = 2"}


def test_scores_leave_out_equivalents_and_what_did_not_run() -> None:
    kinds = ("killed", "broken", "timeout", "survived", "not reached", "not run")
    rows = scores.counted(
        [*map(told, kinds), told("survived", "y = 1")], {("f.py", "y = 1", "x = 2"): "y is not read"}
    )
    assert [row["room"] for row in rows] == ["analysis/raters", "all"]
    assert rows[0] == {
        "room": "analysis/raters",
        "mutants": 6,
        "killed": 3,
        "survived": 1,
        "not_reached": 1,
        "equivalent": 1,
        "score": "0.600",
        "lower": "0.231",
        "upper": "0.882",
    }


def test_a_table_of_a_part_of_the_sample_says_so() -> None:
    rows = scores.counted([told("killed"), told("survived")], {})
    assert "2 of 2,100 mutants" in scores.table(rows)
    rows[-1]["mutants"] = scores.SAMPLE
    assert "2,100 mutants" not in scores.table(rows)


def test_tests_that_notice_nothing_alone_are_listed_and_the_fewest_that_notice_all_are_kept() -> None:
    noticed = ({"failed": ["a", "b[1]"]}, {"failed": ["b[2]", "c"]}, {"by": "c"}, {"verdict": "survived"})
    text = scores.unneeded({"id": str(n), **told} for n, told in enumerate(noticed))
    assert text.splitlines() == ["    1 a", "2 tests notice all that 3 notice"]


def test_the_page_shows_the_committed_scores() -> None:
    page = (ROOT / "docs/project/mutants.md").read_text(encoding="utf-8")
    rows = scores.read_csv(ROOT / "tests/mutants/scores.csv")
    assert scores.with_table(page, rows) == page


def test_equivalent_mutants_are_of_lines_that_exist_and_have_a_reason() -> None:
    for (file, line, becomes), reason in scores.equivalents(ROOT / "tests/mutants/equivalent.csv").items():
        text = " ".join((ROOT / file).read_text(encoding="utf-8").split())
        assert " ".join(line.split()) in text, (file, line)
        assert becomes != line
        assert reason
