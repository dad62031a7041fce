"""What people see of a profile or an item: fields in words, and a picture or clip by a name without a path.

The pages name a file by the hash of its place, and `ShownItems.files` is the only way from such a name to a
file: no request can name any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from ..design.profiles import enumerate_profiles
from ..design.run_design import DrawnDesign
from ..design.stimuli import load_posts, profile_values
from ..design.subjects import UNSHOWN, label_fields
from ..errors import InputError
from ..requests.profile_pictures import find_pictures
from ..study.models import ItemStudy, Study
from ..study.study_fields import Prompt

IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
VIGNETTES = "..vignettes"
CLIPS = {".mp4": "video/mp4", ".webm": "video/webm"}


@dataclass(frozen=True)
class SubjectDisplay:
    """Fields in words, and the name of a picture or clip with what it is described by."""

    fields: tuple[tuple[str, str], ...]
    media_name: str | None = None
    kind: str = ""  # image or video
    alt: str = ""
    lines: tuple[str, ...] = ()  # where every line takes a label
    rows: tuple[tuple[tuple[str, str], ...], ...] = ()  # of a layout: kind and text of each part of a row


@dataclass(frozen=True)
class ShownItems:
    """What is shown, by the number of a profile or the id of an item, and the files of pictures by name."""

    shown: Mapping[str, SubjectDisplay]
    files: Mapping[str, tuple[Path, str]]  # name on a page: file and media type

    def of(self, name: str) -> SubjectDisplay:
        """What is shown of one profile or item."""
        return self.shown[name]


def title_of(study: Study | ItemStudy) -> str:
    """Title that people see: that of the panel, else the question; never that of reports."""
    return (study.panel and study.panel.title) or study.question


def shown_profiles(
    study: Study, design: DrawnDesign, further: Sequence[int], images: bool, pictures: Path, run: Path
) -> ShownItems:
    """What people see of the profiles of their tasks, and of ``further`` profiles, for practice."""
    assert design.panel is not None
    numbers = set(design.panel.tasks["profile_id"].astype(int)) | set(further)
    posts = design.posts[design.posts["profile_id"].isin(numbers)]
    missing = sorted(numbers - set(posts["profile_id"].astype(int)))
    if missing:
        posts = pd.concat([posts, _practice_posts(study, missing, int(design.drawn["seed"]))])
    media: Mapping[Any, str] = {}
    root = study.folder
    if images:
        profile_pictures = find_pictures(
            study, design, [Prompt(id="people", label="People")], pictures, tasks="panel", run=run
        )
        media, root = profile_pictures.media["both"].dropna().to_dict(), profile_pictures.root
    return shown_posts(post_fields(study, posts), posts, media, root)


@dataclass(frozen=True)
class PostFields:
    """Fields of posts that are shown, and how a layout shows their texts; None without a layout."""

    names: tuple[str, ...]
    layout: Callable[[Mapping[str, str]], Any] | None


def post_fields(study: Study | None, columns: Iterable[Any]) -> PostFields:
    """The columns of posts that are shown: those of the study file, or all where it names none."""
    names = [str(name) for name in columns if name not in UNSHOWN]
    if study is None:
        return PostFields(tuple(names), None)
    if study.collect.fields is not None:
        field_names = study.collect.fields
        if study.content is None:
            field_names = [study.feature_labels.get(name, name) for name in field_names]
        names = [name for name in field_names if name in names]
    return PostFields(tuple(names), _layout_of(study, tuple(names)))


def shown_posts(
    shown_fields: PostFields, posts: pd.DataFrame, media: Mapping[Any, str], root: Path
) -> ShownItems:
    """What posts show: the picture of a profile that has one in ``media``, else fields."""
    layout = shown_fields.layout
    files: dict[str, tuple[Path, str]] = {}
    displays = {}
    for row in posts.to_dict("records"):
        number = int(row["profile_id"])
        fields = _fields(row, shown_fields.names)
        if number in media:
            name, kind = _file(root, str(media[number]), files, f"profile {number}")
            displays[str(number)] = SubjectDisplay(
                (), name, kind, "; ".join(f"{key}: {value}" for key, value in fields)
            )
        else:
            displays[str(number)] = SubjectDisplay(fields, rows=layout(dict(fields)) if layout else ())
    return ShownItems(displays, files)


def _layout_of(study: Study, names: tuple[str, ...]) -> Callable[[Mapping[str, str]], Any] | None:
    """How a layout shows the texts of a record; None without one, or without the part that draws them."""
    if study.vignette is None or find_spec(VIGNETTES, __package__) is None:
        return None
    from .post_display import layout_of, layout_rows

    layout = layout_of(study, names)
    return None if layout is None else partial(layout_rows, layout)


def _practice_posts(study: Study, numbers: Sequence[int], seed: int) -> pd.DataFrame:
    profiles = enumerate_profiles(study).drop(columns="probability")
    practice_profiles = profiles[profiles["profile_id"].isin(numbers)].reset_index(drop=True)
    if study.content is None:
        return label_fields(study, practice_profiles)
    return load_posts(study.folder, study.content, profile_values(study)).posts(practice_profiles, seed)


def shown_items(study: ItemStudy, items: pd.DataFrame, lines: str | None = None) -> ShownItems:
    """What people see of items: the fields of the study file, else all that are no strata or keys."""
    hidden_columns = {*UNSHOWN, study.cluster, study.generator, *(stratum.id for stratum in study.strata)}
    names = study.collect.fields or ["text"] if "text" in items or study.collect.fields else None
    if names is None:
        names = [str(name) for name in items if name not in hidden_columns]
    files: dict[str, tuple[Path, str]] = {}
    displays = {}
    for row in items.to_dict("records"):
        item = str(row["item_id"])
        fields = _fields(row, [name for name in names if name != lines])
        name, kind, alt = None, "", ""
        modality = row.get("modality", "text")
        if modality in ("image", "video") or _is_text(row.get("media")):
            if not _is_text(row.get("media")):
                raise InputError(f"{study.items}: item '{item}' has no file in column 'media'; name it.")
            name, kind = _file(study.folder, str(row["media"]), files, f"item '{item}'")
            alt = str(row["alt"]) if _is_text(row.get("alt")) else ""
        texts = tuple(_lines(row.get(lines))) if lines is not None else ()
        displays[item] = SubjectDisplay(fields, name, kind, alt, texts)
    return ShownItems(displays, files)


def _lines(value: Any) -> list[str]:
    if isinstance(value, str):
        return [line for line in value.splitlines() if line.strip()]
    return [] if value is None else [str(line) for line in value]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _fields(row: Mapping[Any, Any], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    values = ((name, row.get(name)) for name in names)
    return tuple((name, str(value)) for name, value in values if not _is_missing(value))


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value) or value == ""


def _file(root: Path, place: str, files: dict[str, tuple[Path, str]], what: str) -> tuple[str, str]:
    """Enter a file under a name without a path; return the name and its kind."""
    path = (root / place).resolve()
    if "://" in place or not path.is_relative_to(root.resolve()):
        raise InputError(
            f"{what}: {place} is no file inside {root}; people see pictures and clips of this folder alone, "
            "so move it there."
        )
    kind = IMAGES.get(path.suffix.lower()) or CLIPS.get(path.suffix.lower())
    if kind is None or not path.is_file():
        suffixes = ", ".join(sorted({*IMAGES, *CLIPS}))
        raise InputError(
            f"{what}: there is no file {path} that a browser shows ({suffixes}); correct its name."
        )
    name = hashlib.sha256(place.encode()).hexdigest()[:20] + path.suffix.lower()
    files[name] = (path, kind)
    return name, kind.partition("/")[0]
