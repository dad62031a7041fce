"""A contact sheet of vignettes, to look at before anyone is asked: which are shown, as HTML and as PNG."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from PIL import Image
from PIL.Image import Image as Picture

from ..design.subjects import label_fields
from ..study.models import Study
from ..tables.files import ROOT
from ..tables.streams import stream
from .encoding import encode
from .jobs import Desk
from .typesetting import TextStyle, Typesetter

CANDIDATES = 50  # profiles among which one is chosen, for each that is shown
CUES = {"both": "Name and face", "name": "Name without face", "face": "Face without name", "none": "Neither"}
INK, PAPER, MUTED = (27, 31, 36), (236, 239, 242), (84, 94, 104)
COLUMN, GAP, CAPTION = 520, 28, 19  # pixels of the sheet


@dataclass(frozen=True)
class Shown:
    """One profile of a gallery.

    Attributes
    ----------
    profile_id : int
    levels : dict
        Its levels in words, by attribute in words.
    pictures : dict
        Its picture for each kind of cues.
    alts : dict
        What the pictures show, in words.
    """

    profile_id: int
    levels: Mapping[str, str]
    pictures: Mapping[str, Picture]
    alts: Mapping[str, str]


def choose_profiles(study: Study, profiles: pd.DataFrame, n: int, seed: int) -> pd.DataFrame:
    """Choose profiles that together show all levels about equally often.

    One after the other is chosen whose levels have been shown least so far, among ones drawn at random.

    Parameters
    ----------
    profiles : DataFrame
        ``profile_id`` and a column for each attribute and stimulus.
    n : int
        How many; all of them where there are fewer.
    seed : int

    Returns
    -------
    DataFrame
        Rows of ``profiles``, in the order in which they were chosen.

    Examples
    --------
    >>> from conjury.inference.design.profiles import enumerate_profiles
    >>> from conjury.inference.study import load_study
    >>> study = load_study("moderation")
    >>> chosen = choose_profiles(study, enumerate_profiles(study), 35, seed=1)
    >>> sorted(chosen["slur"].value_counts().tolist())
    [5, 5, 5, 5, 5, 5, 5]
    """
    rng = stream(seed, "gallery")
    drawn = profiles.iloc[rng.permutation(len(profiles))[: n * CANDIDATES]]
    names = [*(part.id for part in study.attributes), *(part.id for part in study.stimuli)]
    codes = [drawn[name].astype("category").cat.codes.to_numpy() for name in names]
    counts = [np.zeros(code.max() + 1) for code in codes]
    weights = [len(count) for count in counts]
    left = np.ones(len(drawn), dtype=bool)
    chosen: list[int] = []
    for _ in range(min(n, len(drawn))):
        shown = sum(weight * count[code] for weight, count, code in zip(weights, counts, codes, strict=True))
        best = int(np.where(left, shown, np.inf).argmin())
        chosen.append(best)
        left[best] = False
        for count, code in zip(counts, codes, strict=True):
            count[code[best]] += 1
    return drawn.iloc[chosen]


def draw_profiles(
    study: Study, profiles: pd.DataFrame, desks: Sequence[Desk], watch: Callable[[int], None]
) -> list[Shown]:
    """Draw profiles at each desk, which differ in the cues that their pictures show.

    Parameters
    ----------
    watch : callable
        Takes how many pictures are drawn.
    """
    records = {desk.job.cues: desk.records(profiles) for desk in desks}
    table = label_fields(study, profiles).drop(columns="profile_id")
    words = [dict(zip(table.columns, row, strict=True)) for row in table.itertuples(index=False, name=None)]
    pictures: list[dict[str, Picture]] = [{} for _ in words]
    drawn = 0
    for desk in desks:
        for row, record in desk.in_order(records[desk.job.cues]):
            pictures[row][desk.job.cues] = desk.painter.draw(record).image
            drawn += 1
            watch(drawn)
    return [
        Shown(
            int(number),
            levels,
            pictures[row],
            {cues: str(held["alt"].iloc[row]) for cues, held in records.items()},
        )
        for row, (number, levels) in enumerate(zip(profiles["profile_id"], words, strict=True))
    ]


def gallery_page(study: Study, shown: Sequence[Shown], facts: Mapping[str, str]) -> str:
    """Write the gallery as an HTML document that needs no other file.

    Parameters
    ----------
    facts : mapping
        What the pictures were drawn with, in words.
    """
    environment = Environment(
        loader=FileSystemLoader(ROOT / "data"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    figures = [
        {
            "id": one.profile_id,
            "levels": one.levels,
            "pictures": [
                {"cues": CUES[cues], "uri": _data_uri(picture), "alt": one.alts[cues], "width": picture.width}
                for cues, picture in one.pictures.items()
            ],
        }
        for one in shown
    ]
    template = environment.get_template("gallery.html.j2")
    return template.render(
        title=study.title, figures=figures, facts=facts, counts=_counts(study, shown), several=_several(shown)
    )


def gallery_sheet(shown: Sequence[Shown], typesetter: Typesetter, title: str, columns: int = 4) -> Picture:
    """Draw the gallery as one picture: profiles in columns, each filled in turn where it is shortest.

    With several kinds of cues a profile takes a row of its own, its pictures side by side.
    """
    blocks = [_block(one, typesetter) for one in shown]
    across = len(shown[0].pictures) if _several(shown) else 1
    columns = max(1, min(columns // across if across > 1 else columns, len(blocks)))
    heading = typesetter.set(title, TextStyle(34, weight=700), None)
    bottoms = [2 * GAP + heading.height] * columns
    placed = []
    for block in blocks:
        column = int(np.argmin(bottoms))
        placed.append((block, (GAP + column * (block.width + GAP), bottoms[column])))
        bottoms[column] += block.height + GAP
    width = max(GAP + columns * (blocks[0].width + GAP), 2 * GAP + heading.width)
    sheet = Image.new("RGB", (width, max(bottoms)), PAPER)
    typesetter.paint(sheet, heading, INK, GAP, GAP)
    for block, corner in placed:
        sheet.paste(block, corner)
    return sheet


def _block(one: Shown, typesetter: Typesetter) -> Picture:
    """Draw the pictures of a profile side by side, and their caption below."""
    small = [
        picture.resize((COLUMN, round(picture.height * COLUMN / picture.width)), Image.Resampling.LANCZOS)
        for picture in one.pictures.values()
    ]
    width = len(small) * COLUMN + (len(small) - 1) * GAP
    words = f"{one.profile_id}: {' · '.join(one.levels.values())}"
    caption = typesetter.set(words, TextStyle(CAPTION), width)
    tallest = max(picture.height for picture in small)
    block = Image.new("RGB", (width, tallest + 8 + caption.height + caption.below), PAPER)
    for position, picture in enumerate(small):
        block.paste(picture, (position * (COLUMN + GAP), 0))
    typesetter.paint(block, caption, MUTED, 0, tallest + 8)
    return block


def _several(shown: Sequence[Shown]) -> bool:
    return any(len(one.pictures) > 1 for one in shown)


def _counts(study: Study, shown: Sequence[Shown]) -> dict[str, dict[str, int]]:
    """Count how often each level is shown, by attribute, both in words."""
    return {
        name: {level.label: sum(one.levels[name] == level.label for one in shown) for level in part.levels}
        for name, part in zip(shown[0].levels, study.attributes, strict=True)
    }


def _data_uri(picture: Picture) -> str:
    return "data:image/png;base64," + base64.b64encode(encode(picture, "png")).decode("ascii")
