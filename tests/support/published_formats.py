"""Tables written as CSV, Markdown, HTML and LaTeX, with the marks that publications use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape


def to_csv(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in (columns, *rows)) + "\n"


def to_markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cell(text: str) -> str:
        return escape(text, quote=False).replace("**", "\\*\\*").replace("_", "\\_")

    lines = ["| " + " | ".join(map(cell, row)) + " |" for row in (columns, *rows)]
    return "\n".join(["Some text.", "", lines[0], "|" + "---|" * len(columns), *lines[1:], "", "More."])


def to_html(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in columns)
    body = "".join(
        "<tr>"
        + "".join(f"<td><b>{escape(cell).replace('**', '<sup>**</sup>')}</b></td>" for cell in row)
        + "</tr>"
        for row in rows
    )
    return f"<p>x</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def to_latex(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cell(text: str) -> str:
        text = text.replace("&", "\\&").replace("_", "\\_").replace("%", "\\%").replace("\u00b1", "$\\pm$")
        text = text.replace("**", "$^{**}$").replace("<", "\\textless{}").replace(">", "\\textgreater{}")
        return f"\\textbf{{{text}}}"

    lines = [" & ".join(map(cell, row)) + " \\\\" for row in (columns, *rows)]
    body = "\n".join([lines[0], "\\midrule % the body", *lines[1:]])
    return f"\\begin{{tabular}}{{l@{{}}rr|r}}\n\\toprule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"


WRITERS: dict[str, Callable[[Sequence[str], Sequence[Sequence[str]]], str]] = {
    "csv": to_csv,
    "md": to_markdown,
    "html": to_html,
    "tex": to_latex,
}
