"""What ``conjury simulate`` and ``conjury design`` do with studies of ratings and of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conjury.inference.errors import InputError
from conjury.inference.study.models import ItemStudy

from .loading import truth_file
from .run_words import console
from .runs import run_folder


def refuse_options(study: str, kind: str, given: Mapping[str, Any]) -> None:
    """Refuse options that belong to studies of another kind; those not given are None."""
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} is not for {study}, which is a study of {kind}; leave it out.")


def simulate_items(
    study: ItemStudy,
    out: Path,
    seed: int,
    topics: int | None,
    people: int | None,
    samples: int,
    repeats: float | None,
    judges: Sequence[str] | None,
) -> None:
    """Simulate ratings and write them with items and truth beside them."""
    from conjury.inference.simulation.ratings import simulate_ratings
    from conjury.inference.tables.files import write_table

    from .rating import items_file

    made = simulate_ratings(
        study, seed, topics=topics, people=people, judges=judges, samples=samples, repeats=repeats
    )
    for table, path, what in (
        (made.judgments, out, "rows of judgments"),
        (made.items, items_file(out), "items"),
        (made.truth, truth_file(out), "true values"),
    ):
        write_table(table, path)
        console.print(f"{len(table):,} {what} in {path}")


def simulate_answers(
    study: ItemStudy,
    out: Path,
    seed: int,
    items: int | None,
    people: int | None,
    samples: int | None,
    judges: Sequence[str] | None,
) -> None:
    """Simulate labels and write them with items, gold labels and truth beside them."""
    from conjury.inference.simulation.labels import simulate_labels
    from conjury.inference.tables.files import write_table

    from .rating import items_file, labels_file

    made = simulate_labels(study, seed, items=items, people=people, samples=samples, judges=judges)
    for table, path, what in (
        (made.judgments, out, "rows of judgments"),
        (made.items, items_file(out), "items"),
        (made.labels, labels_file(out), "gold labels"),
        (made.truth, truth_file(out), "true values"),
    ):
        write_table(table, path)
        console.print(f"{len(table):,} {what} in {path}")


def assign_items(
    study: ItemStudy, out: Path | None, people: int | None, repeats: float | None, seed: int | None
) -> None:
    """Draw who rates what and write it into the run's folder."""
    from conjury.inference.design.drawn import save_assignment
    from conjury.inference.simulation.ratings import assign_raters, read_items

    if study.assignment is None:
        raise InputError(
            f"Study {study.name} says nothing of who rates what; add 'assignment' with the columns 'within' "
            "and 'across' and the number of 'raters' to the study file."
        )
    plan = study.assignment
    if repeats is not None:
        if not 0 <= repeats <= 1:
            raise InputError(f"--repeats {repeats:g}: give a share from 0 to 1.")
        plan = plan.model_copy(update={"repeats": repeats})
    items = read_items(study)
    table = assign_raters(items, plan, people, study.collect.seed if seed is None else seed)
    folder = run_folder(study, out).path / "design"
    save_assignment(table, folder)
    load = table[~table["repeat"].astype(bool)].groupby("rater").size()
    subsets, repeated = table["subset"].nunique(), int(table["repeat"].sum())
    each = f"{load.min()} to {load.max()}" if load.min() < load.max() else f"{load.min()}"
    console.print(f"{study.title}: who rates what, in {folder}")
    console.print(
        f"  assignment.parquet, .csv  {len(items):,} items, {plan.raters} people for each; {len(load):,} "
        f"people with {each} items each; {subsets} subsets; {repeated:,} repeats"
    )
