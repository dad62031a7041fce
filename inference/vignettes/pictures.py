"""The sizes of pictures that providers accept.

Read on 22 November 2026 in copies of the pages that ``LIMITS`` names, the youngest of September 2026. All
accept PNG and WebP. Requests have limits of their own: 512 MB and 1,500 pictures (OpenAI, where 50 MB were
enforced in September 2026), 32 MB and 100 pictures (Anthropic), 100 MB (Gemini); a pair of posts has about
0.2 MB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

BASE64 = 4 / 3  # bytes sent per byte of a file
MB = 1_000_000
OPENAI = "https://developers.openai.com/api/docs/guides/images-vision"
ANTHROPIC = "https://platform.claude.com/docs/en/build-with-claude/vision"
GEMINI = "https://firebase.google.com/docs/ai-logic/input-file-requirements"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a provider does with large pictures; None where its page states nothing."""

    provider: str
    source: str  # the page
    encoded: int | None = None  # bytes in base64 beyond which a picture is refused
    side: int | None = None  # pixels of a side beyond which it is refused
    longest: int | None = None  # pixels of the longer side beyond which it is scaled down
    shortest: int | None = None  # pixels of the shorter side beyond which it is scaled down
    patch: int = 1  # side of the squares into which it is cut
    patches: int | None = None  # squares beyond which it is scaled down

    def refuses(self, width: Integers, height: Integers, size: Integers) -> Flags:
        """Return which pictures of these pixels and bytes are refused."""
        return _exceeds(size * BASE64, self.encoded) | _exceeds(np.maximum(width, height), self.side)

    def scales(self, width: Integers, height: Integers) -> Flags:
        """Return which pictures of these pixels are scaled down before a model sees them."""
        longer, shorter = np.maximum(width, height), np.minimum(width, height)
        squares = -(-width // self.patch) * -(-height // self.patch)
        return (
            _exceeds(longer, self.longest)
            | _exceeds(shorter, self.shortest)
            | _exceeds(squares, self.patches)
        )


LIMITS = (
    Limit("OpenAI (GPT-4o, GPT-4.1, o models; detail high)", OPENAI, longest=2048, shortest=768),
    Limit("OpenAI (GPT-5 mini and others by patches)", OPENAI, longest=2048, patch=32, patches=1536),
    Limit(
        "Anthropic (models before Opus 4.7)", ANTHROPIC, 10 * MB, 8000, longest=1568, patch=28, patches=1568
    ),
    Limit("Anthropic (Opus 4.7 and later)", ANTHROPIC, 10 * MB, 8000, longest=2576, patch=28, patches=4784),
    Limit("Anthropic on Bedrock and Vertex", ANTHROPIC, 5 * MB, 8000),
    Limit("Gemini", GEMINI, longest=3072),
)


def provider_notes(width: Integers, height: Integers, size: Integers) -> Iterator[str]:
    """Yield a sentence for each provider that refuses some of n pictures or scales them down.

    Parameters
    ----------
    width, height : ndarray of int, shape (n,)
        Pixels.
    size : ndarray of int, shape (n,)
        Bytes.

    Yields
    ------
    str
        What a provider does with how many of the pictures.

    Examples
    --------
    >>> print(*provider_notes(np.array([1050, 1050]), np.array([620, 880]), np.array([50_000, 60_000])))
    OpenAI (GPT-4o, GPT-4.1, o models; detail high) scales down 1 of 2 pictures, those with a longer side of
    more than 2,048 pixels or a shorter side of more than 768 pixels.
    """
    for limit in LIMITS:
        weight = None if limit.encoded is None else f"{limit.encoded / BASE64 / MB:g} MB"
        refusing = {"more than {}": weight, "a side of more than {}": _pixels(limit.side)}
        scaling = {
            "a longer side of more than {}": _pixels(limit.longest),
            "a shorter side of more than {}": _pixels(limit.shortest),
            "more than {}": limit.patches and f"{limit.patches:,} squares of {limit.patch} pixels",
        }
        for verb, bounds, which in (
            ("refuses", refusing, limit.refuses(width, height, size)),
            ("scales down", scaling, limit.scales(width, height)),
        ):
            if which.any():
                listed = " or ".join(phrase.format(bound) for phrase, bound in bounds.items() if bound)
                share = f"{int(which.sum()):,} of {len(which):,} pictures"
                yield f"{limit.provider} {verb} {share}, those with {listed}."
                break


def _pixels(bound: int | None) -> str | None:
    return None if bound is None else f"{bound:,} pixels"


def _exceeds(values: NDArray[np.number], bound: int | None) -> Flags:
    return np.zeros(len(values), dtype=bool) if bound is None else np.asarray(values > bound)
