"""Figures as part of an HTML page: one drawing that takes the page's colours, with searchable text."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from html import escape, unescape
from io import StringIO
from typing import TYPE_CHECKING, Any

from .theme import DARK, FONT_FILES, FONTS, LIGHT, SAVED, Theme, colors_of, settle_layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Fonts of about the same widths, for readers who do not have the one that a figure was laid out with.
SIMILAR = {"DejaVu Sans": "Verdana"}
STROKES = "stroke-linejoin: round; stroke-linecap: butt"

_BEFORE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_STROKES = re.compile(rf'\s*<defs>\s*<style type="text/css">\*\{{{STROKES}\}}</style>\s*</defs>')
_USED = re.compile(r'(?:href="#|url\(#)([^")]+)')
_ID = re.compile(r' id="([^"]*)"')
_PLACES = re.compile(r' (?:d|x|y|width|height|transform)="[^"]*"')
_INVISIBLE = re.compile(r'\s*<g>\s*<path [^>]*style="fill: none; opacity: 0"/>\s*</g>')
_INDENT = re.compile(r"\n\s+")
_LONG = re.compile(r"\d+\.\d{3,}")
_OPENING = re.compile(r"<svg [^>]*?viewBox=\"([^\"]*)\"[^>]*>")
_TEXT = re.compile(r'<text style="([^"]*)"([^>]*)>([^<]*)</text>')
_FAMILIES = re.compile(r"font-family: ([^;]*)")
_NO_ALT = 'aria-label=""'


def inline_figure(figure: Figure, name: str, alt: str) -> str:
    """A figure drawn in the light theme as part of a page that defines `drawing_styles`."""
    # `name` is unique on the page. Texts keep the widths of the layout, whatever fonts a reader has. Clouds
    # of many points are pictures, which keep the colours of the light theme.
    import matplotlib

    settle_layout(figure)
    with matplotlib.rc_context({**SAVED, "svg.fonttype": "none"}):
        figure.savefig(buffer := StringIO(), format="svg", metadata={"Date": None})
    text = _METADATA.sub("", _BEFORE.sub("", buffer.getvalue(), count=1))
    text = _STROKES.sub("", text.replace("xlink:href=", "href="))
    text = _PLACES.sub(_round_places, _TEXT.sub(_set_text_width, text))
    references = set(_USED.findall(text))
    text = _ID.sub(lambda match: f' id="{name}-{match[1]}"' if match[1] in references else "", text)
    text = _USED.sub(lambda match: match[0].replace("#", f"#{name}-"), text)
    text = _INDENT.sub("\n", _INVISIBLE.sub("", text))
    opening = f'<svg role="img" {_NO_ALT} style="{STROKES}"'
    text = _OPENING.sub(lambda match: f'{opening} viewBox="{match[1]}">', text, count=1)
    numbers = {color: position for position, color in enumerate(colors_of(LIGHT))}
    text = re.sub("|".join(numbers), lambda match: f"var(--figure-{numbers[match[0]]})", text)
    return with_alt(text, alt)


def with_alt(drawing: str, alt: str) -> str:
    """A drawing of `inline_figure` without an alternative text, with one."""
    return drawing.replace(_NO_ALT, f'aria-label="{_escape_tokens(escape(alt))}"', 1)


def _round_places(match: re.Match[str]) -> str:
    """An attribute with its places in hundredths of a point, in one line."""
    return " " + " ".join(_LONG.sub(lambda number: f"{float(number[0]):.2f}", match[0]).split())


def _set_text_width(match: re.Match[str]) -> str:
    style, attributes, content = match.groups()
    families = [name.strip(" '") for name in (_FAMILIES.search(style) or ["", ""])[1].split(",")]
    width = _width(unescape(content), style, families)
    font_family = ", ".join(f"'{name}'" for name in [*families, *_similar(families)])
    style = _FAMILIES.sub(lambda _: f"font-family: {font_family}, sans-serif", style)
    return (
        f'<text style="{style}"{attributes} textLength="{width:.2f}" lengthAdjust="spacingAndGlyphs">'
        f"{_escape_tokens(content)}</text>"
    )


def _escape_tokens(text: str) -> str:
    """Escaped text without what is exchanged in a drawing: attributes, and names and colours after #."""
    return re.sub(r"(?<!&)#", "&#35;", text.replace('"', "&quot;"))


def _similar(families: Iterable[str]) -> list[str]:
    return [SIMILAR.get(name, "Arial") for name in families][:1]


def _width(text: str, style: str, families: list[str]) -> float:
    """Width of one line of text in points, in the first of the fonts that has each character."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    properties: dict[str, Any] = dict(part.split(": ", 1) for part in style.split("; ") if ": " in part)
    font = FontProperties(
        family=families,
        size=float(properties["font-size"].removesuffix("px")),
        style=properties.get("font-style", "normal"),
        weight=int(properties.get("font-weight", 400)),
    )
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def variables_of(theme: Theme) -> str:
    """The colours of a theme as variables of a style sheet, a line for each."""
    return "\n".join(f"  --figure-{position}: {color};" for position, color in enumerate(colors_of(theme)))


def drawing_styles() -> str:
    """Style sheet with the colours of drawings in both themes, and with their font."""
    return (
        f":root {{\n{variables_of(LIGHT)}\n}}\n"
        f"@media (prefers-color-scheme: dark) {{\n:root {{\n{variables_of(DARK)}\n}}\n}}\n{_font_faces()}"
    )


@cache
def _font_faces() -> str:
    """The font of drawings as part of a page, so that texts are as wide as they were measured."""
    rules = []
    for weight, name in ((400, "Regular"), (700, "Bold")):
        content = b64encode((FONT_FILES / f"{FONTS[0]}-{name}.woff2").read_bytes()).decode()
        source = f'url("data:font/woff2;base64,{content}") format("woff2")'
        rules.append(f'@font-face {{ font-family: "{FONTS[0]}"; font-weight: {weight}; src: {source}; }}')
    return "\n".join(rules)
