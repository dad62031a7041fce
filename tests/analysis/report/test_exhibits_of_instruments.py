"""Exhibits of judges as instruments: sentences and tables have the numbers of the results."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from made_up.analysis_results import INSTRUMENT, choices

from conjury.analysis.figures.labels import ColumnNames
from conjury.analysis.pipeline.manifest import RecordedResult
from conjury.analysis.report.exhibits import EXHIBITS
from conjury.analysis.results import Result

RESULTS = [name for name in INSTRUMENT if "," not in name]
LABELS = {("judges", "gpt_4_1"): "GPT 4.1", ("judges", "gemini"): "Gemini"}
REPORT: Any = SimpleNamespace(labels=LABELS, names=ColumnNames(LABELS), manifest={})


def recorded(result: Result) -> RecordedResult:
    return RecordedResult(name=result.kind, kind=result.kind, title="A title", settings=dict(result.settings))


@pytest.mark.parametrize("name", RESULTS)
def test_every_kind_has_a_figure_and_tables_with_labels_and_numbers(name: str) -> None:
    build: Any = INSTRUMENT[name]
    result = build()
    shown = EXHIBITS[name].build(result, recorded(result), REPORT)
    assert "{figure" in shown.lead
    assert shown.figures
    text = " ".join(table.as_raw_html() for part in shown.tables for table in part.tables)
    assert "GPT 4.1" in text
    assert not re.search(r"gpt_4_1|nan\b", text)
    assert re.search(r"\d\.\d", text)


@pytest.mark.long
def test_the_opening_states_the_share_of_the_first_position() -> None:
    build: Any = INSTRUMENT["order_effects"]
    result = build()
    headline = EXHIBITS["order_effects"].headline
    assert headline is not None
    sentence = headline(result, recorded(result), REPORT)
    first = choices().query("judge_id == 'gpt_4_1' and position == 'A'")["chosen"].mean()
    assert f"GPT 4.1 chooses the first position in {100 * first:.0f}% of 960 decisions" in sentence
