"""What stands below a replicated table: sample sizes, clusters, intervals; and tables without numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.study.models import AnyStudy, Study

from ..exhibits.conjoint_exhibits import lines_of, note_of_sample
from ..report_data import ReportData
from ..table_format import intervals, styled_table, whole
from .joined_numbers import our_frame

if TYPE_CHECKING:
    from great_tables import GT

    from ...pipeline.manifest import RecordedResult

MOST_GROUPS = 12  # of judges and prompts whose sizes are listed
COUNTS = {
    "n_answers": "answers",
    "n_ratings": "ratings",
    "n_pairs": "pairs",
    "n_units": "units",
    "n_items": "items",
    "n_clusters": "clusters",
}


def notes_of_results(report: ReportData, names: Sequence[str]) -> list[str]:
    """Sample sizes, clusters and intervals of the results behind a table, one sentence each."""
    sentences = []
    for name in names:
        record = next((entry for entry in report.results if entry.name == name), None)
        if record is None:
            continue
        frame = our_frame(report, name)
        if record.groups and record.settings.get("formula"):
            kind = lines_of(record, frame)
            lines = f"In brackets: {kind}." if kind else ""
            sample = _sizes_of_groups(report, record) or note_of_sample(report, record, frame)
            sentences.append(" ".join(filter(None, (sample, lines))))
            continue
        spans = {_span(frame[column]): text for column, text in COUNTS.items() if column in frame}
        counts = [f"{span} {text}" for span, text in spans.items()]  # equal counts have the last name
        resampled = f"; {intervals(record.settings)}" if record.settings.get("draws") else ""
        if counts:
            sentences.append(f"Each number of {name}: {', '.join(counts)}{resampled}.")
    return list(dict.fromkeys(sentences))


def _sizes_of_groups(report: ReportData, record: RecordedResult) -> str:
    """Profiles and clusters of each judge and prompt; empty where they are many."""
    groups = [group for group in record.groups if not group.get("variant") and group.get("n_used")]
    if not 0 < len(groups) <= MOST_GROUPS:
        return ""
    texts = []
    for group in groups:
        prompt = str(group.get("prompt") or "")
        who = ", ".join(
            filter(None, (report.label("judges", group["judge"]), prompt and report.label("prompts", prompt)))
        )
        clusters = f" in {whole(group['n_clusters'])} clusters" if group.get("n_clusters") else ""
        column = f" ({str(group['id']).removesuffix('_id')})" if clusters and group.get("id") else ""
        texts.append(f"{who}: {whole(group['n_used'])} profiles{clusters}{column}")
    return f"{'; '.join(texts)}."


def _span(counts: pd.Series[float]) -> str:
    """A count that all rows share, or the smallest and the largest."""
    counts = counts.dropna()
    if counts.empty:
        return "no"
    low, high = whole(counts.min()), whole(counts.max())
    return low if low == high else f"{low} to {high}"


def attributes_table(study: Study) -> GT:
    """The attributes of a conjoint with their levels and probabilities."""
    rows = []
    for attribute in study.attributes:
        levels = [level.label for level in attribute.levels]
        rows.append({"Attribute": attribute.label, "Levels": ", ".join(levels), "Number": whole(len(levels))})
    return styled_table(
        pd.DataFrame(rows), n_left=2, note="The first level of each attribute is its reference."
    )


def prompt_texts(study: AnyStudy) -> Iterator[tuple[str, str]]:
    """Label and text of every prompt of a study, as the templates have them."""
    for prompt in study.prompts:
        texts = [
            (study.folder / name).read_text(encoding="utf-8")
            for name in (prompt.template, prompt.user)
            if name is not None
        ]
        yield prompt.label, "\n\n".join(texts)


def prompts_html(study: AnyStudy) -> str:
    """The prompts of a study as HTML."""
    return "\n".join(
        f"<h3>{escape(label)}</h3>\n<pre style='white-space: pre-wrap'>{escape(text)}</pre>"
        for label, text in prompt_texts(study)
    )
