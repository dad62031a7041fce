"""Drawings for pages that are kept with results, so that reports do not draw their figures again.

A drawing lies beside the figure of the same name, with a digest of all that it shows and of that file. Where
it is missing, stale, or contains more than shapes and text, the report draws the figure.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.limits import read_json
from conjury.inference.tables.writing import write_text

from ..figures import save
from ..figures.inline import inline_figure, with_alt
from ..figures.page_blocks import PIXELS_PER_INCH
from .blocks import COLUMN, COLUMN_HEIGHT, figure_folder, in_attribute, raw_block, slug

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .exhibits import Drawn

ENDING = ".drawing.json"
MOST_INCHES = 1000.0  # of a figure
ELEMENTS = {"svg", "g", "defs", "use", "path", "rect", "text", "tspan", "image", "clipPath"}
REFERENCE = re.compile(r"#[\w.-]+|data:image/png;base64,[A-Za-z0-9+/=\s]*")
FUNCTION = re.compile(r"([\w-]*)\s*\(")
FUNCTIONS = {"url", "var", "rgb", "matrix", "translate", "scale", "rotate"}


@dataclass(frozen=True)
class PageDrawing:
    """A figure as part of a page, without its alternative text, and its size in inches."""

    width: float
    height: float
    svg: str

    @staticmethod
    def of(figure: Figure, name: str) -> PageDrawing:
        """Draw a figure in the colours of a page, where its parts begin with a name."""
        width, height = (float(edge) for edge in figure.get_size_inches())
        return PageDrawing(width, height, inline_figure(figure, f"drawing-{name}", ""))

    def described(self, alt: str) -> str:
        """The drawing with its alternative text."""
        return with_alt(self.svg, alt)


@dataclass(frozen=True)
class DrawingFile:
    """Where the drawing of a figure is kept, and of which result."""

    figure: Path  # file of the figure, .svg
    source: Drawn
    labels: Mapping[Any, str]

    @property
    def path(self) -> Path:
        """The file of the drawing."""
        return self.figure.with_suffix(ENDING)

    def write(self, drawing: PageDrawing) -> None:
        """Keep a drawing, where its figure is there as SVG."""
        if self.figure.is_file():
            write_text(self.path, json.dumps({"digest": self._digest(), **asdict(drawing)}))

    def read(self) -> PageDrawing | None:
        """The drawing that is kept; None where there is none of this result, or none that can be shown."""
        if not self.path.is_file() or not self.figure.is_file():
            return None
        try:
            content = read_json(self.path, "compute the results again")
        except InputError:
            return None
        if not isinstance(content, dict) or content.pop("digest", None) != self._digest():
            return None
        width, height, svg = (content.get(name) for name in ("width", "height", "svg"))
        if not isinstance(width, float) or not isinstance(height, float) or not isinstance(svg, str):
            return None
        is_possible = 0 < width < MOST_INCHES and 0 < height < MOST_INCHES and has_shapes_only(svg)
        return PageDrawing(width, height, svg) if is_possible else None

    def copied(self, label: str) -> Path:
        """A copy of the figure for paper, where documents have theirs."""
        file = paper_file(label)
        file.parent.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copyfile(self.figure, file))

    def _digest(self) -> str:
        digest = hashlib.sha256(self.figure.read_bytes())
        for part in _content(self.source, self.labels):
            digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()


def picture(drawing: PageDrawing, file: Path, alt: str) -> str:
    """The Markdown of a figure: a drawing in the colours of the page for screens, a file for paper."""
    # Figures keep their own size, so that their type has one size on a page; on paper those that are larger
    # than a page are made smaller.
    width = drawing.width
    on_paper = width * min(1.0, COLUMN / width, COLUMN_HEIGHT / drawing.height)
    svg = drawing.described(alt)
    on_screen = f'<div class="drawing" style="width: {width * PIXELS_PER_INCH:.0f}px">\n{svg}\n</div>'
    image = f'![]({file.as_posix()}){{width="{on_paper:.2f}in" fig-alt="{in_attribute(alt)}"}}'
    return (
        f'\n::: {{.content-visible when-format="html"}}\n{raw_block(on_screen)}\n:::\n\n'
        f'::: {{.content-visible unless-format="html"}}\n{image}\n:::\n'
    )


def put_on_page(figure: Figure, label: str) -> tuple[PageDrawing, Path]:
    """The drawing of a figure for screens, and its file for paper."""
    (file,) = save(figure, paper_file(label).with_suffix(""), formats=("svg",))
    return PageDrawing.of(figure, slug(label)), file


def paper_file(label: str) -> Path:
    """Where the file of a figure for paper is."""
    return figure_folder() / f"{slug(label)}.svg"


def _content(source: Drawn, labels: Mapping[Any, str]) -> Iterator[str]:
    """All that a figure shows, as texts."""
    result = source.result
    yield from (f"{package} {version(package)}" for package in ("conjury", "matplotlib"))
    yield from (
        result.kind,
        str(source.part),
        source.title,
        source.subtitle,
        repr(sorted(source.options.items())),
        repr(list(labels.items())),
    )
    yield json.dumps(dict(result.settings), sort_keys=True, default=str)
    yield from map(str, result.notes)
    for name, table in {"": result.frame, **result.extra}.items():
        dtypes = [
            list(dtype.categories) if isinstance(dtype, pd.CategoricalDtype) else str(dtype)
            for dtype in table.dtypes
        ]
        yield from (name, repr(dtypes), table.to_csv())


def has_shapes_only(svg: str) -> bool:
    """Whether a drawing has nothing that could act on a page or fetch anything."""
    if "<!" in svg or "<?" in svg:
        return False
    try:
        elements = list(ElementTree.fromstring(svg).iter())
    except ElementTree.ParseError:
        return False
    return all(
        element.tag in ELEMENTS
        and not any(name.lower().startswith("on") for name in element.attrib)
        and all(_is_harmless(name, value) for name, value in element.attrib.items())
        for element in elements
    )


def _is_harmless(name: str, value: str) -> bool:
    """Whether an attribute refers to nothing outside of the drawing."""
    if name.endswith("href"):
        return REFERENCE.fullmatch(value) is not None
    return (
        "\\" not in value
        and set(FUNCTION.findall(value)) <= FUNCTIONS
        and value.count("url(") == value.count("url(#")
    )
