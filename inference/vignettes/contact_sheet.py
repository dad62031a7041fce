"""A contact sheet of vignettes, to look at before judges are asked: which are shown, as HTML and as PNG."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from PIL import Image
from PIL.Image import Image as Picture

from ..design.subjects import label_fields
from ..study.models import Study
from ..tables.columns import stream
from ..tables.html_page import render
from .jobs.drawing_jobs import Renderer
from .jobs.store import encode
from .typesetting import TextStyle, Typesetter

CANDIDATES = 50  # profiles drawn at random per chosen one
CUES = {"both": "Name and face", "name": "Name without face", "face": "Face without name", "none": "Neither"}
INK, PAPER, MUTED = (27, 31, 36), (236, 239, 242), (84, 94, 104)
COLUMN, GAP, CAPTION = 520, 28, 19  # pixels of the sheet


@dataclass(frozen=True)
class GalleryProfile:
    """One profile of a gallery."""

    profile_id: int
    levels: Mapping[str, str]  # labels by label of the attribute
    pictures: dict[str, Picture]  # by kind of cues
    alts: Mapping[str, str]  # alternative text by kind of cues


def choose_profiles(study: Study, profiles: pd.DataFrame, n: int, seed: int) -> pd.DataFrame:
    """Choose profiles that together show all levels about equally often.

    Among profiles drawn at random, the next is always the one whose levels were chosen least often so far.

    Parameters
    ----------
    study : Study
        A conjoint study.
    profiles : DataFrame
        ``profile_id`` and a column for each attribute and stimulus.
    n : int
        Number of profiles; all of them if there are fewer.
    seed : int
        Seed of the profiles that are drawn.

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
    candidates = profiles.iloc[rng.permutation(len(profiles))[: n * CANDIDATES]]
    names = [*(part.id for part in study.attributes), *(part.id for part in study.stimuli)]
    codes = [candidates[name].astype("category").cat.codes.to_numpy() for name in names]
    counts = [np.zeros(code.max() + 1) for code in codes]
    weights = [len(count) for count in counts]
    is_available = np.ones(len(candidates), dtype=bool)
    chosen: list[int] = []
    for _ in range(min(n, len(candidates))):
        score = sum(weight * count[code] for weight, count, code in zip(weights, counts, codes, strict=True))
        best = int(np.where(is_available, score, np.inf).argmin())
        chosen.append(best)
        is_available[best] = False
        for count, code in zip(counts, codes, strict=True):
            count[code[best]] += 1
    return candidates.iloc[chosen]


def draw_profiles(
    study: Study, profiles: pd.DataFrame, renderers: Sequence[Renderer], progress: Callable[[int], None]
) -> list[GalleryProfile]:
    """Draw each profile with each renderer (they differ in the cues), and report the pictures drawn."""
    records = {renderer.job.cues: renderer.records(profiles) for renderer in renderers}
    table = label_fields(study, profiles).drop(columns="profile_id")
    levels = [dict(zip(table.columns, row, strict=True)) for row in table.itertuples(index=False, name=None)]
    alts = [
        {str(cues): str(cue_records["alt"].iloc[row]) for cues, cue_records in records.items()}
        for row in range(len(levels))
    ]
    entries = [
        GalleryProfile(number, level, {}, alt)
        for number, level, alt in zip(profiles["profile_id"].tolist(), levels, alts, strict=True)
    ]
    n_drawn = 0
    for renderer in renderers:
        for row, record in renderer.in_drawing_order(records[renderer.job.cues]):
            entries[row].pictures[renderer.job.cues] = renderer.painter.draw(record).image
            n_drawn += 1
            progress(n_drawn)
    return entries


def gallery_page(study: Study, entries: Sequence[GalleryProfile], facts: Mapping[str, str]) -> str:
    """Return the gallery as an HTML document without other files; ``facts`` label how it was drawn."""
    figures = [
        {
            "id": entry.profile_id,
            "levels": entry.levels,
            "pictures": [
                {
                    "cues": CUES[cues],
                    "uri": f"data:image/png;base64,{base64.b64encode(encode(picture, 'png')).decode()}",
                    "alt": entry.alts[cues],
                    "width": picture.width,
                }
                for cues, picture in entry.pictures.items()
            ],
        }
        for entry in entries
    ]
    return render(
        "gallery.html.j2",
        title=f"Vignettes: {study.title}",
        study=study.title,
        figures=figures,
        facts=facts,
        counts=_counts(study, entries),
        several=_has_several_pictures(entries),
    )


def gallery_sheet(
    entries: Sequence[GalleryProfile], typesetter: Typesetter, title: str, columns: int = 4
) -> Picture:
    """Draw profiles as one picture, cues side by side, each in the column that is the shortest so far."""
    blocks = [_block(entry, typesetter) for entry in entries]
    across = len(entries[0].pictures) if _has_several_pictures(entries) else 1
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


def _block(entry: GalleryProfile, typesetter: Typesetter) -> Picture:
    """Draw the pictures of a profile side by side, and their caption below."""
    small = [
        picture.resize((COLUMN, round(picture.height * COLUMN / picture.width)), Image.Resampling.LANCZOS)
        for picture in entry.pictures.values()
    ]
    width = len(small) * COLUMN + (len(small) - 1) * GAP
    text = f"{entry.profile_id}: {' · '.join(entry.levels.values())}"
    caption = typesetter.set(text, TextStyle(CAPTION), width)
    tallest = max(picture.height for picture in small)
    block = Image.new("RGB", (width, tallest + 8 + caption.height + caption.below), PAPER)
    for position, picture in enumerate(small):
        block.paste(picture, (position * (COLUMN + GAP), 0))
    typesetter.paint(block, caption, MUTED, 0, tallest + 8)
    return block


def _has_several_pictures(entries: Sequence[GalleryProfile]) -> bool:
    return any(len(entry.pictures) > 1 for entry in entries)


def _counts(study: Study, entries: Sequence[GalleryProfile]) -> dict[str, dict[str, int]]:
    """Count the profiles with each level, by attribute, both by label."""
    return {
        name: {
            level.label: sum(entry.levels[name] == level.label for entry in entries) for level in part.levels
        }
        for name, part in zip(entries[0].levels, study.attributes, strict=True)
    }
