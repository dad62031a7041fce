"""Text cut into words between line breaks, and these into pieces of one font and direction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .characters import CLUSTERS, NEWLINES, levels, traits
from .fonts import EMOJI, Fonts

HYPHENS = "-\N{HYPHEN}"
DASHES = "\N{EN DASH}\N{EM DASH}"


@dataclass(frozen=True, slots=True)
class TextRun:
    """A cluster (a character as readers count them), or several of one font and direction."""

    text: str
    family: int  # number of its family of fonts
    level: int  # of the bidirectional algorithm
    space: bool  # whether nothing of it is drawn


@dataclass(frozen=True, slots=True)
class UnbrokenText:
    """Text between two places where a line may break."""

    clusters: tuple[TextRun, ...]  # without white space; empty for white space that begins a paragraph
    pieces: tuple[TextRun, ...]  # the same, as it is shaped
    blanks: tuple[TextRun, ...]  # the white space after it


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words of a paragraph, and whether it runs from right to left."""

    words: tuple[UnbrokenText, ...]
    rtl: bool


def paragraphs(text: str, fonts: Fonts) -> list[Paragraph]:
    """Cut a text into paragraphs at its newlines, and these into words."""
    return [_paragraph(part, fonts) for part in NEWLINES.split(text)]


def word_beginning(word: UnbrokenText, count: int) -> UnbrokenText:
    """Return the first clusters of a word as a word without white space after it."""
    clusters = word.clusters[:count]
    return UnbrokenText(clusters, _pieces(clusters), ())


def split_word(word: UnbrokenText, count: int) -> tuple[UnbrokenText, UnbrokenText]:
    """Cut a word after a number of clusters."""
    clusters = word.clusters[count:]
    return word_beginning(word, count), UnbrokenText(clusters, _pieces(clusters), word.blanks)


def _paragraph(text: str, fonts: Fonts) -> Paragraph:
    texts = CLUSTERS.findall(text)
    families = _families(texts, fonts)
    by_character, rtl = levels(text)
    clusters, start = [], 0
    for cluster, family in zip(texts, families, strict=True):
        clusters.append(TextRun(cluster, family, by_character[start], traits(cluster).space))
        start += len(cluster)
    return Paragraph(tuple(_words(clusters)), rtl)


def _families(texts: Sequence[str], fonts: Fonts) -> list[int]:
    """Choose a family for each cluster: punctuation and digits stay with the letters next to them."""
    by_script: list[int | None] = []  # None for clusters of no script
    for text in texts:
        kind = traits(text)
        if kind.emoji:
            fonts.emoji_font(text)  # refuses an emoji that cannot be drawn
        by_script.append(EMOJI if kind.emoji else None if kind.common else fonts.family_of(text))
    following: list[int | None] = [None] * len(texts)
    upcoming = None
    for position in range(len(texts) - 1, -1, -1):
        if by_script[position] not in (None, EMOJI):
            upcoming = by_script[position]
        following[position] = upcoming
    chosen, before = [], None
    for text, family, after in zip(texts, by_script, following, strict=True):
        if family is None:
            neighbours = (after, before) if traits(text).opener else (before, after)
            family = next(
                (each for each in neighbours if each is not None and fonts.covers(each, text)), None
            )
            chosen.append(fonts.family_of(text) if family is None else family)
        else:
            before = before if family == EMOJI else family
            chosen.append(family)
    return chosen


def _words(clusters: Sequence[TextRun]) -> Iterator[UnbrokenText]:
    start = 0
    for end in range(1, len(clusters) + 1):
        if end == len(clusters) or _breaks(clusters, end):
            visible = end
            while visible > start and clusters[visible - 1].space:
                visible -= 1
            visible_part = tuple(clusters[start:visible])
            yield UnbrokenText(visible_part, _pieces(visible_part), _pieces(clusters[visible:end]))
            start = end


def _pieces(clusters: Sequence[TextRun]) -> tuple[TextRun, ...]:
    """Join neighbouring clusters of one font and direction; each emoji stays alone."""
    joined: list[TextRun] = []
    start = 0
    for end in range(1, len(clusters) + 1):
        first = clusters[start]
        if end < len(clusters) and first.family != EMOJI and _can_join(first, clusters[end]):
            continue
        text = "".join([cluster.text for cluster in clusters[start:end]])
        joined.append(TextRun(text, first.family, first.level, first.space))
        start = end
    return tuple(joined)


def _can_join(first: TextRun, second: TextRun) -> bool:
    return (first.family, first.level, first.space) == (second.family, second.level, second.space)


def _breaks(clusters: Sequence[TextRun], position: int) -> bool:
    """Return whether a line may end before a cluster, in the spirit of Unicode Standard Annex 14."""
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
