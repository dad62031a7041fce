"""Choices from files of other programs, with a study file to go on from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from conjury.inference.errors import InputError

console = Console(highlight=False, markup=False, soft_wrap=True)

FORMATS = ("qualtrics",)


@dataclass(frozen=True)
class Columns:
    """What the columns of an export are, as ``read_qualtrics`` takes it; None where it is to be found."""

    outcomes: Sequence[str] | None = None
    repeated: str | None = None
    flipped: bool = True
    first: str | None = None
    second: str | None = None
    covariates: str | None = None
    prefix: str | None = None
    id: str = "ResponseId"


def import_choices(
    export: Path, form: str, out: Path, columns: Columns, labels: Path | None, draft: Path | None
) -> None:
    """Read an export, write its choices, say what was found, and draft a study file on request."""
    from conjury.inference.files import write_table
    from conjury.inference.humans import draft_study, read_qualtrics
    from conjury.inference.humans.attributes import make_ids

    if form not in FORMATS:
        raise InputError(f"--format {form!r} is unknown; use {', '.join(FORMATS)}.")
    if draft is not None and draft.exists():
        raise InputError(f"{draft} exists; a draft would overwrite it, so name another file.")
    survey = read_qualtrics(
        export,
        outcomes=_outcomes(columns.outcomes),
        repeated=columns.repeated,
        flipped=columns.flipped,
        labels=labels,
        first=columns.first,
        second=columns.second,
        covariates=None if columns.covariates is None else columns.covariates.split(","),
        prefix=columns.prefix,
        id=columns.id,
    )
    write_table(survey.choices, out)
    console.print(
        f"{len(survey.choices):,} rows of choices in {out}: {survey.respondents:,} respondents, "
        f"{survey.tasks} tasks, {survey.labels['attribute'].nunique()} attributes"
    )
    for note in survey.notes:
        console.print(f"  {note}")
    if draft is not None:
        name = make_ids([export.name.partition(".")[0]], "study")[0]
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(draft_study(survey, name, export.name), encoding="utf-8")
        console.print(f"A draft of the study in {draft}; go on with `conjury fit {draft} --data {out}`.")


def _outcomes(given: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Read ``choice1,choice2`` and ``trusted=trust1,trust2`` as columns by the name of the result."""
    named: dict[str, list[str]] = {}
    for text in given or ():
        name, equals, columns = text.rpartition("=")
        name = name if equals else "chosen"
        if name in named or not columns:
            raise InputError(
                f"--outcomes {text!r} cannot be used; write each outcome once as NAME=COLUMN,COLUMN."
            )
        named[name] = columns.split(",")
    return named or None
