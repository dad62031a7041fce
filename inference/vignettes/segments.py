"""Text cut into what is drawn in one go: clusters with a font and a direction, words between line breaks."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from .directions import levels
from .fonts import EMOJI, Fonts

NEWLINES = regex.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
CLUSTERS = regex.compile(r"\X")
SPACE = regex.compile(r"[\p{White_Space}--[\u00A0\u2007\u202F]]|\u200B", regex.V1)
PICTURE = regex.compile(  # flags, keycaps, what is shown as a picture by itself or is asked to be
    r"\p{Regional_Indicator}{2}|[0-9#*]\uFE0F?\u20E3|\p{Emoji_Presentation}(?!\uFE0E)"
    r"|\p{Emoji}(?:\uFE0F|\p{Emoji_Modifier})|\p{Extended_Pictographic}\uFE0F?\u200D\p{Emoji}"
)
COMMON = regex.compile(r"[\p{Script=Common}\p{Script=Inherited}]+")
OPENER = regex.compile(r"[\p{Line_Break=OP}\p{Line_Break=PR}\p{Pi}]")
CLOSER = regex.compile(
    r"[\p{LB=CL}\p{LB=CP}\p{LB=EX}\p{LB=IS}\p{LB=NS}\p{LB=CJ}\p{LB=IN}\p{LB=PO}\p{LB=SY}\p{Pf}\"']"
)
HANGUL = regex.compile(r"\p{Hangul}")
HYPHENS = "-\N{HYPHEN}"
DASHES = "\N{EN DASH}\N{EM DASH}"


@dataclass(frozen=True, slots=True)
class Traits:
    """What a cluster is, whatever stands around it."""

    space: bool
    emoji: bool
    common: bool
    wide: bool
    opener: bool
    closer: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """A character as a reader counts them: its text, the number of its family of fonts, its level."""

    text: str
    family: int
    level: int
    space: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one font and one direction that is shaped in one go; ``space`` if nothing of it is drawn."""

    text: str
    family: int
    level: int
    space: bool


@dataclass(frozen=True, slots=True)
class Word:
    """What stands between two places where a line may break.

    Attributes
    ----------
    clusters : tuple
        What is seen of it; empty for white space that begins a paragraph.
    pieces : tuple
        The same, as it is shaped.
    blanks : tuple
        The white space behind it.
    """

    clusters: tuple[Cluster, ...]
    pieces: tuple[Piece, ...]
    blanks: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words of a paragraph, and whether it runs from right to left."""

    words: tuple[Word, ...]
    rtl: bool


def paragraphs(text: str, fonts: Fonts) -> list[Paragraph]:
    r"""Cut a text into paragraphs at its newlines, and these into words.

    Raises
    ------
    InputError
        A character is in no font.
    MissingDependency
        A script needs shaping, which is not to be had.

    Examples
    --------
    >>> cut = paragraphs("One two-\nthree", Fonts.find())
    >>> [["".join(cluster.text for cluster in word.clusters) for word in part.words] for part in cut]
    [['One', 'two-'], ['three']]
    """
    return [_paragraph(part, fonts) for part in NEWLINES.split(text)]


def beginning(word: Word, count: int) -> Word:
    """Return the first clusters of a word as a word without white space behind it."""
    clusters = word.clusters[:count]
    return Word(clusters, _pieces(clusters), ())


def split(word: Word, count: int) -> tuple[Word, Word]:
    """Cut a word after a number of clusters."""
    rest = word.clusters[count:]
    return beginning(word, count), Word(rest, _pieces(rest), word.blanks)


@lru_cache(maxsize=65_536)
def traits(cluster: str) -> Traits:
    """Look a cluster up in the tables of Unicode.

    Examples
    --------
    >>> traits("\N{REGIONAL INDICATOR SYMBOL LETTER D}\N{REGIONAL INDICATOR SYMBOL LETTER E}").emoji
    True
    """
    emoji = bool(PICTURE.match(cluster))
    return Traits(
        space=bool(SPACE.match(cluster)),
        emoji=emoji,
        common=bool(COMMON.fullmatch(cluster)),
        wide=not emoji and unicodedata.east_asian_width(cluster[0]) in "WF" and not HANGUL.match(cluster),
        opener=bool(OPENER.match(cluster)),
        closer=bool(CLOSER.match(cluster)),
    )


def _paragraph(text: str, fonts: Fonts) -> Paragraph:
    texts = CLUSTERS.findall(text)
    families = _families(texts, fonts)
    by_character, rtl = levels(text)
    clusters, start = [], 0
    for cluster, family in zip(texts, families, strict=True):
        clusters.append(Cluster(cluster, family, by_character[start], traits(cluster).space))
        start += len(cluster)
    return Paragraph(tuple(_words(clusters)), rtl)


def _families(texts: Sequence[str], fonts: Fonts) -> list[int]:
    """Choose a family for each cluster: punctuation and digits stay with the letters beside them."""
    own: list[int | None] = []
    for text in texts:
        found = traits(text)
        if found.emoji:
            fonts.emoji_font(text)
        own.append(EMOJI if found.emoji else None if found.common else fonts.family_of(text))
    following: list[int | None] = [None] * len(texts)
    upcoming = None
    for position in range(len(texts) - 1, -1, -1):
        if own[position] not in (None, EMOJI):
            upcoming = own[position]
        following[position] = upcoming
    chosen, before = [], None
    for text, family, after in zip(texts, own, following, strict=True):
        if family is None:
            beside = (after, before) if traits(text).opener else (before, after)
            family = next((each for each in beside if each is not None and fonts.covers(each, text)), None)
            chosen.append(fonts.family_of(text) if family is None else family)
        else:
            before = before if family == EMOJI else family
            chosen.append(family)
    return chosen


def _words(clusters: Sequence[Cluster]) -> Iterator[Word]:
    start = 0
    for end in range(1, len(clusters) + 1):
        if end == len(clusters) or _breaks(clusters, end):
            visible = end
            while visible > start and clusters[visible - 1].space:
                visible -= 1
            seen = tuple(clusters[start:visible])
            yield Word(seen, _pieces(seen), _pieces(clusters[visible:end]))
            start = end


def _pieces(clusters: Sequence[Cluster]) -> tuple[Piece, ...]:
    """Join neighbouring clusters of one font and direction; each emoji stays alone."""
    joined: list[Piece] = []
    start = 0
    for end in range(1, len(clusters) + 1):
        first = clusters[start]
        if end < len(clusters) and first.family != EMOJI:
            following = clusters[end]
            if (following.family, following.level, following.space) == (
                first.family,
                first.level,
                first.space,
            ):
                continue
        text = "".join([cluster.text for cluster in clusters[start:end]])
        joined.append(Piece(text, first.family, first.level, first.space))
        start = end
    return tuple(joined)


def _breaks(clusters: Sequence[Cluster], position: int) -> bool:
    """Say whether a line may end before a cluster, in the spirit of Unicode Standard Annex 14."""
    last, following = clusters[position - 1], clusters[position]
    before, after = traits(last.text), traits(following.text)
    if after.space or before.space:
        return not after.space
    if after.closer or before.opener:
        return False
    if last.text in DASHES:
        return True
    if last.text in HYPHENS:
        return position > 1 and clusters[position - 2].text[0].isalnum() and following.text[0].isalpha()
    return before.wide or after.wide or (before.emoji and after.emoji)
