"""Items of a study that are pictures or clips as a figure: the picture, or frames, with stratum and label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from conjury.inference.errors import InputError
from conjury.inference.preparation.video import cut_frames, read_clip
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.files import read_table

from ...figures.figure_layout import wrap
from ...figures.theme import new_figure, page_width, styled, theme_named
from .exhibit_notes import gold_of_items

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FRAMES = 4  # of a clip
SIDE = 320  # pixels of the longest side of a picture
HIGH = 1.5  # inches of a row


def draw_examples(study: ItemStudy, where: Mapping[str, str]) -> Figure:
    """Draw the pictures, or frames of the clips, of items with some levels of strata, a row for each."""
    items = read_table(study.file(study.items))
    for name, level in where.items():
        items = items[as_text(items[name]).eq(level).to_numpy(dtype=bool)]
    items = items[items["media"].notna()] if "media" in items else items.iloc[:0]
    if items.empty:
        raise InputError(f"The study {study.name} has no items with pictures of {', '.join(where.values())}.")
    labels = gold_of_items(study)
    free = [stratum.id for stratum in study.strata if stratum.id not in where and stratum.id in items]
    rows = []
    for item in items.to_dict("records"):
        names = [study.level_labels[name].get(str(item[name]), "") for name in free]
        names.append(labels.get(str(item["item_id"]), ""))
        rows.append((", ".join(filter(None, names)), _pictures(study, str(item["media"]))))
    n_pictures = max(len(pictures) for _, pictures in rows)
    return _draw(rows, 3 if n_pictures == 1 else 1, n_pictures)


def _pictures(study: ItemStudy, name: str) -> list[np.ndarray]:
    """A picture, or frames of a clip at equal steps, as arrays (high, wide, 3)."""
    path = study.file(name)
    if path.suffix.lower() in (".mp4", ".webm", ".mov"):
        contents: list[Any] = [frame.content for frame in cut_frames(read_clip(path), 60, FRAMES, SIDE)]
        return [np.asarray(Image.open(BytesIO(content)).convert("RGB")) for content in contents]
    picture = Image.open(path).convert("RGB")
    picture.thumbnail((SIDE, SIDE))
    return [np.asarray(picture)]


def _draw(rows: Sequence[tuple[str, list[np.ndarray]]], across: int, wide: int) -> Figure:
    """Rows of pictures below their names; ``across`` items, or frames of one item, beside each other."""
    down, look = -(-len(rows) // across), theme_named("light")
    with styled(look):
        fig = new_figure(page_width(), HIGH * down)
        grid = fig.add_gridspec(down, across * wide)
        for place, (name, pictures) in enumerate(rows):
            for number, picture in enumerate(pictures):
                axes = fig.add_subplot(grid[place // across, place % across * wide + number])
                axes.imshow(picture)
                axes.set_axis_off()
                if not number:
                    axes.set_title(wrap(name, page_width() / across), loc="left", fontsize=8.5)
    return fig
