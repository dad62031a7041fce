"""Tables of LaTeX as cells of text: tabular, tabularx, longtable and the like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conjury.inference.errors import InputError

from .table_grid import TableCell, TableGrid, TableRow

_BEGIN = re.compile(
    r"\\begin\{(tabular[xy]?\*?|longtable\*?|longtabu|tabu|tblr|array|supertabular|xltabular)\}"
)
_RULES = re.compile(
    r"\\(?:toprule|bottomrule|hline|addlinespace|endhead|endfirsthead|endfoot|endlastfoot|noalign)\b"
    r"(?:\s*[\[{][^\]}]*[\]}])?|\\(?:cmidrule|cline)\s*(?:\[[^\]]*\])?\s*(?:\([lr]*\))?\s*\{[^}]*\}"
    r"|\\(?:specialrule|rowcolor|arrayrulecolor|rowfont)\s*(?:\[[^\]]*\])?\s*(?:\{[^}]*\})*"
)
_MIDRULE = re.compile(r"\\midrule\b(?:\s*\[[^\]]*\])?")
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_SYMBOLS = {
    r"\pm": "\u00b1",
    r"\times": "\u00d7",
    r"\dagger": "\u2020",
    r"\ddagger": "\u2021",
    r"\dag": "\u2020",
    r"\ddag": "\u2021",
    r"\S": "\u00a7",
    r"\P": "\u00b6",
    r"\textpm": "\u00b1",
    r"\textasteriskcentered": "*",
    r"\ast": "*",
    r"\star": "*",
    r"\textminus": "-",
    r"\textless": "<",
    r"\textgreater": ">",
    r"\lt": "<",
    r"\leq": "\u2264",
    r"\le": "\u2264",
    r"\geq": "\u2265",
    r"\ge": "\u2265",
    r"\kappa": "\u03ba",
    r"\alpha": "\u03b1",
    r"\beta": "\u03b2",
    r"\rho": "\u03c1",
    r"\%": "%",
    r"\&": "&",
    r"\#": "#",
    r"\_": "_",
    r"\$": "$",
    r"\{": "{",
    r"\}": "}",
    r"\,": "",
    r"\;": " ",
    r"\:": " ",
    r"\!": "",
    r"\ ": " ",
    r"\quad": " ",
    r"\qquad": " ",
}
_COMMANDS = re.compile(r"\\(?:[A-Za-z]+\*?|.)")
_SUPERSCRIPT = re.compile(r"\^\s*(\{[^{}]*\}|\\[A-Za-z]+|\S)")
_ARGUMENT_DROPPED = re.compile(
    r"\\(?:footnote|footnotemark|tablefootnote|label|cite[a-z]*|color|textcolor|cellcolor|hspace|vspace|phantom|hphantom|rule)\*?"
    r"\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}"
)


def latex_grids(text: str, source: object) -> Iterator[TableGrid]:
    """Every table of a LaTeX text."""
    text = _COMMENT.sub("", text)
    at = 0
    for number in range(1, len(text)):
        begin = _BEGIN.search(text, at)
        if begin is None:
            return
        name = begin[1]
        end = text.find(f"\\end{{{name}}}", begin.end())
        if end < 0:
            line = text.count("\n", 0, begin.start()) + 1
            raise InputError(
                f"{source}:{line}: \\begin{{{name}}} has no \\end{{{name}}}; complete the table."
            )
        body = _without_preamble(text[begin.end() : end], name)
        yield TableGrid(_caption(text, begin.start(), end) or f"table {number}", _rows(body))
        at = end


def plain(text: str) -> str:
    """The text of a cell without macros; superscripts of letters get a caret, asterisks do not."""
    text = _ARGUMENT_DROPPED.sub("", text)
    text = re.sub(r"\\text(?:super|sub)script\s*(\{[^{}]*\})", r"^\1", text)
    text = _SUPERSCRIPT.sub(lambda match: _superscript(match[1]), text)
    text = text.replace("$", "\0").replace("\\\0", "$").replace("\0", "")  # \$ is the sign itself
    text = re.sub(r"\\[()]", "", text).replace("~", " ")
    text = _COMMANDS.sub(lambda match: _SYMBOLS.get(match[0], ""), text)
    return " ".join(text.replace("{", "").replace("}", "").replace("---", "-").replace("--", "-").split())


def _superscript(text: str) -> str:
    inside = _COMMANDS.sub(lambda match: _SYMBOLS.get(match[0], ""), text.strip("{}")).strip()
    inside = inside.strip("{} ")
    return inside if not inside or set(inside) <= set("*\u2020\u2021\u00a7\u00b6#") else f"^{inside}"


def _caption(text: str, begin: int, end: int) -> str:
    """The caption of the float around a table."""
    start = max(text.rfind(r"\begin{table", 0, begin), 0)
    stop = text.find(r"\end{table", end)
    around = text[start : stop if stop >= 0 else begin]
    at = around.find(r"\caption")
    brace = around.find("{", at) if at >= 0 else -1
    return plain(_braced(around, brace)[0]) if brace >= 0 else ""


def _without_preamble(body: str, name: str) -> str:
    """The body of a table without its width, position and column arguments."""
    for _ in range(
        2 if name.rstrip("*") in ("tabularx", "tabulary", "xltabular") or name == "tabular*" else 1
    ):
        body = body.lstrip()
        if body.startswith("["):
            body = body[body.find("]") + 1 :].lstrip()
        if body.startswith("{"):
            body = body[_braced(body, 0)[1] :]
    return body


def _braced(text: str, at: int) -> tuple[str, int]:
    """What stands in the braces that open at a place, and where they end."""
    depth = 0
    for place in range(at, len(text)):
        if text[place] in "{}" and text[place - 1 : place] != "\\":
            depth += 1 if text[place] == "{" else -1
            if depth == 0:
                return text[at + 1 : place], place + 1
    return text[at + 1 :], len(text)


def _rows(body: str) -> list[TableRow]:
    """Rows of cells; rows above the first rule between rows are the head."""
    lines = _split(body, r"\\")
    rows: list[TableRow] = []
    head = 0
    for line in lines:
        line = re.sub(r"^\s*\*?(?:\[[^\]]*\])?", "", line) if rows else line
        ruled = _MIDRULE.search(line) is not None or (
            bool(rows) and not head and re.match(r"\s*\\hline", line) is not None
        )
        if ruled and rows and not head:
            head = len(rows)
        text = _RULES.sub("", _MIDRULE.sub("", line))
        if text.strip():
            rows.append(TableRow([_cell(part) for part in _split(text, "&")], has_placeholders=True))
    for row in rows[: head or 1]:
        row.is_head = True
    return rows


def _split(text: str, by: str) -> list[str]:
    """Split outside of braces; an escaped ampersand does not split."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(text):
        if depth == 0 and text.startswith(by, at):
            parts.append(text[start:at])
            at += len(by)
            start = at
            continue
        if text[at] == "\\":
            at += 2
            continue
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
    return [*parts, text[start:]]


def _cell(text: str) -> TableCell:
    """A cell with the columns and rows that it spans."""
    across = down = 1
    for _ in range(2):
        match = re.match(r"\s*\\(multicolumn|multirow)\s*(?:\[[^\]]*\])?\s*\{\s*(\d{1,4})\s*\}", text)
        if match is None:
            break
        tail = text[match.end() :]
        tail = re.sub(r"^\s*\[[^\]]*\]", "", tail).lstrip()
        _, end = _braced(tail, 0) if tail.startswith("{") else ("", 1 if tail.startswith("*") else 0)
        tail = re.sub(r"^\s*\[[^\]]*\]", "", tail[end:]).lstrip()
        text = _braced(tail, 0)[0] if tail.startswith("{") else tail
        if match[1] == "multicolumn":
            across = int(match[2])
        else:
            down = int(match[2])
    return TableCell(plain(text), across, down)
