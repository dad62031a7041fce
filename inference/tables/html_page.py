"""The base of all HTML pages: one document that needs no other file, in light and dark colours."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from .files import ROOT

BASE = ROOT / "data" / "page.html.j2"


def page(title: str, body: str, style: str = "") -> str:
    """Return an HTML document.

    Parameters
    ----------
    title : str
        Text of the document's title; it is escaped.
    body : str
        HTML between the body's tags, with all text in it escaped already.
    style : str
        CSS after that of the base, whose colours are the variables ``--background``, ``--text``, ``--muted``,
        ``--line``, ``--link``, ``--removed`` and ``--added``.

    Examples
    --------
    >>> html = page("Pairs & counts", "<h1>Pairs</h1>")
    >>> "<title>Pairs &amp; counts</title>" in html, "<h1>Pairs</h1>" in html
    (True, True)
    """
    # Markup of values that are HTML already: autoescape is for the title alone.
    return _base().render(title=title, body=Markup(body), style=Markup(style))


@cache
def _base() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(BASE.read_text(encoding="utf-8"))
