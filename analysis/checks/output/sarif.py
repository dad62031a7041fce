"""What checks found as SARIF 2.1.0, which code hosts and editors show next to the files.

OASIS (2020). Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..alarm_rates import battery_statement, rate_statement
from ..registry import CHECKS, Check, Question
from .check_findings import Findings, evidence

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning"}
MOST_LOCATIONS = 10  # rows of evidence with a location of their own
LINED = (".csv", ".jsonl", ".ndjson")  # files with a line per row
ROW = "row"  # column of evidence with the data row, counted from 1


def sarif(findings: Findings) -> dict[str, Any]:
    """A SARIF log with a rule per check and a result per alarm; suppressed ones carry the reason."""
    alarms = [check for check in findings.checks if check.verdict in LEVELS]
    places = {check.code: place for place, check in enumerate(findings.checks)}
    questions = {question.code: question for question, _ in CHECKS.values()}
    run = {
        "tool": {
            "driver": {
                "name": "conjury",
                "version": version("conjury"),
                "semanticVersion": _semantic(version("conjury")),
                "rules": [
                    _rule(check, questions.get(check.code), findings.alpha) for check in findings.checks
                ],
            }
        },
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(check, places[check.code], findings) for check in alarms],
        "properties": {
            "alpha": findings.alpha,
            "seed": findings.seed,
            "falseAlarms": battery_statement(findings.alpha),
            "sources": list(findings.sources),
        },
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def to_sarif(findings: Findings) -> str:
    """The SARIF log as JSON."""
    return json.dumps(sarif(findings), indent=1, allow_nan=False, default=str) + "\n"


def _semantic(text: str) -> str:
    """A version with three numbers, without what follows them."""
    numbers = [part for part in text.partition("+")[0].split(".") if part.isdecimal()]
    return ".".join([*numbers, "0", "0", "0"][:3])


def _rule(check: Check, question: Question | None, alpha: float) -> dict[str, Any]:
    consequence = check.consequence or (question.consequence if question else "")
    remedy = check.remedy or (question.remedy if question else "")
    help_text = " ".join(filter(None, [check.question, consequence, remedy])) or check.title
    return {
        "id": check.code,
        "name": "".join(part.capitalize() for part in check.name.split("_")),
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": check.question or check.title},
        "help": {"text": help_text},
        "defaultConfiguration": {"level": "warning"},
        "properties": {
            "tags": [check.kind],
            "falseAlarms": check.alarms,
            "falseAlarmRate": rate_statement(check.code, check.alarms, alpha),
        },
    }


def _result(check: Check, place: int, findings: Findings) -> dict[str, Any]:
    rows, n = evidence(check, MOST_LOCATIONS)
    words = [findings.words(check.finding), check.consequence, findings.words(check.remedy)]
    text = " ".join(filter(None, words))
    result: dict[str, Any] = {
        "ruleId": check.code,
        "ruleIndex": place,
        "kind": "fail",
        "level": LEVELS[check.verdict],
        "message": {"text": text},
        "locations": _locations(check, rows, findings.files),
        "properties": {"p": check.p, "falseAlarms": check.alarms, "rowsOfEvidence": n},
    }
    if check.suppressed:
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": check.suppressed}
        ]
    return result


def _locations(check: Check, rows: list[dict[str, Any]], files: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Rows of the evidence in the first file that the check read; without rows, the file itself."""
    file = next((files[role] for role in check.reads if role in files), None)
    if file is None:
        return [{"logicalLocations": [_logical(row)]} for row in rows]
    artifact = {"artifactLocation": {"uri": quote(file.as_posix())}}
    if not rows:
        return [{"physicalLocation": artifact}]
    return [_location(row, artifact, file) for row in rows]


def _location(row: Mapping[str, Any], artifact: dict[str, Any], file: Path) -> dict[str, Any]:
    physical: dict[str, Any] = dict(artifact)
    number = row.get(ROW)
    if isinstance(number, int) and file.suffix.lower() in LINED:
        physical["region"] = {"startLine": number + (file.suffix.lower() == ".csv")}
    return {"physicalLocation": physical, "logicalLocations": [_logical(row)]}


def _logical(row: Mapping[str, Any]) -> dict[str, Any]:
    name = ", ".join(f"{key}={value}" for key, value in row.items())
    return {"fullyQualifiedName": name, "kind": "member"}
