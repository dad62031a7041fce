"""People and a model on the same tasks, and labels of an imperfect judge."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...numerics.types import Floats
from ..trial_registry import Drawn, process, true_values
from .clusters import flags_differ
from .profile_pairs import draw_levels, probit_effects, table_of, utilities


@process("people_and_model")
def people_and_model(
    rng: np.random.Generator,
    *,
    people: int = 30,
    tasks: int = 10,
    other: int = 1000,
    rho: float = 0.6,
    taste: float = 0.3,
) -> Drawn:
    """People judge some pairs; a model judges these and others, with errors that correlate by ``rho``."""
    # The model's part-worths are 0.7 times those of people, and it prefers the first position. Part-worths of
    # a rude tone differ between people. True values are the effects among people.
    n_labelled, n = people * tasks, people * tasks + other
    codes = draw_levels(rng, n)
    utility = utilities(codes)
    ahead = utility[:, 0] - utility[:, 1]
    who = np.repeat(np.arange(people), tasks)
    rude = (codes["tone"] == 1) * 1.0
    deviation = rng.normal(0, taste, people)[who] * (rude[:n_labelled, 0] - rude[:n_labelled, 1])
    errors = rng.normal(size=(2, n))
    model_error = rho * errors[0] + np.sqrt(1 - rho**2) * errors[1]
    person = ahead[:n_labelled] + deviation + errors[0, :n_labelled] > 0
    model = 0.7 * ahead + 0.3 + model_error > 0
    names = np.array([f"person_{k:04d}" for k in who])
    first = {name: code[:n_labelled] for name, code in codes.items()}
    sampled = np.full(n, n_labelled / n)
    answers = table_of(
        first, person * 1.0, judge_id=names, judge_kind="human", sampling_probability=sampled[:n_labelled]
    )
    judged = table_of(
        codes, model * 1.0, judge_id="model_1", judge_kind="model", sampling_probability=sampled
    )
    data = pd.concat([answers, judged], ignore_index=True)
    data["position"] = np.tile(["A", "B"], len(data) // 2)
    truth = probit_effects(variance=lambda c: 1 + taste**2 * flags_differ(c["tone"] == 1))
    return Drawn(data, true_values(people=truth))


@process("imperfect_labels")
def imperfect_labels(
    rng: np.random.Generator,
    *,
    units: int = 1000,
    labelled: int = 100,
    rate: float = 0.2,
    sensitivity: float = 0.85,
    specificity: float = 0.9,
    calibration_rate: float | None = None,
) -> Drawn:
    """A judge labels all units with errors, people some of them rightly; the rate among all is wanted."""
    # With `calibration_rate` the units that people label have another rate, as in a balanced calibration set.
    labelled_rate = rate if calibration_rate is None else calibration_rate
    positive = rng.random(units) < np.where(np.arange(units) < labelled, labelled_rate, rate)
    judged = np.where(positive, rng.random(units) < sensitivity, rng.random(units) > specificity)
    gold: Floats | np.ndarray = np.where(positive, "harmful", "harmless").astype(object)
    gold[labelled:] = None
    data = pd.DataFrame({"label": gold, "judged": np.where(judged, "harmful", "harmless")})
    return Drawn(data, true_values(unlabelled_units={"harmful": rate}))


@process("missing_answers")
def missing_answers(
    rng: np.random.Generator, *, pairs: int = 1000, share: float = 0.2, mechanism: str = "random"
) -> Drawn:
    """A model that refuses a share of its tasks: at random, by attribute, or by the answer it would give."""
    # By "attribute" refusals are twice as likely where a profile is rude; by "answer" only choices of a rude
    # profile over a kind one are refused, as often as this share of all tasks allows.
    codes = draw_levels(rng, pairs)
    utility = utilities(codes)
    first = utility[:, 0] - utility[:, 1] + rng.normal(size=pairs) > 0
    rude = codes["tone"] == 1
    if mechanism == "random":
        chance = np.full(pairs, share)
    elif mechanism == "attribute":
        chance = share * np.where(rude.any(axis=1), 8, 4) / 7
    else:
        over = np.where(first, rude[:, 0] & ~rude[:, 1], rude[:, 1] & ~rude[:, 0])
        chance = over * min(1.0, share / max(over.mean(), 1e-9))
    answered = np.where(rng.random(pairs) < chance, np.nan, first * 1.0)
    return Drawn(table_of(codes, answered), true_values(all_tasks=probit_effects()))
