"""JSON files that conjury writes beside its tables, read as if anybody had written them.

A run's provenance.json and the manifest of results travel with data between people and programs. Their
content is parsed within limits and compared with a schema before anything uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NotRequired

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ..errors import InputError
from .limits import read_json

AS_WRITTEN = ConfigDict(strict=True, extra="allow")
KINDS = {
    "dict_type": "a mapping",
    "list_type": "a list",
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "none_required": "null",
    "missing": "there",
}


def read_record(path: Path, schema: TypeAdapter[Any], remedy: str) -> dict[str, Any]:
    """Read a JSON object as it is in the file; InputError names the first field that the schema refuses."""
    content = read_json(path, remedy)
    if not isinstance(content, dict):
        raise InputError(f"{path}: the file should contain one mapping of fields; {remedy}.")
    try:
        schema.validate_python(content)
    except ValidationError as problems:
        first = problems.errors()[0]
        kind = KINDS.get(first["type"])
        wrong = f"should be {kind}" if kind else f"is not as expected ({first['msg']})"
        raise InputError(f"{path}: the field {_place(first['loc'])} {wrong}; {remedy}.") from None
    return content


def _place(location: Sequence[int | str]) -> str:
    """A path into nested fields, as in ``results[2].settings``, without the steps of a union."""
    text = ""
    for step in location:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier() or not any(sign in step for sign in "[]()-"):
            text += f".{step}" if text else step
    return text


class ServedVersion(TypedDict):
    """Answers of one version of a judge."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    judge_id: str
    model_returned: str | None
    system_fingerprint: str | None
    n: int
    first: str
    last: str


class SettingsPeriod(TypedDict):
    """Settings of a judge's backend, and since when they held."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    since: str
    settings: dict[str, Any]


class JudgeAccount(TypedDict):
    """What became of the requests to a judge."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    judge: str
    requests: int
    answered: int
    read: int
    without_answer: list[dict[str, Any]]


class SecondReading(TypedDict):
    """What a second reader read of a judge's answers, and how often it agrees with the rules."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    judge: str
    model: str
    parser: str
    unread: int
    read: int
    unclear: int
    not_stated: int
    unanswered: int
    sampled: int
    both_read: int
    sampled_not_stated: int
    agreed: int


class SettingTreatment(TypedDict):
    """What a server does with one setting, and what shows it."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    verdict: str
    detail: str
    instead: NotRequired[str | int | None]


class ProbeRecord(TypedDict):
    """What a probe found out about the server of a judge."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    judge: str
    model: str
    address: str
    findings: dict[str, SettingTreatment]
    refused: NotRequired[list[str]]


class Provenance(TypedDict):
    """Which versions answered in a run, with which settings."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    served: list[ServedVersion]
    settings: dict[str, list[SettingsPeriod]]
    answers: NotRequired[list[JudgeAccount]]
    rereads: NotRequired[list[SecondReading]]


PROVENANCE_FILE = "provenance.json"
PROVENANCE: TypeAdapter[Any] = TypeAdapter(Provenance)
SECOND_READING: TypeAdapter[Any] = TypeAdapter(SecondReading)
PROBES: TypeAdapter[Any] = TypeAdapter(dict[str, ProbeRecord])


def answers_beside(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the accounts of answers in the runs that tables are from; of a damaged record there is none."""
    records = [file.parent / PROVENANCE_FILE for file in files]
    accounts: list[dict[str, Any]] = []
    for path in dict.fromkeys(record for record in records if record.is_file()):
        with suppress(InputError):
            accounts += read_record(path, PROVENANCE, "run `conjury run parse` again").get("answers") or []
    return accounts
