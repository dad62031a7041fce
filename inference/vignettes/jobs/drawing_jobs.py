"""What pictures are drawn with: the choices of a user, opened for drawing, recorded with the pictures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import features

from ...errors import InputError
from ...study.asking import Cues
from ...study.models import Study
from ...tables.files import file_hash
from ...tables.writing import atomic_write
from ..faces import Faces
from ..fonts import Fonts
from ..layouts import VignetteLayout, is_shipped, load_layout
from ..painting import Painter
from ..placing import PictureBox, Record
from ..typesetting import Typesetter
from .picture_manifest import MADE_WITH, JobFolder, read_job
from .store import Format, compressor, study_faces, vignette_records

DRAWING = 1  # raised whenever the same job gives other pixels
LABELS = {  # of facts whose name would not say enough
    "contents": "texts, people or levels of the study",
    "drawing": "version of the drawing code",
}
PROBABILITIES = {"levels": {"__all__": {"probability"}}}  # change no picture
PLAIN = ("study", "theme", "format", "seed")  # named with their values


@dataclass(frozen=True)
class Job:
    """The pictures to draw: of which study, and how.

    Parameters
    ----------
    study : Study
        A conjoint study.
    cues : {"both", "name", "face", "none"}
        What is shown of an author's identity.
    layout : str
        A layout that ships, or the path of a file from the study's folder.
    theme : str
        Name of a theme of the layout.
    kind : {"png", "webp"}
        Format of the files.
    seed : int
        Of the posts.
    emoji : Path, optional
        The emoji font; by default the first in the usual folders.

    Examples
    --------
    >>> from conjury.inference.study import load_study
    >>> Job(load_study("moderation"), "both", "post", "light", "png", seed=1).layout
    'post'
    """

    study: Study
    cues: Cues
    layout: str
    theme: str
    kind: Format
    seed: int
    emoji: Path | None = None


@dataclass(frozen=True)
class Renderer:
    """A job with its layout, fonts and faces, opened once per process."""

    job: Job
    layout: VignetteLayout
    fonts: Fonts
    faces: Faces
    painter: Painter

    def records(self, profiles: pd.DataFrame) -> pd.DataFrame:
        """Return what the picture of each profile shows."""
        job = self.job
        return vignette_records(job.study, profiles, job.cues, job.seed, self.faces)

    def in_drawing_order(self, records: pd.DataFrame) -> Iterator[tuple[int, Record]]:
        """Yield row number and values of each record, equal long texts in succession (they are cached)."""
        rows = records.astype(object).where(records.notna(), None).to_dict("records")
        texts = records.drop(columns=["profile_id", "alt"]).astype("string").fillna("")
        long_first = texts.apply(lambda column: column.str.len().mean()).sort_values(ascending=False).index
        for row in np.lexsort([texts[name].to_numpy(dtype=str) for name in reversed(long_first)]):
            yield int(row), {str(name): value for name, value in rows[row].items()}

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Everything that the pictures depend on, as plain values."""
        job = self.job
        return {
            "study": job.study.name,
            "cues": job.cues,
            "layout": {"name": job.layout, "sha256": file_hash(self.layout.path)},
            "theme": job.theme,
            "format": job.kind,
            "seed": job.seed,
            "fonts": dict(sorted(self.fonts.sha256.items())),
            "faces": self.faces.sha256,
            "contents": _contents(job.study),
            "drawing": DRAWING,
        }


def open_job(job: Job) -> Renderer:
    """Load layout, fonts and faces of a job.

    Parameters
    ----------
    job : Job
        The pictures to draw.

    Returns
    -------
    Renderer
        What draws the pictures.

    Raises
    ------
    InputError
        A file is malformed, or the layout has no such theme; names file, line and remedy.
    MissingDependency
        Fonts are not installed.

    Examples
    --------
    >>> from conjury.inference.design.profiles import enumerate_profiles
    >>> from conjury.inference.study import load_study
    >>> study = load_study("moderation")
    >>> renderer = open_job(Job(study, "both", "post", "light", "png", seed=1))
    >>> records = renderer.records(enumerate_profiles(study).head(1))
    >>> record = next(values for _, values in renderer.in_drawing_order(records))
    >>> renderer.painter.draw(record).image.width
    1050
    """
    vignette = job.study.vignette
    if vignette is not None and job.layout == vignette.layout and not is_shipped(job.layout):
        job.study.file(job.layout)  # a study names files of its folder alone, and a user any file
    layout = load_layout(job.layout, job.study.folder)
    fonts = Fonts.find(job.emoji)
    faces = study_faces(job.study)
    return Renderer(job, layout, fonts, faces, Painter(layout, job.theme, Typesetter(fonts), faces))


def with_faces(study: Study, path: Path) -> Study:
    """Return a study with other faces: a file of drawn faces, or a folder of pictures for each group."""
    if study.content is None:
        raise InputError(f"--faces {path}: {study.name} has no content with faces; omit the option.")
    if not path.exists():
        raise InputError(f"--faces {path}: there is no such file or folder; check the path.")
    content = study.content.model_copy(update={"faces": str(path.resolve())})
    return study.model_copy(update={"content": content})


def check_job(folder: JobFolder, facts: dict[str, Any]) -> bool:
    """Return whether the folder records this job; refuse another one."""
    if not folder.job.is_file():
        return False
    differences = list(_differences(read_job(folder), facts))
    if differences:
        raise InputError(
            f"{folder.path}: its pictures were drawn differently ({'; '.join(differences)}); give another "
            "folder with --out, or draw as before."
        )
    return True


def record_job(folder: JobFolder, facts: dict[str, Any]) -> None:
    """Record what a job is drawn with, next to its pictures."""
    made_with = {
        "conjury": version("conjury"),
        "pillow": version("pillow"),
        "freetype": features.version("freetype2"),
        "raqm": features.version("raqm"),
        "compressor": compressor(),
    }
    with atomic_write(folder.job) as file:
        file.write((json.dumps({**facts, MADE_WITH: made_with}, indent=2) + "\n").encode())


def _differences(old_facts: dict[str, Any], facts: dict[str, Any]) -> Iterator[str]:
    for name, new in facts.items():
        old, label = old_facts.get(name), LABELS.get(name, name)
        if old == new:
            continue
        if name in PLAIN:
            yield f"{label} {old} there, {new} now"
        elif name == "layout" and isinstance(old, dict) and old.get("name") != new["name"]:
            yield f"{label} {old.get('name')} there, {new['name']} now"
        else:
            yield f"other {label}"


def _contents(study: Study) -> str:
    """Hash the sources of a profile's texts: levels, stimuli, and the files of texts and people."""
    content = study.content
    files = () if content is None else (content.texts, content.people, content.insults)
    sources = {
        "attributes": [part.model_dump(mode="json", exclude=PROBABILITIES) for part in study.attributes],
        "derived": [part.model_dump(mode="json") for part in study.derived],
        "stimuli": [part.model_dump(mode="json") for part in study.stimuli],
        "content": None if content is None else content.model_dump(mode="json", exclude={"faces"}),
        "files": [file_hash(study.file(file)) for file in files],
    }
    return hashlib.sha256(json.dumps(sources, sort_keys=True).encode()).hexdigest()


def check_ablation(renderer: Renderer, profiles: pd.DataFrame) -> None:
    """Refuse a layout in which hiding a cue moves other parts, for each author and kind of reply."""
    job = renderer.job
    if job.cues == "both" or job.study.content is None:
        return
    roles = job.study.content.roles
    firsts = profiles.drop_duplicates([roles.author, roles.reply])
    full_records = vignette_records(job.study, firsts, "both", job.seed, renderer.faces)
    full = {row: renderer.painter.place(record) for row, record in renderer.in_drawing_order(full_records)}
    for row, record in renderer.in_drawing_order(renderer.records(firsts)):
        boxes, size = renderer.painter.place(record)
        before, size_before = full[row]
        moved = _first_moved(before, boxes)
        if moved is not None or size != size_before:
            name, handle = full_records[["name", "handle"]].iloc[row]
            raise InputError(
                f"profile {record['profile_id']}: with cues {job.cues}, layout {job.layout} changes "
                f"more than the cue ({moved or 'the height'} moves), perhaps because '{name}' or "
                f"'@{handle}' takes several lines; give both more room there, or shorten them."
            )


def _first_moved(before: tuple[PictureBox, ...], now: tuple[PictureBox, ...]) -> str | None:
    """Return the name of the first box without a cue whose position differs."""
    boxes_before, boxes_now = (
        [(box.name, box.x, box.y, box.width, box.height) for box in boxes if box.cue is None]
        for boxes in (before, now)
    )
    if len(boxes_before) != len(boxes_now):
        return "a part"
    return next(
        (str(first[0]) for first, second in zip(boxes_before, boxes_now, strict=True) if first != second),
        None,
    )
