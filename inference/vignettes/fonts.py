"""The fonts that text is drawn with: found, loaded once, and asked which characters they have."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict

import yaml
from PIL import ImageFont, features

from ..errors import InputError, MissingDependency
from ..tables.files import ROOT
from .characters import INVISIBLE, is_of, named
from .directions import NEEDS_FRIBIDI, fribidi
from .emoji import EmojiFont, find_emoji
from .font_tables import read_font_tables

FONTS = ROOT / "data" / "fonts.yaml"
BOLD = 600  # the lightest weight that a bold file is taken for
EMOJI = -1  # in place of the number of a family


@dataclass(frozen=True, slots=True)
class Family:
    """A family of the stack: its files, and how its weight and optical size are set.

    Attributes
    ----------
    name : str
    regular, bold : Path
        The same file for a variable font.
    axes : tuple
        Of a variable font, in the order of the file: ``"size"``, ``"weight"`` or a number; empty for others.
    """

    name: str
    regular: Path
    bold: Path
    axes: tuple[str | float, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """A family that is not installed: the scripts it is for, and the extra that brings it."""

    name: str
    scripts: tuple[str, ...]
    extra: str


class _Listed(TypedDict, total=False):
    """An entry of the file of fonts."""

    name: str
    package: str
    file: str
    axes: dict[str, str | float]
    bold: _Listed
    scripts: list[str]
    extra: str


class Fonts:
    """A stack of font families and an emoji font.

    Parameters
    ----------
    families : in the order in which they are tried
    emoji : None if there is none; text with emoji is then refused
    shaping : whether text can be shaped (Raqm and FriBidi are there)
    shaped : scripts that are unreadable without shaping
    absent : families that are not installed, for the sentence that says what to install
    pixels_per_point : pixels of a picture for one typographic point, for the optical size

    Examples
    --------
    >>> fonts = Fonts.find()
    >>> fonts.families[fonts.family_of("\N{LATIN SMALL LETTER A}")].name
    'Inter'
    """

    def __init__(
        self,
        families: Sequence[Family],
        emoji: EmojiFont | None,
        shaping: bool = True,
        shaped: Sequence[str] = (),
        absent: Sequence[Absent] = (),
        pixels_per_point: float = 2.0,
    ) -> None:
        self.families = tuple(families)
        self.emoji = emoji
        self.shaping = shaping
        self._shaped = tuple(shaped)
        self.absent = tuple(absent)
        self.pixels_per_point = pixels_per_point
        self._faces: dict[tuple[int, int, int], ImageFont.FreeTypeFont] = {}
        self._characters: dict[int, frozenset[int]] = {}
        self._family_of: dict[str, int] = {}

    @classmethod
    def find(cls, emoji: Path | None = None) -> Fonts:
        """Find the fonts of ``data/fonts.yaml``, and the emoji font in the usual folders or the file named.

        Raises
        ------
        MissingDependency
            A package of fonts is not installed.
        InputError
            The emoji font named cannot be read, or has no colours that can be drawn.
        """
        content = yaml.safe_load(FONTS.read_text(encoding="utf-8"))
        families, absent = _installed(content["families"])
        return cls(
            families,
            find_emoji(content["emoji"]["files"], content["emoji"]["folders"], emoji),
            can_shape(),
            content["shaped"],
            absent,
            content["pixels_per_point"],
        )

    @cached_property
    def sha256(self) -> dict[str, str]:
        """SHA-256 of every font file, by file name."""
        files = [path for family in self.families for path in (family.regular, family.bold)]
        files += [self.emoji.path] if self.emoji else []
        return {path.name: _digest(path) for path in dict.fromkeys(files)}

    def family_of(self, cluster: str) -> int:
        """Return the number of the first family with all visible characters of a cluster, or ``EMOJI``.

        Raises
        ------
        InputError
            No font has one of the characters; the sentence names it.
        MissingDependency
            The cluster needs shaping, which is not to be had.
        """
        if cluster not in self._family_of:
            self._family_of[cluster] = self._first_with(cluster)
        return self._family_of[cluster]

    def emoji_font(self, cluster: str) -> EmojiFont:
        """Return the font for an emoji.

        Raises
        ------
        InputError
            There is no emoji font, or it lacks the emoji.
        MissingDependency
            The emoji is made of several characters, and text cannot be shaped.
        """
        visible = INVISIBLE.sub("", cluster)
        if self.emoji is None:
            raise InputError(
                f"The text has the emoji {named(cluster[0])}, and no font with emoji was found; install one "
                "(Debian and Ubuntu: apt install fonts-noto-color-emoji), or name its file."
            )
        if not self.emoji.covers(visible):
            raise InputError(
                f"{self.emoji.path.name} lacks the emoji {named(cluster[0])}; "
                "install a newer font with emoji, or take it out of the text."
            )
        if len(visible) > 1 and not self.shaping:
            raise MissingDependency(NEEDS_FRIBIDI)
        return self.emoji

    def covers(self, family: int, cluster: str) -> bool:
        """Say whether a family has all visible characters of a cluster, as they are or composed."""
        if family not in self._characters:
            self._characters[family] = read_font_tables(self.families[family].regular).characters
        characters = self._characters[family]
        visible = INVISIBLE.sub("", cluster)
        return all(ord(character) in characters for character in visible) or all(
            ord(character) in characters for character in unicodedata.normalize("NFC", visible)
        )

    def face(self, family: int, size: int, weight: int) -> ImageFont.FreeTypeFont:
        """Return the face of a family at a size in pixels and a weight, loaded once."""
        key = (family, size, weight)
        if key not in self._faces:
            self._faces[key] = _face(
                self.families[family], size, weight, size / self.pixels_per_point, self.shaping
            )
        return self._faces[key]

    def _first_with(self, cluster: str) -> int:
        if not self.shaping and any(is_of(script, cluster[0]) for script in self._shaped):
            raise MissingDependency(NEEDS_FRIBIDI)
        for number in range(len(self.families)):
            if self.covers(number, cluster):
                return number
        if self.emoji and self.emoji.covers(INVISIBLE.sub("", cluster)):
            return EMOJI
        raise InputError(self._why_not(cluster))

    def _why_not(self, cluster: str) -> str:
        visible = INVISIBLE.sub("", cluster) or cluster
        for character in visible:
            if not any(self.covers(number, character) for number in range(len(self.families))):
                return self._why_not_alone(character)
        together = " with ".join(named(character) for character in visible)
        return (
            f"No font has {together} in one place; take them out of the text, or write them in another way."
        )

    def _why_not_alone(self, character: str) -> str:
        for family in self.absent:
            if any(is_of(script, character) for script in family.scripts):
                return (
                    f"{named(character)} needs the font {family.name}, which is not installed; "
                    f"install with `pip install 'conjury[{family.extra}]'`."
                )
        return f"No font has {named(character)}; take it out of the text, or write it in another way."


def can_shape() -> bool:
    """Say whether Pillow can shape text here: it has Raqm, and FriBidi is installed."""
    return bool(features.check("raqm") and features.check("fribidi") and fribidi())


def _installed(listed: Sequence[_Listed]) -> tuple[list[Family], list[Absent]]:
    families, absent, missing = [], [], []
    for entry in listed:
        regular, bold = _file(entry), _file(entry.get("bold", entry))
        if regular and bold:
            axes = tuple(entry.get("axes", {}).values())
            families.append(Family(entry["name"], regular, bold, axes))
        elif "extra" in entry:
            absent.append(Absent(entry["name"], tuple(entry["scripts"]), entry["extra"]))
        else:
            missing.append(entry["package"].replace("_", "-"))
    if missing:
        raise MissingDependency(
            f"Drawing pictures needs the fonts {', '.join(missing)}, which are not installed; "
            "install with `pip install 'conjury[pictures]'`."
        )
    return families, absent


def _file(entry: _Listed) -> Path | None:
    spec = find_spec(entry["package"])
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / entry["file"]
    return path if path.is_file() else None


def _face(family: Family, size: int, weight: int, points: float, shaping: bool) -> ImageFont.FreeTypeFont:
    layout = ImageFont.Layout.RAQM if shaping else ImageFont.Layout.BASIC
    face = ImageFont.truetype(family.bold if weight >= BOLD else family.regular, size, layout_engine=layout)
    if family.axes:
        ranges = [(axis["minimum"] or 0, axis["maximum"] or 0) for axis in face.get_variation_axes()]
        wanted = [_value(axis, weight, points) for axis in family.axes]
        limited = [min(max(each, low), high) for each, (low, high) in zip(wanted, ranges, strict=True)]
        face.set_variation_by_axes(limited)
    return face


def _value(axis: str | float, weight: int, points: float) -> float:
    if isinstance(axis, str):
        return points if axis == "size" else weight
    return axis


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
