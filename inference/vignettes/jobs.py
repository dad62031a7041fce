"""What pictures are drawn with: the choices of a user, opened for drawing, and noted beside the pictures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import features

from ..errors import InputError
from ..study.asking import Cues
from ..study.models import Study
from .contents import Record
from .encoding import Format, compressor
from .faces import Faces
from .fonts import Fonts
from .layout_file import Layout, load_layout
from .manifest import MADE_WITH, JobFolder, read_job
from .painting import Painter
from .records import study_faces, vignette_records
from .store import replaced
from .typesetting import Typesetter

DRAWING = 1  # one more whenever the same job gives other pixels
WORDS = {
    "study": "study",
    "layout": "layout",
    "theme": "theme",
    "format": "format",
    "seed": "seed",
    "fonts": "fonts",
    "faces": "faces",
    "contents": "texts, people or levels of the study",
    "drawing": "version of the drawing code",
}
CHANCES = {"levels": {"__all__": {"probability"}}}  # which change no picture
PLAIN = ("study", "theme", "format", "seed")  # told by their values


@dataclass(frozen=True)
class Job:
    """What is to be drawn, and how.

    Attributes
    ----------
    study : Study
    cues : "both", "name", "face" or "none"
    layout : str
        One that ships, or the path of a file from the study's folder.
    theme : str
    kind : "png" or "webp"
    seed : int
        Of the posts.
    emoji : Path, optional
        The emoji font; by default it is looked for.
    """

    study: Study
    cues: Cues
    layout: str
    theme: str
    kind: Format
    seed: int
    emoji: Path | None = None


@dataclass(frozen=True)
class Desk:
    """All that a job is drawn with, opened once a process."""

    job: Job
    layout: Layout
    fonts: Fonts
    faces: Faces
    painter: Painter

    def records(self, profiles: pd.DataFrame) -> pd.DataFrame:
        """Tell what the picture of each profile shows."""
        job = self.job
        return vignette_records(job.study, profiles, job.cues, job.seed, self.faces)

    def in_order(self, records: pd.DataFrame) -> Iterator[tuple[int, Record]]:
        """Yield row number and values of each record, those with the same long texts one after the other."""
        rows = records.astype(object).where(records.notna(), None).to_dict("records")
        texts = records.drop(columns=["profile_id", "alt"]).astype("string").fillna("")
        long_first = texts.apply(lambda column: column.str.len().mean()).sort_values(ascending=False).index
        for row in np.lexsort([texts[name].to_numpy(dtype=str) for name in reversed(long_first)]):
            yield int(row), {str(name): value for name, value in rows[row].items()}

    def facts(self) -> dict[str, Any]:
        """State all that the pictures depend on, in plain values."""
        job = self.job
        return {
            "study": job.study.name,
            "cues": job.cues,
            "layout": {"name": job.layout, "sha256": _digest(self.layout.path)},
            "theme": job.theme,
            "format": job.kind,
            "seed": job.seed,
            "fonts": dict(sorted(self.fonts.sha256.items())),
            "faces": self.faces.sha256,
            "contents": _contents(job.study),
            "drawing": DRAWING,
        }


def open_desk(job: Job) -> Desk:
    """Load layout, fonts and faces of a job.

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
    >>> desk = open_desk(Job(study, "both", "post", "light", "png", seed=1))
    >>> record = next(values for _, values in desk.in_order(desk.records(enumerate_profiles(study).head(1))))
    >>> desk.painter.draw(record).image.width
    1050
    """
    layout = load_layout(job.layout, job.study.folder)
    fonts = Fonts.find(job.emoji)
    faces = study_faces(job.study)
    return Desk(job, layout, fonts, faces, Painter(layout, job.theme, Typesetter(fonts), faces))


def with_faces(study: Study, path: Path) -> Study:
    """Give a study other faces: a file of drawn faces, or a folder with a folder of pictures for each group.

    Raises
    ------
    InputError
        The study shows no faces, or there is nothing at the path.
    """
    if study.content is None:
        raise InputError(f"--faces {path}: {study.name} has no content with faces; leave the option out.")
    if not path.exists():
        raise InputError(f"--faces {path}: there is no such file or folder; check the path.")
    content = study.content.model_copy(update={"faces": str(path.resolve())})
    return study.model_copy(update={"content": content})


def check_job(folder: JobFolder, facts: dict[str, Any]) -> bool:
    """Return whether a job was noted in its folder already.

    Raises
    ------
    InputError
        It was another one; the sentence says what differs.
    """
    if not folder.job.is_file():
        return False
    there = read_job(folder)
    differences = list(_differences(there, facts))
    if differences:
        raise InputError(
            f"{folder.path}: its pictures were drawn otherwise ({'; '.join(differences)}); give another "
            "folder with --out, or draw as before."
        )
    return True


def note_job(folder: JobFolder, facts: dict[str, Any]) -> None:
    """Write what a job is drawn with beside its pictures."""
    made_with = {
        "conjury": version("conjury"),
        "pillow": version("pillow"),
        "freetype": features.version("freetype2"),
        "raqm": features.version("raqm"),
        "compressor": compressor(),
    }
    with replaced(folder.job) as file:
        file.write((json.dumps({**facts, MADE_WITH: made_with}, indent=2) + "\n").encode())


def _differences(there: dict[str, Any], here: dict[str, Any]) -> Iterator[str]:
    for name, words in WORDS.items():
        old, new = there.get(name), here[name]
        if old == new:
            continue
        if name in PLAIN:
            yield f"{words} {old} there, {new} now"
        elif name == "layout" and isinstance(old, dict) and old.get("name") != new["name"]:
            yield f"{words} {old.get('name')} there, {new['name']} now"
        else:
            yield f"other {words}"


def _contents(study: Study) -> str:
    """Hash what the words of profiles come from: levels, stimuli, and the files of texts and people."""
    content = study.content
    files = () if content is None else (content.texts, content.people, content.insults)
    stated = {
        "attributes": [part.model_dump(mode="json", exclude=CHANCES) for part in study.attributes],
        "derived": [part.model_dump(mode="json") for part in study.derived],
        "stimuli": [part.model_dump(mode="json") for part in study.stimuli],
        "content": None if content is None else content.model_dump(mode="json", exclude={"faces"}),
        "files": [_digest(study.folder / file) for file in files],
    }
    return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
