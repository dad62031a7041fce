"""What a report says first: the finding, also as a terminal shows it; its key exhibits; what limits it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

import numpy as np
import pandas as pd

from conjury.inference.errors import ConjuryError

from ..figures.benchmark.benchmark_labels import MISSING, label_rows, metric_in_words
from ..figures.benchmark.score_figures import policy_of, rows_of_policy
from ..figures.labels import CORRELATIONS, LevelLabels, level_of, overall_rows, words
from ..frames.sentences import agreeing_with_part, capitalised, headed, out_of, together
from ..frames.vocabulary import BASELINE
from ..frames.word_table import WordTable
from ..pipeline.manifest import RecordedResult, rows_in_words
from .blocks import raw_block
from .exhibits import EXHIBITS
from .exhibits.conduct.finding_limits import limiting_sentences
from .exhibits.conjoint.conjoint_basis import choices_of_judges, contrasts, estimates, in_points
from .exhibits.conjoint.effect_findings import find_focus
from .method_sentences import bounds_name, plain, unmarked
from .report_data import ReportData
from .sentences.effect_sentences import RowEstimate, limits_of, row_in_words, signed
from .table_format import dimension_of, number, whole

MOST_HEADLINES = 3
MOST_EFFECTS = 6  # effects of the main analysis
HALF_WIDTH = 8  # characters of a bar on each side of zero
KEYS = (  # kinds whose first figure a main report shows, and those whose first table it shows
    ("amce", ("people", "amce")),
    ("mm", ("mm",)),
    ("scores", ("scores",)),
    ("means", ("correlations", "agreement", "means")),
    ("agreement", ("agreement",)),
)
MOST_OTHERS = 2  # titles that "all but" names
REFERRING = re.compile(r"(It|Its|They|Nor|This|These|Those|Both)\b")  # starts of sentences on the one before
EACH = ("gaps", "by_label", "confusion")  # kinds of which each result asks something else
LONGEST_READING = 1_100  # letters of what an exhibit says, where it is listed


def finding_blocks(report: ReportData) -> list[str | WordTable]:
    """The sentences with which the report opens, and the largest effects of a conjoint's main analysis."""
    sentences: list[str | WordTable] = [
        unmarked(paragraph) for text in headlines(report) for paragraph in text.split("\n\n")
    ]
    main = next(iter(report.of_kind("amce")), None)
    if main is None:
        return sentences
    frame = estimates(report, main)
    table = largest_effects_table(
        frame,
        LevelLabels(report.labels),
        bounds_name(main.settings, frame=frame),
        in_points=in_points(main),
    )
    return sentences if table is None else [*sentences, table]


def sentence_beside_effects(report: ReportData, sentences: Sequence[str]) -> str:
    """What stands beside the table of largest effects: what the study asks, or else models against people."""
    main = next(iter(report.of_kind("amce")), None)
    is_first = main is not None and find_focus(report, main) is not None
    return sentences[0 if is_first else -1] if sentences else ""


def headlines(report: ReportData) -> list[str]:
    """What was found, a sentence for each kind of result that has one, in Markdown."""
    sentences: dict[str, str] = {}
    for record in report.of_run:
        if record.kind not in sentences:
            sentences[record.kind] = headline_of(record, report)
    return list(filter(None, sentences.values()))[:MOST_HEADLINES]


def further_findings(report: ReportData, locate: Callable[[RecordedResult], tuple[str, str]]) -> str:
    """What else was found, as a Markdown list: each kind of result, and where it is shown."""
    # `locate` gives a reference to the exhibit of a result, empty where it has none, and what it says.
    keys = {record.name for record in key_results(report.of_run) or ()}
    opening = set(headlines(report))
    lines, unsaid = list[str](), list[str]()
    for record in report.of_run:
        if record.kind not in EACH and record is not report.of_kind(record.kind)[0]:
            continue  # the same once more, by strata
        where, reading = ("", "") if record.name in keys else locate(record)
        text = (
            headline_of(record, report)
            or (reading if len(reading) <= LONGEST_READING and "{" not in reading else "")
            or _tested(report, record)
        )
        title = plain(record.title).rstrip(".")
        if where and title and not text:
            unsaid.append(f"{title} ({where})")
        elif where and title and text not in opening:
            lines.append(f"- **{title}** ({where}). {text}")
    return "\n".join([*lines, *([f"- Also shown: {'; '.join(unsaid)}."] if unsaid else [])])


def _tested(report: ReportData, record: RecordedResult) -> str:
    """How many tests of a result have a small adjusted p value; empty of results without any."""
    frame = report.read(record).frame
    name = next((name for name in ("p_adjusted", "p_holm") if name in frame), None)
    p = pd.Series(dtype=float) if name is None else frame[name].dropna()
    if p.empty:
        return ""
    alpha = float(record.settings.get("alpha") or 0.05)
    n = int((p < alpha).sum())
    verb = agreeing_with_part(n, len(p), "has", "have")
    return f"{capitalised(out_of(n, len(p), 'test', 'tests'))} {verb} an adjusted p below {alpha:g}."


def headline_of(record: RecordedResult, data: ReportData) -> str:
    """The sentence in which a result says what was found, or why it cannot; empty where its kind has none."""
    if record.name not in data.headlines:
        data.headlines[record.name] = _headline(record, data)
    return data.headlines[record.name]


def _headline(record: RecordedResult, data: ReportData) -> str:
    """The sentence of a result, or why there is none; empty where its kind has none."""
    spec = EXHIBITS.get(record.kind)
    if spec is None or spec.headline is None:
        return ""
    try:
        return spec.headline(data.read(record), record, data)
    except ConjuryError as error:
        why = capitalised(str(error).replace(str(data.path), "the results folder"))
        return headed(plain(record.title or record.name), f"no finding can be stated. {plain(why)}")


def largest_effects_table(
    frame: pd.DataFrame, labels: LevelLabels, bounds: str = "", *, in_points: bool = False
) -> WordTable | None:
    """Lay the largest effects out with intervals and bars; None where none is estimated."""
    estimated = frame[frame["std_error"].notna() & frame["estimate"].notna()]
    if estimated.empty:
        return None
    ranked = estimated.sort_values("estimate", key=np.abs, ascending=False, kind="stable").head(MOST_EFFECTS)
    most = float(ranked["estimate"].abs().max()) or 1.0
    before = HALF_WIDTH if ranked["estimate"].min() < 0 else 0
    has_judges = "judge" in frame and frame["judge"].nunique() > 1
    rows = [
        (
            labels.both(row["feature"], row["level"]),
            *([str(row["judge"])] if has_judges else []),
            signed(row["estimate"], in_points),
            limits_of(row["lower"], row["upper"], in_points),
            bar_of(float(row["estimate"]) / most, before),
        )
        for row in ranked.to_dict("records")
    ]
    unit = "Points" if in_points else "Estimate"
    head = ("Largest effects", *(["Judge"] if has_judges else []), unit, bounds or "interval", "")
    return WordTable("", head, rows, words=(0, 1, len(head) - 1) if has_judges else (0, len(head) - 1))


def bar_of(share: float, width: int) -> str:
    """A bar on a side of zero, which has ``width`` at its left; ``share`` of the longest, from -1 to 1."""
    length = "\N{FULL BLOCK}" * max(1, round(abs(share) * HALF_WIDTH))
    before, after = (length, "") if share < 0 else ("", length)
    return f"{before:>{width}}\N{BOX DRAWINGS LIGHT VERTICAL}{after}"


def key_results(records: Iterable[RecordedResult]) -> tuple[RecordedResult, RecordedResult] | None:
    """The results whose first figure and whose first table a main report shows; None without both."""
    first: dict[str, RecordedResult] = {}
    for record in records:
        first.setdefault(record.kind, record)
    for of_figure, of_table in KEYS:
        if of_figure in first:
            return first[of_figure], next(first[kind] for kind in (*of_table, of_figure) if kind in first)
    return None


def row_sentences(report: ReportData, record: RecordedResult) -> str:
    """A sentence for each row of a main table, folded, on pages only; empty of kinds without any."""
    build = {"people": _of_effects, "amce": _of_effects, "scores": _of_scores, "correlations": _of_ratings}
    if record.kind not in build:
        return ""
    mark = f" ({report.mark[:1].lower()}{report.mark[1:]})" if report.mark else ""
    texts = [row_in_words(row).removesuffix(".") + f"{mark}." for row in build[record.kind](report, record)]
    items = "".join(f"<li>{escape(text, quote=False)}</li>" for text in texts)
    block = f"<details><summary>A sentence for each row, to copy</summary><ul>{items}</ul></details>"
    return f'::: {{.content-visible when-format="html"}}\n{raw_block(block)}\n:::' if texts else ""


def _of_effects(report: ReportData, record: RecordedResult) -> Iterable[RowEstimate]:
    """Effects of each judge, or differences of each model from people."""
    frame = estimates(report, record)
    frame = frame.assign(contrast=contrasts(frame, record, report))
    has_prompts = any(group.get("prompt") for group in record.groups)
    sizes = choices_of_judges(report, record)
    points = in_points(record)
    n_people = next((group["people"]["n_choices"] for group in record.groups if group.get("people")), None)
    counted_as = f"choices and {whole(n_people)} of people" if n_people else "choices"
    for row in frame[frame["std_error"].notna() & frame["estimate"].notna()].to_dict("records"):
        judge, what = str(row.get("judge") or "All judges"), str(row["contrast"])
        under = f" under the prompt {row['prompt']}" if has_prompts and row.get("prompt") else ""
        subject = f"{judge}{under}, {what}: effect on the choice"
        if record.kind == "people":
            ends = [
                number(100 * row[name], 1) if points else number(row[name]) for name in ("model", "people")
            ]
            subject = f"{judge}{under} minus people, {what} ({ends[0]} and {ends[1]}): difference"
        p = row.get("p_adjusted", row.get("p"))
        yield RowEstimate(
            subject, row["estimate"], row["lower"], row["upper"], level_of(record.settings),
            np.nan if p is None else float(p), "p_adjusted" in row, sizes.get(judge, 0), counted_as, points,
        )  # fmt: skip


def _of_scores(report: ReportData, record: RecordedResult) -> Iterable[RowEstimate]:
    """The first score of each judge in each task and stratum."""
    frame = report.read(record).frame
    policy = policy_of(frame, None)
    frame = rows_of_policy(frame[frame["judge_kind"] != BASELINE], policy)
    is_missing = (frame["metric"] == "missing_rate") & (frame["estimate"] > 0)
    rule = f" ({MISSING.get(policy, policy)})" if is_missing.any() else ""
    frame = label_rows(frame[frame["metric"] == frame["metric"].iloc[0]], record.settings, report.names)[0]
    for row in frame.dropna(subset="estimate").to_dict("records"):
        where = f", {row['_where'][:1].lower()}{row['_where'][1:]}" if row["_where"] else ""
        subject = f"{row['_who']}{where}: {metric_in_words(row['metric']).lower()}{rule}"
        yield RowEstimate(
            subject, row["estimate"], row["lower"], row["upper"], level_of(record.settings),
            np.nan, adjusted=False, n=int(row.get("n_answers") or 0), counted="answers",
        )  # fmt: skip


def _of_ratings(report: ReportData, record: RecordedResult) -> Iterable[RowEstimate]:
    """Correlations of models with people over all items, by the first coefficient."""
    names, frame = report.names, report.read(record).frame
    by = list(record.settings.get("by") or [])
    overall = overall_rows(frame, by)
    overall = overall[overall["coefficient"] == overall["coefficient"].iloc[0]]  # that of the key table
    for row in overall.dropna(subset="estimate").to_dict("records"):
        what = CORRELATIONS.get(str(row["coefficient"]), words(row["coefficient"]))
        p = row.get("p_holm")
        yield RowEstimate(
            f"{names.of('judge', row['judge'])} with people, {dimension_of(names, row['dimension'])}: {what}",
            row["estimate"], row["lower"], row["upper"], level_of(record.settings),
            np.nan if p is None else float(p), adjusted=True, n=int(row.get("n_items") or 0), counted="items",
        )  # fmt: skip


def limits(report: ReportData) -> str:
    """What limits a finding, as a Markdown list."""
    return "\n".join(f"- {text}" for text in limiting_sentences(report, _key_records(report)))


def _key_records(report: ReportData) -> list[RecordedResult]:
    """The key results, each once."""
    names = {record.name for record in key_results(report.of_run) or ()}
    return [record for record in report.of_run if record.name in names]


def method_paragraph(report: ReportData, method_of: Callable[[RecordedResult], str]) -> str:
    """What was asked, how the key results were computed, from which data: one paragraph."""
    records = _key_records(report)
    units = [unit for record in records for unit in _units(method_of(record))]
    files = [
        f"{plain(item.get('file') or item.get('name'))} ({rows_in_words([item]) or 'no rows'})"
        for item in report.run.get("data") or []
    ]
    n_further = len(report.of_run) - len(records)
    texts = [
        plain(report.manifest.get("design") or ""),
        *dict.fromkeys(units),
        f"Data: {together(files)}." if files else "",
        plain(report.run.get("units") or ""),
        f"{whole(n_further)} {'further ' * bool(records)}analyses are described in @sec-methods."
        if n_further > 1
        else "",
        f"conjury {plain(report.run.get('conjury') or '')}; all versions and checksums are in @sec-versions.",
    ]
    return " ".join(filter(None, texts))


def merged(texts: Mapping[str, str]) -> str:
    """Paragraphs of titles and texts; a sentence that several share stands once, with their titles."""
    about: dict[str, list[str]] = {}
    for title, text in texts.items():
        for unit in _units(text):
            about.setdefault(unit, []).append(title)
    paragraphs: dict[tuple[str, ...], list[str]] = {}
    for unit, titles in about.items():
        paragraphs.setdefault(tuple(dict.fromkeys(titles)), []).append(unit)
    return "\n\n".join(
        f"**{_titles(titles, list(texts))}** {' '.join(units)}" for titles, units in paragraphs.items()
    )


def _units(text: str) -> list[str]:
    """Sentences of a text; one that refers to the sentence before it stays with that."""
    units: list[str] = []
    for part in re.split(r"(?<=[.?!]) (?=[A-Z*`\d])", text):
        if units and REFERRING.match(part):
            units[-1] = f"{units[-1]} {part}"
        else:
            units.append(part)
    return units


def _titles(titles: tuple[str, ...], all_titles: Sequence[str]) -> str:
    """Titles before a sentence that is about them: all, all but a few, or each."""
    excepted = [title.rstrip(".") for title in all_titles if title not in titles]
    if len(all_titles) > 1 and len(excepted) <= MOST_OTHERS < len(titles):
        return "All analyses" + (f" but {together(map(_in_quotes, excepted))}" if excepted else "") + "."
    if len(all_titles) > 1 and not excepted:
        return "All analyses."
    text = "; ".join(title.rstrip(".") if len(titles) > 1 else title for title in titles)
    return text if text.endswith((".", "?")) else f"{text}."


def _in_quotes(title: str) -> str:
    return f"“{title}”"
