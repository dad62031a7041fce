"""Example cards of reports on benchmarks: texts and answers word by word, and never as markup."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from ....figures.benchmark.benchmark_labels import STATUSES, label_in_words
from ....figures.labels import ColumnNames
from ....results import Result
from ...blocks import raw_block
from ...method_sentences import code, plain
from ...report_data import ReportData
from ..exhibit_registry import Exhibit, exhibit

if TYPE_CHECKING:
    from ....pipeline.manifest import RecordedResult

LONGEST = 1_200  # characters of a text that are shown
LONGEST_ANSWER = 500  # and of a raw answer
REASONS = {
    "hard": "rarely correct",
    "divided": "judges are divided",
    "silent": "most answers missing",
    "easy": "mostly correct",
}
ENTITIES = {"{": "&#123;", "}": "&#125;", "`": "&#96;", "[": "&#91;", "@": "&#64;", "$": "&#36;"}
CELL = "padding:3px 8px 3px 0;vertical-align:top;text-align:left;overflow-wrap:anywhere;"
WIDTHS = (16, 20, 64)  # of judge, answer and raw answer
PAIR_WIDTHS = (10, 90)  # of what is shown and its name
TABLE = (
    "width:100%;table-layout:fixed;border-collapse:collapse;margin-bottom:0.6em;border-top:1px solid #8888;"
)
SMALL = "font-size:85%;"


@exhibit("cards")
def cards(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Items and answers verbatim."""
    item = shlex.quote(f"task={result.frame['item_id'].iloc[0]}")
    command = code(f"conjury view {report.run_folder} --filter {item}")
    where = f"All answers to an item, as they were given: {command}, with its name for `task`."
    return Exhibit(f"{cards_markdown(result, report.names)}\n\n{where}")


def cards_markdown(result: Result, names: ColumnNames) -> str:
    """All cards of a result, one heading and one table each."""
    return "\n\n".join(
        card_markdown(card, names) for _, card in result.frame.groupby("card", sort=False, observed=True)
    )


def card_markdown(card: pd.DataFrame, names: ColumnNames) -> str:
    """One card: what was judged, its gold label, and a row for each judge."""
    first = card.iloc[0]
    task = str(first["task"])
    reason = REASONS.get(str(first["reason"]), str(first["reason"]))
    heading = f"**{plain(names.of('task', task))}: {plain(reason)}.**"
    rows = [_pair("Item", f"{first['item_id']}")]
    rows += [_pair("Shown", str(first["media"]))] if _filled(first["media"]) else []
    rows += [_pair("Text", str(first["text"]))] if _filled(first["text"]) else []
    rows.append(_pair("Gold", _labels(str(first["gold"]), task, names)))
    has_raw = card["raw"].notna().any()
    heads = ["Judge", "Answer", *(["Answer, verbatim"] if has_raw else [])]
    widths = WIDTHS if has_raw else WIDTHS[:2]
    body = [_row([f"<th scope='col' style='{CELL}'>{escape(head)}</th>" for head in heads])]
    several = card.duplicated("judge").any()
    for row in card.to_dict("records"):
        who = names.of("judge", row["judge"])
        who += f", {names.of('prompts', row['prompt'])}" if several and row["prompt"] else ""
        answer = _labels(str(row["answer"]), task, names) if row["answer"] else _status(row)
        cells = [shown_text(who), shown_text(answer)]
        if has_raw:
            cells.append(shown_text(str(row["raw"]) if _filled(row["raw"]) else "", LONGEST_ANSWER))
        body.append(_row([f"<td dir='auto' style='{CELL}'>{cell}</td>" for cell in cells]))
    tables = [_table(rows, PAIR_WIDTHS), _table(body, widths)]
    return "\n\n".join([heading, *(raw_block(table).strip() for table in tables)])


def _table(rows: list[str], widths: Sequence[int]) -> str:
    """Rows as a table; Quarto reads widths from columns and drops the style of a table."""
    total_width = sum(widths)
    columns = "".join(f"<col style='width:{100 * width / total_width:.0f}%'>" for width in widths)
    table = f"<table style='{TABLE}'>\n<colgroup>{columns}</colgroup>\n{chr(10).join(rows)}\n</table>"
    return f"<div style='{SMALL}'>\n{table}\n</div>"


def shown_text(text: str, longest: int = LONGEST) -> str:
    """Text from outside as HTML that shows it and does nothing else."""
    # Markup, shortcodes and fences become entities, control and direction marks code points; `longest` cuts.
    # Lines break by elements, since Quarto turns line breaks in tables into spaces.
    cut = text if len(text) <= longest else text[:longest]
    visible = "".join(_visible(character) for character in cut)
    html = escape(visible)
    for character, entity in ENTITIES.items():
        html = html.replace(character, entity)
    html = re.sub(r"(?<= ) |(?<=\n) |^ ", "&nbsp;", html.replace("\t", "    "))
    html = html.replace("\n", "<br>")
    n_hidden = len(text) - len(cut)
    return f"{html} \N{HORIZONTAL ELLIPSIS} ({n_hidden:,} more characters)" if n_hidden else html


def _visible(character: str) -> str:
    if character in "\n\t":
        return character
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co"):
        return "" if character == "\r" else f"\N{WHITE SQUARE}U+{ord(character):04X}"
    return character


def _labels(listed: str, task: str, names: ColumnNames) -> str:
    """Labels of a card in words, line by line where lines are labelled."""
    lines = []
    for line in listed.split("\n"):
        number, gap, label = line.partition(" ")
        if gap and number.isdigit():
            lines.append(f"{number} {label_in_words(task, label, names) if label != '-' else '-'}")
        else:
            lines.append(label_in_words(task, line, names))
    return "\n".join(lines)


def _status(row: dict[Any, Any]) -> str:
    return f"({STATUSES.get(str(row['status']), str(row['status'])).lower()})"


def _pair(name: str, value: str) -> str:
    head = f"<th scope='row' style='{CELL}'>{escape(name)}</th>"
    return _row([head, f"<td dir='auto' style='{CELL}'>{shown_text(value)}</td>"])


def _row(cells: list[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _filled(value: Any) -> bool:
    return not pd.isna(value) and str(value) != ""
