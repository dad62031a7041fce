"""The numbers that a report prints of the result of every kind are those that are stored."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from made_up import label_results, rating_results
from made_up.figures import example
from made_up.results import write_items
from snapshots import shown, stored

from conjury.analysis.report import Report

FILE = Path(__file__).with_suffix(".csv")
OTHERS = {  # which have columns that the figure does not need
    "means": rating_results.means,
    "alt_test": rating_results.alt_test,
    "label_model": rating_results.label_model,
    "readings": label_results.readings,
    "by_label": label_results.by_label,
}


@pytest.mark.parametrize("name", pd.read_csv(FILE, index_col=0).index)
def test_numbers_of_an_exhibit_are_those_that_are_stored(name: str, tmp_path: Path) -> None:
    """Their count, and sums in which their order matters; CONJURY_SNAPSHOTS=write stores them."""
    result = OTHERS[name]() if name in OTHERS else example(name).result
    report = Report(write_items(tmp_path, {result.kind: result}))
    text = shown(report, result.kind)
    numbers = [float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]
    found = {"numbers": len(numbers), "digits": len(re.findall(r"\d", text)), "sum": sum(numbers)}
    found |= {"by place": sum(k % 11 * one for k, one in enumerate(numbers)), "cells": text.count(" | ")}
    drawn = [report._figures[figure] for figure, _ in (report.figures() if numbers else ())]
    headings = sum(len(one.title + one.subtitle) for one in drawn)
    found |= {"minus signs": text.count("\N{MINUS SIGN}"), "letters of headings": headings}
    assert found == pytest.approx(stored(FILE, name, found), rel=1e-5)
