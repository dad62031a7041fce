"""Stimuli that levels rest on."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from conjury.inference.study.models import Study

from ...conjoint import amce
from ...frames.notes import Note, join_notes
from ..judged import JudgedChoices, attempt, codes, tidy
from ..registry import Check, Question, check, highest, level_of, lowest, who
from .effective_numbers import ENOUGH, counts_of_levels, effective_number, verdict_of

STIMULI = Question(
    code="CJ108",
    name="stimuli",
    title="Effective number of stimuli",
    text="Is each level represented by enough texts, people or pictures to generalise beyond these?",
    consequence="Standard errors that ignore stimuli are too small for claims about other stimuli.",
    remedy="Cluster by the stimulus as well (id=[..., 'text'], with CR2 or Student's t), or model stimuli "
    "as a random factor; draw more stimuli per level in a further study. Otherwise, effects generalise only "
    "to these stimuli.",
    alarms="never",
)
STIMULI_WHY = (
    f"With fewer than about {ENOUGH} independent stimuli, variation between stimuli is estimated from few "
    "values: normal intervals are too narrow, and one unusual stimulus affects the level's estimate."
)


@check(STIMULI)
def stimuli(study: Study, judged: Sequence[JudgedChoices]) -> Check:
    """Count stimuli of each level and compare standard errors clustered by them with those by unit."""
    if not study.stimuli:
        return STIMULI.not_applicable("The study has no stimuli; profiles consist of attributes only.")
    stimulus_groups = [group for group in judged if group.stimuli]
    if not stimulus_groups:
        return STIMULI.not_applicable("The choices do not show which stimulus represented a level.")
    done, notes = attempt(stimulus_groups, lambda group: _stimulus_rows(study, group))
    table = tidy(done)
    nested = table[table["own"]]
    row = lowest(nested, nested["effective"])
    inflated = highest(table, table["estimate"]) if table["estimate"].notna().any() else None
    finding = Note.of(
        "The level on the fewest stimuli is {level} with {stimuli} ({effective:.1f} in effect) of "
        "{column}, {who}.",
        level=level_of(row),
        stimuli=int(row["stimuli"]),
        effective=row["effective"],
        column=row["stimulus"],
        who=who(row),
    )
    if inflated is not None:
        finding = join_notes(
            [
                finding,
                Note.of(
                    "Clustering by {column} multiplies the standard error of {level} by {estimate:.1f} "
                    "({who}), the largest factor.",
                    column=inflated["stimulus"],
                    level=level_of(inflated),
                    estimate=inflated["estimate"],
                    who=who(inflated),
                ),
            ]
        )
    verdict = verdict_of(float(row["effective"]))
    return STIMULI.answer(table, verdict, finding, [*(() if verdict == "pass" else [STIMULI_WHY]), *notes])


def _stimulus_rows(study: Study, group: JudgedChoices) -> pd.DataFrame:
    frames = []
    for stimulus in study.stimuli:
        if stimulus.id not in group.stimuli:
            continue
        frame = _levels(group, stimulus.id, stimulus.attribute)
        rows = group.answered[group.answered[stimulus.id].notna()]
        clustered = amce(rows, group.formula, id=stimulus.id)
        errors = [_errors(result.frame) for result in (group.effects, clustered)]
        keys = pd.MultiIndex.from_frame(frame[["feature", "level"]])
        by_unit, by_stimulus = (series.reindex(keys).to_numpy() for series in errors)
        ratio = by_stimulus / by_unit
        frames.append(
            frame.assign(
                std_error_unit=by_unit, std_error_stimulus=by_stimulus, estimate=ratio, design_effect=ratio**2
            )
        )
    return pd.concat(frames, ignore_index=True)


def _errors(frame: pd.DataFrame) -> pd.Series:
    index = pd.MultiIndex.from_arrays([frame["feature"].astype(str), frame["level"].astype(str)])
    return pd.Series(frame["std_error"].to_numpy(), index=index)


def _levels(group: JudgedChoices, stimulus: str, owner: str) -> pd.DataFrame:
    rows = [
        {
            "stimulus": stimulus,
            "feature": name,
            "level": level,
            "own": name == owner,
            "stimuli": int((counts > 0).sum()),
            "effective": effective_number(counts),
            "largest_share": float(counts.max() / max(counts.sum(), 1)),
        }
        for name, level, counts in counts_of_levels(group.rows, group.attributes, codes(group.rows[stimulus]))
    ]
    return pd.DataFrame(rows)
