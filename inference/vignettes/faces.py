"""Pictures of authors and repliers: drawn faces, a user's pictures, and silhouettes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageOps

from ..design.stimuli.posts import REPLIER
from ..design.stimuli.wording import fill, stimulus_counts
from ..errors import InputError, did_you_mean, listed
from ..tables.contained_paths import require_inside
from .drawn_faces import SILHOUETTES, Portrait, Silhouette, read_drawn_faces

COMPARED = 96  # pixels at which the hash compares pictures
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
FORMATS = ("PNG", "JPEG", "WEBP")
SYSTEM_FILES = ("thumbs.db", "desktop.ini")  # and all names that begin with a dot
SMALLEST = 64  # pixels along the shorter side
BACKGROUND = "#e4e6e8"  # of transparent pixels


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
        return Image.alpha_composite(Image.new("RGBA", square.size, BACKGROUND), square)


@dataclass(frozen=True)
class Faces:
    """Pictures of authors and repliers by id, such as ``black_male_03`` and ``replier_04``.

    Calling it with an id and a size in pixels gives a square RGBA image without transparent pixels.

    Parameters
    ----------
    sources : dict
        The source of each picture by its id.
    labels : dict
        Labels of groups, such as ``{"black_male": "Black man"}``.

    Examples
    --------
    >>> Faces({"replier_00": Silhouette(0)}, {}).describe("replier_00")
    'a silhouette on teal'
    """

    sources: Mapping[str, Portrait | Photo | Silhouette]
    labels: Mapping[str, str]

    def __call__(self, name: str, size: int) -> Image.Image:
        """Draw or read the picture ``name`` as a square of ``size`` pixels."""
        return self._find(name).picture(size)

    def describe(self, name: str) -> str:
        """Return what the picture ``name`` shows, as part of a sentence."""
        face = self._find(name)
        if isinstance(face, Silhouette):
            return face.description
        group = name.rpartition("_")[0]
        what = "drawn face" if isinstance(face, Portrait) else "picture"
        return f"a {what} of {fill('{a} ' + self.labels.get(group, group), None, None)}"

    @property
    def sha256(self) -> str:
        """Hash of all names and pictures, at 96 pixels."""
        digest = hashlib.sha256()
        for name in sorted(self.sources):
            digest.update(name.encode() + b"\0" + self(name, COMPARED).tobytes())
        return digest.hexdigest()

    def _find(self, name: str) -> Portrait | Photo | Silhouette:
        if name not in self.sources:
            raise InputError(
                f"There is no picture '{name}'{did_you_mean(name, self.sources)}; name an author or "
                "replier of the study."
            )
        return self.sources[name]


def load_faces(
    path: Path,
    authors: Sequence[str],
    repliers: int,
    anonymous: str,
    labels: Mapping[str, str],
    root: Path | None = None,
) -> Faces:
    """Load the faces of a study.

    Parameters
    ----------
    path : Path
        A YAML file that describes the faces, or a folder with a folder of pictures for each group.
    authors : sequence of str
        Ids such as ``black_male_03``.
    repliers : int
        Number of people who reply; they are shown as silhouettes.
    anonymous : str
        The group of authors who are shown as silhouettes, unless the folder has pictures of them.
    labels : mapping of str to str
        Labels of groups.
    root : Path, optional
        Folder of the study, which all pictures lie in; by default ``path``.

    Returns
    -------
    Faces
        Pictures of authors and repliers by id.

    Raises
    ------
    InputError
        The file or folder lacks a face; the message names file, line or folder, and the remedy.

    Examples
    --------
    >>> from conjury.inference.study.models import STUDIES
    >>> stimuli = STUDIES / "moderation" / "stimuli"
    >>> groups = ["anonymous", "black_male", "black_female", "white_male", "white_female"]
    >>> authors = [f"{group}_{number:02d}" for group in groups for number in range(10)]
    >>> faces = load_faces(stimuli / "faces.yaml", authors, 15, "anonymous", {"white_male": "White man"})
    >>> faces.describe("white_male_03"), faces.describe("anonymous_00")
    ('a drawn face of a White man', 'a silhouette on teal')
    >>> faces("white_male_03", 48).size
    (48, 48)
    """
    sources: dict[str, Portrait | Photo | Silhouette] = {}
    if path.is_dir():
        sources |= _read_folder(path, authors, anonymous, root or path)
    else:
        sources |= read_drawn_faces(path, [name for name in authors if name.rpartition("_")[0] != anonymous])
    hidden = [name for name in authors if name not in sources]
    hidden += [f"{REPLIER}_{number:02d}" for number in range(repliers)]
    if len(hidden) > SILHOUETTES:
        raise InputError(
            f"{path}: {len(hidden)} people are shown as silhouettes, which come in {SILHOUETTES} colours; "
            "reduce their number, or give pictures of anonymous authors."
        )
    sources |= {name: Silhouette(number) for number, name in enumerate(hidden)}
    return Faces(sources, {**labels, anonymous: "anonymous person"})


def _read_folder(folder: Path, authors: Iterable[str], optional: str, root: Path) -> dict[str, Photo]:
    """Return the picture of each author, such as ``black_male_03``: the fourth of ``black_male`` by name."""
    counts = stimulus_counts(authors)
    for group in sorted(path.name for path in folder.iterdir() if path.is_dir() and not _ignored(path)):
        if group not in counts:
            raise InputError(
                f"{folder / group}: '{group}' is not a group of the study{did_you_mean(group, counts)}; "
                f"rename it to one of {listed(counts)}."
            )
    photos: dict[str, Photo] = {}
    for group, count in counts.items():
        if (folder / group).is_dir():
            photos |= {
                f"{group}_{number:02d}": Photo(path)
                for number, path in enumerate(_pictures(folder / group, count, root))
            }
        elif group != optional:
            raise InputError(
                f"{folder}: there is no folder {group}; make one with {count} pictures ({listed(SUFFIXES)})."
            )
    return photos


def _pictures(folder: Path, count: int, root: Path) -> list[Path]:
    paths = sorted((path for path in folder.iterdir() if not _ignored(path)), key=lambda path: path.name)
    for path in paths:
        _check(require_inside(path, root))
    if len(paths) != count:
        do = f"add {count - len(paths)}" if len(paths) < count else f"remove {len(paths) - count}"
        raise InputError(f"{folder}: there are {len(paths)} pictures and the study needs {count}; {do}.")
    return paths


def _ignored(path: Path) -> bool:
    return path.name.startswith(".") or path.name.lower() in SYSTEM_FILES


def _check(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        raise InputError(f"{path}: this is not a {listed(SUFFIXES)} file; move it out of the folder.")
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
