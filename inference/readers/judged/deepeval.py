"""Results of deepeval: a verdict and a score of each metric on each test case.

A test case has ``name, input, actualOutput, expectedOutput, success`` and ``metricsData``, a list of metrics
with ``name, score, success, error``; results of ``evaluate()`` have the same in snake case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ...tables.reading.json_rows import flat
from .judged_table import Judged
from .promptfoo import verdict_of

METRICS = ("metricsData", "metrics_data")
METADATA = ("additionalMetadata", "additional_metadata", "metadata")
TEXTS = {"input": ("input",), "output": ("actualOutput", "actual_output")} | {
    "expected": ("expectedOutput", "expected_output"),
    "test": ("name",),
}


def table_of(records: Sequence[Mapping[str, Any]], source: str) -> Judged:
    """A row per test case: a column per metric (pass or fail), its score, ``passed`` for all together."""
    # A metric that failed to run has no verdict, and then there is none for all together either.
    frame = pd.DataFrame([_row(record) for record in records])
    metrics = list(
        dict.fromkeys(str(metric.get("name")) for record in records for metric in _metrics(record))
    )
    unanswered = sum(map(_has_failed, (metric for record in records for metric in _metrics(record))))
    notes = (f"Metrics that failed to run have no verdict: {unanswered:,}.",) if unanswered else ()
    item = "test" if frame["test"].notna().all() else None
    judge = metrics[0] if len(metrics) == 1 else None
    return Judged(frame, source, "test cases of deepeval", judge, None, item, notes)


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {name: _first(record, fields) for name, fields in TEXTS.items()}
    verdicts = []
    for metric in _metrics(record):
        name = str(metric.get("name"))
        verdicts.append(None if _has_failed(metric) else metric.get("success"))
        row[name] = verdict_of(verdicts[-1])
        row[f"{name}.score"] = None if verdicts[-1] is None else metric.get("score")
    is_complete = bool(verdicts) and None not in verdicts
    row["passed"] = verdict_of(all(verdicts)) if is_complete else None
    about = _first(record, METADATA)
    return row | flat(about if isinstance(about, Mapping) else {}, "metadata.")


def _has_failed(metric: Mapping[str, Any]) -> bool:
    """Whether a metric has an error, was skipped, or has no score: deepeval stores these as failing."""
    return bool(metric.get("error") or metric.get("skipped")) or metric.get("score") is None


def _metrics(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    metrics = _first(record, METRICS)
    return [metric for metric in metrics if isinstance(metric, Mapping)] if isinstance(metrics, list) else []


def _first(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)
