"""Drawings inside a page, in colours that follow the theme of who reads it."""

from __future__ import annotations

import re
from html import escape

from .theme import DARK, LIGHT, colors_of

_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_NAMED = re.compile(r'(\bid="|href="#|url\(#)')
_OPENING = re.compile(r"<svg [^>]*?viewBox=\"([^\"]*)\"[^>]*>")


def inline_svg(drawn: str, name: str, alt: str) -> str:
    """Turn a drawing of the light theme into part of a page that defines ``color_variables``."""
    text = _METADATA.sub("", _HEAD.sub("", drawn, count=1))
    text = text.replace("xlink:href=", "href=")
    text = _NAMED.sub(lambda found: f"{found[1]}{name}-", text)
    opening = f'<svg role="img" aria-label="{escape(alt, quote=True)}" viewBox="\\1">'
    text = _OPENING.sub(opening, text, count=1)
    numbers = {color: position for position, color in enumerate(colors_of(LIGHT))}
    return re.sub("|".join(numbers), lambda found: f"var(--figure-{numbers[found[0]]})", text)


def color_variables() -> str:
    """Style sheet with the colours of drawings in both themes."""
    light, dark = (
        "\n".join(f"  --figure-{position}: {color};" for position, color in enumerate(colors_of(theme)))
        for theme in (LIGHT, DARK)
    )
    return f":root {{\n{light}\n}}\n@media (prefers-color-scheme: dark) {{\n:root {{\n{dark}\n}}\n}}"
