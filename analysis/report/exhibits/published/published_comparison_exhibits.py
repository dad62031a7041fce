"""Exhibits of published numbers compared with ours, and of published numbers compared with each other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ....audit.moderation import compare_moderation
from ....audit.oogiri import STUDY, published_checks
from ....audit.paper_comparison import HARM, STUDIES
from ....audit.published import shipped_checks
from ....figures.benchmark.answer_figures import printed_metric
from ....figures.conjoint.comparison_figures import PRINTED, SOURCE_NAMES
from ....figures.labels import CORRELATIONS, ColumnNames, LevelLabels, true_minus, words
from ....frames.reported_intervals import reported
from ....frames.sentences import capitalised
from ....frames.vocabulary import OVERALL
from ....results import Result
from ...method_sentences import plain
from ...report_data import ReportData
from ...sentences.diagnostic_sentences import count_verdicts
from ...sentences.published_sentences import (
    CLOSE,
    COUNTED,
    Rerun,
    apart_in_words,
    difference_sizes,
    exact_in_words,
    misfits_in_words,
    rerun_in_words,
)
from ...table_format import IN_POINTS, dimension_of, number, spread, styled_table, whole
from ..exhibit_registry import EVERY_STUDY, Drawn, Exhibit, Laid, exhibit
from .published_numbers_exhibit import published_numbers

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

TABLES = {  # published tables of studies, which are checked against each other
    HARM: ("harm_or_humor_counts", "harm_or_humor_agreement", "harm_or_humor_metrics"),
    STUDY: ("oogiri_means", "oogiri_correlations"),
}
ABOUT = {"published_means": "Means and standard deviations", "published_correlations": "Correlations"}
PARTS = ("Published", "Ours", "Difference")
SETS = {"full": "All languages", "en": "English", "es": "Spanish"}
LEADS = {
    "multiturn": (
        "The published evaluation scores each answer against the gold label of the next joke, pools "
        "the answers of all runs, averages F1 over all answered strings, and uses one point for "
        "an area under a curve. {rerun} {figure shows} them, and what these rules give when each answer is "
        "scored against its own joke."
    ),
    "harm_or_humor": "{figure compares} scores of judges of the same name with the published ones.",
}


def _absent(report: ReportData) -> str:
    """Why results of a study with published numbers are not compared with them."""
    study = str(report.manifest.get("study"))
    if report.simulated or study not in STUDIES or study == HARM:
        return ""
    return "No answers are parsed by the published rules, so scores are not compared with published ones."


@exhibit("published", absent=_absent)
def published(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Published effects compared with ours, of judges in both who are not simulated."""
    main = next(iter(report.of_kind("amce")), None)
    if main is None or (report.simulated and not report.real_judges):
        return Exhibit(_absent(report))
    ours = reported(report.table(main.name), main.settings)
    ours = ours[ours["judge"].isin(report.real_judges)] if report.simulated else ours
    comparison = report.named(compare_moderation(result.frame, ours))
    lead = (
        "The published analysis of this study joined each picture to the row before the one that made it; "
        "for one picture in a hundred the attributes changed. {figure compares} the published estimates with "
        "estimates made with the right join and, where the results have them, with the published join. The "
        "right panel shows the differences. {table lists} every judge that is in both."
    )
    caption = (
        "Published estimates and ours (left), and ours minus published in percentage points (right), for one "
        "judge that is in both."
    )
    figure_result = Result(comparison, "published")
    table = effects_table(comparison, LevelLabels(report.labels))
    return Exhibit(lead, [Drawn(figure_result, caption)], [Laid([table], "Published estimates and ours.")])


def effects_table(frame: pd.DataFrame, labels: LevelLabels) -> GT:
    """Published estimates and ours, with the difference, in percentage points."""
    estimates, gaps = frame["estimate"].map(IN_POINTS.number), frame["difference"]
    gap_texts = [replace(IN_POINTS, digits=2).number(gap) for gap in gaps]
    with_gaps = [f"{estimate} ({gap})" for estimate, gap in zip(estimates, gap_texts, strict=True)]
    texts = np.where(frame["source"] == PRINTED, estimates, with_gaps)
    rows = {
        "Judge": frame["judge"],
        "Level": pd.Series(
            [labels.both(f, v) for f, v in zip(frame["feature"], frame["level"], strict=True)]
        ),
    }
    source = frame["source"].map(lambda name: SOURCE_NAMES.get(name, words(name)))
    wide = spread(frame.assign(text=texts), rows, source, lambda row: str(row["text"]))
    note = "In percentage points. In parentheses: ours minus published."
    return styled_table(wide, groups="Judge", note=note)


@exhibit("published_means", absent=_absent)
@exhibit("published_correlations")
def ratings(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Published means or correlations of ratings compared with ours: sums in words, and every number."""
    frame, names, what = result.frame, report.names, ABOUT[record.kind]
    if report.simulated and not report.real_judges:
        return Exhibit(_absent(report) if record.kind == "published_means" else "")
    parts = _parts(frame)
    tables = [compared_table(part, names) for part in parts]
    n_shown = sum(map(len, parts))
    note = f" The folder has the other {whole(len(frame) - n_shown)}." if n_shown < len(frame) else ""
    lead = f"{what}: {apart_in_words(difference_sizes(frame['difference']))}{note}"
    return Exhibit(lead, tables=[Laid(tables, f"{what}: published and recomputed.")])


def _parts(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Means of all topics, or correlations by coefficient: what one table each shows."""
    if "coefficient" in frame:
        return [part for _, part in frame.groupby("coefficient", sort=False)]
    every = frame[frame["modality"].astype(str) == OVERALL]
    return [every if len(every) else frame]


def compared_table(frame: pd.DataFrame, names: ColumnNames) -> GT:
    """Published, ours and the difference, by dimension and response type, with columns for each rater."""
    who = "judge" if "judge" in frame else "group"
    rows = frame.reset_index(drop=True)
    keys = pd.DataFrame(
        {
            "dimension": rows["dimension"].map(partial(dimension_of, names)),
            "Responses": rows["response_type"].map(partial(names.of, "response_type")),
        }
    )
    split = "modality" in rows and rows["modality"].nunique() > 1
    if split:
        keys["Responses"] += ", " + rows["modality"].map(partial(names.of, "modality"))
    wide: dict[tuple[str, str], dict[str, str]] = {}
    spans: dict[str, list[str]] = {}
    for key, row in zip(keys.itertuples(index=False, name=None), rows.to_dict("records"), strict=True):
        rater = names.of("judge", row[who])
        columns = [f"{rater} {part}" for part in PARTS]
        spans[rater] = columns
        texts = (number(row["printed"]), number(row["estimate"]), number(row["difference"]))
        cells: dict[str, str] = wide.setdefault((str(key[0]), str(key[1])), {})
        cells |= dict(zip(columns, texts, strict=True))
    frame = pd.DataFrame(
        [{"dimension": dimension, "Responses": kind, **cells} for (dimension, kind), cells in wide.items()]
    )
    table = styled_table(frame, groups="dimension", note=_note(rows))
    for rater, columns in spans.items():
        table = table.tab_spanner(rater, columns=columns)
    columns_of: dict[str, Any] = {
        column: part for columns in spans.values() for column, part in zip(columns, PARTS, strict=True)
    }
    return table.cols_label(cases=columns_of)


def _note(rows: pd.DataFrame) -> str:
    printed_in = ", ".join(str(name) for name in sorted(rows["table"].unique()))
    gap = "Difference: ours minus the published number."
    if "coefficient" not in rows:
        return f"Means, as published in tables {printed_in}; standard deviations are in the folder. {gap}"
    name = str(rows["coefficient"].iloc[0])
    undefined = " Empty cells: one of the two gave all items the same rating." * bool(
        rows["estimate"].isna().any()
    )
    what = f"{CORRELATIONS.get(name, words(name))} with the mean of people"
    return f"{what}, as published in tables {printed_in}. {gap}{undefined}"


@exhibit("published_scores", absent=_absent)
def labels(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Published scores compared with ours."""
    distances = difference_sizes(result.frame["difference"])
    lead = LEADS.get(str(report.manifest.get("study")), "{figure shows} both.")
    summary = f"{exact_in_words(distances)} The numbers are in {{table}}."
    lead = lead.replace("{rerun}", rerun_in_words(Rerun(distances.exact, distances.n)))
    return Exhibit(
        f"{lead}\n\n{summary}",
        [Drawn(result, "Published numbers against ours.")],
        [Laid([labels_table(result, report.names)], "Published numbers and ours.")],
    )


def labels_table(result: Result, names: ColumnNames) -> GT:
    """Table by table and metric: how many numbers, how far apart, and what alignment changes."""
    frame = result.frame
    rows = []
    for (table, name, task, metric), group in frame.groupby(["table", "set", "task", "metric"], sort=False):
        gaps = group["difference"].abs()
        row = {
            "what": f"Table {table}: {names.of('task', task)}, {set_in_words(str(name), names)}",
            "Score": printed_metric(str(metric), names),
            "Numbers": whole(len(group)),
            "To the last digit": whole(int((gaps < CLOSE).sum())),
            "Largest difference": number(gaps.max(), 4),
        }
        if "aligned" in group:
            row["Mean, as published"] = number(group["printed"].mean())
            row["Mean, answers on their own items"] = number(group["aligned"].mean())
        rows.append(row)
    return styled_table(pd.DataFrame(rows), groups="what")


def set_in_words(name: str, names: ColumnNames) -> str:
    """A set of items in words: a language, or modality and language."""
    if name in SETS:
        return SETS[name]
    modality, gap, language = name.partition(" ")
    where = "all languages" if language == "all" else names.of("language", language)
    return f"{names.of('modality', modality)}, {where}" if gap else names.of("modality", modality)


def _misfits(report: ReportData) -> str:
    """How many published numbers of the study no data can give; empty where there are none."""
    study = str(report.manifest.get("study"))
    if study not in TABLES:
        return ""
    verdicts = shipped_checks(TABLES[study]).extra["numbers"]["verdict"]
    return misfits_in_words(count_verdicts(verdicts, COUNTED))


@exhibit("published_checks", of=EVERY_STUDY, limit=_misfits)
def checks(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Checks of the published numbers of a study against each other; no data are needed for them."""
    study = str(report.manifest.get("study"))
    if study not in TABLES:
        return Exhibit()
    numbers_exhibit: Exhibit = published_numbers(shipped_checks(TABLES[study]), record, report)
    if study != STUDY:
        return numbers_exhibit
    listed = [
        f"- **{plain(capitalised(row['check']))}.** {plain(true_minus(row['finding']))}"
        for row in published_checks().to_dict("records")
    ]
    lead = "Further comparisons of the published numbers with each other and with the text:"
    return replace(numbers_exhibit, further=[Exhibit(f"{lead}\n\n" + "\n".join(listed))])
