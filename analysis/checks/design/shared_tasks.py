"""Tasks that people and models both judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.schema import SAMPLING

from ...conjoint.verbs.people_diffs import pair_codes
from ...frames.notes import Note
from ...frames.rounding import percentage
from ..judged import JudgedChoices, NotApplicableError, people_of, tidy
from ..registry import Check, Question, Verdict, check, exceeds, groups, highest, lowest, who

SHARED_TASKS = Question(
    code="CJ107",
    name="shared_tasks",
    title="Tasks judged by people and models",
    text="Did models make a choice in the tasks that they share with people?",
    consequence="A correction of the models' estimates by human data must treat missing answers as a "
    "category.",
    remedy="Collect the models' answers to tasks without a choice again (`conjury run retry`), or report the "
    "share of these tasks with the correction.",
    alarms="rule",
)
SEPARATE = (
    "Models and people can be compared, but estimates from models cannot be corrected by human data; for "
    "that, collect the models' answers to the tasks of people (`conjury collect --tasks panel`), or sample "
    "people's tasks from the models' pairs (`conjury design --people N --sample uniform`)."
)
NO_PEOPLE = "There are no people among the judges, so no task is judged by both."
NO_MODELS = "There are no models among the judges, so no task is judged by both."
SOME, MANY_LOST = 0.01, 0.1  # shares of tasks beyond which the verdict is a warning, or an error


@check(SHARED_TASKS)
def shared_tasks(judged: Sequence[JudgedChoices]) -> Check:
    """Count the tasks of people that each model was asked about, and its missing answers among them."""
    people = people_of(judged, NO_PEOPLE)
    models = [group for group in judged if group.kind != "human"]
    if not models:
        raise NotApplicableError(NO_MODELS)
    table = tidy((model, _count_shared_tasks(people, model)) for model in models)
    worst = lowest(table, table["estimate"])
    if not table["n_both"].any():
        raise NotApplicableError(
            Note.of(
                "No task of people was judged by a model: people judged {n_people:,} tasks, and "
                "{groups} others. {remedy}",
                n_people=int(worst["n_people"]),
                groups=groups(len(table)),
                remedy=SEPARATE,
            )
        )
    share_missing = (table["n_missing"] / table["n_both"].where(table["n_both"] > 0)).fillna(0)
    sizes = list(zip(table["n_missing"].astype(int), table["n_both"].astype(int), strict=True))
    verdict: Verdict = "warning" if any(exceeds(n, of, SOME) for n, of in sizes) else "pass"
    if any(exceeds(n, of, MANY_LOST) for n, of in sizes):
        verdict = "error"
    finding = Note.of(
        "{who} answered {n_answered:,} of {n_tasks} of people ({share}), the smallest share of "
        "{groups}; people made {choices} on them.",
        who=who(worst),
        n_answered=int(worst["n_answered"]),
        n_tasks=counted(int(worst["n_people"]), "task"),
        share=percentage(worst["estimate"], 1),
        groups=groups(len(table)),
        choices=counted(int(worst["n_choices"]), "choice"),
    )
    notes = []
    if share_missing.max() > 0:
        row = highest(table, share_missing)
        notes.append(
            Note.of(
                "{who} gave no single choice in {n_missing:,} of {n_both:,} tasks that both were "
                "asked; such answers must count as a separate category.",
                who=who(row),
                n_missing=int(row["n_missing"]),
                n_both=int(row["n_both"]),
            )
        )
    n_sampled = int(worst["n_sampled"])
    if n_sampled:
        notes.append(
            Note.of(
                "The sampling probability is known for {n_sampled:,} of the tasks that both judged.",
                n_sampled=n_sampled,
            )
        )
    return SHARED_TASKS.answer(table, verdict, finding, notes)


def _count_shared_tasks(people: Sequence[JudgedChoices], model: JudgedChoices) -> pd.DataFrame:
    """One row: tasks of people, of the model and of both, answers among the latter, and people's choices."""
    judges = [*people, model]
    columns = [name for name in (*model.attributes, *model.stimuli) if all(name in g.rows for g in judges)]
    keys = ["judge_id", "prompt_id", "pair_id", "sample", *columns]
    rows = pd.concat([group.rows.filter(keys).astype("string") for group in judges], ignore_index=True)
    pairs = pair_codes(rows, columns)[::2]
    chosen = np.concatenate([~np.isnan(group.first_chosen) for group in judges])
    is_model = np.arange(len(pairs)) >= len(pairs) - len(model.first_chosen)
    n = int(pairs.max()) + 1

    def flag(mask: np.ndarray) -> np.ndarray:
        return np.bincount(pairs[mask], minlength=n) > 0

    of_people, of_model, answered = flag(~is_model), flag(is_model), flag(is_model & chosen)
    shared = of_people & of_model
    sampled = np.concatenate([_has_sampling_probability(group) for group in judges])
    counts = {
        "n_people": of_people.sum(),
        "n_model": of_model.sum(),
        "n_both": shared.sum(),
        "n_answered": (shared & answered).sum(),
        "n_missing": (shared & ~answered).sum(),
        "n_choices": (~is_model & chosen & (shared & answered)[pairs]).sum(),
        "n_sampled": (shared & flag(sampled)).sum(),
    }
    share = counts["n_answered"] / counts["n_people"]
    return pd.DataFrame({name: [int(value)] for name, value in counts.items()} | {"estimate": [share]})


def _has_sampling_probability(group: JudgedChoices) -> np.ndarray:
    """Whether the sampling probability of each pair is known, shape (pairs,)."""
    if SAMPLING not in group.rows:
        return np.zeros(len(group.first_chosen), dtype=bool)
    return group.rows[SAMPLING].notna().to_numpy(bool)[::2]
