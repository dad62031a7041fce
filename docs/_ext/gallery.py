"""The gallery: each script's figure in both themes, with its alternative text, and a thumbnail."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from PIL import Image
from sphinx_gallery.sorting import ExampleTitleSortKey

from conjury.analysis.figures.theme import save, save_variants

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
    cut_to_detail(png)
    drawn = save_variants(figure, thumbnail.with_suffix(""))
    place = Path("/") / png.parent.relative_to(settings["src_dir"])
    pictures = [
        f".. image:: {place / path.name}\n   :alt: {alt}\n   :class: only-{theme} gallery-figure\n"
        for theme, path in drawn.items()
    ]
    return "\n" + "\n".join(pictures) + "\n"


def cut_to_detail(png: Path) -> None:
    """Leave the upper part of a high figure, three to two, so that a thumbnail shows what kind it is."""
    with Image.open(png) as picture:
        width, height = picture.size
        picture.crop((0, 0, width, min(height, width * 2 // 3))).save(png)


class BasicFirst(ExampleTitleSortKey):
    """The basic figures of each group in front, then the others by their questions."""

    def __call__(self, filename: str) -> tuple[int, str]:
        """What the scripts of a group are sorted by."""
        return FIRST.index(filename) if filename in FIRST else len(FIRST), super().__call__(filename)


def in_order(folder: str) -> int:
    """The place of a group of figures on the gallery's page."""
    return GROUPS.index(Path(folder).name)
