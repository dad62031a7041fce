"""Exports of other programs as what was collected, for checks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..readers.aliases import without_excluded
from ..readers.collected import CollectedData, with_study
from ..readers.prepare import as_of_study
from ..readers.programs.formats import CHOICES, JOINED, find_format
from ..study.models import ItemStudy, Study
from ..tables.reading.reading_rules import ReadingRules
from .exclusion_rules import Rules
from .rating_columns import Layout


def read_export(
    path: str | Path,
    form: str,  # the name of the format, such as `"qualtrics"` or `"label-studio"`
    study: Study | ItemStudy | None = None,
    *,
    ratings: Sequence[str] = (),
    value: Mapping[str, str] | None = None,
    dimension: str | None = None,
    item: str | None = None,
    judge: str | None = None,
    people: bool = False,
    reading: ReadingRules | None = None,
) -> CollectedData:
    """Read an export by its format, as `conjury import` does with the same options."""
    rules = Rules(reading=reading or ReadingRules())
    export_format = find_format(form, with_ratings=bool(ratings or value))
    if export_format.content == JOINED:
        raise InputError(f"--format {form} contains no answers; import it with `conjury import`, then check.")
    if export_format.content == CHOICES:
        survey = export_format.load()(path, rules=rules)
        choices, of_excluded = without_excluded(survey.choices)
        choices, notes = choices.reset_index(drop=True), [*survey.notes, *of_excluded]
        if isinstance(study, Study):
            choices, further = as_of_study(study, choices, str(path))
            notes += further
        collected = CollectedData(choices=choices, files={"choices": Path(path)}, notes=tuple(notes))
        return with_study(collected, study)
    layout = Layout(
        ratings=tuple(ratings),
        value=dict(value or {}),
        dimension=dimension,
        item=item,
        judge=judge,
        people=people,
    )
    id: dict[str, Any] = {"id": "ResponseId"} if "id" in export_format.options else {}
    imported = export_format.load()(path, layout=layout, rules=rules, **export_format.fixed, **id)
    files = {"judgments": Path(path)}
    return with_study(CollectedData(judgments=imported.judgments, files=files, notes=imported.notes), study)
