"""Pages as Quarto would print them, by pandoc and typst with the settings of its project file, and checks.

What Quarto itself does in between is done by ``quarto/fallback.lua``.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import numpy as np

from conjury.analysis.report.pdf import typeset as set_pages

MARK = "#ff00fe"  # in each corner of each figure
SCALE = 2.0  # pixels a point when pages are looked at


@dataclass(frozen=True)
class Word:
    """A word on a page: left, bottom, right, top in points from the lower left corner."""

    page: int
    text: str
    box: tuple[float, float, float, float]


def typeset(folder: Path, markdown: str, *, header: bool = True) -> Path:
    """Set Markdown with figures in ``folder``, with or without what the project file puts into the header."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return set_pages(folder, markdown, header=header)


def mark_corners(figures: Path) -> int:
    """Put a coloured square into each corner of each light figure; return how many there are."""
    n = 0
    for path in sorted(figures.glob("*-light.svg")):
        text = path.read_text(encoding="utf-8")
        width, height = (float(edge) for edge in re.search(r'viewBox="0 0 (\S+) (\S+)"', text).groups())  # type: ignore[union-attr]
        side = 6
        squares = "".join(
            f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="{MARK}"/>'
            for x in (0, width - side)
            for y in (0, height - side)
        )
        path.write_text(text.replace("</svg>", squares + "</svg>"), encoding="utf-8")
        n += 4
    return n


def words(pdf: Path) -> list[Word]:
    """All words of a PDF, in the order in which they were written."""
    import pypdfium2

    found: list[Word] = []
    with pypdfium2.PdfDocument(pdf) as document:
        for number, page in enumerate(document):
            text = page.get_textpage()
            letters: list[tuple[str, tuple[float, ...]]] = []
            for k in range(text.count_chars()):
                letter, box = text.get_text_range(k, 1), text.get_charbox(k)
                if letter.strip() and letters and not _goes_on(letters[-1][1], box):
                    found.append(_word(number, letters))
                    letters = []
                if letter.strip():
                    letters.append((letter, box))
                elif letters:
                    found.append(_word(number, letters))
                    letters = []
            if letters:
                found.append(_word(number, letters))
    return found


def _goes_on(last: tuple[float, ...], box: tuple[float, ...]) -> bool:
    """Whether a letter follows another one; letters of a ligature have one box."""
    return box == last or (-2.5 < box[0] - last[2] < 3 and min(last[3], box[3]) - max(last[1], box[1]) > -2)


def _word(page: int, letters: list[tuple[str, tuple[float, ...]]]) -> Word:
    left, bottom, right, top = zip(*(box for _, box in letters), strict=True)
    text = "".join(letter for letter, _ in letters)
    return Word(page, text, (min(left), min(bottom), max(right), max(top)))


def overlapping(found: list[Word], share: float = 0.2) -> list[tuple[str, str]]:
    """Pairs of words of one page that cover more than a share of the smaller one."""
    pairs = []
    for page in sorted({word.page for word in found}):
        own = [word for word in found if word.page == page]
        box = np.array([word.box for word in own])
        area = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
        wide = np.minimum(box[:, None, 2], box[None, :, 2]) - np.maximum(box[:, None, 0], box[None, :, 0])
        high = np.minimum(box[:, None, 3], box[None, :, 3]) - np.maximum(box[:, None, 1], box[None, :, 1])
        shared = np.clip(wide, 0, None) * np.clip(high, 0, None)
        first, second = np.nonzero(np.triu(shared > share * np.minimum(area[:, None], area[None, :]), 1))
        pairs += [(own[i].text, own[j].text) for i, j in zip(first, second, strict=True)]
    return pairs


def outside(pdf: Path, found: list[Word], margin: float = 25) -> list[str]:
    """Words nearer to the edge of their page than a margin in points."""
    import pypdfium2

    with pypdfium2.PdfDocument(pdf) as document:
        sizes = [page.get_size() for page in document]
    return [
        word.text
        for word in found
        if min(*word.box[:2], *(s - b for s, b in zip(sizes[word.page], word.box[2:], strict=True))) < margin
    ]


def missing_cells(markdown: str, found: list[Word]) -> Counter[str]:
    """Words of the tables in a text that are not on the pages as often as in the tables."""
    tables = "".join(re.findall(r"^```\{=html\}\n(.*?)\n```$", markdown, re.M | re.S))
    cells = re.findall(
        r"<t[dh][^>]*>(.*?)</t[dh]>", re.sub(r"<style.*?</style>", "", tables, flags=re.S), re.S
    )
    asked = Counter(part for cell in cells for part in _parts(unescape(re.sub(r"<[^>]+>", " ", cell))))
    return asked - Counter(part for word in found for part in _parts(word.text))


def _parts(text: str) -> list[str]:
    """Words as lines may break them; those so long that they are broken anywhere are left out."""
    shown = (
        text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("\ufb01", "fi").replace("\ufb02", "fl")
    )
    return [part for part in re.split(r"[\s\u200b\xad\ufffe\x02-]+", shown) if part and len(part) < 17]


def corners(pdf: Path) -> int:
    """How many of the squares of `mark_corners` can be seen."""
    import pypdfium2
    from scipy import ndimage

    n = 0
    with pypdfium2.PdfDocument(pdf) as document:
        for page in document:
            red, green, blue = np.moveaxis(
                np.asarray(page.render(scale=SCALE).to_pil())[..., :3].astype(int), -1, 0
            )
            n += int(ndimage.label((red > 200) & (green < 90) & (blue > 200))[1])
    return n
