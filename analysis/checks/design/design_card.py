"""The design: what was varied, and independent answers of each contrast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conjury.inference.study.models import Study
from conjury.inference.study.restrictions import count_cells
from conjury.inference.tables.columns import as_text

from ...conjoint import amce
from ...frames.notes import Note, join_notes
from ..judged import JudgedChoices, attempt, tidy
from ..registry import Check, Question, Verdict, check, level_of, lowest, who
from .design_draws import infer_draw, probabilities

DESIGN_CARD = Question(
    code="CJ101",
    name="design_card",
    title="Design card",
    text="What was varied, how often was it shown, and what is the effective sample size of each contrast?",
    consequence="Contrasts with few effective rows have wide intervals.",
    remedy="Collect more answers, merge rare levels before looking at effects, or exclude contrasts with few "
    "answers from the report; no effect can be estimated for a level that never occurs.",
    alarms="never",
)
FEW = 200


@check(DESIGN_CARD)
def design_card(study: Study, judged: Sequence[JudgedChoices]) -> Check:
    """Lay out the design and count rows and effective rows of each contrast with the reference."""
    done, notes = attempt(judged, lambda group: _card_rows(study, group))
    table = tidy(done)
    sizes = " x ".join(str(len(a.levels)) for a in study.attributes)
    implied = [
        Note.of("{derived} follows from {feature}", derived=part.label.lower(), feature=part.source)
        for part in study.derived
    ]
    cells, total = count_cells(study)
    excluded = (
        Note.of("restrictions exclude {n:,}", n=total - cells)
        if cells < total
        else Note("no combination is excluded")
    )
    stimuli = [
        Note.of("{n} values of {column} per {feature}", n=s.count, column=s.id, feature=s.attribute)
        for s in study.stimuli
    ]
    combinations = Note.of("{sizes} = {total:,} combinations of levels", sizes=sizes, total=total)
    design = join_notes([join_notes([combinations, *stimuli], ", "), *implied, excluded], "; ")
    contrasts = table[~table["reference"]]
    never = table[table["rows"] == 0]
    small = lowest(contrasts, contrasts["estimate"].fillna(0))
    finding = Note.of(
        "{design}. The contrast on the fewest effective rows is {level} ({contrast_rows:,} rows, "
        "{estimate:,.0f} in effect, {who}).",
        design=design,
        level=level_of(small),
        contrast_rows=small["contrast_rows"],
        estimate=0 if np.isnan(small["estimate"]) else small["estimate"],
        who=who(small),
    )
    if len(never):
        first = never.iloc[0]
        finding = join_notes(
            [finding, Note.of("{level} never occurs ({who}).", level=level_of(first), who=who(first))]
        )
    is_sparse = bool((contrasts["estimate"].fillna(0) < FEW).any())
    verdict: Verdict = "error" if len(never) else "warning" if is_sparse else "pass"
    return DESIGN_CARD.answer(table, verdict, finding, notes)


def effective_rows(rows: np.ndarray, clustered: np.ndarray, independent: np.ndarray) -> np.ndarray:
    """Rows, shape (m,), times the variance if they were independent over the clustered one, each (m,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(rows * independent / clustered)


def _card_rows(study: Study, group: JudgedChoices) -> pd.DataFrame:
    without_replacement = infer_draw(study, group.shown).population is not None
    frames = []
    for name, shares in probabilities(study).items():
        levels = list(shares)
        answered, counts = (
            as_text(rows[name]).value_counts().reindex(levels, fill_value=0).to_numpy()
            for rows in (group.answered, group.rows)
        )
        frames.append(
            pd.DataFrame(
                {
                    "feature": name,
                    "level": levels,
                    "reference": np.arange(len(levels)) == 0,
                    "probability": list(shares.values()),
                    "rows": counts,
                    "answered": answered,
                    "share": counts / max(counts.sum(), 1),
                    "contrast_rows": answered + answered[0],
                    "without_replacement": without_replacement,
                }
            )
        )
    table = pd.concat(frames, ignore_index=True)
    keys = pd.MultiIndex.from_frame(table[["feature", "level"]])
    unclustered_effects = amce(group.answered, group.formula)
    clustered, independent = (
        pd.Series(
            result.frame["std_error"].to_numpy() ** 2,
            index=pd.MultiIndex.from_arrays([result.frame[k].astype(str) for k in ("feature", "level")]),
        )
        .reindex(keys)
        .to_numpy()
        for result in (group.effects, unclustered_effects)
    )
    effective = effective_rows(table["contrast_rows"].to_numpy(dtype=float), clustered, independent)
    return table.assign(design_effect=clustered / independent, estimate=effective)
