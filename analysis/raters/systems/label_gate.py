"""Whether the labels of a system say something about all of its answers, decided before any number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from conjury.inference.errors import counted, listed

from ...correction.selection import SELECTED
from ...figures.labels import p_text
from ...frames.kinds import limit_reason
from ...numerics.intervals.bounded import Flags
from ...numerics.types import Floats
from ..label_provenance import BLIND, SAMPLED, LabelAccount, equals_all_labels
from ..validation.coding import CodedRows
from ..validation.weighted.answer_strata import Strata, strata_of
from .borrowed_levels import BorrowedLevel

OK, CAUTION, NO_LEVEL = "OK", "CAUTION", "NO LEVEL"
NO_LABELS, BORROWED = "NO LABELS", "BORROWED"
NO_LABEL = "no answer has a label"
ALWAYS = 1.1  # a level that every p value is below
FEWEST_PROMPTS = 4  # labelled, below which a system has no corrected level
# Share of answers scored beyond all labelled ones: what people say of these is an extrapolation.
BEYOND_CAUTION, BEYOND_REFUSED = 0.05, 0.2


@dataclass(frozen=True)
class LabelGate:
    """The state of one system's labels, and why."""

    system: str
    state: str
    reason: str
    answers: int
    labels: int
    prompts: int  # labelled
    beyond: float  # share of answers scored beyond all labelled ones
    # least and greatest share of answers with a label among those that the judge scored alike
    least_rate: float
    greatest_rate: float
    p: float  # of labels being as frequent whatever the judge said
    weight: Floats | None  # how many answers each labelled one stands for, where labels follow the judge

    @property
    def has_level(self) -> bool:
        """Whether a corrected level is computed."""
        return self.state in (OK, CAUTION)


def gate_systems(
    data: CodedRows, labelled: Flags, is_sampled: bool, is_mean: bool, account: LabelAccount | None = None
) -> list[LabelGate]:
    """Look at the labels of each system; ``is_sampled`` where their probabilities are known."""
    # Between two scores with labels a mean is interpolated (`is_mean`); shares of classes need each of them.
    systems = data.groups[0]
    level = SELECTED / len(systems.levels)  # so that one alarm in all systems is as rare as in one
    gates = []
    for k, name in enumerate(systems.levels):
        inside = np.asarray(systems.code == k)
        by_judge = account is not None and bool((account.rows(SAMPLED, "judge") & inside).any())
        is_random = account is not None and _all_random(account, labelled & inside)
        alarm = None if is_sampled or is_random else ALWAYS if by_judge else level
        gate = _gate(data.rows(inside), labelled[inside], name, alarm, is_mean)
        if is_random and gate.has_level and gate.p < level:
            text = f"labels follow the judge's answer (p {p_text(gate.p)}), by chance if drawn as stated"
            gate = replace(gate, reason="; ".join(filter(None, [gate.reason, text])))
        gates.append(gate if account is None else _limited(gate, data.rows(inside), account, inside))
    return gates


def _all_random(account: LabelAccount, labelled: Flags) -> bool:
    """Whether all labels are stated to be of rows that were drawn at random."""
    return bool(labelled.any() and account.rows(SAMPLED, "random")[labelled].all())


def limits_of(data: CodedRows, account: LabelAccount) -> dict[str, dict[str, int]]:
    """What self-selected labels, and a judge that equals all labels, take from what may be claimed."""
    chosen, equal = account.rows(SAMPLED, "chosen"), equals_all_labels(data.judged, data.rated)
    limits = {"self_selected": {"n": int(chosen.sum())}} if chosen.any() else {}
    return limits | ({"as_if_seen": {"n": equal}} if equal else {})


def _limited(gate: LabelGate, data: CodedRows, account: LabelAccount, inside: Flags) -> LabelGate:
    """The state of labels that people chose themselves or gave with the judge's answer before them."""
    n_chosen, n_informed = (
        int((account.rows(column, answer) & inside).sum())
        for column, answer in ((SAMPLED, "chosen"), (BLIND, "no"))
    )
    if n_chosen and gate.state == NO_LABELS:
        return replace(gate, state=NO_LEVEL, reason=limit_reason("self_selected_only"))
    equal = equals_all_labels(data.judged, data.rated)
    reasons = [
        limit_reason(name, n=n)
        for name, n in (("self_selected", n_chosen), ("not_blind", n_informed), ("as_if_seen", equal))
        if n
    ]
    if not reasons or gate.state not in (OK, CAUTION, NO_LEVEL):
        return gate
    reason = "; ".join(filter(None, [gate.reason, *reasons]))
    return replace(gate, state=CAUTION if gate.state == OK else gate.state, reason=reason)


def represented_by(data: CodedRows, gates: Sequence[LabelGate], sampled: Floats | None) -> Floats | None:
    """How many answers each labelled one stands for, (n,); None where all labelled answers count alike."""
    if sampled is not None or all(gate.weight is None for gate in gates):
        return sampled
    represented = np.ones(data.n)
    for place, gate in enumerate(gates):
        if gate.weight is not None:
            inside = data.groups[0].code == place
            represented[inside] = np.where(gate.weight > 0, gate.weight, 1.0)
    return represented


def with_borrowed(gate: LabelGate, lent: BorrowedLevel | None, source: str) -> LabelGate:
    """The state of a system without labels, to which other labels may lend theirs."""
    if gate.state != NO_LABELS or lent is None:
        return gate
    if lent.reason:
        return replace(gate, reason=f"{gate.reason}, and {lent.reason}")
    return replace(gate, state=BORROWED, reason=f"{NO_LABEL}; the level is by {source}")


def gate_table(gates: Sequence[LabelGate]) -> pd.DataFrame:
    """One row per system."""
    columns = (
        "system",
        "state",
        "reason",
        "answers",
        "labels",
        "prompts",
        "beyond",
        "least_rate",
        "greatest_rate",
        "p",
    )
    return pd.DataFrame([{name: getattr(gate, name) for name in columns} for gate in gates])


def _gate(data: CodedRows, labelled: Flags, name: str, level: float | None, is_mean: bool) -> LabelGate:
    with_score = np.flatnonzero(np.isfinite(data.judged).any(axis=1))
    if not len(with_score):
        return _without_scores(data, labelled, name)
    first = int(with_score[0])  # of several judges the first that scored this system
    data = replace(data, judges=data.judges[first:], judged=data.judged[first:])
    prompts = len(np.unique(data.cluster[labelled]))
    strata = strata_of(data)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = strata.labelled / strata.judged
    beyond = _share_beyond(data, labelled, is_mean)
    is_selected = level is not None and strata.p < level
    is_weighted = is_selected and not strata.sparse and labelled.any()
    state, reason = _state(strata, labelled, prompts, (beyond, is_mean), (is_selected, level == ALWAYS))
    return LabelGate(
        name, state, reason, data.n, int(labelled.sum()), prompts, beyond, float(rates.min()),
        float(rates.max()), strata.p, strata.weight if is_weighted else None,
    )  # fmt: skip


def _without_scores(data: CodedRows, labelled: Flags, name: str) -> LabelGate:
    is_labelled = bool(labelled.any())
    state = NO_LEVEL if is_labelled else NO_LABELS
    reason = "the judge scored none of its answers" if is_labelled else "no answer has a label or a score"
    prompts = len(np.unique(data.cluster[labelled]))
    counts = data.n, int(labelled.sum()), prompts
    return LabelGate(name, state, reason, *counts, np.nan, np.nan, np.nan, np.nan, None)


def _state(
    strata: Strata, labelled: Flags, prompts: int, reach: tuple[float, bool], selection: tuple[bool, bool]
) -> tuple[str, str]:
    (beyond, is_mean), (is_selected, is_stated) = reach, selection
    where = "scored beyond all labelled ones" if is_mean else "judged as no labelled one is"
    if not labelled.any():
        return NO_LABELS, NO_LABEL
    if prompts < FEWEST_PROMPTS:
        return NO_LEVEL, f"only {counted(prompts, 'prompt')} with a label, and {FEWEST_PROMPTS} are needed"
    if beyond > BEYOND_REFUSED:
        return NO_LEVEL, f"{beyond:.0%} of the answers are {where}"
    if is_selected:
        followed = f"labels follow the judge's answer (p {p_text(strata.p)})"
        if strata.p >= SELECTED:  # as it is stated
            followed = limit_reason("drawn_by_judge")
        if strata.sparse:
            reason = f"{followed}, with too few labels of {listed(strata.sparse)}"
            remedy = "" if is_stated else " (if they were drawn at random, state --labelled sampled=random)"
            return NO_LEVEL, reason + remedy
        return CAUTION, f"{followed}; estimates are weighted by it"
    if beyond > BEYOND_CAUTION:
        return CAUTION, f"{beyond:.0%} of the answers are {where}"
    return OK, ""


def _share_beyond(data: CodedRows, labelled: Flags, is_mean: bool) -> float:
    """Share of judged answers whose score lies outside of the labelled range, or whose class has no label."""
    judged = np.isfinite(data.judged[0])
    with_label = judged & labelled
    if not with_label.any():
        return 1.0
    if is_mean:
        score = data.judged[0]
        low, high = score[with_label].min(), score[with_label].max()
        outside = judged & ((score < low) | (score > high))
    else:
        outside = judged & ~np.isin(data.judges[0], np.unique(data.judges[0][with_label]))
    return float(outside.sum() / judged.sum())
