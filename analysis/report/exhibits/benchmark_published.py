"""Sections of reports on benchmarks that set printed numbers beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...audit.compare import HARM, STUDIES
from ...audit.harm_or_humor import harm_checks
from ...figures.benchmark import alt_of, figure_of
from ...figures.benchmark.printed import printed_metric
from ...figures.raters.naming import Names
from ..markdown import captioned, picture, table_blocks
from ..methods import plain
from ..tables import number, styled_table, whole

if TYPE_CHECKING:
    from great_tables import GT

    from ...results import Result
    from ..ratings_report import BenchmarkReport

NAME = "beside_print"
CLOSE = 0.00051  # half a unit of the last printed digit
SETS = {"full": "All languages", "en": "English", "es": "Spanish"}
HOW = {
    "multiturn": (
        "The published evaluation meets each answer with the gold label of the joke after its own, pools "
        "the answers of all runs, averages F1 over every string that was answered, and takes one point for "
        "an area under a curve. @fig-beside-print shows that these rules, applied to the same completions, "
        "give the printed numbers, and what the same rules give when every answer is on its own joke."
    ),
    "harm_or_humor": "@fig-beside-print sets scores of judges of the same name beside the printed ones.",
}


def printed(report: BenchmarkReport) -> str:
    """Set printed numbers beside ours, or say why that cannot be done."""
    if NAME not in report.records:
        return _why_not(report)
    result, told = report.result(NAME), Names(report.words)
    frame = result.frame
    apart = frame["difference"].abs()
    digits = int((apart < CLOSE).sum())
    study = str(report.manifest.get("study"))
    summary = (
        f"{whole(len(frame))} printed numbers have one of ours beside them; {whole(digits)} agree to the "
        f"last printed digit, and the largest difference is {number(apart.max(), 4)} (@tbl-beside-print)."
    )
    drawn = picture(NAME, figure_of(result, labels=report.words), alt_of(result, report.words))
    parts = [
        HOW.get(study, "@fig-beside-print shows both."),
        summary,
        captioned("fig-beside-print", drawn, "Printed numbers against ours."),
        table_blocks(NAME, beside_tables(result, told), "Printed numbers beside ours."),
    ]
    return "\n\n".join(parts)


def _why_not(report: BenchmarkReport) -> str:
    if str(report.manifest.get("study")) not in STUDIES:
        return "There are no printed numbers to compare these results with."
    if report.manifest.get("simulated") and not report.manifest.get("real_judges"):
        return "These judgments are simulated and are not compared with print."
    if str(report.manifest.get("study")) == HARM:
        return "None of these judges, modalities and languages was printed."
    return (
        "These results hold no answers read by the published rules; import the completions once more with "
        "`--parser published`, and give the judgments to `conjury fit` with `--reading`."
    )


def beside_tables(result: Result, told: Names) -> list[GT]:
    """Table by table and metric: how many numbers, how far apart, and what alignment changes."""
    frame = result.frame
    rows = []
    for (table, name, task, metric), own in frame.groupby(["table", "set", "task", "metric"], sort=False):
        apart = own["difference"].abs()
        row = {
            "what": f"Table {table}: {told.of('task', task)}, {set_in_words(str(name), told)}",
            "Score": printed_metric(str(metric), told),
            "Numbers": whole(len(own)),
            "To the last digit": whole(int((apart < CLOSE).sum())),
            "Largest difference": number(apart.max(), 4),
        }
        if "aligned" in own:
            row["Mean, as printed"] = number(own["printed"].mean())
            row["Mean, answers on their own items"] = number(own["aligned"].mean())
        rows.append(row)
    return [styled_table(pd.DataFrame(rows), name="beside-print", groups="what")]


def set_in_words(name: str, told: Names) -> str:
    """A set of items in words: a language, or modality and language."""
    if name in SETS:
        return SETS[name]
    modality, gap, language = name.partition(" ")
    where = "all languages" if language == "all" else told.of("language", language)
    return f"{told.of('modality', modality)}, {where}" if gap else told.of("modality", modality)


def printed_checks(report: BenchmarkReport) -> str:
    """What the printed numbers of a study say of each other; no data are needed for it."""
    if str(report.manifest.get("study")) != HARM:
        return ""
    listed = [
        f"- **{plain(row['check'][:1].upper() + row['check'][1:])}.** {plain(row['finding'])}"
        for row in harm_checks().to_dict("records")
    ]
    return "The printed numbers can be checked against each other, without data.\n\n" + "\n".join(listed)
