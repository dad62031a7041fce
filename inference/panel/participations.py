"""Each visit as a participation: its name among the judges, its state, and its answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .panel_answers import ACTIVE, FINISHED, LEFT
from .plan import PanelPlan, panel_name_of
from .storage.database_state import DatabaseState


@dataclass(frozen=True)
class Participations:
    """All visits and their answers."""

    # one row per visit: its columns in the database, `judge_id` and `state`; the index is `number`
    people: pd.DataFrame
    answers: pd.DataFrame  # answers with `judge_id` and `state` of the person

    def tasks(self, state: str | None = None) -> pd.DataFrame:
        """Answers to tasks without practice, of people in a state or of all."""
        mask = self.answers["kind"] == "task"
        if state is not None:
            mask &= self.answers["state"] == state
        return self.answers[mask].reset_index(drop=True)


def participations_of(plan: PanelPlan, stored: DatabaseState, now: float) -> Participations:
    """Name visits and find their states."""
    # A person who finished has the name of the slot, as in the design. Anybody else has the number of the
    # visit in the name, since their slot is somebody else's or may become so.
    people = stored.visits.set_index("number", drop=False)
    people = people.assign(state=_states(stored, people, now, 60.0 * plan.section.minutes))
    general = panel_name_of(plan.study)
    slots = [
        general if pd.isna(number) else plan.by_number[int(number)].name for number in people["slot"].tolist()
    ]
    named = [
        slot if state == FINISHED else f"{slot}_visit_{number:04d}"
        for slot, state, number in zip(slots, people["state"], people["number"], strict=True)
    ]
    people = people.assign(
        judge_id=pd.array(named, dtype="string"),
        slot_name=pd.array(
            [None if pd.isna(n) else s for s, n in zip(slots, people["slot"], strict=True)], dtype="string"
        ),
    )
    who = people.loc[stored.answers["visit"], ["judge_id", "state"]].reset_index(drop=True)
    return Participations(people, stored.answers.assign(judge_id=who["judge_id"], state=who["state"]))


def _states(stored: DatabaseState, people: pd.DataFrame, now: float, patience: float) -> np.ndarray:
    """State of each visit, shape (visits,): its end, or whether it goes on, was left, or lost its slot."""
    slot_ends = stored.slots.dropna(subset="visit").set_index("visit")["until"].astype(float)
    until = people["number"].map(slot_ends).to_numpy(dtype=float, na_value=np.nan)
    ended = people["ended"].to_numpy(dtype=object)
    has_slot, holds = people["slot"].notna().to_numpy(), ~np.isnan(until)
    recent = np.where(holds, until, people["last"].to_numpy(dtype=float) + patience) >= now
    open_ended = np.select([has_slot & ~holds, recent], ["timed_out", ACTIVE], LEFT)
    return np.where(pd.isna(ended), open_ended, ended).astype(object)
