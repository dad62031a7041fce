"""Faces from a folder of the user: a folder of pictures for each group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageOps

from ...design.stimuli.source import stimulus_counts
from ...errors import InputError
from ...tables.columns import did_you_mean, listed

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
FORMATS = ("PNG", "JPEG", "WEBP")
LEFT_BY_SYSTEMS = ("thumbs.db", "desktop.ini")  # and all names that begin with a dot
SMALLEST = 64  # pixels along the shorter side
BEHIND = "#e4e6e8"  # what shows through transparent pixels


@dataclass(frozen=True, slots=True)
class Photo:
    """A file with the picture of a person."""

    path: Path

    def picture(self, size: int) -> Image.Image:
        """Return its middle as a square of ``size`` pixels, upright."""
        try:
            with Image.open(self.path, formats=FORMATS) as image:
                upright = ImageOps.exif_transpose(image).convert("RGBA")
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as problem:
            raise InputError(
                f"{self.path}: the picture is damaged ({problem}); save it again or choose another."
            ) from None
        square = ImageOps.fit(upright, (size, size), Image.Resampling.LANCZOS)
        return Image.alpha_composite(Image.new("RGBA", square.size, BEHIND), square)


def read_folder(folder: Path, authors: Iterable[str], optional: str) -> dict[str, Photo]:
    """Find the pictures of authors.

    Parameters
    ----------
    folder : with a folder for each group, named after its level
    authors : ids such as ``black_male_03``, which takes the fourth picture of ``black_male`` by name
    optional : the group that may lack a folder

    Raises
    ------
    InputError
        A group has no folder or another number of pictures than it has authors, a folder is of no group, or
        a file is no picture or too small.
    """
    wanted = stimulus_counts(authors)
    for group in sorted(path.name for path in folder.iterdir() if path.is_dir() and not _ignored(path)):
        if group not in wanted:
            raise InputError(
                f"{folder / group}: '{group}' is no group of the study{did_you_mean(group, wanted)}; name it "
                f"after one of {listed(wanted)}."
            )
    photos: dict[str, Photo] = {}
    for group, count in wanted.items():
        if (folder / group).is_dir():
            photos |= {
                f"{group}_{number:02d}": Photo(path)
                for number, path in enumerate(_pictures(folder / group, count))
            }
        elif group != optional:
            raise InputError(
                f"{folder}: there is no folder {group}; make one with {count} pictures ({listed(SUFFIXES)})."
            )
    return photos


def _pictures(folder: Path, count: int) -> list[Path]:
    paths = sorted((path for path in folder.iterdir() if not _ignored(path)), key=lambda path: path.name)
    for path in paths:
        _check(path)
    if len(paths) != count:
        do = f"add {count - len(paths)}" if len(paths) < count else f"remove {len(paths) - count}"
        raise InputError(f"{folder}: there are {len(paths)} pictures and the study asks for {count}; {do}.")
    return paths


def _ignored(path: Path) -> bool:
    return path.name.startswith(".") or path.name.lower() in LEFT_BY_SYSTEMS


def _check(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        raise InputError(f"{path}: this is no {listed(SUFFIXES)} file; move it out of the folder.")
    try:
        with Image.open(path, formats=FORMATS) as image:
            width, height = image.size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise InputError(
            f"{path}: this is not a picture that can be read; save it as PNG, JPEG or WebP."
        ) from None
    if min(width, height) < SMALLEST:
        raise InputError(
            f"{path}: the picture is {width} x {height} pixels; use one of at least {SMALLEST} x {SMALLEST}."
        )
