"""Output of promptfoo (``promptfoo eval --output FILE.json`` or ``.jsonl``): grades by models, and by people.

A result has ``testIdx, promptIdx, provider, vars, success, score`` and ``gradingResult``, whose
``componentResults`` have one entry per assertion. People rate outputs in promptfoo's viewer; such a rating is
a component with an assertion of type ``human``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ...tables.reading.json_rows import flat
from .judged_table import Judged

HUMAN = "human"
GRADED = (
    "llm-rubric", "model-graded-closedqa", "model-graded-factuality", "factuality", "g-eval",
    "answer-relevance",
    "context-faithfulness", "context-recall", "context-relevance", "conversation-relevance",
    "search-rubric", "pi",
    "agent-rubric", "trajectory:goal-success",
)  # fmt: skip
# What graders that failed give as the reason of a failing grade.
GRADER_FAILED = re.compile(
    r"(could not extract json|no (grading )?output|api (call )?error|request (failed|timed out)|timed? ?out\b"
    r"|error:|.{0,40}produced malformed|grading error|rate limit|429\b|5\d\d\b)",
    re.IGNORECASE,
)
PASS, FAIL = "pass", "fail"
CALL_FAILED = 2  # reason of a failure: no answer, rather than an assertion that did not hold


def table_of(records: Sequence[Mapping[str, Any]], source: str) -> Judged:
    """A row per output: a column per kind of assertion (pass or fail), ``human`` for ratings by people."""
    # `passed` is the verdict of all assertions together; variables are `vars.NAME`, `metadata.NAME`,
    # `named.NAME`.
    rows = [_row(record) for record in records]
    frame = pd.DataFrame(rows)
    graded = [str(name) for name in frame if str(name).partition(" ")[0].removeprefix("not-") in GRADED]
    return Judged(
        frame,
        source,
        "output of promptfoo",
        graded[0] if len(graded) == 1 else None if graded else "passed",
        HUMAN if HUMAN in frame else None,
        "test" if frame["test"].notna().all() else None,
    )


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    provider, prompt, response = (record.get(name) for name in ("provider", "prompt", "response"))
    test = _mapping(record.get("testCase"))
    row: dict[str, Any] = {
        "test": record.get("testIdx", record.get("description")),
        "provider": _mapping(provider).get("label") or _mapping(provider).get("id") or provider,
        "prompt": _mapping(prompt).get("label") or record.get("promptIdx"),
        "output": _mapping(response).get("output"),
        "passed": verdict_of(_passed(record)),
        "score": None if _is_rated(record) else record.get("score"),
    }
    row = {name: _scalar(value) for name, value in row.items()}
    counts: dict[str, int] = {}
    for kind, passed in _components(_mapping(record.get("gradingResult"))):
        counts[kind] = counts.get(kind, 0) + 1
        row[kind if counts[kind] == 1 else f"{kind} {counts[kind]}"] = verdict_of(passed)
    row |= flat(_mapping(record.get("namedScores")), "named.")
    row |= flat(_mapping(record.get("vars")) or _mapping(test.get("vars")), "vars.")
    return row | flat(_mapping(test.get("metadata")), "metadata.")


def _is_rated(record: Mapping[str, Any]) -> bool:
    """Whether a person rated the output, and thereby replaced the summary of its row."""
    return any(kind == HUMAN for kind, _ in _components(_mapping(record.get("gradingResult"))))


def _passed(record: Mapping[str, Any]) -> Any:
    """Whether all assertions passed, without people's ratings; None for a call that failed."""
    # promptfoo stores a failed call as a failing grade, and a person's rating replaces the grade of the row.
    if record.get("failureReason") == CALL_FAILED or (
        record.get("error") and not record.get("gradingResult")
    ):
        return None
    components = list(_components(_mapping(record.get("gradingResult"))))
    if not any(kind == HUMAN or passed is None for kind, passed in components):
        return record.get("success")
    verdicts = [passed for kind, passed in components if kind != HUMAN]
    return all(verdicts) if verdicts and all(isinstance(passed, bool) for passed in verdicts) else None


def _scalar(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _components(graded: Mapping[str, Any], deep: int = 3) -> Iterator[tuple[str, Any]]:
    """The type of each assertion, with whether it passed; sets of assertions are opened."""
    components = graded.get("componentResults")
    for part in components if isinstance(components, list) else ():
        part = _mapping(part)
        kind = _mapping(part.get("assertion")).get("type")
        if isinstance(kind, str):
            yield kind, None if kind in GRADED and _is_failed_call(part) else part.get("pass")
        elif deep > 1:
            yield from _components(part, deep - 1)


def _is_failed_call(part: Mapping[str, Any]) -> bool:
    """Whether a model's grade only says that its call failed, which promptfoo stores as a failing grade."""
    about = part.get("metadata")
    if isinstance(about, Mapping) and about.get("graderError"):
        return True
    reason = part.get("reason")
    return part.get("pass") is False and isinstance(reason, str) and bool(GRADER_FAILED.match(reason.strip()))


def verdict_of(passed: Any) -> str | None:
    """A verdict in words; None where there is none."""
    return {True: PASS, False: FAIL}.get(passed) if isinstance(passed, bool) else None
