"""Text that would run, load or include something if a page took it for more than text; pages in Chromium."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conjury.analysis.report.markup import RAW_BLOCK

TAKEN = "taken over"
SECRET = "secret-content-of-a-file"
SUM = "323 * 323 + 172"
PRODUCT = "104501"  # what evaluation of the sum would show
ACTS = re.compile(
    r"\{\{<|(?<!\\)\{python|(?<!\\)`\{|<script|(?<!\\)\[[^\]\n]+\]\((?!#)|(?<!\\)!\[(?!\])"
)  # shortcodes, cells, inline code, scripts, links, pictures with a text
NAMES = [
    *("script", "image", "svg", "attribute", "link", "markdown_link", "markdown_image", "include", "embed"),
    *("cell", "inline", "raw", "jinja", "divs", "marks", "entities", "math"),
]
HANDLERS = """
return [...document.querySelectorAll('*')].filter(
    one => one.getAttributeNames().some(name => name.startsWith('on'))).length
"""


def payloads(folder: Path) -> dict[str, str]:
    """Return hostile texts of one line by name; ``folder`` gets a file that no page may show."""
    secret = folder / "secret.txt"
    secret.write_text(SECRET, encoding="utf-8")
    touch = f"open('{folder / 'touched'}', 'w').close()"
    act = f"document.title='{TAKEN}'"
    texts = [
        f"<script>{act}</script>",
        f'<img src=x onerror="{act}">',
        f'</title></style><svg onload="{act}">',
        f'" onmouseover="{act}" autofocus onfocus=\'{act}',
        f'<a href="javascript:{act}">x</a> <javascript:alert(1)>',
        f"[x](javascript:{act}) [y]: javascript:alert(1)",
        "![x](http://127.0.0.1:9/pixel.png) <http://127.0.0.1:9/auto>",
        f"{{{{< include {secret} >}}}} {{{{< meta title >}}}} {{{{< env PATH >}}}}",
        f"{{{{< embed {secret} >}}}} {{{{< video http://127.0.0.1:9/x.mp4 >}}}}",
        f"```{{python}} print({SUM}); {touch} ```",
        f"`{{python}} {SUM}` `r {SUM}`",
        f"```{{=html}} <script>{act}</script> ``` `<b>x</b>`{{=html}}",
        f"{{{{ {SUM} }}}} {{% include '{secret}' %}} {{# x #}}",
        "::: {.content-hidden} ::: {#refs} :::",
        "conjurytoken0end conjurytoken3end conjuryreferences @fig-amce [@key] $x^2$ --- ## x",
        "&lt;script&gt; &#60;script&#62; \\u003cscript\\u003e",
        "$5 or $\\bad{ and $\\frac$ 5% _x_ ^y^",
    ]
    return dict(zip(NAMES, texts, strict=True))


def in_lines(texts: dict[str, str]) -> str:
    """Put hostile texts at the beginnings of lines, where blocks begin."""
    blocks = [
        f"```{{=html}}\n<script>document.title='{TAKEN}'</script>\n```",
        f"```{{python}}\nprint({SUM})\n```",
        "::: {#refs}\n:::",
        "# x {#sec-x}",
    ]
    return "\n\n".join([*texts.values(), *blocks, ":::", "---", "-->"])


@dataclass(frozen=True)
class Seen:
    """What a browser finds on a page: title, requests, messages, elements that could act, and text."""

    title: str
    requests: list[str]
    messages: list[Any]
    scripts: int
    handlers: int
    links: list[str]
    sources: list[str]
    text: str


@contextmanager
def chromium(folder: Path) -> Iterator[Any]:
    """Open a browser without a window that notes messages and requests."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", "--window-size=1000,1200",
        f"--user-data-dir={folder}",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    browser.set_page_load_timeout(60)
    try:
        yield browser
    finally:
        browser.quit()


def look(browser: Any, page: Path) -> Seen:
    """Open a page and say what is there."""
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri())
    asked = [
        message["params"]["request"]["url"].partition("#")[0]
        for entry in browser.get_log("performance")
        if (message := json.loads(entry["message"])["message"])["method"] == "Network.requestWillBeSent"
    ]
    script = browser.execute_script
    return Seen(
        browser.title,
        sorted({url for url in asked if not url.startswith(("data:", "chrome:"))} - {page.as_uri()}),
        browser.get_log("browser"),
        script("return document.scripts.length"),
        script(HANDLERS),
        script("return [...document.links].map(link => link.getAttribute('href'))"),
        script("return [...document.querySelectorAll('[src]')].map(one => one.getAttribute('src'))"),
        script("return document.documentElement.textContent"),
    )


def check_seen(seen: Seen, folder: Path, scripts: int = 0) -> None:
    """Fail where a page ran, loaded or included anything; ``scripts`` are its own."""
    assert seen.title != TAKEN
    assert seen.requests == []
    assert seen.messages == []
    assert (seen.scripts, seen.handlers) == (scripts, 0)
    assert all(link.startswith("#") for link in seen.links)
    assert all(source.startswith("data:") for source in seen.sources)
    assert SECRET not in seen.text
    assert PRODUCT not in seen.text
    assert not (folder / "touched").exists()


def check_markdown(text: str) -> None:
    """Fail where Markdown that Quarto reads holds a shortcode, a cell, a raw block or markup of a study."""
    raw = "".join(RAW_BLOCK.findall(text))
    assert not {act for act in ("{{<", "<script", "<img src", "<svg on") if act in raw}
    assert "{{<" not in text
    found = ACTS.search(re.sub(r"(?<!\\)`[^`\n]+(?<!\\)`", "", RAW_BLOCK.sub("", text)))  # code is text
    assert found is None, found
    assert PRODUCT not in text
    assert SECRET not in text
    for line in text.splitlines():
        if line.startswith("```"):
            assert line in ("```{=html}", "```"), line
