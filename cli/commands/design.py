"""The command ``conjury design``: the pairs of a conjoint, or who rates which item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError
from conjury.inference.tables.limits import PAIRS, RESPONDENTS

from ..options import RunFolderPath, StudyName, at_most, grouped, refuse_options
from ..printing import console

if TYPE_CHECKING:
    from pathlib import Path

    from conjury.inference.study.models import ItemStudy


@dataclass(frozen=True)
class Drawing:
    """How large a design is, and its seed."""

    pairs: Annotated[
        int | None,
        typer.Option(help="Pairs that every model judges; else the study's.", callback=at_most(PAIRS)),
    ] = None
    swapped_share: Annotated[
        float | None, typer.Option(help="Share of these pairs that are repeated with positions swapped.")
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Same seed, same design.")] = None
    people: Annotated[
        int | None,
        typer.Option(
            help="People who share the items of a study; by default as few as can be.",
            callback=at_most(RESPONDENTS),
        ),
    ] = None
    repeats: Annotated[
        float | None, typer.Option(help="Share of a person's items that are repeated; else the study's.")
    ] = None


@grouped
def design(study: StudyName, drawing: Drawing, out: RunFolderPath = None) -> None:
    """Draw the pairs of a conjoint, or who rates which item, before anyone is asked."""
    from conjury.inference.study import ItemStudy, load_any_study

    from .card import draw_card as draw

    known = load_any_study(study)
    if isinstance(known, ItemStudy):
        refuse_options(study, "items", {"--pairs": drawing.pairs, "--swapped-share": drawing.swapped_share})
        _assign(known, out, drawing)
        return
    refuse_options(study, "pairs", {"--people": drawing.people, "--repeats": drawing.repeats})
    draw(study, out, drawing.pairs, drawing.swapped_share, drawing.seed)


def _assign(study: ItemStudy, out: Path | None, drawing: Drawing) -> None:
    """Draw who rates what and write it into the run's folder."""
    from conjury.inference.collecting.past_runs import run_folder
    from conjury.inference.design.drawn import save_assignment
    from conjury.inference.simulation.ratings import assign_raters, read_items

    plan = study.assignment
    if plan is None:
        raise InputError(
            f"Study {study.name} does not state who rates what; add 'assignment' with the columns 'within' "
            "and 'across' and the number of 'raters' to the study file."
        )
    if drawing.repeats is not None:
        if not 0 <= drawing.repeats <= 1:
            raise InputError(f"--repeats {drawing.repeats:g}: give a share from 0 to 1.")
        plan = plan.model_copy(update={"repeats": drawing.repeats})
    items = read_items(study)
    seed = study.collect.seed if drawing.seed is None else drawing.seed
    table = assign_raters(items, plan, drawing.people, seed)
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
