"""The base of all HTML pages: one document that needs no other file; and Markdown as HTML."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .files import ROOT

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

DATA = ROOT / "data"


def page(title: str, body: str, style: str = "", *, base: bool = True) -> str:
    """Return an HTML document."""
    # Markup of values that are HTML already: autoescape is for the title alone.
    css = (DATA / "page.css").read_text(encoding="utf-8") + style if base else style
    return render("page.html.j2", title=title, body=Markup(body), style=Markup(css))


def render(template: str, **values: Any) -> str:
    """Fill a template of ``data/``; values are escaped unless they are Markup."""
    return _environment().get_template(template).render(**values)


def markdown_reader(raw_html: bool = False) -> MarkdownIt:
    """Return the one converter of Markdown, with tables of pipes; HTML in it is text unless ``raw_html``."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": raw_html, "typographer": False}).enable("table")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(DATA),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
    )
