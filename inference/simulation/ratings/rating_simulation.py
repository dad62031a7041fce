"""Simulated ratings of a study of items, with the truth that analyses should find.

Every judge has a random stream of its own, named after it, and what models' errors have in common has one:
asking one judge more leaves the others as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...design.profiles import factor
from ...design.run_design import assign_raters
from ...errors import InputError, check_share
from ...study.models import ItemStudy
from ...study.study_yaml import suggestion
from ...tables.columns import stream
from ...tables.frames import SIMULATED, any_frame
from ...tables.schema import JUDGE_KINDS, STATUSES, require_columns
from ..truth_table import Floats, Integers, require_samples, selected_judges, share_out, truth_path
from .rating_draws import (
    ItemCells,
    Noise,
    Rater,
    RaterTraits,
    RatingTruth,
    by_thresholds,
    common_errors,
    consensus,
    draw_people,
    make_up_items,
    model_values,
    panel_ratings,
)
from .rating_truth import true_ratings
from .rating_truth_table import COLUMNS, FILE, read_rating_truth

TEXT = "text"  # modality of items that do not state theirs


@dataclass(frozen=True)
class RatingSimulation:
    """Simulated judgments and where they come from.

    Parameters
    ----------
    judgments : DataFrame
        One row per judge, item, dimension and sample, in the contract's columns; ``panel`` names the panel
        of a person, ``origin`` is "simulated", and ``repeat`` marks repeated ratings of a person.
    items : DataFrame
        ``item_id, modality, topic_id, topic, response, media, response_type, generator, votes``.
    truth : DataFrame
        What analyses of the judgments should find, as from
        :func:`conjury.inference.simulation.ratings.true_ratings`.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> made = simulate_ratings(load_any_study("oogiri"), seed=1, topics=8, people=32, judges=["human"])
    >>> made.items["topic_id"].nunique(), made.judgments["judge_id"].nunique()
    (8, 32)
    """

    judgments: pd.DataFrame
    items: pd.DataFrame
    truth: pd.DataFrame


@any_frame
def simulate_ratings(
    study: ItemStudy,
    seed: int,
    *,
    topics: int | None = None,
    people: int | None = None,
    judges: Sequence[str] | None = None,
    samples: int = 1,
    repeats: float | None = None,
    items: pd.DataFrame | None = None,
    raters: Path | pd.DataFrame | None = None,
    assignment: pd.DataFrame | None = None,
) -> RatingSimulation:
    """Draw ratings of a panel of people and of models from a truth table.

    Parameters
    ----------
    study : ItemStudy
        With scales and an assignment.
    seed : int
        Seed of everything that is drawn.
    topics : int, optional
        How many topics are made up, shared out among modalities as in the truth table; by default those of
        the truth table.
    people : int, optional
        Size of the panel, by default that of the truth table; each item is rated by as many as the study's
        assignment states.
    judges : sequence of str, optional
        Draw only these of the truth table.
    samples : int
        Ratings of every model of each item.
    repeats : float, optional
        Share of a person's items that come twice, by default the study's; the second rating is sample 2.
    items : DataFrame, optional
        Items to be rated in place of made-up ones: ``item_id, modality`` (else text) and the columns that the
        assignment names.
    raters : Path or DataFrame, optional
        Truth table; by default ``truth.csv`` next to the study file.
    assignment : DataFrame, optional
        Who rates what, ``rater`` (from 1), ``item_id`` and ``repeat``, in place of one that is drawn; the
        largest number of a rater is then the size of the panel.

    Returns
    -------
    RatingSimulation
        Judgments and items, with the true values of their estimands.

    Raises
    ------
    InputError
        For a truth table that is missing or bad, unknown judges, and sizes out of range.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> made = simulate_ratings(load_any_study("oogiri"), seed=1, topics=10, people=32)
    >>> len(made.judgments) == 10 * 8 * (4 + 3) * 6
    True
    """
    require_samples(samples)
    if repeats is not None:
        check_share("The share of repeats is", repeats, "give a number from 0 to 1", closed=True)
    source = truth_path(study, FILE, "ratings", COLUMNS) if raters is None else raters
    truth = read_rating_truth(source, study)
    chosen = selected_judges(truth.judges, judges)
    if items is None:
        shares = share_out(list(truth.topics.values()), topics, "topics")
        made_up = {name: n for name, n in zip(truth.topics, shares, strict=True) if n}
        items = make_up_items(study, made_up, seed)
    world = _RatingWorld(study, truth, items, _cells(study, truth, items), seed)
    size = truth.people if people is None else people
    if assignment is not None:
        size = int(assignment["rater"].max())
    parts: list[pd.DataFrame] = []
    crowd: tuple[list[str], RaterTraits] | None = None
    if truth.panel.judge in chosen:
        judgments, crowd = _ask_panel(world, size, repeats, assignment)
        parts.append(judgments)
    parts += [_ask_model(world, model, samples) for model in truth.models if model.judge in chosen]
    counts = np.zeros((len(truth.modalities), len(truth.types)))
    np.add.at(counts, (world.cells.modality, world.cells.type), 1)
    true = true_ratings(study, truth, chosen, counts / counts.sum(), crowd)
    return RatingSimulation(pd.concat(parts, ignore_index=True), items, true)


@dataclass(frozen=True)
class _RatingWorld:
    """What all judges of a simulation share."""

    study: ItemStudy
    truth: RatingTruth
    items: pd.DataFrame
    cells: ItemCells
    seed: int

    @property
    def quality(self) -> Floats:
        return consensus(self.truth.panel, self.cells, stream(self.seed, "consensus"))

    @property
    def common(self) -> Noise:
        return common_errors(self.truth, self.cells, stream(self.seed, "models"))


def _cells(study: ItemStudy, truth: RatingTruth, items: pd.DataFrame) -> ItemCells:
    plan = study.assignment
    assert plan is not None
    if "modality" not in items:
        items = items.assign(modality=pd.array([TEXT] * len(items), "string"))
    require_columns(items, ["item_id", plan.within, plan.across], "items")
    codes = []
    for column, levels in ((plan.across, truth.types), ("modality", tuple(truth.modalities))):
        code = pd.Index(levels).get_indexer(pd.Index(items[column].astype("string")))
        if (code < 0).any():
            row = int((code < 0).argmax())
            hint = suggestion(str(items[column].iloc[row]), levels)
            raise InputError(f"items: row {row + 1} of column '{column}': {hint}")
        codes.append(code.astype(np.int64))
    topic = pd.factorize(items[plan.within])[0].astype(np.int64)
    return ItemCells(codes[0], codes[1], topic)


def _ask_panel(
    world: _RatingWorld, people: int, repeats: float | None, assignment: pd.DataFrame | None
) -> tuple[pd.DataFrame, tuple[list[str], RaterTraits]]:
    panel, plan = world.truth.panel, world.study.assignment
    assert plan is not None
    plan = plan if repeats is None else plan.model_copy(update={"repeats": float(repeats)})
    rng = stream(world.seed, panel.judge)
    crowd = draw_people(panel, people, rng)
    tasks = assign_raters(world.items, plan, people, world.seed) if assignment is None else assignment
    item = pd.Index(world.items["item_id"]).get_indexer(pd.Index(tasks["item_id"]))
    person = tasks["rater"].to_numpy(dtype=np.int64) - 1
    ratings = panel_ratings(panel, crowd, world.quality, item, person, rng)
    names = [f"rater_{number:0{len(str(people))}d}" for number in range(1, people + 1)]
    is_repeat = tasks["repeat"].to_numpy(dtype=bool)
    judgments = _judgments(world, panel, np.array(names)[person], item, ratings, 1 + is_repeat, is_repeat)
    return judgments, (names, crowd)


def _ask_model(world: _RatingWorld, model: Rater, samples: int) -> pd.DataFrame:
    rng = stream(world.seed, model.judge)
    value = model_values(model, world.truth, world.quality, world.cells, world.common, rng)
    item = np.arange(len(value))
    ratings = [
        by_thresholds(value, model.threshold, stream(world.seed, model.judge, "sample", str(number)))
        for number in range(1, samples + 1)
    ]
    rows = np.tile(item, samples)
    names = np.repeat(model.judge, len(rows))
    number = np.repeat(np.arange(1, samples + 1), len(item))
    return _judgments(world, model, names, rows, np.concatenate(ratings), number, np.zeros(len(rows), bool))


def _judgments(
    world: _RatingWorld,
    rater: Rater,
    judge: NDArray[Any],
    item: Integers,
    ratings: Integers,
    sample: Integers,
    repeat: NDArray[np.bool_],
) -> pd.DataFrame:
    """Long table of ratings, shape (m, D), with dimensions varying fastest."""
    width = ratings.shape[1]
    row = np.repeat(np.arange(len(item)), width)
    everywhere = np.zeros(len(row), dtype=np.int64)
    names = pd.Index(pd.unique(judge))
    human = rater.kind == "human"
    prompt = None if human or not world.study.prompts else world.study.prompts[0].id
    lowest = world.study.scales[0].minimum
    return pd.DataFrame(
        {
            "judge_id": pd.array(names, dtype="string").take(names.get_indexer(pd.Index(judge))[row]),
            "judge_kind": factor(everywhere + JUDGE_KINDS.index(rater.kind), JUDGE_KINDS),
            "prompt_id": pd.array([prompt], dtype="string").take(everywhere),
            "item_id": pd.array(world.items["item_id"].to_numpy(), dtype="string").take(item[row]),
            "dimension": pd.array(list(world.truth.dimensions), dtype="string").take(
                np.tile(np.arange(width), len(item))
            ),
            "sample": pd.array(sample[row], dtype="Int64"),
            "value": pd.array(ratings.reshape(-1) + lowest, dtype="Int64"),
            "status": factor(everywhere + STATUSES.index("ok"), STATUSES),
            "repeat": pd.array(repeat[row], dtype="boolean"),
            "panel": pd.array([rater.judge if human else None], dtype="string").take(everywhere),
            "origin": pd.array([SIMULATED], dtype="string").take(everywhere),
        }
    )
