"""Independent units that estimates rest on: stimuli and clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from conjury.inference.study.models import Study

from ...conjoint import amce
from ..judged import Judged, attempt, codes, tidy
from ..registry import Check, Question, Verdict, check, highest, lowest, who

STIMULI = Question(
    "CJ108",
    "stimuli",
    "Effective number of stimuli",
    "Do effects rest on enough texts, people or pictures to generalise beyond these?",
    "Standard errors that ignore stimuli are too small for claims about other stimuli.",
    "Cluster by the stimulus too (id=[..., 'text'], with CR2 or Student's t), or fit stimuli as a random "
    "factor; draw more stimuli for each level next time. Otherwise, effects generalise only to these "
    "stimuli.",
    "rule",
)
ENOUGH, TOO_FEW = 20, 5
STIMULI_WHY = (
    f"With fewer than about {ENOUGH} independent stimuli, errors between stimuli are estimated from few "
    "numbers: normal intervals are too short, and one odd stimulus moves the level."
)


@check(STIMULI)
def stimuli(study: Study, judged: Sequence[Judged]) -> Check:
    """Count stimuli of each level and compare errors clustered by them with those by unit."""
    if not study.stimuli:
        return STIMULI.not_applicable("The study names no stimuli; every profile is its attributes.")
    shown = [group for group in judged if group.stimuli]
    if not shown:
        return STIMULI.not_applicable("The choices do not show which stimulus represented a level.")
    done, notes = attempt(shown, lambda group: _stimulus_rows(study, group))
    table = tidy(done)
    nested = table[table["own"]]
    few = lowest(nested, nested["effective"])
    inflated = highest(table, table["estimate"]) if table["estimate"].notna().any() else None
    finding = (
        f"The level on the fewest stimuli is {few['feature']} = {few['level']}: {int(few['stimuli'])} "
        f"({few['effective']:.1f} in effect) of {few['stimulus']}, {who(few)}."
    )
    if inflated is not None:
        finding += (
            f" Clustering by {inflated['stimulus']} multiplies the error of {inflated['feature']} = "
            f"{inflated['level']} by {inflated['estimate']:.1f} ({who(inflated)}), the most of all."
        )
    verdict = _verdict(float(few["effective"]))
    return STIMULI.answer(table, verdict, finding if verdict == "pass" else f"{finding} {STIMULI_WHY}", notes)


def effective_number(counts: np.ndarray) -> float:
    """Effective number, 1 / sum of squared shares, of units with ``counts`` rows, shape (units,)."""
    counts = counts[counts > 0].astype(float)
    return float(counts.sum() ** 2 / (counts**2).sum()) if len(counts) else 0.0


def _stimulus_rows(study: Study, group: Judged) -> pd.DataFrame:
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


def _levels(group: Judged, stimulus: str, owner: str) -> pd.DataFrame:
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
        for name, level, counts in _counts(group.rows, group.attributes, codes(group.rows[stimulus]))
    ]
    return pd.DataFrame(rows)


def _counts(
    rows: pd.DataFrame, attributes: Sequence[str], unit: np.ndarray
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Attribute, level, and the rows of each unit with that level, shape (units,)."""
    for name in attributes:
        column = rows[name].astype("category")
        code = codes(column)
        for place, level in enumerate(column.cat.categories):
            of_level = unit[(code == place) & (unit >= 0)]
            yield name, str(level), np.bincount(of_level, minlength=int(unit.max(initial=-1)) + 1)


def _verdict(least: float) -> Verdict:
    return "error" if least < TOO_FEW else "warning" if least < ENOUGH else "pass"


CLUSTERS = Question(
    "CJ109",
    "clusters",
    "Number of clusters",
    "Are there enough independent respondents or pairs for cluster-robust errors?",
    "With few clusters, standard errors are too small and tests reject too often.",
    "Use CR2 errors with Satterthwaite degrees of freedom, or the wild cluster bootstrap; collect more "
    "respondents or pairs.",
    "rule",
)
CLUSTERS_WHY = (
    "Cluster-robust errors average over clusters and are too small where a level rests on fewer than "
    f"about {ENOUGH} of them."
)


@check(CLUSTERS)
def clusters(judged: Sequence[Judged]) -> Check:
    """Count clusters of every level, for every judge and prompt."""
    table = tidy((group, _cluster_rows(group)) for group in judged)
    used = table[table["clusters"] > 0]
    if used.empty:
        return CLUSTERS.not_applicable("No pair has a choice.")
    few = lowest(used, used["effective"])
    finding = (
        f"The level on the fewest clusters is {few['feature']} = {few['level']} with "
        f"{int(few['clusters']):,} ({few['effective']:,.1f} in effect) of {few['unit']}, {who(few)}."
    )
    verdict = _verdict(float(few["effective"]))
    return CLUSTERS.answer(table, verdict, finding if verdict == "pass" else f"{finding} {CLUSTERS_WHY}")


def _cluster_rows(group: Judged) -> pd.DataFrame:
    rows = [
        {
            "unit": unit,
            "feature": name,
            "level": level,
            "clusters": int((counts > 0).sum()),
            "effective": effective_number(counts),
            "largest": int(counts.max(initial=0)),
            "rows": int(counts.sum()),
        }
        for unit in group.unit
        for name, level, counts in _counts(group.answered, group.attributes, codes(group.answered[unit]))
    ]
    return pd.DataFrame(rows).assign(estimate=lambda table: table["effective"])
