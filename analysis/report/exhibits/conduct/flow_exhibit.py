"""The exhibit of people from recruited to analysed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ....figures.diagnostics.people_flow_figure import WORDS
from ....frames.participation import ANALYSED, RECORDED, STARTED
from ....results import Result
from ...method_sentences import plain
from ...report_data import ReportData
from ...sentences.conduct_sentences import ParticipantCounts, analysed_in_words
from ...table_format import capitalised, styled_table, whole
from ..exhibit_registry import Drawn, Exhibit, Laid, ended, exhibit

if TYPE_CHECKING:
    from ....pipeline.manifest import RecordedResult


@exhibit("people_flow")
def flow(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """How many people took part, left, were excluded, and are analysed."""
    frame, title = result.frame, ended(plain(record.title))
    first, last = int(frame["n"].iloc[0]), int(frame.loc[frame["step"] == ANALYSED, "n"].iloc[0])
    table = pd.DataFrame(
        {
            "Step": frame["step"].astype(str).map(WORDS),
            "Reason": frame["reason"].fillna("").astype(str).map(capitalised),
            "People": frame["n"].map(whole),
        }
    )
    began = {STARTED: "who started", RECORDED: "in the data"}[str(frame["step"].iloc[0])]
    sentence = analysed_in_words(ParticipantCounts(first, last, began))
    return Exhibit(
        f"{sentence} {{figure}} and {{table}} show the steps.",
        [Drawn(result, title)],
        [Laid([styled_table(table, n_left=2)], title)],
    )
