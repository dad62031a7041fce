"""The command ``conjury design``: the pairs of a conjoint, the tasks of people, or who rates which item."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.errors import InputError, check_share, counted
from conjury.inference.tables.limits import PAIRS, RESPONDENTS

from ...automation import record
from ...options import RunFolderPath, StudyName, at_most, grouped, of_other_kind, refuse_typed, typed_options
from ...printing import console, show_count

if TYPE_CHECKING:
    from conjury.inference.collecting.people_tasks import PeoplePlan
    from conjury.inference.study.models import ItemStudy, Study
SAMPLED = ("people_per_task", "first_pairs", "strata", "allocation", "judge", "answers", "floor")


@dataclass(frozen=True)
class DesignSize:
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
            min=1,
            help="People who judge tasks of a conjoint, or who share the items of a study; for items by "
            "default the smallest possible number.",
            callback=at_most(RESPONDENTS),
        ),
    ] = None
    repeats: Annotated[
        float | None, typer.Option(help="Share of a person's items that are repeated; else the study's.")
    ] = None


@dataclass(frozen=True)
class PanelOptions:
    """Which tasks people judge."""

    panel: Annotated[
        Path | None,
        typer.Option(help="Read people's tasks from their choices, or their items from their judgments."),
    ] = None
    sample: Annotated[
        str | None,
        typer.Option(help="Sample people's tasks from the models' pairs: uniform, strata or uncertainty."),
    ] = None
    people_per_task: Annotated[
        int | None, typer.Option(min=1, help="Number of people per sampled task; by default one.")
    ] = None
    first_pairs: Annotated[
        int | None, typer.Option(min=1, help="Sample from the first pairs of the design only.")
    ] = None
    strata: Annotated[
        str | None, typer.Option(help="Column of profiles; its levels define the strata of pairs.")
    ] = None
    allocation: Annotated[
        Path | None,
        typer.Option(
            help="Shares of strata among people's tasks, from `conjury power --with MODEL --strata COLUMN`; "
            "by default all are sampled equally often."
        ),
    ] = None
    judge: Annotated[str | None, typer.Option(help="Model; tasks are sampled by its uncertainty.")] = None
    answers: Annotated[
        Path | None, typer.Option(help="Choices of this model; by default those of the run.")
    ] = None
    floor: Annotated[
        float | None,
        typer.Option(help="Uniform share of sampling by uncertainty; by default 0.2.", min=0, max=1),
    ] = None


@grouped
def design(study: StudyName, drawing: DesignSize, people: PanelOptions, out: RunFolderPath = None) -> None:
    """Draw the pairs or ratings before anyone is asked.

    The pairs of a conjoint, the tasks of people, or who rates which item.
    """
    from conjury.inference.collecting.past_runs import run_folder
    from conjury.inference.study import ItemStudy, Study, load_any_study

    from .card import show_card

    loaded_study = load_any_study(study)
    _check(drawing, people)
    if isinstance(loaded_study, ItemStudy):
        of_pairs = ("pairs", "swapped_share", "sample")
        refuse_typed(of_other_kind(study, "items"), drawing, people, only=of_pairs)
        if people.panel is not None:
            _take_raters(loaded_study, out, people.panel)
        else:
            _assign(loaded_study, out, drawing)
        return
    assert isinstance(loaded_study, Study)
    refuse_typed(of_other_kind(study, "pairs"), drawing, only=("repeats",))
    if drawing.people is None and people.panel is None:
        folder = run_folder(loaded_study, out)
        with show_count("Drawing pairs"):
            design = folder.draw(loaded_study, drawing.pairs, drawing.swapped_share, drawing.seed)
        show_card(loaded_study, design, folder)
        return
    _add_people(loaded_study, out, drawing, people)


def _check(drawing: DesignSize, people: PanelOptions) -> None:
    """Refuse options that do not go together."""
    options = typed_options(drawing, people)
    conflicts = [
        option for name, option in options.items() if name not in ("pairs", "swapped_share", "panel")
    ]
    if people.panel is not None and conflicts:
        raise InputError(
            f"--panel uses the tasks of the file, so {conflicts[0]} has no effect; omit one of the two."
        )
    if drawing.people is None:
        reason = "applies to tasks of people; add --people N, or omit it."
        refuse_typed(reason, people, only=("sample", *SAMPLED))
    if people.sample is None:
        refuse_typed("applies to sampled tasks; add --sample, or omit it.", people, only=SAMPLED)
    if people.sample != "uncertainty":
        reason = "applies to --sample uncertainty; add that, or omit it."
        refuse_typed(reason, people, only=("judge", "answers", "floor"))
    if people.allocation is not None and people.sample != "strata":
        raise InputError("--allocation applies to --sample strata; add that, or omit it.")
    if people.strata is not None and people.sample == "uniform":
        raise InputError("--strata has no effect with --sample uniform; omit it, or use --sample strata.")


def _plan(number: int, seed: int | None, people: PanelOptions) -> PeoplePlan:
    """What the options ask for."""
    from conjury.inference.collecting.people_tasks import FLOOR, PeoplePlan

    return PeoplePlan(
        number,
        seed=seed,
        sample=people.sample,
        each=people.people_per_task or 1,
        pairs=people.first_pairs,
        strata=people.strata,
        judge=people.judge,
        answers=people.answers,
        floor=FLOOR if people.floor is None else people.floor,
        allocation=people.allocation,
    )


def _add_people(study: Study, out: Path | None, drawing: DesignSize, people: PanelOptions) -> None:
    """Add tasks of people to the design of a run, and print what they are."""
    # Nothing is written before all is drawn, so that a refused command leaves no half of a design.
    from conjury.inference.collecting.past_runs import run_folder
    from conjury.inference.collecting.people_tasks import check_plan, store_design, with_people, with_survey
    from conjury.inference.design.task_panels import panel_summary

    from .card import show_card, write_design_card

    folder = run_folder(study, out)
    before, size = folder.design, (drawing.pairs, drawing.swapped_share)
    plan = None if drawing.people is None else _plan(drawing.people, drawing.seed, people)
    if plan is not None and before is None:
        check_plan(study, plan, drawing.pairs)
    if before is None or size != (None, None):
        folder.draw(study, *size, drawing.seed, keep=False)
    if plan is not None:
        new_design = with_people(study, plan, folder)
    else:
        assert people.panel is not None
        new_design = with_survey(study, people.panel, folder)
    assert new_design.panel is not None
    store_design(new_design, folder)
    if before is None:
        show_card(study, new_design, folder)
        console.print()
    elif new_design is not before:
        write_design_card(study, new_design, folder.path / "design")
    probabilities = new_design.panel.distinct()["sampling_probability"]
    between = [probabilities.min(), probabilities.max()] if probabilities.notna().any() else None
    record(
        people=panel_summary(new_design.panel), sampling_probability=between, folder=folder.path / "design"
    )
    console.print(f"{study.title}: the tasks of people in {folder.path / 'design'}")
    console.print(f"  panel_tasks.parquet, .csv  {panel_summary(new_design.panel)}")
    if between is not None:
        console.print("  sampling_probability       from {:.3g} to {:.3g}".format(*between))
    argument = study.here if out is None else f"{study.here} --out {out}"
    if new_design.panel_sha256() is not None:
        console.print(f"Next: conjury collect {argument} --judge JUDGE --tasks panel")
    elif folder.ledger.is_file():
        console.print(
            f"Next: conjury run parse {argument}, which adds sampling probabilities to the models' choices"
        )
    else:
        console.print(
            f"Next: conjury collect {argument} --judge JUDGE, which asks a model about these tasks and others"
        )


def _take_raters(study: ItemStudy, out: Path | None, path: Path) -> None:
    """Take the items that people rated elsewhere."""
    from conjury.inference.collecting.past_runs import run_folder
    from conjury.inference.collecting.people_tasks import add_raters

    folder = run_folder(study, out)
    table = add_raters(study, path, out=out)
    items, people = table["item_id"].nunique(), table["rater"].nunique()
    record(folder=folder.path / "design", assignment={"items": items, "people": people})
    size = f"{counted(items, 'item')} by {counted(people, 'person', 'people')}"
    console.print(f"{study.title}: who rates what, in {folder.path / 'design'}")
    console.print(f"  assignment.parquet, .csv  {size}, from {path}")


def _assign(study: ItemStudy, out: Path | None, drawing: DesignSize) -> None:
    """Draw who rates what and write it into the run's folder."""
    from conjury.inference.collecting.past_runs import run_folder
    from conjury.inference.design.run_design import save_assignment
    from conjury.inference.simulation.ratings import assign_raters, read_items

    plan = study.assignment
    if plan is None:
        raise InputError(
            f"Study {study.name} does not state who rates what; add 'assignment' with the columns 'within' "
            "and 'across' and the number of 'raters' to the study file."
        )
    if drawing.repeats is not None:
        check_share("--repeats", drawing.repeats, "give a share from 0 to 1", closed=True, separator=": ")
        plan = plan.model_copy(update={"repeats": drawing.repeats})
    items = read_items(study)
    seed = study.collect.seed if drawing.seed is None else drawing.seed
    table = assign_raters(items, plan, drawing.people, seed)
    folder = run_folder(study, out).path / "design"
    save_assignment(table, folder)
    load = table[~table["repeat"].astype(bool)].groupby("rater").size()
    subsets, repeated = table["subset"].nunique(), int(table["repeat"].sum())
    load_text = f"{load.min()} to {load.max()}" if load.min() < load.max() else f"{load.min()}"
    counts: dict[str, Any] = {
        "items": len(items),
        "people": len(load),
        "subsets": subsets,
        "repeats": repeated,
    }
    counts |= {"items_per_person": [load.min(), load.max()], "people_per_item": plan.raters}
    record(folder=folder, assignment=counts)
    console.print(f"{study.title}: who rates what, in {folder}")
    console.print(
        f"  assignment.parquet, .csv  {len(items):,} items, {plan.raters} people per item; {len(load):,} "
        f"people with {load_text} items each; {subsets} subsets; {repeated:,} repeats"
    )
