"""How simulated labels are drawn, and what follows from how they are: numbers on arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ...study.asking import Label, LineLabels
from ...study.models import LINE, ItemStudy
from ...tables.columns import UNPERTURBED, as_text
from ...tables.schema import STATUSES, require_columns
from ..truth_table import HUMAN, Floats, Integers
from .label_truth import GoldUnits, LabelTruth

NODES = 400  # of the grids over which expectations are taken, at equal steps of probability
CERTAIN = 1e-12  # consistency is kept this far from 1, where a step takes the place of a curve


@dataclass(frozen=True)
class Answering:
    """How one judge answers in C cells, to G gold labels, with A answers."""

    probability: Floats  # shape (C, G, A): of each answer, given the gold label, in the order of `answers`
    answers: Integers  # shape (G, A): codes of answers by gold label; the right one first
    missing: Floats  # shape (C, S): probability of each status without an answer
    # consistency, shared: shape (C,): Share of the variance behind an answer that is the item's, and share of
    # that which judges share.
    consistency: Floats
    shared: Floats

    @property
    def accuracy(self) -> Floats:
        """Probability of the right answer, where there is one, shape (C, G)."""
        return self.probability[:, :, 0]


def persistent(common: Floats, deviates: Floats, shared: Floats) -> Floats:
    """What stays of a judge's deviates when it is asked again, shape (n,): standard normal."""
    return np.asarray(np.sqrt(shared) * common + np.sqrt(1 - shared) * deviates)


def uniforms(stays: Floats, fresh: Floats, consistency: Floats) -> Floats:
    """Deviates behind answers, shape (n,), uniform from 0 to 1; those of one unit correlate."""
    return np.asarray(ndtr(np.sqrt(consistency) * stays + np.sqrt(1 - consistency) * fresh))


def categories(uniform: Floats, probability: Floats) -> Integers:
    """Category of each deviate, shape (n,), where categories have probabilities of shape (n, A)."""
    bounds = np.cumsum(probability[:, :-1], axis=1)
    return np.asarray((uniform[:, None] >= bounds).sum(axis=1), dtype=np.int64)


def confusion(accuracy: Floats, pull: Floats, right: Integers) -> tuple[Floats, Integers]:
    """Probabilities of answers, shape (G, A), and their codes, shape (G, A), the right answer first.

    ``pull`` has the weights of answers, shape (G, A); that of the right one does not count, and where no
    other has weight, all have the same. ``right`` is the code of the right answer, shape (G,).
    """
    is_wrong = np.arange(pull.shape[1])[None, :] != right[:, None]
    weight = np.where(is_wrong, pull, 0.0)
    total = weight.sum(axis=1, keepdims=True)
    weight = np.where(total > 0, weight, is_wrong)
    wrong = weight / weight.sum(axis=1, keepdims=True) * (1 - accuracy[:, None])
    probability = np.where(is_wrong, wrong, accuracy[:, None])
    codes = np.argsort(is_wrong, axis=1, kind="stable")
    return np.take_along_axis(probability, codes, axis=1), codes.astype(np.int64)


def shift_probability(probability: Floats, effect: Floats) -> Floats:
    """Probabilities, shape (C, G, A), with the first moved by an effect (C,) on the probit scale."""
    # Others keep their proportions.
    right = probability[:, :, :1]
    moved = ndtr(ndtri(right) + effect[:, None, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        wrong = np.where(right < 1, probability[:, :, 1:] * (1 - moved) / (1 - right), 0.0)
    return np.concatenate([moved, wrong], axis=2)


def curve(probability: Floats, correlation: float, deviate: Floats) -> Floats:
    """Probability given a deviate that has a share of the variance, shapes (...,), (v,) to (..., v)."""
    share = min(correlation, 1 - CERTAIN)
    bound = ndtri(np.asarray(probability))[..., None]
    return np.asarray(ndtr((bound - np.sqrt(share) * deviate) / np.sqrt(1 - share)))


def grid() -> Floats:
    """Normal deviates at equal steps of probability, shape (NODES,)."""
    return np.asarray(ndtri((np.arange(NODES) + 0.5) / NODES))


@cache
def passes(accuracy: float, missing: float, consistency: float, k: int) -> tuple[float, float]:
    """Probabilities that any, and that all, of k answers to a unit are right; none that is missing is."""
    right = curve(np.array(accuracy), consistency, grid())
    answer_chance = 1 - curve(np.array(missing), consistency, grid())
    success = right[:, None] * answer_chance[None, :]
    return float(1 - ((1 - success) ** k).mean()), float((success**k).mean())


def panel_agreement(
    probability: Floats, correlation: float, sides: Sequence[Sequence[int]], people: int
) -> Floats:
    """What an item adds to the agreement of a panel on which side of a distinction it is."""
    bounds = np.concatenate([[0.0], np.cumsum(probability)[:-1], [1.0]])
    each = np.diff(curve(np.minimum(bounds, 1.0), correlation, grid()), axis=0)
    on = np.array([each[list(side)].sum(axis=0) for side in sides])
    taking = on.sum(axis=0)
    share = np.divide(on, taking, out=np.zeros_like(on), where=taking > 0)
    p_one = 1 - (1 - taking) ** people
    p_two = p_one - people * taking * (1 - taking) ** (people - 1)
    return np.asarray(np.vstack([p_two * (share**2).sum(axis=0), p_two, p_one, p_one * share]).mean(axis=1))


def fleiss(sums: Floats) -> tuple[float, float]:
    """Observed agreement and Fleiss' kappa from sums over items of `panel_agreement`."""
    observed, share = sums[0] / sums[1], sums[3:] / sums[2]
    chance = float(share @ share)
    return float(observed), float((observed - chance) / (1 - chance))


@dataclass(frozen=True)
class JudgeTask:
    """What a judge is asked: a prompt (None for people), its task, and which items, shape (items,)."""

    judge: str
    prompt: str | None
    task: str
    items: NDArray[np.bool_]


@dataclass(frozen=True)
class LabelWorld:
    """What all judges of a simulation share."""

    study: ItemStudy
    truth: LabelTruth
    items: pd.DataFrame  # without copies
    cell: Integers  # shape (items,): cell of the truth table of each item
    units: dict[str, GoldUnits]
    seed: int

    @property
    def conditions(self) -> tuple[str, ...]:
        """Originals and copies, originals first."""
        return (UNPERTURBED, *self.truth.conditions)

    def answers(self, judge: str, task: str) -> list[str]:
        """What a judge can answer: people gold labels, models the labels of the task."""
        if self.truth.judges[judge] == HUMAN:
            return list(self.study.gold_labels(task))
        return [label.id for label in self.study.label_sets[task].labels]

    def questions(self, judges: Sequence[str]) -> Iterator[JudgeTask]:
        """What these judges are asked, in the order of the truth table."""
        everything = np.ones(len(self.items), dtype=bool)
        for judge in judges:
            if self.truth.judges[judge] == HUMAN:
                yield from (JudgeTask(judge, None, task, everything) for task in self._of_people(judge))
                continue
            entry = next((candidate for candidate in self.study.judges if candidate.id == judge), None)
            prompt_ids = entry.prompts if entry is not None and entry.prompts else self.study.prompt_labels
            for prompt in self.study.prompts:
                response = self.study.response_of(prompt.id)
                if prompt.id in prompt_ids and isinstance(response, Label | LineLabels):
                    task = response.id if isinstance(response, Label) else LINE
                    mask = everything.copy()
                    for column, values in prompt.only.items():
                        require_columns(self.items, [column], "made-up items")
                        mask &= as_text(self.items[column]).isin(values).to_numpy(dtype=bool)
                    yield JudgeTask(judge, prompt.id, task, mask)

    def _of_people(self, judge: str) -> list[str]:
        named = {cells.get("task") for cells, _ in self.truth.rows["accuracy"] if cells.get("judge") == judge}
        return [task for task in self.units if task in named or None in named]


def answering(world: LabelWorld, question: JudgeTask) -> Answering:
    """With which probabilities a judge answers in each cell, which has items or not."""
    study, truth, judge, task = world.study, world.truth, question.judge, question.task
    gold, answers = list(study.gold_labels(task)), world.answers(judge, task)
    covers = study.gold.covers if study.gold is not None else {}
    right = np.array([answers.index(_covering_answer(level, answers, covers)) for level in gold])
    cell_codes = np.unique(world.cell[question.items])
    cells = [levels for levels, _ in truth.cells()]
    statuses = statuses_of(truth)
    shape = (len(cells), len(gold), len(answers))
    result = Answering(
        np.zeros(shape),
        np.zeros(shape[1:], dtype=np.int64),
        np.zeros((len(cells), len(statuses))),
        np.zeros(len(cells)),
        np.zeros(len(cells)),
    )
    for at in cell_codes:
        keys = {"judge": judge, "judge_kind": truth.judges[judge], "task": task, **cells[at]}
        accuracy = np.array([truth.value("accuracy", {**keys, "gold": level}) for level in gold])
        labelled = [[{**keys, "gold": level, "label": name} for name in answers] for level in gold]
        pull = np.array([[truth.value("pull", entry, 0.0) for entry in entries] for entries in labelled])
        result.probability[at], result.answers[:] = confusion(accuracy, pull, right)
        result.missing[at] = [truth.value("missing", {**keys, "label": name}, 0.0) for name in statuses]
        result.consistency[at] = truth.value("consistency", keys, 0.0)
        result.shared[at] = truth.value("shared_difficulty", keys, 0.0)
    return result


def statuses_of(truth: LabelTruth) -> list[str]:
    """Statuses of missing answers that the truth table names, in the order of the contract."""
    return [name for name in STATUSES if name in truth.named("missing", "label")]


def answering_in_condition(
    world: LabelWorld, question: JudgeTask, baseline: Answering, condition: str
) -> Answering:
    """How a judge answers for copies of a condition."""
    if condition == UNPERTURBED:
        return baseline
    truth, judge = world.truth, question.judge
    keys = {"judge": judge, "judge_kind": truth.judges[judge], "task": question.task, "condition": condition}
    effect = np.array([truth.value("effect", {**keys, **levels}, 0.0) for levels, _ in truth.cells()])
    return replace(baseline, probability=shift_probability(baseline.probability, effect))


def _covering_answer(level: str, answers: Sequence[str], covers: dict[str, list[str]]) -> str:
    if level in answers:
        return level
    return next(name for name, labels in covers.items() if level in labels)


Row = dict[str, object]
VERSUS = "_vs_"


def true_labels(
    world: LabelWorld, judges: Sequence[str], samples: Mapping[str, int], people: int
) -> pd.DataFrame:
    """What analyses of simulated labels should find."""
    # `samples` are answers per model, `people` the size of the panel; where a stratum or `gold` is empty, a
    # value is of all items. Missing answers count as wrong in `accuracy`.
    rows: list[Row] = []
    for question in world.questions(list(judges)):
        if question.prompt is None:
            rows.append({**_keys(question), "quantity": "people", "value": people})
            rows += _people_rows(world, question, people)
        else:
            rows += _model_rows(world, question, samples[question.judge])
    columns = ["quantity", "judge", "prompt", "task", *world.truth.strata, "condition", "gold", "k", "value"]
    frame = pd.DataFrame(rows).reindex(columns=columns)
    texts = [name for name in columns if name not in ("k", "value")]
    frame[texts] = frame[texts].fillna("").astype("string")
    return frame.assign(k=frame["k"].astype("Int64"), value=frame["value"].astype(float))


def _keys(question: JudgeTask) -> Row:
    return {"judge": question.judge, "prompt": question.prompt or "", "task": question.task}


def _weights(world: LabelWorld, question: JudgeTask) -> Floats:
    """Number of units in each cell with each gold label, shape (C, G)."""
    units = world.units[question.task]
    mask = question.items[units.item]
    shape = (sum(1 for _ in world.truth.cells()), len(world.study.gold_labels(question.task)))
    counts = np.zeros(shape)
    np.add.at(counts, (world.cell[units.item][mask], units.gold[mask]), 1)
    return counts


def _groups(world: LabelWorld, weights: Floats) -> Iterator[tuple[Row, Floats]]:
    """All items, and each cell, with the weights of their units."""
    yield {}, weights
    cells = [levels for levels, _ in world.truth.cells()]
    for at, levels in enumerate(cells):
        if len(cells) > 1 and weights[at].any():
            yield dict(levels), weights * (np.arange(len(cells)) == at)[:, None]


def _mean(values: Floats, weights: Floats) -> float:
    return float((values * weights).sum() / weights.sum())


def _model_rows(world: LabelWorld, question: JudgeTask, samples: int) -> Iterator[Row]:
    baseline, weights = answering(world, question), _weights(world, question)
    gold = list(world.study.gold_labels(question.task))
    missing = baseline.missing.sum(axis=1, keepdims=True)
    original = baseline.accuracy * (1 - missing)
    for condition in world.conditions:
        accuracy = answering_in_condition(world, question, baseline, condition).accuracy
        right = accuracy * (1 - missing)
        of_condition = weights * np.array(world.truth.has_copies(condition))[:, None]
        for group, units in _groups(world, of_condition) if of_condition.any() else ():
            keys = {**_keys(question), **group, "condition": condition}
            yield {**keys, "quantity": "missing", "value": _mean(missing, units)}
            yield {**keys, "quantity": "accuracy", "value": _mean(right, units)}
            answered_units = units * (1 - missing)
            if answered_units.any():
                yield {**keys, "quantity": "accuracy_answered", "value": _mean(accuracy, answered_units)}
            if condition != world.conditions[0]:
                yield {**keys, "quantity": "difference", "value": _mean(right - original, units)}
            for at, level in enumerate(gold):
                of_level = units * (np.arange(len(gold)) == at)
                if of_level.any():
                    yield {**keys, "gold": level, "quantity": "accuracy", "value": _mean(right, of_level)}
    yield from _pass_rows(world, question, baseline, weights, samples)


def _pass_rows(
    world: LabelWorld, question: JudgeTask, baseline: Answering, weights: Floats, samples: int
) -> Iterator[Row]:
    for k in range(1, samples + 1) if samples > 1 else ():
        probabilities = np.zeros((2, *weights.shape))
        for cell, gold in np.argwhere(weights > 0):
            missing, consistency = float(baseline.missing[cell].sum()), float(baseline.consistency[cell])
            probabilities[:, cell, gold] = passes(
                float(baseline.accuracy[cell, gold]), missing, consistency, k
            )
        for group, units in _groups(world, weights):
            keys = {**_keys(question), **group, "condition": world.conditions[0], "k": k}
            yield {**keys, "quantity": "pass_at_k", "value": _mean(probabilities[0], units)}
            yield {**keys, "quantity": "pass_all_k", "value": _mean(probabilities[1], units)}


def _people_rows(world: LabelWorld, question: JudgeTask, people: int) -> Iterator[Row]:
    rates, weights = answering(world, question), _weights(world, question)
    answers = world.answers(question.judge, question.task)
    cells = [levels for levels, _ in world.truth.cells()]
    for group, units in _groups(world, weights):
        keys = {**_keys(question), **group, "condition": world.conditions[0]}
        yield {**keys, "quantity": "accuracy", "value": _mean(rates.accuracy, units)}
    first = world.truth.strata[0] if world.truth.strata else None
    for level in dict.fromkeys(cell[first] for cell in cells) if first else [""]:
        level_weights = weights * np.array([[first is None or cell[first] == level] for cell in cells])
        for name, sides in _distinctions(world, answers) if level_weights.any() else ():
            agreement, kappa = fleiss(_panel_sums(rates, level_weights, sides, people))
            keys = {**_keys(question), "gold": name, **({first: level} if first else {})}
            yield {**keys, "quantity": "percent_agreement", "value": agreement}
            yield {**keys, "quantity": "fleiss_kappa", "value": kappa}


def _panel_sums(rates: Answering, weights: Floats, sides: Sequence[Sequence[int]], people: int) -> Floats:
    sums = np.zeros(len(sides) + 3)
    for cell, gold in np.argwhere(weights > 0):
        places = np.argsort(rates.answers[gold])
        ordered = [[int(places[answer]) for answer in side] for side in sides]
        correlation = float(rates.consistency[cell] * rates.shared[cell])
        each = panel_agreement(rates.probability[cell, gold], correlation, ordered, people)
        sums += weights[cell, gold] * each
    return sums


def _distinctions(world: LabelWorld, answers: Sequence[str]) -> Iterator[tuple[str, list[list[int]]]]:
    """Names of distinctions, and the answers on each side: between classes, and within one."""
    covers = world.study.gold.covers if world.study.gold is not None else {}
    if not covers:
        yield VERSUS.join(answers), [[at] for at in range(len(answers))]
        return
    yield VERSUS.join(covers), [[answers.index(level) for level in levels] for levels in covers.values()]
    for levels in covers.values():
        if len(levels) > 1:
            yield VERSUS.join(levels), [[answers.index(level)] for level in levels]
