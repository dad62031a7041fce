"""Pictures of those who write and answer: drawn faces, a user's pictures, and silhouettes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from ...design.stimuli.posts import REPLIER
from ...design.stimuli.wording import fill
from ...errors import InputError
from ...tables.columns import did_you_mean
from .drawn import read_drawn_faces
from .folder import Photo, read_folder
from .portraits import Portrait
from .silhouettes import MOST, Silhouette

COMPARED = 96  # pixels at which pictures are told apart


@dataclass(frozen=True)
class Faces:
    """Pictures of authors and repliers by id, such as ``black_male_03`` and ``replier_04``.

    Calling it with an id and a size in pixels gives a square RGBA image without transparent pixels.

    Attributes
    ----------
    shown : dict
        What each picture is made from.
    labels : dict
        Groups in words, such as ``{"black_male": "Black man"}``.
    """

    shown: Mapping[str, Portrait | Photo | Silhouette]
    labels: Mapping[str, str]

    def __call__(self, name: str, size: int) -> Image.Image:
        """Draw or read the picture ``name`` as a square of ``size`` pixels."""
        return self._find(name).picture(size)

    def describe(self, name: str) -> str:
        """Say what the picture ``name`` shows, as part of a sentence."""
        face = self._find(name)
        if isinstance(face, Silhouette):
            return face.words
        group = name.rpartition("_")[0]
        what = "drawn face" if isinstance(face, Portrait) else "picture"
        return f"a {what} of {fill('{a} ' + self.labels.get(group, group), None, None)}"

    @property
    def sha256(self) -> str:
        """Hash of all names and pictures, as they look at 96 pixels."""
        digest = hashlib.sha256()
        for name in sorted(self.shown):
            digest.update(name.encode() + b"\0" + self(name, COMPARED).tobytes())
        return digest.hexdigest()

    def _find(self, name: str) -> Portrait | Photo | Silhouette:
        if name not in self.shown:
            raise InputError(
                f"There is no picture '{name}'{did_you_mean(name, self.shown)}; name an author or replier of "
                "the study."
            )
        return self.shown[name]


def load_faces(
    path: Path, authors: Sequence[str], repliers: int, anonymous: str, labels: Mapping[str, str]
) -> Faces:
    """Read the faces of a study.

    Parameters
    ----------
    path : a YAML file that says how faces are drawn, or a folder with a folder of pictures for each group
    authors : ids such as ``black_male_03``
    repliers : how many people reply; they are shown as silhouettes
    anonymous : the group of authors who are shown as silhouettes, unless a folder has pictures of it
    labels : groups in words

    Raises
    ------
    InputError
        The file or folder does not hold what is asked for; names file, line or folder, and remedy.

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
    shown: dict[str, Portrait | Photo | Silhouette] = {}
    if path.is_dir():
        shown |= read_folder(path, authors, anonymous)
    else:
        shown |= read_drawn_faces(path, [name for name in authors if name.rpartition("_")[0] != anonymous])
    hidden = [name for name in authors if name not in shown]
    hidden += [f"{REPLIER}_{number:02d}" for number in range(repliers)]
    if len(hidden) > MOST:
        raise InputError(
            f"{path}: {len(hidden)} people are shown as silhouettes, which come in {MOST} colours; ask for "
            "fewer, or give pictures of anonymous authors."
        )
    shown |= {name: Silhouette(number) for number, name in enumerate(hidden)}
    return Faces(shown, {**labels, anonymous: "anonymous person"})
