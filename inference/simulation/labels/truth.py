"""The truth of simulated labels: what scores, passes, comparisons and agreement should find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd

from .asking import Answering, Floats, Question, World, answering, fleiss, panel_agreement, passes, under

Row = dict[str, object]

VERSUS = "_vs_"
_passes = cache(passes)


def true_labels(world: World, judges: Sequence[str], samples: Mapping[str, int], people: int) -> pd.DataFrame:
    """What analyses of simulated labels should find.

    ``samples`` is the number of samples per model, ``people`` the size of the panel. The columns are
    ``quantity, judge, prompt, task``, one per stratum, ``condition, gold, k, value``; where a stratum or
    ``gold`` is empty, the value is of all items of the simulation.

    Of models, by condition: ``missing`` (share of answers), ``accuracy`` (missing answers are wrong; by
    stratum and gold label), ``accuracy_answered`` (of the answers given), ``difference`` (of accuracy, copies
    minus originals). Of originals: ``pass_at_k, pass_all_k`` for ``k`` samples.

    Of people: ``people``, ``accuracy`` (against what items are), ``percent_agreement`` and ``fleiss_kappa``
    of each distinction (``gold``: "harmful_vs_safe") by the first stratum.
    """
    rows: list[Row] = []
    for question in world.questions(list(judges)):
        if question.prompt is None:
            rows.append({**_keys(question), "quantity": "people", "value": people})
            rows += _of_people(world, question, people)
        else:
            rows += _of_model(world, question, samples[question.judge])
    columns = ["quantity", "judge", "prompt", "task", *world.truth.strata, "condition", "gold", "k", "value"]
    frame = pd.DataFrame(rows).reindex(columns=columns)
    texts = [name for name in columns if name not in ("k", "value")]
    frame[texts] = frame[texts].fillna("").astype("string")
    return frame.assign(k=frame["k"].astype("Int64"), value=frame["value"].astype(float))


def _keys(question: Question) -> Row:
    return {"judge": question.judge, "prompt": question.prompt or "", "task": question.task}


def _weights(world: World, question: Question) -> Floats:
    """Number of units in each cell with each gold label, shape (C, G)."""
    units = world.units[question.task]
    asked = question.items[units.item]
    shape = (sum(1 for _ in world.truth.cells()), len(world.study.gold_labels(question.task)))
    counts = np.zeros(shape)
    np.add.at(counts, (world.cell[units.item][asked], units.gold[asked]), 1)
    return counts


def _groups(world: World, weights: Floats) -> Iterator[tuple[Row, Floats]]:
    """All items, and each cell, with the weights of their units."""
    yield {}, weights
    cells = [levels for levels, _ in world.truth.cells()]
    for at, levels in enumerate(cells):
        if len(cells) > 1 and weights[at].any():
            yield dict(levels), weights * (np.arange(len(cells)) == at)[:, None]


def _mean(values: Floats, weights: Floats) -> float:
    return float((values * weights).sum() / weights.sum())


def _of_model(world: World, question: Question, samples: int) -> Iterator[Row]:
    plain, weights = answering(world, question), _weights(world, question)
    gold = list(world.study.gold_labels(question.task))
    missing = plain.missing.sum(axis=1, keepdims=True)
    original = plain.accuracy * (1 - missing)
    for condition in world.conditions:
        accuracy = under(world, question, plain, condition).accuracy
        right = accuracy * (1 - missing)
        for group, units in _groups(world, weights):
            keys = {**_keys(question), **group, "condition": condition}
            yield {**keys, "quantity": "missing", "value": _mean(missing, units)}
            yield {**keys, "quantity": "accuracy", "value": _mean(right, units)}
            given = units * (1 - missing)
            if given.any():
                yield {**keys, "quantity": "accuracy_answered", "value": _mean(accuracy, given)}
            if condition != world.conditions[0]:
                yield {**keys, "quantity": "difference", "value": _mean(right - original, units)}
            for at, level in enumerate(gold):
                of_level = units * (np.arange(len(gold)) == at)
                if of_level.any():
                    yield {**keys, "gold": level, "quantity": "accuracy", "value": _mean(right, of_level)}
    yield from _passes_of(world, question, plain, weights, samples)


def _passes_of(
    world: World, question: Question, plain: Answering, weights: Floats, samples: int
) -> Iterator[Row]:
    for k in range(1, samples + 1) if samples > 1 else ():
        found = np.zeros((2, *weights.shape))
        for cell, gold in np.argwhere(weights > 0):
            missing, consistency = float(plain.missing[cell].sum()), float(plain.consistency[cell])
            found[:, cell, gold] = _passes(float(plain.accuracy[cell, gold]), missing, consistency, k)
        for group, units in _groups(world, weights):
            keys = {**_keys(question), **group, "condition": world.conditions[0], "k": k}
            yield {**keys, "quantity": "pass_at_k", "value": _mean(found[0], units)}
            yield {**keys, "quantity": "pass_all_k", "value": _mean(found[1], units)}


def _of_people(world: World, question: Question, people: int) -> Iterator[Row]:
    how, weights = answering(world, question), _weights(world, question)
    answers = world.answers(question.judge, question.task)
    cells = [levels for levels, _ in world.truth.cells()]
    for group, units in _groups(world, weights):
        keys = {**_keys(question), **group, "condition": world.conditions[0]}
        yield {**keys, "quantity": "accuracy", "value": _mean(how.accuracy, units)}
    first = world.truth.strata[0] if world.truth.strata else None
    for level in dict.fromkeys(cell[first] for cell in cells) if first else [""]:
        held = weights * np.array([[first is None or cell[first] == level] for cell in cells])
        for name, sides in _distinctions(world, answers) if held.any() else ():
            agreement, kappa = fleiss(_panel_sums(how, held, sides, people))
            keys = {**_keys(question), "gold": name, **({first: level} if first else {})}
            yield {**keys, "quantity": "percent_agreement", "value": agreement}
            yield {**keys, "quantity": "fleiss_kappa", "value": kappa}


def _panel_sums(how: Answering, weights: Floats, sides: Sequence[Sequence[int]], people: int) -> Floats:
    made = np.zeros(len(sides) + 3)
    for cell, gold in np.argwhere(weights > 0):
        places = np.argsort(how.answers[gold])
        ordered = [[int(places[answer]) for answer in side] for side in sides]
        correlation = float(how.consistency[cell] * how.shared[cell])
        each = panel_agreement(how.probability[cell, gold], correlation, ordered, people)
        made += weights[cell, gold] * each
    return made


def _distinctions(world: World, answers: Sequence[str]) -> Iterator[tuple[str, list[list[int]]]]:
    """Names of distinctions, and the answers on each side: between classes, and within one."""
    covers = world.study.gold.covers if world.study.gold is not None else {}
    if not covers:
        yield VERSUS.join(answers), [[at] for at in range(len(answers))]
        return
    yield VERSUS.join(covers), [[answers.index(level) for level in levels] for levels in covers.values()]
    for levels in covers.values():
        if len(levels) > 1:
            yield VERSUS.join(levels), [[answers.index(level)] for level in levels]
