"""A judge whose preferences among three topics go round."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ...numerics.types import Codes, Floats
from ..trial_registry import Drawn, process, true_values
from .profile_pairs import WORTHS, all_profiles, draw_levels, table_of, utilities

TOPICS = tuple(WORTHS["topic"])
ROUND = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])  # art over law over sport over art


@process("cyclic_topics")
def cyclic_topics(rng: np.random.Generator, *, pairs: int = 1000, cycle: float = 0.5) -> Drawn:
    """Choices by part-worths, plus ``cycle`` times a preference of art over law over sport over art."""
    # True values are average feature choice probabilities by enumeration of all pairs, and the direct
    # preference of art over law minus the indirect one through sport.
    codes = draw_levels(rng, pairs)
    utility, topic = utilities(codes), codes["topic"]
    ahead = utility[:, 0] - utility[:, 1] + cycle * ROUND[topic[:, 0], topic[:, 1]]
    data = table_of(codes, (ahead + rng.normal(size=pairs) > 0) * 1.0)
    return Drawn(data, true_values(all_pairs=_true_choices(all_profiles(), cycle)))


def _true_choices(codes: dict[str, Codes], cycle: float) -> dict[str, float]:
    utility, topic = utilities(codes), codes["topic"]
    chance: Floats = ndtr(utility[:, None] - utility + cycle * ROUND[topic[:, None], topic])
    over = {
        (first, second): float(chance[np.ix_(topic == a, topic == b)].mean())
        for a, first in enumerate(TOPICS)
        for b, second in enumerate(TOPICS)
    }
    art, law, sport = TOPICS
    indirect = over[art, sport] - over[law, sport]
    pairs = [(law, art), (sport, art), (sport, law)]
    return {
        **{f"{first} over {second}": over[first, second] for first, second in pairs},
        "direct minus indirect": over[art, law] - 0.5 - indirect,
    }
