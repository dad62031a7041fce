"""The shape of a manifest of results, as far as its readers rely on it; further fields may be there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Required

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from .records import AS_WRITTEN, read_record

MANIFEST = "manifest.json"
REMEDY = "restore it, or write the results again with the command that made them"


class Labels(TypedDict, total=False):
    """Labels of columns, of their values, of judges and of prompts."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    features: dict[str, str]
    levels: dict[str, dict[str, str]]
    judges: dict[str, str]
    prompts: dict[str, str]


class DataFile(TypedDict, total=False):
    """A file of data with its checksum and its numbers of rows."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    name: str
    file: str
    folder: str
    sha256: str
    rows: int
    rows_used: int
    variant: str


class Settings(TypedDict, total=False):
    """Settings of a result that several readers use; further ones belong to its kind."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    alpha: float
    by: list[str] | None
    draws: int | None
    exclude: dict[str, Any] | None
    h0: float | None
    interval: str | None
    intervals: dict[str, Any] | None
    n_clusters: int | None
    n_rows: int | None
    n_used: int | None
    seed: int | None
    strata: list[str] | None
    title: str | None
    unit: str | None
    verb: str | None
    vcov: str | None


class ManifestSubgroup(TypedDict, total=False):
    """Respondents of one group, with their numbers of choices and rows."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    levels: Required[dict[str, str]]
    n_choices: Required[int | None]
    n_respondents: Required[int | None]
    n_used: Required[int | None]


class ManifestGroup(TypedDict, total=False):
    """Judgments that were estimated by themselves, with their numbers of rows and clusters."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    judge: str | None
    kind: str | None
    prompt: str | None
    variant: str | None
    unit: str | None
    n_rows: int | None
    n_used: int | None
    n_clusters: int | None
    n_choices: int | None
    n_profiles: int | None
    n_respondents: int | None
    id: str | None
    weights: str | None
    design_effect: float | None
    subgroups: list[ManifestSubgroup] | None
    repeats_left_out: int | None
    pairs: dict[str, Any] | None


class ManifestNote(TypedDict, total=False):
    """A note as text, and the parts that it was put together from."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    text: Required[str]
    template: str
    values: dict[str, Any]
    result: str
    judge: str
    prompt: str
    condition: str


class Entry(TypedDict, total=False):
    """A result in the list of a manifest."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    name: Required[str]
    kind: Required[str]
    title: str | None
    settings: Settings | None
    groups: list[ManifestGroup] | None
    notes: list[str | ManifestNote] | None
    extra: list[str] | None
    seconds: float
    part: str


class Run(TypedDict, total=False):
    """A command that added results: when it ran, on which data, with which software."""

    __pydantic_config__ = AS_WRITTEN  # type: ignore[misc]

    created: str
    command: str
    conjury: str
    commit: str | None
    python: str
    packages: dict[str, str]
    r: dict[str, str] | None
    data: list[DataFile] | None
    notes: list[str | ManifestNote] | None
    files: list[str] | None
    simulated: bool | None
    real_judges: list[str] | None
    answers: list[dict[str, Any]] | None
    alpha: float | None
    seed: int | None


class Manifest(Run, total=False):
    """The manifest of a folder of results; the last fields are those of format 1."""

    format: int
    study: str
    study_argument: str
    title: str
    main: str | None
    refusal: str | None
    missing: dict[str, Any] | None
    labels: Labels | None
    results: list[Entry] | None
    parts: dict[str, Run] | None
    analyses: list[dict[str, Any]] | None
    compared: dict[str, Any] | None
    diagnosed: dict[str, Any] | None


SCHEMA: TypeAdapter[Any] = TypeAdapter(Manifest)


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest of results; InputError where it is damaged or a field has another type."""
    return read_record(path, SCHEMA, REMEDY)
