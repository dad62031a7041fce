"""The gallery: each script's figure in both themes, with its alternative text, and a thumbnail."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from PIL import Image
from sphinx_gallery.sorting import ExampleTitleSortKey

from conjury.analysis.figures.theme import MARK_EDGE, MARK_HEIGHT, save, save_variants

GROUPS = (
    "conjoint",
    "standard_errors",
    "people_and_models",
    "ratings",
    "benchmarks",
    "corrections",
    "instrument",
    "data_quality",
    "published",
)

FIRST = tuple(
    f"plot_{name}.py"
    for name in (
        *("effects", "marginal_means", "power", "detectable_effects", "judges", "judge", "agreement"),
        *("means", "rating_lines", "scores", "confusion", "corrected_conjoint", "corrected_scores"),
        *("flips", "variance_components", "all_checks", "published_effects", "published_numbers"),
    )
)


def scrape(_: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save the figure named ``figure`` of a script once in each theme; return what the page shows."""
    figure = variables["example_globals"].pop("figure", None)
    if figure is None:
        return ""
    thumbnail = Path(next(variables["image_path_iterator"]))
    alt = escape(" ".join(str(figure.get_label()).split()), quote=False) or "Figure."
    (png,) = save(figure, thumbnail.with_suffix(""), formats=("png",))
    cut_to_detail(png, MARK_HEIGHT / figure.get_figheight() if has_mark(figure) else 0.0)
    drawn = save_variants(figure, thumbnail.with_suffix(""))
    place = Path("/") / png.parent.relative_to(settings["src_dir"])
    pictures = [
        f".. image:: {place / path.name}\n   :alt: {alt}\n   :class: only-{theme} gallery-figure\n"
        for theme, path in drawn.items()
    ]
    return "\n" + "\n".join(pictures) + "\n"


def has_mark(figure: Figure) -> bool:
    """Whether words such as "Simulated data" are in the lower right corner of a figure."""
    width, height = figure.get_size_inches()
    place = (1 - MARK_EDGE / width, MARK_EDGE / height)
    return any(text.get_position() == place for text in figure.texts)


def cut_to_detail(png: Path, strip: float = 0.0) -> None:
    """Leave the upper part of a high figure, three to two, and of its lower edge the strip with its mark."""
    with Image.open(png) as picture:
        width, height = picture.size
        detail = picture.crop((0, 0, width, min(height, width * 2 // 3)))
        edge = round(strip * height)
        if detail.height < height and edge:
            detail.paste(picture.crop((0, height - edge, width, height)), (0, detail.height - edge))
        detail.save(png)


class BasicFirst(ExampleTitleSortKey):
    """The basic figures of each group in front, then the others by their questions."""

    def __call__(self, filename: str) -> tuple[int, str]:
        """What the scripts of a group are sorted by."""
        return FIRST.index(filename) if filename in FIRST else len(FIRST), super().__call__(filename)


def in_order(folder: str) -> int:
    """The place of a group of figures on the gallery's page."""
    return GROUPS.index(Path(folder).name)
