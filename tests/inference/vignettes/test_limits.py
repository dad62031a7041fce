"""What providers refuse and scale down, at the bounds that their pages state."""

from __future__ import annotations

import numpy as np
import pytest

from conjury.inference.requests.media import LARGEST
from conjury.inference.vignettes import provider_notes
from conjury.inference.vignettes.pictures import LIMITS, Limit


def limit(provider: str) -> Limit:
    return next(one for one in LIMITS if one.provider.startswith(provider))


def arrays(*picture: int) -> list[np.ndarray]:
    return [np.array([value]) for value in picture]


@pytest.mark.parametrize(
    ("provider", "picture", "refused"),
    [
        ("Anthropic (models", (8000, 600, 7_500_000), False),
        ("Anthropic (models", (8001, 600, 50_000), True),
        ("Anthropic (models", (600, 8001, 50_000), True),
        ("Anthropic (models", (1050, 600, 7_500_001), True),
        ("Anthropic on Bedrock", (1050, 600, 3_750_001), True),
        ("OpenAI (GPT-4o", (9000, 600, LARGEST), False),
        ("Gemini", (9000, 600, LARGEST), False),
    ],
)
def test_providers_refuse_what_is_beyond_their_bounds(provider, picture, refused):
    assert limit(provider).refuses(*arrays(*picture)).tolist() == [refused]


@pytest.mark.parametrize(
    ("provider", "size", "scaled"),
    [
        ("OpenAI (GPT-4o", (2048, 768), False),
        ("OpenAI (GPT-4o", (769, 769), True),
        ("OpenAI (GPT-4o", (2049, 100), True),
        ("OpenAI (GPT-5", (32 * 48, 32 * 32), False),
        ("OpenAI (GPT-5", (32 * 48 + 1, 32 * 32), True),
        ("Anthropic (models", (1568, 28 * 28), False),
        ("Anthropic (models", (1569, 100), True),
        ("Anthropic (Opus", (1569, 100), False),
        ("Gemini", (3072, 3072), False),
        ("Gemini", (100, 3073), True),
        ("Anthropic on Bedrock", (7000, 7000), False),
    ],
)
def test_providers_scale_down_what_is_beyond_their_bounds(provider, size, scaled):
    assert limit(provider).scales(*arrays(*size)).tolist() == [scaled]


def test_usual_posts_are_taken_by_all_and_seen_whole_by_most():
    heights = np.array([620, 880])
    sentences = list(provider_notes(np.full(2, 1050), heights, np.array([50_000, 60_000])))
    assert len(sentences) == 1
    assert sentences[0].startswith(
        "OpenAI (GPT-4o, GPT-4.1, o models; detail high) scales down 1 of 2 pictures"
    )
    assert not list(provider_notes(np.array([1050]), heights[:1], np.array([50_000])))


def test_each_provider_has_one_sentence_and_refusing_comes_first():
    sentences = list(provider_notes(*arrays(9000, 9000, 19_000_000)))
    assert len(sentences) == len(LIMITS)
    assert sentences[2] == (
        "Anthropic (models before Opus 4.7) refuses 1 of 1 pictures, those with more than 7.5 MB or a "
        "side of more than 8,000 pixels."
    )
    assert all(one.source.startswith("https://") for one in LIMITS)
