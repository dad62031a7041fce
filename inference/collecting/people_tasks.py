"""Tasks of people in a run: drawn apart, sampled from the pairs of models, or those of a survey."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..design.profiles import enumerate_profiles
from ..design.run_design import (
    DrawnDesign,
    check_posts,
    check_restrictions,
    save_assignment,
    save_design,
    with_panel,
)
from ..design.sampling import (
    SAMPLES,
    answer_uncertainty,
    equal_strata,
    inclusion_probabilities,
    names_of_strata,
    planned_sizes,
    strata_of_pairs,
    with_floor,
)
from ..design.task_panels import (
    TaskPanel,
    draw_people,
    imported_people,
    panel_name,
    panel_summary,
    sample_people,
    sample_size,
)
from ..design.testing_pairs import design_pairs
from ..errors import InputError, counted, did_you_mean, listed
from ..readers.choices import read_choices
from ..readers.judgments import load_judgments
from ..readers.prepare import load_choices
from ..study.load import load_any_study
from ..study.models import AnyStudy, ItemStudy, Study
from ..tables.files import file_hash, read_table
from ..tables.schema import POSITIONS, SAMPLING
from .past_runs import run_folder
from .run_folder import RunFolder

FLOOR = 0.2
CHOICES = "the model's choices with --answers"


@dataclass(frozen=True)
class PeoplePlan:
    """How many people judge which tasks.

    Parameters
    ----------
    people : int
        Number of people; each judges as many tasks as the study's design says.
    seed : int, optional
        By default that of the design.
    sample : {"uniform", "strata", "uncertainty"}, optional
        How tasks are sampled from the pairs of models; by default every person has tasks drawn apart.
    each : int
        People who judge each sampled task.
    pairs : int, optional
        Tasks are sampled from the first pairs of the design only, such as those that a model was asked about.
    strata : str, optional
        Column of profiles: a stratum of pairs are those whose two profiles have the same two levels.
    judge : str, optional
        Model; tasks are sampled by its uncertainty.
    answers : Path, optional
        Its choices; by default those of the run.
    floor : float
        Share of uniform sampling where tasks are sampled by uncertainty.
    allocation : Path, optional
        With ``sample="strata"`` a table with the ``share`` of each ``stratum`` among people's tasks, as
        ``conjury power --with MODEL --strata COLUMN`` writes it; by default shares are equal.

    Examples
    --------
    >>> PeoplePlan(people=20, sample="uniform").floor
    0.2
    """

    people: int
    seed: int | None = None
    sample: str | None = None
    each: int = 1
    pairs: int | None = None
    strata: str | None = None
    judge: str | None = None
    answers: Path | None = None
    floor: float = FLOOR
    allocation: Path | None = None


def add_people(
    study: str | Path | AnyStudy, plan: PeoplePlan, *, out: str | Path | None = None
) -> DrawnDesign:
    """Add tasks of people to the design of a run, and write it; the same plan again changes nothing.

    Parameters
    ----------
    study : str, Path or study
        A study that ships, the path of a study file, or a loaded study.
    plan : PeoplePlan
        How many people judge which tasks.
    out : path, optional
        Folder of the run; by default ``runs/STUDY``. Where it has no design, that of the study file is drawn.

    Returns
    -------
    DrawnDesign
        ``.panel.tasks`` are the tasks of people. Where they were sampled from the pairs of models, they keep
        the names of these, and ``sampling_probability`` is the exact probability of each pair to be sampled,
        also in ``.tasks``, where it is missing for pairs that could not be sampled.

    Raises
    ------
    InputError
        For people and tasks that do not fit the design, an unknown sample, column or judge, and where the
        design has other tasks of people already.

    References
    ----------
    Zrnic, T., & Candès, E. J. (2024). Active statistical inference. Proceedings of the 41st International
    Conference on Machine Learning. doi:10.48550/arXiv.2403.03208

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.collecting.run_folder import RunFolder
    >>> from conjury.inference.study import load_study
    >>> study, run = load_study("moderation"), tempfile.mkdtemp()
    >>> _ = RunFolder(Path(run)).draw(study, pairs=40, swapped_share=0.0, seed=1)
    >>> design = add_people(study, PeoplePlan(people=2), out=run)
    >>> design.panel.tasks["task_id"].nunique(), len(design.asked("panel")) // 2
    (32, 30)
    """
    loaded_study, folder = _load_conjoint(study, out)
    return store_design(with_people(loaded_study, plan, folder), folder)


def with_people(study: Study, plan: PeoplePlan, folder: RunFolder) -> DrawnDesign:
    """Draw the tasks of people for the design of a run, as `add_people` does, without writing anything."""
    check_plan(study, plan, None if folder.design is None else folder.design.drawn["pairs"])
    design = _run_design(study, folder)
    facts = _plan_facts(study, design, plan)
    if design.panel is not None:
        if design.panel.drawn != facts:
            raise _other_people(design.panel, folder)
        return design
    profiles = enumerate_profiles(study)
    seed = facts["seed"]
    if plan.sample is None:
        panel = TaskPanel(draw_people(study, profiles, plan.people, seed), facts)
        return with_panel(study, design, profiles, panel)
    tasks = design_pairs(design.first_pairs(plan.pairs))
    pairs = tasks[~tasks["repeat"].to_numpy(bool)]
    names = pairs["task_id"].iloc[:: len(POSITIONS)].astype(str).tolist()
    n = sample_size(len(names), plan.people, study.design.tasks, plan.each)
    strata = None if plan.strata is None else strata_of_pairs(pairs, design.profiles, plan.strata)
    size = np.ones(len(names))
    if plan.sample == "strata":
        if strata is None:
            raise InputError("--sample strata needs a column of profiles; name it with --strata.")
        size = equal_strata(strata)
        if plan.allocation is not None:
            strata_names = names_of_strata(pairs, design.profiles, str(plan.strata))
            size = planned_sizes(strata_names, read_table(plan.allocation), str(plan.allocation))
    elif plan.sample == "uncertainty":
        source, answers = _answers_of(study, folder, plan)
        size = with_floor(answer_uncertainty(answers, names, strata, source), plan.floor)
    probability = inclusion_probabilities(size, n)
    tasks = sample_people(study, pairs, probability, plan.people, plan.each, seed, strata)
    original = design.tasks["repeat_of"].fillna(design.tasks["task_id"])
    chances = original.map(dict(zip(names, probability, strict=True))).astype("float64")
    sampled = DrawnDesign(
        design.tasks.assign(**{SAMPLING: chances}), design.profiles, design.posts, design.drawn
    )
    return with_panel(study, sampled, profiles, TaskPanel(tasks, facts))


def add_survey(
    study: str | Path | AnyStudy, path: str | Path, *, out: str | Path | None = None
) -> DrawnDesign:
    """Make the pairs of people's choices the tasks of people in a run, to ask models about them.

    Parameters
    ----------
    study
        As in `add_people`.
    path : path
        Choices of people, as from ``conjury import``; ``pair_id`` becomes the name of the task.
    out
        As in `add_people`.

    Returns
    -------
    DrawnDesign
        The design of the run with these tasks; ``.panel.tasks`` are the tasks of people.

    Raises
    ------
    InputError
        For choices without people, profiles that the study does not have, and a pair_id that names several
        pairs.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.collecting.run_folder import RunFolder
    >>> from conjury.inference.simulation import simulate
    >>> from conjury.inference.study import load_study
    >>> study, run = load_study("moderation"), Path(tempfile.mkdtemp())
    >>> _ = RunFolder(run).draw(study, pairs=40, swapped_share=0.0, seed=1)
    >>> people = simulate(study, 1, respondents=2, judges=["human"], truth=False).choices
    >>> people.to_parquet(run / "people.parquet")
    >>> len(add_survey(study, run / "people.parquet", out=run).asked("panel")) // 2
    30
    """
    loaded_study, folder = _load_conjoint(study, out)
    return store_design(with_survey(loaded_study, Path(path), folder), folder)


def with_survey(study: Study, path: Path, folder: RunFolder) -> DrawnDesign:
    """Take the tasks of people's choices into the design of a run, as `add_survey` does, without writing."""
    design = _run_design(study, folder)
    profiles = enumerate_profiles(study)
    tasks = imported_people(study, profiles, load_choices(study, path), str(path))
    facts: dict[str, Any] = {
        "name": panel_name(study),
        "people": int(tasks["judge_id"].nunique()),
        "sample": "imported",
        "choices": path.name,
    }
    panel = TaskPanel(tasks, facts)
    if design.panel is not None:
        if design.panel.sha256() != panel.sha256():
            raise _other_people(design.panel, folder)
        return design
    return with_panel(study, design, profiles, panel)


def add_raters(
    study: str | Path | AnyStudy, path: str | Path, *, out: str | Path | None = None
) -> pd.DataFrame:
    """Make the items of people's judgments those that people rate in a run, to ask models about them.

    Parameters
    ----------
    study
        As in `add_people`, of a study of items.
    path : path
        Judgments of people, as from ``conjury import``, with the item ids of the study.
    out
        As in `add_people`, of a study of items.

    Returns
    -------
    DataFrame
        Who rates what: ``rater, order, item_id, repeat``.

    Raises
    ------
    InputError
        For judgments without people, items that the study does not have, and where another assignment has
        been drawn.

    Examples
    --------
    >>> import tempfile
    >>> run = Path(tempfile.mkdtemp())
    >>> table = pd.DataFrame({"judge_id": "ann", "judge_kind": "human", "item_id": ["nobody"], "value": 1})
    >>> table.assign(dimension="novelty").to_csv(run / "ratings.csv", index=False)
    >>> add_raters("oogiri", run / "ratings.csv", out=run)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    conjury.inference.errors.InputError: ...: 1 item is not in items.csv of the study, such as nobody; ...
    """
    protocol = load_any_study(study) if isinstance(study, str | Path) else study
    if not isinstance(protocol, ItemStudy):
        raise InputError(f"Study {protocol.name} has no items; take the pairs of people's choices instead.")
    folder = run_folder(protocol, out)
    judgments = load_judgments(path, study=None)
    people = judgments[(judgments["judge_kind"] == "human").to_numpy(bool)]
    if people.empty:
        raise InputError(f"{path}: the table contains no judgments of people; give one that does.")
    rated = people[["judge_id", "item_id"]].drop_duplicates().reset_index(drop=True)
    items = set(read_table(protocol.file(protocol.items))["item_id"].astype(str))
    unknown = sorted(set(rated["item_id"].astype(str)) - items)
    if unknown:
        raise InputError(
            f"{path}: {counted(len(unknown), 'item is', 'items are')} not in {protocol.items} of the "
            f"study, such as {unknown[0]}; use the same ids in both."
        )
    table = pd.DataFrame(
        {
            "rater": rated["judge_id"].astype("string"),
            "order": rated.groupby("judge_id", sort=False).cumcount() + 1,
            "item_id": rated["item_id"].astype("string"),
            "repeat": pd.array([False] * len(rated), dtype="boolean"),
        }
    )
    save_assignment(table, folder.path / "design")
    return table


def _load_conjoint(study: str | Path | AnyStudy, out: str | Path | None) -> tuple[Study, RunFolder]:
    """Load a conjoint and name the folder of its run."""
    loaded_study = load_any_study(study) if isinstance(study, str | Path) else study
    if not isinstance(loaded_study, Study):
        raise InputError(
            f"Study {loaded_study.name} has no pairs; draw who rates its items with `conjury design`."
        )
    return loaded_study, run_folder(loaded_study, out)


def _run_design(study: Study, folder: RunFolder) -> DrawnDesign:
    """Return the design of a run, or that of the study file, which is not written."""
    stored = folder.design
    design = stored or folder.draw(study, None, None, None, keep=False)
    check_restrictions(study, design, folder.path)
    if design is stored:
        check_posts(study, design, folder.path)
    return design


def _plan_facts(study: Study, design: DrawnDesign, plan: PeoplePlan) -> dict[str, Any]:
    """State what the tasks of people depend on."""
    facts: dict[str, Any] = {
        "name": panel_name(study),
        "people": plan.people,
        "tasks": study.design.tasks,
        "repeat_first": study.design.repeat_first,
        "sample": plan.sample or "drawn",
        "seed": design.drawn["seed"] if plan.seed is None else plan.seed,
    }
    if plan.sample is not None:
        facts["each"] = plan.each
    if plan.pairs is not None:
        facts["pairs"] = plan.pairs
    if plan.strata is not None:
        facts["strata"] = plan.strata
    if plan.allocation is not None:
        facts["allocation"] = _sha256(plan.allocation, "the shares of strata with --allocation")
    if plan.sample == "uncertainty":
        facts |= {"judge": plan.judge, "floor": plan.floor}
        facts |= {} if plan.answers is None else {"answers": _sha256(plan.answers, CHOICES)}
    return facts


def check_plan(study: Study, plan: PeoplePlan, pairs: int | None = None) -> None:
    """Refuse an unknown sample, and one larger than a design of the study's pairs, or of so many."""
    if plan.sample is not None:
        if plan.sample not in SAMPLES:
            raise InputError(f"--sample {plan.sample}: write {', '.join(SAMPLES[:-1])} or {SAMPLES[-1]}.")
        n_pairs = study.design.pairs if pairs is None else pairs
        sample_size(min(n_pairs, plan.pairs or n_pairs), plan.people, study.design.tasks, plan.each)


def _sha256(path: Path, what: str) -> str:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; name {what}.")
    return file_hash(path)


def _answers_of(study: Study, folder: RunFolder, plan: PeoplePlan) -> tuple[str, pd.DataFrame]:
    """Choices of the model by whose uncertainty tasks are sampled, and their file."""
    if plan.judge is None:
        raise InputError("--sample uncertainty needs a model that has answered; name it with --judge.")
    path = folder.path / "choices.parquet" if plan.answers is None else plan.answers
    if plan.answers is None and not path.is_file():
        before = "" if (folder.path / "design").is_dir() else "draw the design without --people, "
        raise InputError(
            f"{folder.path}: this run contains no answers of models yet; {before}run `conjury collect "
            f"{study.here} --judge {plan.judge} --out {folder.path}` "
            "first, or name its choices with --answers."
        )
    kinds = {judge.id: judge.kind for judge in study.judges}
    attributes = {part.id: study.levels(part.id) for part in study.attributes}
    choices = read_choices(path, attributes, None, None, study.column_aliases, kinds)
    models = choices[(choices["judge_kind"] == "model").to_numpy(bool)]
    judges = models["judge_id"].unique().tolist()
    if plan.judge not in judges:
        raise InputError(
            f"--judge {plan.judge}: {path} has no choices of this model{did_you_mean(plan.judge, judges)}; "
            f"use one of {listed(judges)}."
        )
    return str(path), models[(models["judge_id"] == plan.judge).to_numpy(bool)]


def _other_people(panel: TaskPanel, folder: RunFolder) -> InputError:
    return InputError(
        f"{folder.path}: the design has other tasks of people already ({panel_summary(panel)}); draw the new "
        "ones into another folder with --out."
    )


def store_design(design: DrawnDesign, folder: RunFolder) -> DrawnDesign:
    """Write a design with tasks of people, unless it is the one that the run has."""
    if design is not folder.design:
        save_design(design, folder.path / "design")
        folder.__dict__["design"] = design
    return design
