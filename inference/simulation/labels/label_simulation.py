"""Simulated answers of people and models to a study of labels, with the truth that analyses should find.

Every judge has random streams of its own, named after it, its prompt, the condition and the sample: asking
one judge, or once, more leaves the others as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from ...design.profiles import factor
from ...errors import InputError
from ...readers.judged.gold_labels import majority_labels
from ...study.models import LINE, ItemStudy
from ...tables.columns import UNPERTURBED, stream
from ...tables.frames import SIMULATED, any_frame
from ...tables.schema import JUDGE_KINDS, STATUSES
from ..truth_table import HUMAN, MODEL, Floats, Integers, require_samples, selected_judges, truth_path
from .label_truth import (
    FILE,
    GoldUnits,
    LabelTruth,
    columns_of,
    make_up,
    read_label_truth,
    units_of_items,
    with_perturbed_copies,
)
from .simulated_labels import (
    JudgeTask,
    LabelWorld,
    answering,
    answering_in_condition,
    categories,
    persistent,
    statuses_of,
    true_labels,
    uniforms,
)

OK = STATUSES.index("ok")
NO_ANSWER = -1  # the last of the values, which is missing


@dataclass(frozen=True)
class LabelSimulation:
    """Simulated judgments and where they come from.

    Parameters
    ----------
    judgments : DataFrame
        One row per judge, prompt, item, dimension and sample, in the contract's columns; ``origin`` is
        "simulated", ``panel`` names the panel of a person, ``condition`` and ``base_item_id`` are there where
        items have perturbed copies.
    items : DataFrame
        ``item_id``, strata, ``text``, and ``base_item_id, condition`` where there are copies.
    labels : DataFrame
        Gold labels of the originals: what most people say where people judge (tied items have none), else
        what the items are.
    truth : DataFrame
        What analyses of the judgments should find: ``quantity, judge, prompt, task``, one column per stratum,
        ``condition, gold, k, value``; where a stratum or ``gold`` is empty, the value is of all items. Of
        models, by condition: ``missing`` (share of answers), ``accuracy`` (missing answers are wrong),
        ``accuracy_answered``, ``difference`` (of accuracy, copies minus originals); of originals ``pass_at_k,
        pass_all_k``. Of people: their number, ``accuracy``, ``percent_agreement`` and ``fleiss_kappa``.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> made = simulate_labels(load_any_study("harm_or_humor"), 1, items=60, judges=["gpt_5_2"], samples=1)
    >>> made.judgments["origin"].unique().tolist(), "accuracy" in set(made.truth["quantity"])
    (['simulated'], True)
    """

    judgments: pd.DataFrame
    items: pd.DataFrame
    labels: pd.DataFrame
    truth: pd.DataFrame


@any_frame
def simulate_labels(
    study: ItemStudy,
    seed: int,
    *,
    items: int | None = None,
    people: int | None = None,
    judges: Sequence[str] | None = None,
    samples: int | None = None,
    copy_samples: int = 1,
    table: Path | pd.DataFrame | None = None,
) -> LabelSimulation:
    """Draw labels of a panel of people and of models from a truth table.

    Parameters
    ----------
    study : ItemStudy
        With gold labels.
    seed : int
        Seed of everything that is drawn.
    items : int, optional
        How many items are made up, shared out among strata as in the truth table; by default all of it.
    people : int, optional
        Size of the panel, by default that of the truth table.
    judges : sequence of str, optional
        Draw only these of the truth table.
    samples : int, optional
        Answers of every model to each item, by default as the study file asks it.
    copy_samples : int
        Answers of every model to each perturbed copy.
    table : Path or DataFrame, optional
        Truth table; by default ``label_truth.csv`` next to the study file.

    Returns
    -------
    LabelSimulation
        Judgments, items and gold labels, with the true values of their estimands.

    Raises
    ------
    InputError
        For a truth table that is missing or bad, unknown judges, and sizes out of range.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> made = simulate_labels(load_any_study("multiturn"), seed=1, items=9, judges=["qwen3_8b"])
    >>> made.judgments.query("prompt_id == 'joke'").groupby("condition").size().to_dict()
    {'dialect': 5, 'drift': 8, 'none': 40, 'orthographic': 8, 'preserving': 8}
    """
    for number in (samples, copy_samples):
        if number is not None:
            require_samples(number)
    if people is not None and people < 2:
        raise InputError(f"The number of people is {people}; gold labels by majority need two at least.")
    source = truth_path(study, FILE, "labels", columns_of(study)) if table is None else table
    truth = read_label_truth(source, study)
    chosen = selected_judges(truth.judges, judges)
    item_table, cell, units = make_up(study, truth, items, seed)
    world = LabelWorld(study, truth, item_table, cell, {of.task: of for of in units}, seed)
    copies = with_perturbed_copies(item_table, truth.conditions) if truth.conditions else item_table
    exists = np.concatenate([np.array(truth.has_copies(name))[cell] for name in world.conditions])
    panel = _panel_judgments(world, people)
    counts = {judge: _n_samples(study, judge, samples) for judge in chosen if judge != truth.panel}
    answers = [
        _ask(world, copies, question, counts[question.judge], copy_samples)
        for question in world.questions(list(counts))
    ]
    if panel is not None and truth.panel in chosen:
        answers.insert(0, panel)
    return LabelSimulation(
        pd.concat(answers, ignore_index=True),
        copies[exists].reset_index(drop=True),
        pd.concat(list(_gold_labels(world, panel)), ignore_index=True),
        true_labels(world, chosen, counts, people or _size_of_panel(truth)),
    )


@any_frame
def simulate_people(
    study: ItemStudy, seed: int, items: pd.DataFrame, labels: pd.DataFrame, people: int
) -> pd.DataFrame:
    """Draw labels of a panel of people for given items from the truth table of the study.

    Parameters
    ----------
    study : ItemStudy
        With ``label_truth.csv`` next to its file, which has a panel of people.
    seed : int
        Seed of everything that is drawn.
    items : DataFrame of n rows
        ``item_id``, strata, and what has lines.
    labels : DataFrame
        Gold labels, ``item_id, label_set, label``; items and lines that have none are given one at random.
    people : int
        Number of people.

    Returns
    -------
    DataFrame
        As the judgments of `simulate_labels`, of people alone; each labels all items.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> study = load_any_study("harm_or_humor")
    >>> items, labels = (pd.read_csv(study.folder / f"{name}.csv") for name in ("items", "labels"))
    >>> made = simulate_people(study, 1, items, labels, people=3)
    >>> made["judge_id"].nunique(), made["item_id"].nunique()
    (3, 31)
    """
    truth = read_label_truth(truth_path(study, FILE, "labels", columns_of(study)), study)
    cell, units = units_of_items(study, truth, items, labels, stream(seed, "gold"))
    panel = _panel_judgments(
        LabelWorld(study, truth, items, cell, {of.task: of for of in units}, seed), people
    )
    if panel is None:
        raise InputError(f"{FILE}: no row is about people; add their accuracy.")
    return panel


def simulate_answers(
    study: ItemStudy, seed: int, items: pd.DataFrame, labels: pd.DataFrame, judge: str, samples: int
) -> pd.DataFrame | None:
    """Draw answers of a model to given items from the truth table of the study."""
    # Parameters as of `simulate_people`; `judge` is the model and `samples` its answers to each item.
    # Returns: As the judgments of `simulate_labels`; None where there is no truth table, or it lacks the
    # model.
    path = study.file(FILE)
    truth = replace(read_label_truth(path, study), conditions=()) if path.is_file() else None
    if truth is None or judge not in truth.models:
        return None
    cell, units = units_of_items(study, truth, items, labels, stream(seed, "gold"))
    world = LabelWorld(study, truth, items, cell, {of.task: of for of in units}, seed)
    parts = [_ask(world, items, question, samples) for question in world.questions([judge])]
    return pd.concat(parts, ignore_index=True) if parts else None


def _n_samples(study: ItemStudy, judge: str, samples: int | None) -> int:
    if samples is not None:
        return samples
    ask = next((entry.ask for entry in study.judges if entry.id == judge), None)
    return ask.samples if ask is not None else 1


def _size_of_panel(truth: LabelTruth) -> int:
    if truth.panel is None:
        return 0
    return round(truth.value("people", {"judge": truth.panel, "judge_kind": HUMAN}))


def _common_difficulty(world: LabelWorld, units: GoldUnits) -> Floats:
    """What is hard about each unit for every judge, shape (n,): lines of an item share a part of it."""
    deviates = stream(world.seed, "difficulty", units.task).standard_normal(len(units.item))
    if units.task != LINE:
        return deviates
    share = world.truth.value("item_share", {}, 0.0)
    of_item = stream(world.seed, "difficulty", "items").standard_normal(len(world.items))
    return np.asarray(np.sqrt(share) * of_item[units.item] + np.sqrt(1 - share) * deviates)


def _panel_judgments(world: LabelWorld, people: int | None) -> pd.DataFrame | None:
    """Judgments of the panel; None where the truth table has none."""
    judge = world.truth.panel
    if judge is None:
        return None
    size = people or _size_of_panel(world.truth)
    parts = []
    for question in world.questions([judge]):
        rates, units = answering(world, question), world.units[question.task]
        cell, common = world.cell[units.item], _common_difficulty(world, units)
        for number in range(1, size + 1):
            name = f"annotator_{number:0{len(str(size))}d}"
            deviates, fresh = stream(world.seed, judge, question.task, name).standard_normal((2, len(cell)))
            stays = persistent(common, deviates, rates.shared[cell])
            rank = categories(
                uniforms(stays, fresh, rates.consistency[cell]), rates.probability[cell, units.gold]
            )
            answer = rates.answers[units.gold, rank]
            rows = np.arange(len(cell))
            parts.append(_judgments(world, world.items, question, name, units, rows, answer, None, 1))
    return pd.concat(parts, ignore_index=True)


def _ask(
    world: LabelWorld, items: pd.DataFrame, question: JudgeTask, samples: int, copy_samples: int = 1
) -> pd.DataFrame:
    """Judgments of a model with one prompt: every original and every copy a number of times."""
    baseline, units = answering(world, question), world.units[question.task]
    names = (question.judge, str(question.prompt))
    cell, common = world.cell[units.item], _common_difficulty(world, units)
    deviates = stream(world.seed, *names).standard_normal(len(cell))
    stays = persistent(common, deviates, baseline.shared[cell])
    absent = stream(world.seed, *names, "missing").standard_normal(len(world.items))
    parts = []
    for at, condition in enumerate(world.conditions):
        rates = answering_in_condition(world, question, baseline, condition)
        rows = np.flatnonzero(question.items[units.item] & np.array(world.truth.has_copies(condition))[cell])
        copies = items.iloc[at * len(world.items) : (at + 1) * len(world.items)]
        for sample in range(1, (samples if condition == UNPERTURBED else copy_samples) + 1):
            rng = stream(world.seed, *names, condition, str(sample))
            fresh, lapse = rng.standard_normal(len(cell)), rng.standard_normal(len(world.items))
            uniform = uniforms(stays, fresh, rates.consistency[cell])[rows]
            rank = categories(uniform, rates.probability[cell[rows], units.gold[rows]])
            answer = rates.answers[units.gold[rows], rank]
            of_item = rates.missing[world.cell]
            chance = np.hstack([of_item, 1 - of_item.sum(axis=1, keepdims=True)])
            status = categories(uniforms(absent, lapse, rates.consistency[world.cell]), chance)[
                units.item[rows]
            ]
            parts.append(
                _judgments(world, copies, question, question.judge, units, rows, answer, status, sample)
            )
    return pd.concat(parts, ignore_index=True)


def _judgments(
    world: LabelWorld,
    items: pd.DataFrame,
    question: JudgeTask,
    judge: str,
    units: GoldUnits,
    rows: Integers,
    answer: Integers,
    status: Integers | None,
    sample: int,
) -> pd.DataFrame:
    """One row a unit of ``rows``, shape (m,), with codes of answers and of statuses without one."""
    everywhere = np.zeros(len(rows), dtype=np.int64)
    kind = HUMAN if question.prompt is None else MODEL
    codes = np.array([*(STATUSES.index(name) for name in statuses_of(world.truth)), OK])
    code = everywhere + OK if status is None else codes[status]
    of = units.item[rows]
    values = pd.array([*world.answers(question.judge, question.task), None], "string")
    columns = {
        "judge_id": pd.array([judge], "string").take(everywhere),
        "judge_kind": factor(everywhere + JUDGE_KINDS.index(kind), JUDGE_KINDS),
        "prompt_id": pd.array([question.prompt], "string").take(everywhere),
        "item_id": items["item_id"].array.take(of),
        **{name: items[name].array.take(of) for name in ("base_item_id", "condition") if name in items},
        "dimension": pd.array(units.dimensions[rows], "string"),
        "sample": pd.array(everywhere + sample, "Int64"),
        "value": values.take(np.where(code == OK, answer, NO_ANSWER)),
        "status": factor(code, STATUSES),
        "panel": pd.array([question.judge if kind == HUMAN else None], "string").take(everywhere),
        "origin": pd.array([SIMULATED], "string").take(everywhere),
    }
    return pd.DataFrame(columns)


def _gold_labels(world: LabelWorld, panel: pd.DataFrame | None) -> Iterator[pd.DataFrame]:
    voted = set() if panel is None else set(panel["dimension"].unique())
    for task, units in world.units.items():
        names = pd.array(list(world.study.gold_labels(task)), "string")
        if panel is not None and task in voted:
            covers = world.study.gold.covers if world.study.gold is not None else None
            votes = majority_labels(panel, task, covers=covers)
            yield votes.loc[votes["label"].notna(), ["item_id", "label_set", "label"]]
            continue
        yield pd.DataFrame(
            {
                "item_id": world.items["item_id"].array.take(units.item),
                "label_set": pd.array(units.dimensions, "string"),
                "label": names.take(units.gold),
            }
        )
