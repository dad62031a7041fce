"""Every link of the built site leads somewhere, no page asks another host for a file or shows its markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

MARKUP = re.compile("``")  # of code that was not closed where it should be
LOADED = (("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "srcset"))


@cache
def _page(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def _anchors(path: Path) -> frozenset[str]:
    return frozenset(tag["id"] for tag in _page(path).find_all(id=True)) | frozenset(
        tag["name"] for tag in _page(path).find_all("a", attrs={"name": True})
    )


def faults(site: Path) -> Iterator[str]:
    """Each dead link, missing file, file from another host and piece of markup, in one sentence."""
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site)
        if name.parts[0] == "_static":  # templates of the theme
            continue
        for tag, attribute in LOADED:
            for found in _page(path).find_all(tag, attrs={attribute: True}):
                address = urlsplit(found[attribute])
                if address.scheme == "data" or found.get("rel") == ["canonical"]:
                    continue
                if address.netloc:
                    yield f"{name} loads {found[attribute]} from another host."
                elif not (path.parent / unquote(address.path)).exists():
                    yield f"{name} loads {found[attribute]}, which is not there."
        for found in _page(path).find_all(string=MARKUP):
            if not found.find_parent(["pre", "code", "script", "style"]):
                yield f"{name} shows the markup of: {' '.join(found.split())[:60]}"
        for found in _page(path).find_all("a", href=True):
            address = urlsplit(found["href"])
            if address.scheme or address.netloc or not (address.path or address.fragment):
                continue
            target = path.parent / unquote(address.path) if address.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{name} links to {found['href']}, which is not there."
            elif (
                address.fragment
                and target.suffix == ".html"
                and unquote(address.fragment) not in _anchors(target.resolve())
            ):
                yield f"{name} links to {found['href']}, a heading that is not there."
