"""Audits of one model: texts that stand for a level, prompts, and answers that are fixed at temperature 0."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtr

from conjury.inference.errors import InputError

from ..trial_registry import Drawn, process, true_values
from .profile_pairs import WORTHS, all_profiles, draw_levels, effects, probit_effects, table_of, utilities

MOST_TEXTS = 300  # all pairs of them are enumerated


@process("texts")
def texts(rng: np.random.Generator, *, pairs: int = 1000, texts: int = 10, text_sd: float = 0.5) -> Drawn:
    """Each topic is shown by one of a few texts with effects of their own."""
    # The estimand `these_texts` averages over the texts drawn, by enumeration of all pairs of texts and
    # profiles; `all_texts` over their normal distribution. Two profiles with one topic may show one text.
    if texts > MOST_TEXTS:
        raise InputError(
            f"texts is {texts}; all pairs of texts are enumerated, so give at most {MOST_TEXTS}."
        )
    codes = draw_levels(rng, pairs)
    shift = rng.normal(0, text_sd, (len(WORTHS["topic"]), texts))
    number = rng.integers(0, texts, (pairs, 2))
    utility = utilities(codes) + shift[codes["topic"], number]
    first = utility[:, 0] - utility[:, 1] + rng.normal(size=pairs) > 0
    data = table_of(codes, first, text=codes["topic"] * texts + number)
    profiles = all_profiles()
    repeated = {name: np.repeat(code, texts) for name, code in profiles.items()}
    text_number = np.tile(np.arange(texts), len(profiles["topic"]))
    text_utility = utilities(repeated) + shift[repeated["topic"], text_number]
    these = effects(ndtr(text_utility[:, None] - text_utility), repeated)
    return Drawn(data, true_values(these_texts=these, all_texts=probit_effects(variance=1 + 2 * text_sd**2)))


@process("prompts")
def prompts(
    rng: np.random.Generator,
    *,
    pairs: int = 500,
    prompts: int = 2,
    prompt_sd: float = 0.0,
    shared: float = 0.8,
    effect: float = 0.0,
) -> Drawn:
    """One model judges the same pairs under several prompts, with errors that correlate by ``shared``."""
    # The part-worth of a rude tone is `effect` under the first prompt, plus a normal deviation (`prompt_sd`)
    # under others.
    worths = {**WORTHS, "tone": {"kind": 0.0, "rude": effect}}
    codes = draw_levels(rng, pairs, worths)
    moved = np.concatenate([[0.0], rng.normal(0, prompt_sd, prompts - 1)])
    utility = utilities(codes, worths)
    rude = (codes["tone"] == 1) * 1.0
    common = rng.normal(size=pairs)
    parts = []
    for number in range(prompts):
        error = np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.normal(size=pairs)
        ahead = utility[:, 0] - utility[:, 1] + moved[number] * (rude[:, 0] - rude[:, 1]) + error
        parts.append(table_of(codes, ahead > 0, worths, prompt_id=f"prompt_{number + 1}"))
    data = pd.concat(parts, ignore_index=True)
    first = probit_effects(worths)
    second = (
        probit_effects({**worths, "tone": {"kind": 0.0, "rude": effect + moved[1]}}) if prompts > 1 else first
    )
    return Drawn(
        data,
        true_values(first_prompt=first, differences={name: second[name] - first[name] for name in first}),
    )


@process("deterministic")
def deterministic(
    rng: np.random.Generator, *, pairs: int = 1000, prompts: int = 5, prompt_sd: float = 0.3
) -> Drawn:
    """A model at temperature 0: each pair of profiles has one answer under each prompt."""
    # `these_prompts` averages fixed answers over all pairs and the prompts asked, `all_prompts` also over
    # normal deviations of part-worths between prompts.
    codes = all_profiles()
    utility = utilities(codes)
    size = len(utility)
    noise = np.triu(rng.normal(size=(size, size)), 1)
    ahead = utility[:, None] - utility + noise - noise.T
    features = np.column_stack([codes["tone"] == 1, codes["topic"] == 1, codes["topic"] == 2]).astype(float)
    gap = features[:, None, :] - features
    shift = rng.normal(0, prompt_sd, (prompts, features.shape[1]))
    answers = [ahead + gap @ deviation > 0 for deviation in shift]
    rows = rng.integers(0, size, (pairs, 2))
    pair_codes = {name: code[rows] for name, code in codes.items()}
    parts = []
    for number, answer in enumerate(answers):
        first = answer[rows[:, 0], rows[:, 1]].astype(float)
        same = rows[:, 0] == rows[:, 1]
        first[same] = 0.5  # two equal profiles
        parts.append(table_of(pair_codes, first, prompt_id=f"prompt_{number + 1}"))
    these = np.mean([np.where(np.eye(size, dtype=bool), 0.5, answer) for answer in answers], axis=0)
    spread = prompt_sd * np.sqrt((gap**2).sum(axis=2))
    with np.errstate(divide="ignore", invalid="ignore"):
        probabilities = np.where(spread > 0, ndtr(ahead / spread), np.where(ahead == 0, 0.5, ahead > 0))
    return Drawn(
        pd.concat(parts, ignore_index=True),
        true_values(these_prompts=effects(these, codes), all_prompts=effects(probabilities, codes)),
    )
