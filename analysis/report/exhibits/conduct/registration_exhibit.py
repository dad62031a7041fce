"""The exhibit of results compared with their preregistration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....figures.labels import words
from ....frames.sentences import agreeing
from ....results import Result
from ...method_sentences import code, plain
from ...report_data import ReportData
from ...sentences.conduct_sentences import RegisteredAspects, registered_in_words
from ...table_format import styled_table
from ..exhibit_registry import Exhibit, Laid, exhibit

if TYPE_CHECKING:
    from ....pipeline.manifest import RecordedResult

SAME = "as registered"


@exhibit("registration")
def registration(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Deviations from a preregistration, or that there are none."""
    frame = result.frame
    deviations = frame[frame["verdict"] != SAME]
    same, n = int((frame["verdict"] == SAME).sum()), len(frame)
    when = plain(str(result.settings["registered"])[:10])
    stamp = f"registered on {when} (SHA-256 {code(str(result.settings['sha256'])[:16])})"
    text = registered_in_words(RegisteredAspects(same, n, stamp))
    if deviations.empty:
        return Exhibit(text)
    rows = deviations.reset_index(drop=True).fillna("").astype(str)
    table = styled_table(rows.rename(columns={name: words(name) for name in rows}), n_left=4)
    return Exhibit(
        f"{text} {{table lists}} {agreeing(n - same, 'the other', 'the others')}.",
        tables=[Laid([table], "Deviations from the registration.")],
    )
