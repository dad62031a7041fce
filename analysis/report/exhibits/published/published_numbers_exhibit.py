"""The exhibit of published numbers checked against each other by exact arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import counted

from ....figures.figure_registry import parts
from ....results import Result
from ...method_sentences import plain
from ...report_data import ReportData
from ...sentences.diagnostic_sentences import count_verdicts
from ...sentences.published_sentences import COUNTED, chances, chances_in_words, consistent_in_words
from ...table_format import number, styled_table, whole
from ..exhibit_registry import Drawn, Exhibit, Laid, exhibit

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

HEADS = {
    "consistent": "Consistent as published",
    "conditional": "Only under another definition",
    "inconsistent": "Inconsistent as published",
    "untested": "Cannot be tested",
}
MOST_FINDINGS = 60  # rows of a table of findings; the results folder has all
MOST_UNDER = 6  # definitions for each check
CAPTION = "Shares of published numbers by verdict, for each check."
MEANS = (
    "Published means and standard deviations. Shaded: all pairs that ratings on the scale can have, whatever "
    "their number; within it the sample size decides which pairs are possible."
)


def _method(record: RecordedResult, report: ReportData) -> str:
    checks = record.settings.get("checks") or {}
    listed = "; ".join(f"{plain(str(title))} (`{name}`)" for name, title in checks.items())
    sources = [str(text) for text in (record.settings.get("sources") or {}).values() if text]
    cited = f" Sources: {'; '.join(plain(text) for text in dict.fromkeys(sources))}." if sources else ""
    return (
        f"Checks: {listed}. All arithmetic is exact, on integers and fractions; a published number stands "
        f"for every value that is rounded to it. The method follows [@brown2017].{cited}"
    )


def _headline(result: Result, record: RecordedResult, report: ReportData) -> str:
    return consistent_in_words(count_verdicts(result.extra["numbers"]["verdict"], COUNTED))


@exhibit("published_numbers", method=_method, headline=_headline)
def published_numbers(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Verdicts by file and check, the findings that are not consistent as published, and how to read them."""
    frame = result.frame
    figures = [Drawn(result, CAPTION)]
    if "means" in parts(result):
        figures.append(Drawn(result, MEANS, "means", "means"))
    tables = [Laid([verdicts_table(result)], "Published numbers by file and verdict.")]
    inconsistent = findings(frame, "inconsistent")
    if len(inconsistent):
        tables.append(
            Laid(
                [inconsistent_table(inconsistent, result)],
                "Numbers inconsistent as published.",
                "inconsistent",
            )
        )
    if (frame["verdict"] == "conditional").any():
        tables.append(
            Laid([conditional_table(result)], "Definitions under which numbers are consistent.", "under")
        )
    lead = (
        "Published numbers that describe the same data have to fit each other: the mean of whole ratings is "
        "a whole number divided by the sample size, and accuracy, recall and F1 come from one table of "
        "counts. The verdicts are in {figure} and {table}."
    )
    return Exhibit(lead, figures, tables, reading(result))


def findings(frame: pd.DataFrame, verdict: str) -> pd.DataFrame:
    """One row for each finding with a verdict; its numbers are joined."""
    rows = frame[frame["verdict"] == verdict]
    texts = rows.groupby("finding", sort=False)["published"].agg(", ".join)
    once = rows.drop_duplicates("finding")
    return once.assign(numbers=once["finding"].map(texts)).reset_index(drop=True)


def reading(result: Result) -> str:
    """What the verdicts mean, with how likely random numbers were to pass."""
    numbers = result.extra["numbers"]
    consistent = consistent_in_words(count_verdicts(numbers["verdict"], COUNTED))
    return (
        f"{consistent} A number is inconsistent if no data can give it together with the numbers and facts "
        "that were published with it. The reason may be an error of the number, a stated fact that is not "
        "that of the table, or a definition that was not tried. "
        f"{chances_in_words(chances(numbers))}"
    ).rstrip()


def verdicts_table(result: Result) -> GT:
    """Numbers by file and verdict."""
    titles = result.settings.get("titles") or {}
    rows = []
    for file, file_rows in result.extra["numbers"].groupby("file", sort=False):
        counts = file_rows["verdict"].value_counts()
        row = {"Table": f"{titles.get(file, file)} ({file})", "Numbers": whole(len(file_rows))}
        row |= {head: whole(counts.get(name, 0)) for name, head in HEADS.items()}
        chances = file_rows.loc[file_rows["verdict"] == "consistent", "chance"]
        row["Chance to pass"] = number(chances.median(), 2) if chances.notna().any() else ""
        rows.append(row)
    note = (
        "Chance to pass: the probability that random numbers of as many digits would be consistent as "
        "published; median over the numbers that are. Empty: not known."
    )
    return styled_table(pd.DataFrame(rows), note=note)


def inconsistent_table(frame: pd.DataFrame, result: Result) -> GT:
    """Findings that are inconsistent, with the nearest possible values."""
    titles = result.settings.get("titles") or {}
    visible_rows = frame.head(MOST_FINDINGS)
    rows = pd.DataFrame(
        {
            "file": [titles.get(name, name) for name in visible_rows["file"]],
            "Where": [
                f"{place} (row {row})"
                for place, row in zip(visible_rows["place"], visible_rows["row"], strict=True)
            ],
            "Published": visible_rows["numbers"],
            "Finding": visible_rows["reason"],
            "Nearest possible": visible_rows["nearest"],
            "Definitions tried": visible_rows["n_definitions"].map(whole),
            "Chance to pass": visible_rows["chance"].map(lambda value: number(value, 2)),
        }
    )
    n_more = len(frame) - len(visible_rows)
    note = f"{counted(n_more, 'more finding')} in the results folder." if n_more else ""
    return styled_table(rows, groups="file", n_left=4, note=note)


def conditional_table(result: Result) -> GT:
    """How many numbers of each file and check are consistent under which single definition."""
    titles, checks = result.settings.get("titles") or {}, result.settings.get("checks") or {}
    frame = findings(result.frame, "conditional")
    split = frame.assign(under=frame["under"].str.split("; ")).explode("under")
    rows = []
    for (file, check), here in split.groupby(["file", "check"], sort=False):
        total = here["finding"].nunique()
        counts = here["under"].value_counts()  # the most frequent first
        rows += [
            {
                "what": f"{titles.get(file, file)}: {checks.get(check, check)}",
                "Consistent under": under,
                "Findings": f"{whole(count)} of {whole(total)}",
            }
            for under, count in counts.head(MOST_UNDER).items()
        ]
    note = "A finding that is consistent under several definitions is counted for each."
    return styled_table(pd.DataFrame(rows), groups="what", n_left=2, note=note)
