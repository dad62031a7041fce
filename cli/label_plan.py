"""How many people a study needs with the answers of a model, for ``conjury power STUDY --with MODEL``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from conjury.inference.errors import InputError, did_you_mean, listed

from .automation import record
from .printing import money, wide_console

if TYPE_CHECKING:
    import pandas as pd

    from conjury.analysis.conjoint.estimates import Estimates
    from conjury.analysis.pipeline.loading import Loaded
    from conjury.analysis.results import Result
    from conjury.inference.study.models import Study
    from conjury.inference.study.parts import Analysis

MOST_STRATA = 30  # in a printed table
SHOWN = (25, 50, 100, 200, 400, 800, 1600)  # numbers of people


@dataclass(frozen=True)
class WithModel:
    """A model whose answers correct those of people, and where both are."""

    with_model: Annotated[
        str | None,
        typer.Option(
            "--with", help="Plan how many people are needed with this model, from choices of both (--data)."
        ),
    ] = None
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", help="With --with: choices of people and the model; can be repeated."),
    ] = None
    results: Annotated[
        Path | None, typer.Option("--results", help="With --with: results folder whose choices are used.")
    ] = None
    budget: Annotated[
        float | None, typer.Option(help="With --with: total cost, split between people and the model.")
    ] = None
    strata: Annotated[
        str | None,
        typer.Option(help="With --with: column of profiles; its levels define the strata of people's tasks."),
    ] = None

    def check_absent(self) -> None:
        """Refuse the other options where --with is missing."""
        for name in ("data", "results", "budget", "strata"):
            if getattr(self, name) is not None:
                raise InputError(f"--{name} applies to --with; add a model, or omit it.")


@dataclass(frozen=True)
class Asked:
    """Effects, sizes, costs and test of a plan; costs None where they are not known."""

    effects: Sequence[float]
    respondents: int | None
    pairs: int | None
    cost_person: float | None
    cost_pair: float | None
    currency: str
    power: float
    alpha: float
    out: Path | None
    figure: Path | None


def plan_with_model(study: Study, model: WithModel, asked: Asked) -> None:
    """Measure how the model's answers go with people's, and print how many people are needed."""
    from conjury.analysis.correction import label_plan
    from conjury.analysis.pipeline.robustness import analysis_of_effects
    from conjury.inference.tables.columns import companion
    from conjury.inference.tables.files import write_table

    _check_costs(model, asked)
    loaded = _load(study, model)
    if model.strata is not None and model.strata not in loaded.tables["choices"]:
        known = [attribute.id for attribute in study.attributes]
        raise InputError(
            f"--strata {model.strata}: the choices have no column {model.strata}"
            f"{did_you_mean(model.strata, known)}; name an attribute: {listed(known)}."
        )
    analysis = analysis_of_effects(study)
    found, notes = _corrected(study, analysis, loaded, model, asked.alpha)
    cost_pair = asked.cost_pair
    if cost_pair is None:
        cost_pair, told = _cost_in_run(loaded.paths, str(model.with_model))
        notes += told
    if model.budget is not None and (asked.cost_person is None or cost_pair is None):
        raise InputError("--budget needs costs; give --cost-per-respondent and --cost-per-pair.")
    people = asked.respondents or study.design.respondents
    plan = label_plan(
        found,
        sorted({*SHOWN, people}),
        effect=asked.effects,
        power=asked.power,
        other=asked.pairs,
        cost_person=asked.cost_person,
        cost_task=cost_pair,
        budget=model.budget,
        choices=loaded.tables["choices"],
        strata=model.strata,
        alpha=asked.alpha,
    )
    strata = plan.extra.get("strata")
    if strata is not None:
        strata = strata[strata["people"] == people].reset_index(drop=True)
    if asked.out is not None:
        keys = ["feature", "level"]
        rows = plan.extra["rows"][[*keys, "rho", "rho_lower", "rho_upper", "saving_limit"]]
        write_table(plan.frame.merge(rows, on=keys, how="left"), asked.out)
        if strata is not None:
            write_table(strata, companion(asked.out, "strata"))
    if asked.figure is not None:
        _draw(study, plan, asked.figure)
    further = {name: plan.extra[name] for name in ("needed", "rows", "split") if name in plan.extra}
    further |= {} if strata is None else {"strata": strata}
    noted = list(dict.fromkeys([*plan.notes, *notes]))
    record(alpha=asked.alpha, power=asked.power, people=people, levels=plan.frame, notes=noted, **further)
    record(files=[] if asked.figure is None else [asked.figure])
    _print(study, analysis, plan, asked)
    if strata is not None:
        _print_strata(study, str(model.strata), strata, asked)
    console = wide_console()
    for note in noted:
        console.print(f"Note: {note}")
    if asked.out is not None:
        console.print(f"All levels and numbers of people in {asked.out}")
    if asked.figure is not None:
        console.print(f"Figure in {asked.figure}")


def _check_costs(model: WithModel, asked: Asked) -> None:
    """Refuse a budget that buys nobody, or anybody."""
    if model.budget is None:
        return
    if not 0 <= model.budget < math.inf:
        raise InputError(f"--budget is {model.budget:g}; give a cost of 0 or more.")
    if asked.cost_person == 0:
        raise InputError(
            "--cost-per-respondent is 0, so --budget buys any number of people; give their cost."
        )
    if asked.cost_person is not None and model.budget < 2 * asked.cost_person:
        raise InputError(f"--budget {model.budget:g} is enough for fewer than two people; give a larger one.")


def _load(study: Study, model: WithModel) -> Loaded:
    from conjury.analysis.pipeline.loading import Selection, kept_choices, read_choices_of
    from conjury.inference.readers.prepare import judge_of
    from conjury.inference.tables.columns import as_text

    if (model.data is None) == (model.results is None):
        raise InputError(
            "--with estimates how a model's answers relate to people's; give choices of both by --data, or "
            "the folder of `conjury fit` by --results."
        )
    if model.results is not None:
        loaded = kept_choices(study, model.results, Selection())
    else:
        loaded = read_choices_of(study, list(model.data or ()))
    choices = loaded.tables["choices"]
    asked = choices[as_text(choices["judge_kind"]) == "model"]
    known = [str(name) for name in judge_of(asked).unique()]
    if model.with_model not in known:
        if not known:
            raise InputError("--with: the choices contain no answers of models; add their file by --data.")
        hint = did_you_mean(str(model.with_model), known)
        raise InputError(
            f"--with {model.with_model}: the choices have no such model{hint}; they have {listed(known)}."
        )
    if len(asked) == len(choices):
        raise InputError("--with: the choices contain no answers of people; add their file by --data.")
    return loaded


def _corrected(
    study: Study, analysis: Analysis, loaded: Loaded, model: WithModel, alpha: float
) -> tuple[Estimates, list[str]]:
    """Effects among people corrected by the model, with what was noted."""
    from conjury.analysis.conjoint import amce
    from conjury.analysis.pipeline.run import warnings_noted

    notes = list(loaded.source()["notes"])
    with warnings_noted(notes, analysis.name):
        found = amce(
            analysis.select(loaded.tables["choices"]),
            analysis.formula,
            id=study.clusters.of("human"),
            alpha=alpha,
            correct="ppi",
            model=str(model.with_model),
        )
    return found, notes


def _cost_in_run(paths: Sequence[Path], model: str) -> tuple[float | None, list[str]]:
    """What a pair cost in the run beside the choices, with all prompts, samples and repeats, and notes."""
    # Pairs with an answer whose cost is not stated do not count.
    from conjury.inference.tables.columns import responses_beside
    from conjury.inference.tables.files import read_table

    for path in paths:
        file = responses_beside(path)
        if file is None:
            continue
        table = read_table(file, "responses")
        own = table[(table["judge_id"].astype("string") == model).to_numpy(bool)]
        if own.empty or "cost" not in own or own["cost"].isna().all():
            continue
        pair = own["task_id"].astype("string").str.removesuffix("_swapped")
        stated = ~pair.isin(pair[own["cost"].isna()])
        pairs = pair[stated].nunique()
        if not pairs:
            return None, [
                f"Every pair has an answer of {model} without a cost in {file.name}, so the cost per pair "
                "is not known; give it by --cost-per-pair."
            ]
        cost = float(own["cost"][stated].sum()) / pairs
        told = [f"A pair of the model costs {cost:.4g}, as in the run."]
        if pairs < pair.nunique():
            told.append(
                f"{pair.nunique() - pairs:,} of {pair.nunique():,} pairs have an answer of {model} without a "
                "cost and are excluded from this cost."
            )
        return cost, told
    return None, []


def _draw(study: Study, plan: Result, file: Path) -> None:
    from conjury.analysis.figures import save

    judges = {("judges", name): label for name, label in study.judge_labels.items()}
    save(plan.plot(labels=judges), file.with_suffix(""), formats=(file.suffix[1:].lower(),))


def _print(study: Study, analysis: Analysis, plan: Result, asked: Asked) -> None:
    console = wide_console()
    made, rows = plan.settings, plan.extra["rows"]
    names = " and ".join(study.judge_labels.get(name, name) for name in made["model"])
    console.print(
        f"{study.title}\n{analysis.title}: {made['people']:,.0f} people with {made['tasks']:.3g} tasks each, "
        f"corrected by {names} with answers to {made['other']:,.0f} other pairs\n"
        f"Two-sided tests at alpha {asked.alpha:.3g}"
    )
    ordered = rows.sort_values("sd", ascending=False, kind="stable").drop_duplicates("feature")
    hardest = ordered.sort_index()
    _print_needed(study, plan, hardest, asked)
    _print_sizes(study, plan, ordered.iloc[0], asked)
    if "split" in plan.extra:
        _print_split(study, plan, hardest, asked)


def _print_needed(study: Study, plan: Result, hardest: pd.DataFrame, asked: Asked) -> None:
    console = wide_console()
    console.print(f"\nPeople needed for power {asked.power:g}, hardest level of each attribute")
    needed = plan.extra["needed"]
    priced = needed["cost"].notna().any()
    heads = ["rho", "95%\ninterval", "saving\nat most", "people\nalone", "with\nmodel"]
    table = _table(["Effect", "Attribute"], [*heads, *(("cost\nalone", "with\nmodel") if priced else ())])
    for effect in asked.effects:
        for row in hardest.to_dict("records"):
            own = needed[_is(needed, row) & (needed["effect"] == effect)].iloc[0]
            cells = [f"{row['rho']:.2f}", f"{row['rho_lower']:.2f}, {row['rho_upper']:.2f}"]
            cells += [
                f"{1 - 1 / row['saving_limit']:.0%}",
                _people(own["people_human"]),
                _people(own["people"]),
            ]
            if priced:
                cells += [f"{own['cost_human']:,.0f}", f"{own['cost']:,.0f}"]
            table.add_row(f"{effect:g}", study.feature_labels[str(row["feature"])], *cells)
    console.print(table)


def _table(named: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table of names on the left and numbers on the right."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in named:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _print_sizes(study: Study, plan: Result, row: Any, asked: Asked) -> None:
    console = wide_console()
    effect = asked.effects[0]
    console.print(
        f"\n{100 * (1 - asked.alpha):g}% interval of {_level(study, row)}, and power for an effect of "
        f"{effect:g}"
    )
    frame = plan.frame[_is(plan.frame, row) & (plan.frame["effect"] == effect)]
    priced = frame["cost"].notna().any()
    heads = ["width\nalone", "with\nmodel", "power\nalone", "with\nmodel"]
    table = _table(["People"], [*heads, *(("cost\nalone", "with\nmodel") if priced else ())])
    for own in frame.to_dict("records"):
        cells = [f"{own[name]:.3f}" for name in ("width_human", "width")]
        cells += [f"{own[name]:.2f}" for name in ("power_human", "power")]
        if priced:
            cells += [f"{own[name]:,.0f}" for name in ("cost_human", "cost")]
        table.add_row(f"{own['people']:,}", *cells)
    console.print(table)


def _print_split(study: Study, plan: Result, hardest: pd.DataFrame, asked: Asked) -> None:
    console = wide_console()
    spent = f"{asked.currency} {money(plan.settings['budget'])}".strip()
    split = plan.extra["split"]
    alone = f"{split['people_alone'].iloc[0]:,.0f}"
    console.print(
        f"\nBest split of {spent}, enough for {alone} people without a model; the model also answers "
        f"their tasks"
    )
    table = _table(["For"], ["people", "other\npairs", "standard\nerror", "people\nalone"])
    chosen = [(split[split["overall"]].iloc[0], "All effects together")]
    for row in hardest.to_dict("records"):
        chosen.append((split[_is(split, row)].iloc[0], _level(study, row)))
    for own, label in chosen:
        errors = [own["std_error"], own["std_error_human"]]
        shown = ["" if math.isnan(error) else f"{error:.4f}" for error in errors]
        other = "unlimited" if math.isinf(own["other"]) else f"{own['other']:,.0f}"
        table.add_row(label, f"{own['people']:,.0f}", other, *shown)
    console.print(table)


def _print_strata(study: Study, column: str, strata: pd.DataFrame, asked: Asked) -> None:
    """Print how many tasks to give to people in each stratum, the largest shares first."""
    from conjury.inference.design.sampling import BETWEEN
    from conjury.inference.tables.columns import companion

    console = wide_console()
    people = int(strata["people"].iloc[0])
    console.print(
        f"\nTasks of {people:,} people by {study.feature_labels.get(column, column)} of both profiles"
    )
    heads = ["tasks of\nmodel", "of both", "residual\nsd", "share", "tasks for\npeople"]
    table = _table(["Stratum"], heads)
    labels = study.level_labels.get(column, {})
    ordered = strata.sort_values("share", ascending=False, kind="stable")
    for row in ordered.head(MOST_STRATA).to_dict("records"):
        table.add_row(
            " | ".join(labels.get(level, level) for level in str(row["stratum"]).split(BETWEEN)),
            f"{row['tasks_model']:,}",
            f"{row['tasks_both']:,}",
            f"{row['residual_sd']:.3f}",
            f"{row['share']:.1%}",
            f"{row['tasks']:,.0f}",
        )
    console.print(table)
    if len(ordered) > MOST_STRATA:
        console.print(f"and {len(ordered) - MOST_STRATA:,} strata with smaller shares")
    file = "FILE" if asked.out is None else companion(asked.out, "strata")
    written = "" if asked.out is not None else " (--out writes FILE)"
    console.print(
        f"Next: conjury design {study.here} --people {people} --sample strata --strata {column} --allocation "
        f"{file} --out FOLDER{written}"
    )


def _is(frame: pd.DataFrame, row: Any) -> pd.Series[bool]:
    """Rows about the level of a row."""
    same = (frame[name].astype("string") == str(row[name]) for name in ("feature", "level"))
    return (next(same) & next(same)).fillna(False).astype(bool)


def _level(study: Study, row: Any) -> str:
    feature, level = str(row["feature"]), str(row["level"])
    return f"{study.feature_labels[feature]}: {study.level_labels[feature].get(level, level)}"


def _people(size: float) -> str:
    return f"{size:,.0f}" if math.isfinite(size) else "no number"
