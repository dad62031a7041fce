"""What missing choices may do to the analyses of a conjoint study, as steps; none where all are answered."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError
from conjury.inference.tables.schema import KEYS

from ... import conjoint
from ...frames.notes import Note, excluding
from ...frames.passport import is_coverage_note
from ...results import AnalysisStep, Result, stack
from ..runner import FitOptions, JudgeGroup, arguments_of, name_groups, unused_name

if TYPE_CHECKING:
    from conjury.inference.study.models import Study
    from conjury.inference.study.study_fields import Analysis

BOUNDED = ("amce", "mm")
CHOICE = [name for name in KEYS["choices"] if name != "position"]  # columns that name a choice


def bounds_steps(study: Study, split: Sequence[JudgeGroup], options: FitOptions) -> Iterator[AnalysisStep]:
    """Plan the bounds of each analysis of effects and means in which answers are missing."""
    # The refusal policy decides what is missing: an answer that counts as not chosen is none.
    for part in study.analyses:
        if part.verb in BOUNDED and not part.by and any(_lacks_some(study, part, group) for group in split):
            yield AnalysisStep(
                unused_name(study, f"{part.name}_bounds"),
                f"{part.title}: bounds",
                partial(_bound_all, study, part, split, options),
            )


def _lacks_some(study: Study, analysis: Analysis, group: JudgeGroup) -> bool:
    """Whether some answers of a group are missing, and others are not."""
    is_missing = group.choices[study.outcome].isna()
    if not is_missing.any() or is_missing.all():
        return False
    is_missing = analysis.select(group.choices)[study.outcome].isna()
    return bool(is_missing.any() and not is_missing.all())


def _bound_all(study: Study, analysis: Analysis, split: Sequence[JudgeGroup], options: FitOptions) -> Result:
    """Bound one analysis of every group with missing answers; groups that have no bounds are noted."""
    frames: list[pd.DataFrame] = []
    notes: list[str] = []
    counts: list[dict[str, Any]] = []
    settings: dict[str, Any] = {}
    clusters: list[str] = []
    for group in split:
        rows = analysis.select(_columns_for_bounds(study, analysis, group, options))
        is_missing = rows[study.outcome].isna().to_numpy(dtype=bool)
        result = None
        if is_missing.any() and not is_missing.all():
            try:
                result = _bounds(study, analysis, group, rows, options)
            except InputError as error:
                text = "{group}: {error} It was excluded."
                notes.append(excluding(text, group=group.who, error=str(error)))
        names = {"judge": group.judge, "prompt": group.prompt, "variant": group.variant}
        counts.append(names | _count_answers(rows, is_missing))
        if result is None:
            if is_missing.all():
                text = "{group}: there are no answers, so means and effects cannot be estimated."
                notes.append(Note.of(text, group=group.who))
            continue
        forced = result.settings["forced"] and settings.get("forced", True)
        settings = {**result.settings, "forced": forced}
        clusters.append(settings["id"] or "")
        frames.append(name_groups(result.frame, group))
        notes += [
            Note.of("{group}: {note}", group=group.who, note=note)
            for note in result.notes
            if is_coverage_note(note)
        ]
    if not frames:
        raise InputError(" ".join(notes))
    table = pd.DataFrame(counts)
    total, n_answered = int(table["n_asked"].sum()), int(table["n_answered"].sum())
    settings["id"] = " or ".join(filter(None, dict.fromkeys(clusters))) or None
    settings |= {"exclude": analysis.exclude, "counted": "choices"}
    settings |= {"n_asked": total, "n_missing": total - n_answered}
    return Result(stack(frames), "bounds", tuple(notes), settings, {"answered": table})


def _count_answers(rows: pd.DataFrame, is_missing: NDArray[np.bool_]) -> dict[str, int]:
    """Choices that were asked for, and those of which no profile lacks its outcome (flags ``is_missing``)."""
    keys = [key for key in CHOICE if key in rows]
    n_asked, n_lost = (len(part.drop_duplicates(keys)) for part in (rows, rows[is_missing]))
    return {"n_answered": n_asked - n_lost, "n_asked": n_asked}


def _columns_for_bounds(
    study: Study, analysis: Analysis, group: JudgeGroup, options: FitOptions
) -> pd.DataFrame:
    """The columns of a group's choices that bounds need."""
    columns = {study.outcome, "position", *CHOICE, *analysis.features, *analysis.exclude}
    columns |= {*(options.id or study.clusters.of(group.kind)), study.weights or ""}
    return group.choices[[name for name in group.choices if name in columns]]


def _bounds(
    study: Study, analysis: Analysis, group: JudgeGroup, rows: pd.DataFrame, options: FitOptions
) -> Result:
    """Bounds of one analysis of one group."""
    arguments = arguments_of(study, analysis, group.kind, options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the analysis itself has noted them
        return conjoint.bounds(
            getattr(conjoint, analysis.verb), rows, analysis.formula, **arguments, alpha=options.alpha
        )
