"""Exhibits of people: from recruited to analysed, and who they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ....figures.diagnostics.people_flow_figure import WORDS
from ....figures.labels import ColumnNames
from ....frames.participation import ANALYSED, RECORDED, STARTED
from ....frames.sentences import capitalised
from ....results import Result
from ...sentences.conduct_sentences import ParticipantCounts, analysed_in_words
from ...table_format import styled_table, whole
from ..template import tables_of

if TYPE_CHECKING:
    from great_tables import GT


def _analysed(result: Result, names: ColumnNames) -> dict[str, str]:
    """How many people of those who took part are analysed."""
    frame = result.frame
    first, last = int(frame["n"].iloc[0]), int(frame.loc[frame["step"] == ANALYSED, "n"].iloc[0])
    began = {STARTED: "who started", RECORDED: "in the data"}[str(frame["step"].iloc[0])]
    return {"analysed": analysed_in_words(ParticipantCounts(first, last, began))}


@tables_of("people_flow", values=_analysed)
def flow(result: Result, names: ColumnNames) -> list[GT]:
    """How many people took part, left, were excluded, and are analysed."""
    frame = result.frame
    table = pd.DataFrame(
        {
            "Step": frame["step"].astype(str).map(WORDS),
            "Reason": frame["reason"].fillna("").astype(str).map(capitalised),
            "People": frame["n"].map(whole),
        }
    )
    return [styled_table(table, n_left=2)]


@tables_of("participants")
def participants(result: Result, names: ColumnNames) -> list[GT]:
    """Who finished: answers to background questions with numbers and percentages, time and pay."""
    frame = result.frame
    variable = frame["variable"].astype(str)
    table = pd.DataFrame(
        {
            "Variable": variable.where(variable != variable.shift(), ""),
            "Answer": frame["level"].astype(str).map(capitalised),
            "N": ["" if pd.isna(n) else whole(n) for n in frame["n"]],
            "%": ["" if pd.isna(share) else f"{100 * share:.1f}" for share in frame["share"]],
        }
    )
    return [styled_table(table, n_left=2)]
