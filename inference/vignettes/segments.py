"""Text cut into what is drawn in one go: clusters with a font and a direction, words between line breaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .characters import CLUSTERS, NEWLINES, traits
from .directions import levels
from .fonts import EMOJI, Fonts

HYPHENS = "-\N{HYPHEN}"
DASHES = "\N{EN DASH}\N{EM DASH}"


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
