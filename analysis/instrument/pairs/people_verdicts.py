"""People's verdicts on pairs that count as theirs: who gave them, and how their pairs were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed, quoted
from conjury.inference.readers.model_names import like_models
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.reading import TableReading
from conjury.inference.tables.schema import SAMPLING

from ...frames.kinds import limit_text
from ...numerics.intervals.bounded import Flags
from ...raters.label_provenance import (
    BLIND,
    SAMPLED,
    read_provenance,
    without_labels,
    without_others_labels,
)
from .pair_columns import PairColumns

LabelTable = tuple[TableReading, PairColumns]
MOST_OF_ONE = 0.5  # share of people's verdicts that one person may give without a note


@dataclass(frozen=True)
class PeopleVerdicts:
    """Tables of pairs without the verdicts that are not used as people's."""

    reading: TableReading
    labels: LabelTable | None  # a second table, of people
    provenance: Mapping[str, Any]  # of the settings; empty without people
    drawn_by_judge: bool  # whether pairs were drawn by its verdicts, with probabilities that are not known
    notes: tuple[str, ...]


def person_rows(frame: pd.DataFrame, columns: PairColumns) -> Flags:
    """Flags of the rows whose verdict a person gave, by the column of who gave it."""
    if columns.judge_names is None:
        return np.zeros(len(frame), dtype=bool)
    raters = as_text(frame[columns.judge_names]).str.strip().str.casefold()
    return raters.isin([name.strip().casefold() for name in columns.people]).to_numpy(dtype=bool)


def notes_on_people(frame: pd.DataFrame, columns: PairColumns) -> list[str]:
    """Say which people are called like models, and who gave most of people's verdicts."""
    if columns.judge_names is None or not columns.people:
        return []
    notes = list[str]()
    if lookalikes := like_models(columns.people):
        notes.append(f"Named as people, and called like models: {listed(map(quoted, lookalikes))}.")
    counts = as_text(frame.loc[person_rows(frame, columns), columns.judge_names]).value_counts()
    if len(counts) > 1 and counts.iloc[0] > MOST_OF_ONE * counts.sum():
        notes.append(
            f"{counts.iloc[0]:,} of {counts.sum():,} verdicts of people are by {quoted(counts.index[0])}: "
            "numbers of people are mostly this person's, and intervals do not extend to other people."
        )
    return notes


def usable_verdicts(
    reading: TableReading,
    columns: PairColumns,
    labels: LabelTable | None,
    labelled: Mapping[str, str] | None,
) -> PeopleVerdicts:
    """Set aside verdicts that a model gave as people's, that the judge saw, or whose pairs people chose."""
    part, names = (labels[0], labels[1].verdict) if labels is not None else (reading, columns.human)
    frame, source = part.frame, part.source
    inside = np.ones(len(frame), dtype=bool)
    if labels is None and columns.people:
        inside, names = person_rows(frame, columns), columns.verdict
    if not names:
        if labelled:
            raise InputError(
                f"{source}: --labelled is about people's verdicts, and there are none; name their column "
                "with --human, or give their file with --labels."
            )
        return PeopleVerdicts(reading, labels, {}, drawn_by_judge=False, notes=())
    of_people = frame[inside].reset_index(drop=True)
    account = read_provenance(of_people, names, labelled, source)
    remaining, notes = without_others_labels(of_people, names, account, source)
    chosen = account.rows(SAMPLED, "chosen")
    remaining = without_labels(remaining, names, chosen)
    counts = {"self_selected": chosen, "not_blind": account.rows(BLIND, "no")}
    limits = {name: {"n": int(flags.sum())} for name, flags in counts.items() if flags.any()}
    cells = {name: frame[name].astype(object).to_numpy(copy=True) for name in names}
    for name, values in cells.items():
        values[inside] = remaining[name].astype(object).to_numpy()
    part = replace(part, frame=frame.assign(**cells)) if remaining is not of_people else part
    texts = [*notes, *notes_on_people(frame, columns)]
    return PeopleVerdicts(
        reading if labels is not None else part,
        None if labels is None else (part, labels[1]),
        account.record(limits),
        bool(account.rows(SAMPLED, "judge").any()) and SAMPLING not in frame,
        (*texts, *(limit_text(name, values) for name, values in limits.items())),
    )
