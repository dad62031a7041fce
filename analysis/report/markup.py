"""The part of Quarto's Markdown that the reports use, as HTML: blocks, captions, references."""

from __future__ import annotations

import re
import secrets
from html import escape, unescape
from pathlib import Path
from string import ascii_lowercase

from conjury.inference.tables.html_page import markdown_reader

RAW_BLOCK = re.compile(r"^```\{=html\}\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
OPENING = re.compile(r"^:::+ *\{(.*)\} *$")
CLOSING = re.compile(r"^:::+ *$")
HEADING = re.compile(r"^(#{1,4}) +(.*?)(?: *\{(.*)\})? *$")
REFERENCE = re.compile(r"(?<![\w\\@`])@((?:fig|tbl|sec)-[\w-]*\w)")
ESCAPED = re.compile(r"\\(\W|_)")
CITATION = re.compile(r"\[@([\w-]+(?:; *@[\w-]+)*)\]")
FEWEST_HEADINGS = 8  # of a page with contents
KINDS = {"fig": "Figure", "tbl": "Table", "sec": "Section"}


class MarkdownPage:
    """One page being converted: finished HTML waits behind tokens until the Markdown is done."""

    # Tokens begin with a `mark` that is drawn anew until it does not occur in `text`, so that no study can
    # write one.

    def __init__(self, text: str = "") -> None:
        self.mark = new_mark(text)
        self.references = f"{self.mark}references"
        self.finished: list[str] = []
        self.numbers: dict[str, str] = {}
        self.contents: list[tuple[int, str, str]] = []

    def token(self, html: str) -> str:
        """Put finished HTML aside and return the word that stands for it."""
        self.finished.append(html)
        return f"{self.mark}{len(self.finished) - 1}end"

    def restore(self, html: str) -> str:
        """Put the finished HTML back; a token that fills a paragraph loses the paragraph."""
        pattern = re.compile(rf"<p>\s*({self.mark}\d+end)\s*</p>|({self.mark}\d+end)")
        while pattern.search(html):
            html = pattern.sub(lambda match: self._finished(match[1] or match[2]), html)
        return html

    def _finished(self, token: str) -> str:
        return self.finished[int(token.removeprefix(self.mark).removesuffix("end"))]


def new_mark(text: str) -> str:
    """Draw a word of letters that does not occur in ``text``."""
    while (mark := "conjury" + "".join(secrets.choice(ascii_lowercase) for _ in range(20))) in text.lower():
        pass
    return mark


def to_html(text: str, folder: Path, bibliography: str, prefix: str = "") -> str:
    """Convert the assembled Markdown of a report to the body of a page."""
    # A `prefix` comes before the numbers of figures and tables.
    page = MarkdownPage(text)
    text = RAW_BLOCK.sub(lambda match: page.token(match[1]), text)
    entries = read_bibliography(folder / bibliography)
    lines = _without_other_formats(text.splitlines())
    page.numbers = numbered_labels("\n".join(lines), prefix)
    converted = "\n".join(_block_line(page, lines))
    converted = REFERENCE.sub(lambda match: _reference(page, match[1]), converted)
    converted = CITATION.sub(lambda match: _citation(page, entries, match[1]), converted)
    cited = [key for key in entries if f"#ref-{key}" in "".join(page.finished)]
    converted = converted.replace(page.references, page.token(_reference_list(entries, cited)))
    before, heading, after = page.restore(_markdown(converted)).partition("<h2")
    return before + _contents(page) + heading + after


def _without_other_formats(lines: list[str]) -> list[str]:
    """Drop blocks meant for other formats and unwrap those meant for HTML."""
    output: list[str] = []
    open_blocks: list[str] = []
    for line in lines:
        if match := OPENING.match(line):
            hidden = 'unless-format="html"' in match[1]
            wrapper = 'when-format="html"' in match[1]
            open_blocks.append("hidden" if hidden else "wrapper" if wrapper else "block")
            if hidden or wrapper or "hidden" in open_blocks:
                continue
        elif CLOSING.match(line) and open_blocks:
            closed = open_blocks.pop()
            if closed != "block" or "hidden" in open_blocks:
                continue
        elif "hidden" in open_blocks:
            continue
        output.append(line)
    return output


def numbered_labels(text: str, prefix: str = "") -> dict[str, str]:
    """The labels of figures, tables and sections of a text, with what each is called: ``Table 2``."""
    counts = {"fig": 0, "tbl": 0}
    sections = [0, 0, 0]
    numbers: dict[str, str] = {}
    for line in RAW_BLOCK.sub("", text).splitlines():
        if (match := OPENING.match(line)) and (label := re.match(r"#((fig|tbl)-[\w-]+)", match[1])):
            counts[label[2]] += 1
            numbers[label[1]] = f"{prefix} {KINDS[label[2]]} {counts[label[2]]}".strip()
        elif (match := HEADING.match(line)) and ".unnumbered" not in (match[3] or ""):
            depth = len(match[1]) - 2
            sections[depth:] = [sections[depth] + 1] + [0] * (2 - depth)
            if label := re.search(r"#(sec-[\w-]+)", match[3] or ""):
                numbers[label[1]] = "Section " + ".".join(str(n) for n in sections[: depth + 1])
    return numbers


def _block_line(page: MarkdownPage, lines: list[str]) -> list[str]:
    """Turn block openings, closings and headings into tokens, line by line."""
    out: list[str] = []
    closings: list[str] = []
    starts: list[int] = []
    for line in lines:
        if (match := OPENING.match(line)) and match[1].strip() == "#refs":
            closings.append("")
            starts.append(len(out))
            out += ["", page.references, ""]
        elif match := OPENING.match(line):
            opening, closing = _opening(page, match[1])
            closings.append(closing)
            starts.append(len(out))
            out += ["", page.token(opening), ""]
        elif CLOSING.match(line) and closings:
            closing, start = closings.pop(), starts.pop()
            if closing.startswith("</figure>"):
                _move_caption(page, out, start, closing.removeprefix("</figure>"))
                closing = "</figure>"
            out += ["", page.token(closing), ""]
        elif match := HEADING.match(line):
            out += ["", page.token(_heading(page, len(match[1]), match[2], match[3] or "")), ""]
        else:
            out.append(line)
    return out


def _opening(page: MarkdownPage, attributes: str) -> tuple[str, str]:
    """Return the opening and closing tags of a fenced block."""
    if label := re.match(r"#((?:fig|tbl)-[\w-]+)", attributes):
        return f'<figure id="{label[1]}">', f"</figure>{label[1]}"
    if callout := re.search(r"\.(callout-\w+)", attributes):
        title = re.search(r'title="([^"]*)"', attributes)
        heading = f'<p class="callout-title">{escape(title[1])}</p>' if title else ""
        return f'<aside class="callout {callout[1]}">{heading}', "</aside>"
    classes = " ".join(re.findall(r"\.([\w-]+)", attributes))
    return f'<div class="{classes}">', "</div>"


def _move_caption(page: MarkdownPage, out: list[str], start: int, label: str) -> None:
    """Make the last paragraph of a labelled block its numbered caption; tables carry it on top."""
    end = len(out)
    while end > start and not out[end - 1].strip():
        end -= 1
    first = end
    while first > start and out[first - 1].strip():
        first -= 1
    caption = _markdown(REFERENCE.sub(lambda match: _reference(page, match[1]), " ".join(out[first:end])))
    caption = re.sub(r"^\s*<p>|</p>\s*$", "", caption.strip())
    figcaption = page.token(f"<figcaption><b>{page.numbers[label]}.</b> {caption}</figcaption>")
    del out[first:]
    place = start + 3 if label.startswith("tbl") else len(out)
    out[place:place] = ["", figcaption, ""]


def _heading(page: MarkdownPage, depth: int, text: str, attributes: str) -> str:
    label = re.search(r"#([\w-]+)", attributes)
    anchor = label[1] if label else re.sub(r"\W+", "-", text.lower()).strip("-")
    number = page.numbers.get(anchor, "").removeprefix("Section ")
    title = unescape(ESCAPED.sub(r"\1", text))
    numbered_title = f"{number} {escape(title)}".strip()
    page.contents.append((depth, anchor, numbered_title))
    return f'<h{depth} id="{anchor}">{numbered_title}</h{depth}>'


def _reference(page: MarkdownPage, label: str) -> str:
    if label not in page.numbers:
        return label
    return page.token(f'<a href="#{label}">{page.numbers[label]}</a>')


def _citation(page: MarkdownPage, entries: dict[str, dict[str, str]], keys: str) -> str:
    """Cite one work or several: ``one; @other``."""
    cited = [_cited(entries, key) for key in re.split(r"; *@", keys)]
    return page.token(f"({'; '.join(cited)})")


def _cited(entries: dict[str, dict[str, str]], key: str) -> str:
    entry = entries.get(key)
    if entry is None:
        return escape(key)
    names = [author.split(",")[0].strip() for author in entry.get("author", key).split(" and ")]
    short = names[0] if len(names) == 1 else f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f'<a href="#ref-{key}">{escape(short)} {escape(entry.get("year", ""))}</a>'


def read_bibliography(path: Path) -> dict[str, dict[str, str]]:
    """Read the entries of a simple BibTeX file: one field a line, values in braces."""
    entries: dict[str, dict[str, str]] = {}
    for match in re.finditer(r"^@\w+\{([\w-]+),\n(.*?)^\}", path.read_text(encoding="utf-8"), re.M | re.S):
        fields = re.findall(r"^\s*(\w+) = \{(.*)\},?$", match[2], re.M)
        entries[match[1]] = {
            name: re.sub(r"[{}]", "", value.replace("--", "\N{EN DASH}")) for name, value in fields
        }
    return entries


def _reference_list(entries: dict[str, dict[str, str]], cited: list[str]) -> str:
    def told(entry: dict[str, str]) -> str:
        where = " ".join(filter(None, (entry.get("journal") or entry.get("booktitle"), entry.get("volume"))))
        pages = f": {entry['pages']}" if "pages" in entry else ""
        parts = [
            entry.get("author", "").replace(" and ", "; "),
            entry.get("year", ""),
            entry.get("title", ""),
        ]
        locator = f"doi:{entry['doi']}" if "doi" in entry else entry.get("url", "")
        parts += [where + pages, entry.get("howpublished", ""), locator]
        return escape(". ".join(filter(None, parts)))

    items = "".join(f'<li id="ref-{key}">{told(entries[key])}</li>' for key in sorted(cited))
    return f'<ul class="references">{items}</ul>'


def _contents(page: MarkdownPage) -> str:
    """The contents, folded; none of a page of few sections."""
    if len(page.contents) < FEWEST_HEADINGS:
        return ""
    links = "".join(
        f'<li class="depth-{depth}"><a href="#{anchor}">{text}</a></li>'
        for depth, anchor, text in page.contents
    )
    return f'<nav aria-label="Contents"><details><summary>Contents</summary><ul>{links}</ul></details></nav>'


def _markdown(text: str) -> str:
    return str(markdown_reader(raw_html=True).render(text))
