"""Codes, names and texts of all checks, their stated rates, and the table of them in the documentation."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from conjury.analysis.checks.alarm_rates import (
    ALL,
    ANY,
    ERROR,
    FILE,
    TESTS,
    battery_statement,
    rate_of,
    rate_statement,
    read_rates,
)
from conjury.analysis.checks.check_runner import ORDERED
from conjury.analysis.checks.registry import Question
from conjury.inference.tables.files import ROOT

PAGE = ROOT / "docs" / "howto" / "analysing" / "checks.md"
BEGIN, END = "<!-- checks: written by tests/analysis/checks/test_catalogue.py -->\n", "<!-- end of checks -->"
QUESTIONS = [question for question, _ in ORDERED]
of_each = pytest.mark.parametrize("question", QUESTIONS, ids=[question.code for question in QUESTIONS])


def table() -> str:
    """The table of all checks in Markdown."""
    rows = [f"| {q.code} | {q.kind} | {q.title} | {q.text} | {q.alarms} |" for q in QUESTIONS]
    return (
        "\n".join(["| code | kind | check | question | false alarms |", "|---|---|---|---|---|", *rows])
        + "\n"
    )


def test_the_documentation_lists_all_checks() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    written, _, after = rest.partition(END)
    if os.environ.get("CONJURY_SNAPSHOTS") == "write":
        PAGE.write_text(f"{before}{BEGIN}{table()}{END}{after}", encoding="utf-8")
        return
    assert written == table(), "Run this test with CONJURY_SNAPSHOTS=write."


@of_each
def test_a_check_is_one_module_of_its_kind_with_its_name(question: Question) -> None:
    assert re.fullmatch(r"CJ[1-5]\d\d", question.code)
    [run] = [run for other, run in ORDERED if other is question]
    assert re.fullmatch(rf"conjury\.analysis\.checks\.{question.kind}(\.\w+)*", run.__module__)
    assert run.__name__ == run.__module__.rpartition(".")[2] == question.name


@of_each
def test_the_stated_rate_is_the_measured_one(question: Question) -> None:
    measured = rate_of(question.code)
    text = rate_statement(question.code, question.alarms)
    if question.alarms == "never":
        assert text.startswith("never")
        assert measured is None or measured.alarms == 0
    elif question.alarms == "rule":
        assert measured is not None, f"{question.code}: run tests/fixtures/checks/make_rates.py"
        assert measured.lower <= 0.01, f"{question.code} alarms in {measured.in_words()}: redesign the rule"
        assert f"of {measured.n:,} simulated sound studies" in text
    else:
        assert "at most 5%" in text


def test_tests_together_alarm_at_most_at_their_level() -> None:
    tests, found, errors = rate_of(TESTS), rate_of(ANY), rate_of(ERROR)
    assert tests is not None
    assert found is not None
    assert errors is not None
    assert tests.lower <= 0.05
    assert (
        errors.alarms
        <= found.alarms
        <= tests.alarms
        + sum(rate.alarms for q in QUESTIONS if q.alarms == "rule" and (rate := rate_of(q.code)) is not None)
    )
    assert f"{100 * found.rate:.1f}% of {found.n:,} simulated sound studies" in battery_statement()


def test_the_table_of_rates_adds_up() -> None:
    rates = read_rates()
    assert Path(FILE).name == "rates.csv"
    total = rates[rates["scenario"] == ALL].set_index("code")[["alarms", "n"]]
    parts = rates[rates["scenario"] != ALL].groupby("code")[["alarms", "n"]].sum()
    assert parts.loc[total.index].equals(total)
    assert ((rates["lower"] * rates["n"] <= rates["alarms"]) & (rates["alarms"] <= rates["n"])).all()
