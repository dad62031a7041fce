"""What stands below a replicated table: sample sizes, clusters, intervals; and tables without numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import AnyStudy, ItemStudy, Study
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.files import read_table

from ...figures.labels import words
from ...frames.sentences import capitalised
from ...frames.vocabulary import HUMAN
from ..exhibits.conjoint.conjoint_basis import lines_of, note_of_sample
from ..report_data import ReportData
from ..table_format import intervals, number, styled_table, whole
from .exhibit_layouts import RATED_ITEMS
from .joined_numbers import our_frame

if TYPE_CHECKING:
    from great_tables import GT

    from ...pipeline.manifest import RecordedResult

MOST_EXAMPLES = 10
LONGEST_TEXT = 240  # letters of an example
MOST_GROUPS = 12  # of judges and prompts whose sizes are listed
COUNTS = {
    "n_answers": "answers",
    "n_ratings": "ratings",
    "n_pairs": "pairs",
    "n_units": "units",
    "n_items": "items",
    "n_clusters": "clusters",
}


def notes_of_results(report: ReportData, names: Sequence[str], *, limits: bool) -> list[str]:
    """Sample sizes, clusters and, of a table with limits, intervals of its results, one sentence each."""
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
        resampled = f"; {intervals(record.settings)}" if limits and record.settings.get("draws") else ""
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


def examples_table(study: ItemStudy, report: ReportData | None = None) -> GT:
    """Items with their strata, and gold labels or ratings: one of each combination, while there is room."""
    ratings = _ratings_of_items(report)
    items_of_results = None if report is None else report.path / "data" / "items.parquet"
    with_ratings = ratings is not None and items_of_results is not None and items_of_results.is_file()
    items = read_table(items_of_results if with_ratings and items_of_results else study.file(study.items))
    columns = [name for name in study.collect.fields or ["text"] if name in items]
    items = items[items[columns].apply(lambda column: as_text(column).fillna("").ne("")).all(axis=1)]
    labels = gold_of_items(study)
    kinds = [stratum.id for stratum in study.strata if stratum.id in items]
    kind = items[kinds].assign(label=as_text(items["item_id"]).map(labels))
    first = items[~kind.duplicated().to_numpy()].head(MOST_EXAMPLES)
    rows = []
    for row in first.to_dict("records"):
        texts = {name: _shortened(str(row[name])) for name in columns}
        levels = {
            capitalised(words(name)): study.level_labels[name].get(str(row[name]), "") for name in kinds
        }
        label = {"Label": labels[row["item_id"]]} if labels else {}
        rated = ratings.get(str(row["item_id"]), {}) if with_ratings and ratings is not None else {}
        rows.append({**{name.capitalize(): text for name, text in texts.items()}, **levels, **label, **rated})
    note = "Items of the study that ships, written for this project; those of the paper are not part of it."
    if with_ratings:
        note = "Items of the results. Ratings: the mean of people, and that of each model on the last scale."
    table = pd.DataFrame(rows).fillna("")
    return styled_table(table, n_left=len(columns) + len(kinds) + bool(labels), note=note)


def _ratings_of_items(report: ReportData | None) -> dict[str, dict[str, str]] | None:
    """Mean rating of each item by people on every scale, and by models on the last; None without them."""
    if report is None or not report.has(RATED_ITEMS):
        return None
    points = report.table(RATED_ITEMS)
    last = str(points["dimension"].iloc[-1])
    ratings: dict[str, dict[str, str]] = {}
    for row in points.to_dict("records"):
        of_item = ratings.setdefault(str(row["item"]), {})
        scale = report.names.of("dimension", row["dimension"])
        of_item[f"People: {scale}"] = number(row["human"], 2)
        if str(row["dimension"]) == last:
            of_item[f"{report.label('judges', row['judge'])}: {scale}"] = number(row["model"], 2)
    return ratings


def _shortened(text: str) -> str:
    return (
        text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"
    )


def gold_of_items(study: ItemStudy) -> dict[str, str]:
    """Gold label of each item in words; of several label sets the first."""
    if study.gold is None or not study.file(study.gold.file).exists():
        return {}
    gold = read_table(study.file(study.gold.file))
    task = next(iter(study.label_sets))
    texts = study.gold_labels(task)
    gold = gold[as_text(gold["label_set"]).eq(str(gold["label_set"].iloc[0]))]
    return {
        str(row["item_id"]): texts.get(str(row["label"]), str(row["label"]))
        for row in gold.to_dict("records")
    }


def steps_of(study: AnyStudy, report: ReportData | None) -> pd.DataFrame:
    """What is shown, who judges it, and what is estimated, in the order of a study: ``step, text``."""
    people = [judge.label for judge in study.judges if judge.kind == HUMAN]
    models = [judge.label for judge in study.judges if judge.kind == "model"]
    rows = [("Question", study.question)]
    if isinstance(study, ItemStudy):
        levels = {stratum.label: [level.label for level in stratum.levels] for stratum in study.strata}
        rows += [("Items", "\n".join(f"{label}: {', '.join(names)}" for label, names in levels.items()))]
        rows += [("Scales", ", ".join(scale.label for scale in study.scales))]
        rows += [
            ("Labels", "\n".join(", ".join(study.gold_labels(task).values()) for task in study.label_sets))
        ]
    elif isinstance(study, Study):
        rows += [("Attributes", ", ".join(attribute.label for attribute in study.attributes))]
        pairs, tasks = study.design.pairs, study.design.tasks
        rows += [("Tasks", f"{whole(pairs)} pairs for each model; {whole(tasks)} tasks for each person")]
    rows += [("Prompts", ", ".join(prompt.label for prompt in study.prompts))]
    rows += [("People", ", ".join(people)), ("Models", ", ".join(models))]
    return pd.DataFrame([*filter(lambda row: row[1], rows), *_counts(report)], columns=["step", "text"])


def _counts(report: ReportData | None) -> Iterator[tuple[str, str]]:
    """Answers of results: how many judges of each kind gave how many to how many items or pairs."""
    names = ("judgments", "choices")
    paths = [] if report is None else [report.path / "data" / f"{name}.parquet" for name in names]
    for path in (path for path in paths if path.is_file()):
        table = read_table(path)
        subject, unit = ("item_id", "item") if "item_id" in table else ("pair_id", "pair")
        answers = (
            table if "position" not in table or subject == "item_id" else table[table["position"] == "A"]
        )
        for kind, rows in answers.groupby(as_text(answers["judge_kind"]), sort=False):
            who = ("person", "people") if kind == HUMAN else ("model", "models")
            judges = counted(rows["judge_id"].nunique(), *who)
            n, units = whole(len(rows)), counted(rows[subject].nunique(), unit)
            yield f"Answers of {who[1]}", f"{n} of {judges} on {units}"


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
