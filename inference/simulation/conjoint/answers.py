"""How simulated judges answer: a stable pick for each pair, and noise at each presentation.

Models. A model under prompt p has utility u for a profile (the sum of its part-worths and of the effects
of the stimuli shown), a position bias b, and for each pair one stable impression e in favour of one
profile, logistic and independent between pairs, prompts and models. It picks the profile in position A if
``u_A - u_B + e_A + b > 0``, where ``e_A`` is e or, with the sides swapped, -e: marginally with probability
``F(u_A - u_B + b)``, ``F(x) = 1 / (1 + exp(-x))``. At every presentation, swapped or sampled again, the
answer departs from that pick with probability ``noise``, independently. Two samples of the same sides hence
agree with probability ``(1 - noise)^2 + noise^2``, whatever the position bias; with swapped sides the pick
itself changes where ``|u_A - u_B + e_A| < |b|``.

Humans. Respondent r has part-worths ``beta_r``, independently normal around the panel's, and is then like a
model: one impression a pair, the panel's position bias, and departures with probability ``tau``, so that
without position bias first and repeated answer agree with probability ``(1 - tau)^2 + tau^2``. A share of
respondents is inattentive and answers at random each time. ``tau`` is such that the panel as a whole repeats
itself with the reliability that was set, position bias aside.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ...study.models import Study
from ...tables.streams import stream
from .judges import RaterModel, level_spread, utilities

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def model_answers(
    rater: RaterModel, advantage: Floats, seed: int, swapped: Integers, samples: int = 1
) -> Flags:
    """Whether a model picks position A at each presentation of each sample."""
    impression = answer_stream(seed, rater).random(len(advantage))
    first = impression < expit(advantage + rater.position_bias)
    again = 1 - impression[swapped] < expit(rater.position_bias - advantage[swapped])
    flips = [
        stream(seed, name, rater.judge, rater.prompt).random((samples, len(picks))) < rater.noise
        for name, picks in (("noise", first), ("noise of repeats", again))
    ]
    return np.concatenate([first, again]) ^ np.concatenate(flips, axis=1)


def panel_answers(
    rater: RaterModel,
    study: Study,
    codes: Integers,
    extra: Floats,
    rng: np.random.Generator,
    repeat_first: bool,
) -> Flags:
    """Whether each respondent picks position A at each presentation."""
    respondents, tasks = codes.shape[:2]
    mean = utilities(rater, study, codes.reshape(-1, codes.shape[-1])).reshape(respondents, tasks, 2) + extra
    advantage = mean[..., 0] - mean[..., 1]
    for index, sd in enumerate(level_spread(rater, study)):
        own = rng.standard_normal((respondents, len(sd))) * sd
        taste = np.take_along_axis(own[:, None, :], codes[..., index], axis=2)
        advantage += taste[..., 0] - taste[..., 1]
    impression = rng.random((respondents, tasks))
    stable = np.less(impression, expit(advantage + rater.position_bias))
    if repeat_first:
        again = np.less(1 - impression[:, 0], expit(rater.position_bias - advantage[:, 0]))
        stable = np.column_stack([stable, again])
    answers = stable ^ (rng.random(stable.shape) < rater.response_error)
    inattentive = np.less(rng.random(respondents), rater.inattention)
    answers[inattentive] = rng.random((int(inattentive.sum()), answers.shape[1])) < 0.5
    return answers


def answer_stream(seed: int, rater: RaterModel) -> np.random.Generator:
    """Return the random stream of a judge under a prompt."""
    return stream(seed, "answers", rater.judge, rater.prompt)
