"""Simulated judges of an instrument: answers to one pair under any combination of facets, on any occasion.

A model is that of `conjoint_simulation.py`: it picks the profile in position A if
``u_A - u_B + e_A + b > 0``, with one impression ``e`` for each pair, and departs from that pick with
probability ``noise`` at every presentation. The position bias ``b`` has a further part for what options are
called and for each occasion (``facet_bias``), and part-worths change by ``drift`` from occasion to occasion.
A share of answers (``wordy``) is a sentence, which the parser "strict" does not read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from ...design.profiles import enumerate_profiles
from ...design.run_design import DrawnDesign
from ...study.models import Study
from ...tables.columns import stream
from ..truth_table import Floats, truth_path
from .judges import COLUMNS, RaterModel, attribute_codes, drifts, read_truth_table, select_raters, utilities
from .presented_tasks import SharedTasks, shared_tasks
from .stimulus_effects import stimulus_utility


@dataclass(frozen=True)
class FacetedJudge:
    """A model of the truth table under one prompt."""

    rater: RaterModel
    seed: int
    places: dict[str, int]  # row of each task in the arrays
    # shape (tasks,): uniform; the profile in position A is picked where it is below the probability of A
    impression: Floats
    # advantage, drift: shape (tasks,): Utility of the profile in position A minus that of B on the first
    # occasion, and its change with each further one.
    advantage: Floats
    drift: Floats

    def probability(self, task: str, option_labels: str = "letters", occasion: int = 1) -> float:
        """Probability of A over impressions, without noise."""
        row, bias = self.places[task], self.rater.facet_bias
        further = bias.get(("option_labels", option_labels), 0.0) + bias.get(("occasion", str(occasion)), 0.0)
        utility = self.advantage[row] + self.drift[row] * (occasion - 1)
        return float(expit(utility + self.rater.position_bias + further))

    def answer(
        self, task: str, option_labels: str = "letters", occasion: int = 1, sample: int = 1
    ) -> tuple[bool, bool]:
        """Whether the judge picks A, and whether it says so in a sentence."""
        names = (self.rater.judge, self.rater.prompt, task, option_labels, str(occasion), str(sample))
        departs, speaks = stream(self.seed, "presentations", *names).random(2)
        picked = self.impression[self.places[task]] < self.probability(task, option_labels, occasion)
        return bool(picked ^ (departs < self.rater.noise)), bool(speaks < self.rater.wordy)


def faceted_judges(study: Study, judge_id: str, design: DrawnDesign) -> dict[str, FacetedJudge]:
    """Return the models of one judge for the tasks of a design, by prompt; raises as `simulate` does."""
    source = truth_path(study, "truth.csv", "choices", COLUMNS)
    raters = select_raters(read_truth_table(source, study), [judge_id], None)
    profiles, seed = enumerate_profiles(study), int(design.drawn["seed"])
    task_set = shared_tasks(profiles, design.asked("all"))
    return {rater.prompt: _judge(study, rater, profiles, task_set, seed) for rater in raters}


def _judge(
    study: Study, rater: RaterModel, profiles: pd.DataFrame, task_set: SharedTasks, seed: int
) -> FacetedJudge:
    rows = np.concatenate([task_set.rows, task_set.rows[task_set.swapped, ::-1]])
    names = task_set.tasks["task_id"].iloc[::2].astype(str)
    first = stream(seed, "answers", rater.judge, rater.prompt).random(len(task_set.rows))
    profile_rows, codes = profiles.iloc[rows.reshape(-1)], attribute_codes(study, profiles)[rows.reshape(-1)]
    utility = utilities(rater, study, codes)
    if rater.stimulus_sd:
        utility = utility + stimulus_utility(study, rater, profile_rows, codes, seed)
    return FacetedJudge(
        rater,
        seed,
        {name: place for place, name in enumerate(names)},
        np.concatenate([first, 1 - first[task_set.swapped]]),
        _difference(utility),
        _difference(drifts(rater, study, codes)),
    )


def _difference(values: NDArray[np.float64]) -> Floats:
    """Values of the profiles in position A minus those in B, shape (tasks,)."""
    sides = values.reshape(-1, 2)
    return np.asarray(sides[:, 0] - sides[:, 1])
