"""Fonts: found, loaded once, with the characters that each contains; colour emoji."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict

import yaml
from PIL import Image, ImageChops, ImageDraw, ImageFont, features

from ..errors import InputError, MissingDependency
from ..tables.files import ROOT, file_hash
from .characters import INVISIBLE, NEEDS_FRIBIDI, character_name, fribidi, is_of

try:
    from fontTools.ttLib import TTFont, TTLibError
except ImportError:
    raise MissingDependency(
        "Drawing pictures needs the package fonttools, which is not installed; "
        "install with `pip install 'conjury[pictures]'`."
    ) from None

FONTS = ROOT / "data" / "fonts.yaml"
BOLD = 600  # the lightest weight that uses a bold file
EMOJI = -1  # in place of the number of a family
PRIVATE = "Co"  # category of characters whose meaning differs between fonts
OUTLINE_SIZE = 160  # pixels at which an emoji font of outlines is drawn before it is scaled down
PROBE = "\N{GRINNING FACE}"
SIGNS = {0x200D, 0x20E3, 0xFE0F}  # joiner, keycap, selector: vanish in shaping, in the font's table or not


def read_font_tables(path: Path) -> tuple[frozenset[int], int | None]:
    """Return the characters of a font file (of its first font) and the size of its bitmaps, None without."""
    try:
        with TTFont(path, lazy=True, fontNumber=0) as font:
            codes = (code for code in font.getBestCmap() or () if unicodedata.category(chr(code)) != PRIVATE)
            return frozenset(codes), _bitmap_size(font)
    except TTLibError as error:
        raise ValueError(str(error)) from None


def _bitmap_size(font: TTFont) -> int | None:
    if "CBLC" in font:
        return int(font["CBLC"].strikes[0].bitmapSizeTable.ppemY)
    if "sbix" in font:
        return int(max(font["sbix"].strikes))
    return None


class EmojiFont:
    """A font with colour emoji, drawn at the size of its bitmaps and scaled from there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            characters, bitmaps = read_font_tables(path)
            self._characters = characters | SIGNS
            self._native = bitmaps or OUTLINE_SIZE
            self._face = ImageFont.truetype(path, self._native)
            red, _, blue, _ = self.draw(PROBE, self._native)[0].split()
        except (OSError, ValueError):
            raise InputError(
                f"{path}: this is not a font with emoji; name one such as NotoColorEmoji.ttf."
            ) from None
        if ImageChops.difference(red, blue).getbbox() is None:
            raise InputError(
                f"{path}: the font has no colour emoji that can be drawn; name one with bitmaps, such as "
                "NotoColorEmoji.ttf of Debian's fonts-noto-color-emoji."
            )

    def covers(self, characters: str) -> bool:
        """Return whether the font has all the characters, apart from signs that only join others."""
        return all(ord(character) in self._characters for character in characters)

    def draw(self, cluster: str, size: int) -> tuple[Image.Image, int, int, float]:
        """Return an emoji (RGBA), its left edge from the pen, its top from the baseline, and the advance."""
        scale = size / self._native
        left, top, right, bottom = self._face.getbbox(cluster, anchor="ls")
        large = Image.new("RGBA", (max(round(right - left), 1), max(round(bottom - top), 1)))
        ImageDraw.Draw(large).text((-left, -top), cluster, font=self._face, anchor="ls", embedded_color=True)
        small = (max(round(large.width * scale), 1), max(round(large.height * scale), 1))
        image = large if small == large.size else large.resize(small, Image.Resampling.LANCZOS)
        return image, round(left * scale), round(top * scale), self._face.getlength(cluster) * scale


def find_emoji(files: Sequence[str], folders: Sequence[str], named: Path | None) -> EmojiFont | None:
    """Load the emoji font ``named``, or the first of ``files`` in or below one of ``folders``, if any."""
    if named is not None:
        return EmojiFont(named)
    for folder in (Path(name).expanduser() for name in folders):
        for path in (path for file in files for path in sorted(folder.rglob(file))):
            with suppress(InputError):
                return EmojiFont(path)
    return None


@dataclass(frozen=True, slots=True)
class FontFamily:
    """A family of the stack: its files, and how its weight and optical size are set."""

    name: str
    regular: Path
    bold: Path  # the same file for a variable font
    axes: tuple[
        str | float, ...
    ]  # of a variable font, in the order of the file: "size", "weight" or a number


@dataclass(frozen=True, slots=True)
class MissingFamily:
    """A family that is not installed: its scripts, and the extra that installs it."""

    name: str
    scripts: tuple[str, ...]
    extra: str


class _FontEntry(TypedDict, total=False):
    """An entry of the file of fonts."""

    name: str
    package: str
    file: str
    axes: dict[str, str | float]
    bold: _FontEntry
    scripts: list[str]
    extra: str


@dataclass(eq=False, repr=False)
class Fonts:
    """A stack of font families and an emoji font.

    Parameters
    ----------
    families : sequence of FontFamily
        In the order in which they are tried.
    emoji : EmojiFont or None
        Without one (None), text with emoji is refused.
    shaping : bool
        Whether text can be shaped (Raqm and FriBidi are installed).
    shaped : sequence of str
        Scripts that are unreadable without shaping.
    absent : sequence of MissingFamily
        Families that are not installed, named in the message when a text needs one.
    pixels_per_point : float
        Pixels of a picture per typographic point, for the optical size.

    Examples
    --------
    >>> fonts = Fonts.find()
    >>> fonts.families[fonts.family_of("\N{LATIN SMALL LETTER A}")].name
    'Inter'
    """

    families: Sequence[FontFamily]
    emoji: EmojiFont | None
    shaping: bool = True
    shaped: Sequence[str] = ()
    absent: Sequence[MissingFamily] = ()
    pixels_per_point: float = 2.0
    _faces: dict[tuple[int, int, int], ImageFont.FreeTypeFont] = field(default_factory=dict, init=False)
    _characters: dict[int, frozenset[int]] = field(default_factory=dict, init=False)
    _family_of: dict[str, int] = field(default_factory=dict, init=False)

    @classmethod
    def find(cls, emoji: Path | None = None) -> Fonts:
        """Find the fonts of ``data/fonts.yaml``, and the emoji font given or in the usual folders."""
        content = yaml.safe_load(FONTS.read_text(encoding="utf-8"))
        families, absent = _find_families(content["families"])
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
        return {path.name: file_hash(path) for path in dict.fromkeys(files)}

    def family_of(self, cluster: str) -> int:
        """Return the number of the first family with all visible characters of a cluster, or ``EMOJI``."""
        if cluster not in self._family_of:
            self._family_of[cluster] = self._first_with(cluster)
        return self._family_of[cluster]

    def emoji_font(self, cluster: str) -> EmojiFont:
        """Return the font for an emoji."""
        visible = INVISIBLE.sub("", cluster)
        if self.emoji is None:
            raise InputError(
                f"The text has the emoji {character_name(cluster[0])}, and no font with emoji was found; "
                "install one (Debian and Ubuntu: apt install fonts-noto-color-emoji), or name its file."
            )
        if not self.emoji.covers(visible):
            raise InputError(
                f"{self.emoji.path.name} lacks the emoji {character_name(cluster[0])}; "
                "install a newer font with emoji, or remove it from the text."
            )
        if len(visible) > 1 and not self.shaping:
            raise MissingDependency(NEEDS_FRIBIDI)
        return self.emoji

    def covers(self, family: int, cluster: str) -> bool:
        """Return whether a family has all visible characters of a cluster, as they are or composed."""
        if family not in self._characters:
            self._characters[family] = read_font_tables(self.families[family].regular)[0]
        characters = self._characters[family]
        visible = INVISIBLE.sub("", cluster)
        return all(ord(character) in characters for character in visible) or all(
            ord(character) in characters for character in unicodedata.normalize("NFC", visible)
        )

    def face(self, family: int, size: int, weight: int) -> ImageFont.FreeTypeFont:
        """Return the face of a family at a size in pixels and a weight, loaded once."""
        key = (family, size, weight)
        if key not in self._faces:
            points = size / self.pixels_per_point
            self._faces[key] = _face(self.families[family], size, weight, points, self.shaping)
        return self._faces[key]

    def _first_with(self, cluster: str) -> int:
        if not self.shaping and any(is_of(script, cluster[0]) for script in self.shaped):
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
        together = " with ".join(character_name(character) for character in visible)
        return f"No font has {together} in one character; remove them or write them in another way."

    def _why_not_alone(self, character: str) -> str:
        for family in self.absent:
            if any(is_of(script, character) for script in family.scripts):
                return (
                    f"{character_name(character)} needs the font {family.name}, which is not installed; "
                    f"install with `pip install 'conjury[{family.extra}]'`."
                )
        return f"No font has {character_name(character)}; remove it or write it in another way."


def can_shape() -> bool:
    """Return whether Pillow can shape text: it has Raqm, and FriBidi is installed."""
    return bool(features.check("raqm") and features.check("fribidi") and fribidi())


def _find_families(listed: Sequence[_FontEntry]) -> tuple[list[FontFamily], list[MissingFamily]]:
    families, absent, missing = [], [], []
    for entry in listed:
        regular, bold = _file(entry), _file(entry.get("bold", entry))
        if regular and bold:
            axes = tuple(entry.get("axes", {}).values())
            families.append(FontFamily(entry["name"], regular, bold, axes))
        elif "extra" in entry:
            absent.append(MissingFamily(entry["name"], tuple(entry["scripts"]), entry["extra"]))
        else:
            missing.append(entry["package"].replace("_", "-"))
    if missing:
        raise MissingDependency(
            f"Drawing pictures needs the fonts {', '.join(missing)}, which are not installed; "
            "install with `pip install 'conjury[pictures]'`."
        )
    return families, absent


def _file(entry: _FontEntry) -> Path | None:
    spec = find_spec(entry["package"])
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / entry["file"]
    return path if path.is_file() else None


def _face(family: FontFamily, size: int, weight: int, points: float, shaping: bool) -> ImageFont.FreeTypeFont:
    layout = ImageFont.Layout.RAQM if shaping else ImageFont.Layout.BASIC
    face = ImageFont.truetype(family.bold if weight >= BOLD else family.regular, size, layout_engine=layout)
    if family.axes:
        ranges = [(axis["minimum"] or 0, axis["maximum"] or 0) for axis in face.get_variation_axes()]
        values = {"size": points, "weight": weight}
        axis_values = [values[axis] if isinstance(axis, str) else axis for axis in family.axes]
        limited = [min(max(value, low), high) for value, (low, high) in zip(axis_values, ranges, strict=True)]
        face.set_variation_by_axes(limited)
    return face
