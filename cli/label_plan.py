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
    from conjury.analysis.pipeline.loading import LoadedStudy
    from conjury.analysis.results import Result
    from conjury.inference.study.models import Study
    from conjury.inference.study.study_fields import Analysis

MOST_STRATA = 30  # in a printed table
SHOWN = (25, 50, 100, 200, 400, 800, 1600)  # numbers of people


@dataclass(frozen=True)
class CorrectingModel:
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
class PlanRequest:
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


def plan_with_model(study: Study, model: CorrectingModel, request: PlanRequest) -> None:
    """Measure how the model's answers go with people's, and print how many people are needed."""
    from conjury.analysis.correction import label_plan
    from conjury.analysis.pipeline.robustness_steps import analysis_of_effects
    from conjury.inference.tables.columns import companion
    from conjury.inference.tables.files import write_table

    _check_costs(model, request)
    loaded = _load(study, model)
    if model.strata is not None and model.strata not in loaded.tables["choices"]:
        attribute_ids = [attribute.id for attribute in study.attributes]
        raise InputError(
            f"--strata {model.strata}: the choices have no column {model.strata}"
            f"{did_you_mean(model.strata, attribute_ids)}; name an attribute: {listed(attribute_ids)}."
        )
    analysis = analysis_of_effects(study)
    estimates, notes = _corrected_estimates(study, analysis, loaded, model, request.alpha)
    cost_pair = request.cost_pair
    if cost_pair is None:
        cost_pair, cost_notes = _cost_in_run(loaded.paths, str(model.with_model))
        notes += cost_notes
    if model.budget is not None and (request.cost_person is None or cost_pair is None):
        raise InputError("--budget needs costs; give --cost-per-respondent and --cost-per-pair.")
    people = request.respondents or study.design.respondents
    plan = label_plan(
        estimates,
        sorted({*SHOWN, people}),
        effect=request.effects,
        power=request.power,
        other=request.pairs,
        cost_person=request.cost_person,
        cost_task=cost_pair,
        budget=model.budget,
        choices=loaded.tables["choices"],
        strata=model.strata,
        alpha=request.alpha,
    )
    strata = plan.extra.get("strata")
    if strata is not None:
        strata = strata[strata["people"] == people].reset_index(drop=True)
    if request.out is not None:
        keys = ["feature", "level"]
        rows = plan.extra["rows"][[*keys, "rho", "rho_lower", "rho_upper", "saving_limit"]]
        write_table(plan.frame.merge(rows, on=keys, how="left"), request.out)
        if strata is not None:
            write_table(strata, companion(request.out, "strata"))
    if request.figure is not None:
        _draw(study, plan, request.figure)
    tables = {name: plan.extra[name] for name in ("needed", "rows", "split") if name in plan.extra}
    tables |= {} if strata is None else {"strata": strata}
    noted = list(dict.fromkeys([*plan.notes, *notes]))
    record(alpha=request.alpha, power=request.power, people=people, levels=plan.frame, notes=noted, **tables)
    record(files=[] if request.figure is None else [request.figure])
    _print(study, analysis, plan, request)
    if strata is not None:
        _print_strata(study, str(model.strata), strata, request)
    console = wide_console()
    for note in noted:
        console.print(f"Note: {note}")
    if request.out is not None:
        console.print(f"All levels and numbers of people in {request.out}")
    if request.figure is not None:
        console.print(f"Figure in {request.figure}")


def _check_costs(model: CorrectingModel, request: PlanRequest) -> None:
    """Refuse a budget that buys nobody, or anybody."""
    if model.budget is None:
        return
    if not 0 <= model.budget < math.inf:
        raise InputError(f"--budget is {model.budget:g}; give a cost of 0 or more.")
    if request.cost_person == 0:
        raise InputError(
            "--cost-per-respondent is 0, so --budget buys any number of people; give their cost."
        )
    if request.cost_person is not None and model.budget < 2 * request.cost_person:
        raise InputError(f"--budget {model.budget:g} is enough for fewer than two people; give a larger one.")


def _load(study: Study, model: CorrectingModel) -> LoadedStudy:
    from conjury.analysis.pipeline.loading import FileSelection, read_choices_of, stored_choices
    from conjury.inference.readers.prepare import judge_of
    from conjury.inference.tables.columns import as_text

    if (model.data is None) == (model.results is None):
        raise InputError(
            "--with estimates how a model's answers relate to people's; give choices of both by --data, or "
            "the folder of `conjury fit` by --results."
        )
    if model.results is not None:
        loaded = stored_choices(study, model.results, FileSelection())
    else:
        loaded = read_choices_of(study, list(model.data or ()))
    choices = loaded.tables["choices"]
    model_choices = choices[as_text(choices["judge_kind"]) == "model"]
    models = [str(name) for name in judge_of(model_choices).unique()]
    if model.with_model not in models:
        if not models:
            raise InputError("--with: the choices contain no answers of models; add their file by --data.")
        hint = did_you_mean(str(model.with_model), models)
        raise InputError(
            f"--with {model.with_model}: the choices have no such model{hint}; they have {listed(models)}."
        )
    if len(model_choices) == len(choices):
        raise InputError("--with: the choices contain no answers of people; add their file by --data.")
    return loaded


def _corrected_estimates(
    study: Study, analysis: Analysis, loaded: LoadedStudy, model: CorrectingModel, alpha: float
) -> tuple[Estimates, list[str]]:
    """Effects among people corrected by the model, with what was noted."""
    from conjury.analysis.conjoint import amce
    from conjury.analysis.pipeline.runner import warnings_noted

    notes = list(loaded.source()["notes"])
    with warnings_noted(notes, analysis.name):
        estimates = amce(
            analysis.select(loaded.tables["choices"]),
            analysis.formula,
            id=study.clusters.of("human"),
            alpha=alpha,
            correct="ppi",
            model=str(model.with_model),
        )
    return estimates, notes


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
        responses = table[(table["judge_id"].astype("string") == model).to_numpy(bool)]
        if responses.empty or "cost" not in responses or responses["cost"].isna().all():
            continue
        pair = responses["task_id"].astype("string").str.removesuffix("_swapped")
        has_cost = ~pair.isin(pair[responses["cost"].isna()])
        pairs = pair[has_cost].nunique()
        if not pairs:
            return None, [
                f"Every pair has an answer of {model} without a cost in {file.name}, so the cost per pair "
                "is not known; give it by --cost-per-pair."
            ]
        cost = float(responses["cost"][has_cost].sum()) / pairs
        notes = [f"A pair of the model costs {cost:.4g}, as in the run."]
        if pairs < pair.nunique():
            notes.append(
                f"{pair.nunique() - pairs:,} of {pair.nunique():,} pairs have an answer of {model} without a "
                "cost and are excluded from this cost."
            )
        return cost, notes
    return None, []


def _draw(study: Study, plan: Result, file: Path) -> None:
    from conjury.analysis.figures import save

    judges = {("judges", name): label for name, label in study.judge_labels.items()}
    save(plan.plot(labels=judges), file.with_suffix(""), formats=(file.suffix[1:].lower(),))


def _print(study: Study, analysis: Analysis, plan: Result, request: PlanRequest) -> None:
    console = wide_console()
    size, rows = plan.settings, plan.extra["rows"]
    names = " and ".join(study.judge_labels.get(name, name) for name in size["model"])
    console.print(
        f"{study.title}\n{analysis.title}: {size['people']:,.0f} people with {size['tasks']:.3g} tasks each, "
        f"corrected by {names} with answers to {size['other']:,.0f} other pairs\n"
        f"Two-sided tests at alpha {request.alpha:.3g}"
    )
    ranked_rows = rows.sort_values("sd", ascending=False, kind="stable").drop_duplicates("feature")
    hardest = ranked_rows.sort_index()
    _print_needed(study, plan, hardest, request)
    _print_sizes(study, plan, ranked_rows.iloc[0], request)
    if "split" in plan.extra:
        _print_split(study, plan, hardest, request)


def _print_needed(study: Study, plan: Result, hardest: pd.DataFrame, request: PlanRequest) -> None:
    console = wide_console()
    console.print(f"\nPeople needed for power {request.power:g}, hardest level of each attribute")
    needed = plan.extra["needed"]
    has_costs = needed["cost"].notna().any()
    heads = ["rho", "95%\ninterval", "saving\nat most", "people\nalone", "with\nmodel"]
    table = _table(["Effect", "Attribute"], [*heads, *(("cost\nalone", "with\nmodel") if has_costs else ())])
    for effect in request.effects:
        for row in hardest.to_dict("records"):
            needed_row = needed[_has_level(needed, row) & (needed["effect"] == effect)].iloc[0]
            cells = [f"{row['rho']:.2f}", f"{row['rho_lower']:.2f}, {row['rho_upper']:.2f}"]
            cells += [
                f"{1 - 1 / row['saving_limit']:.0%}",
                _people(needed_row["people_human"]),
                _people(needed_row["people"]),
            ]
            if has_costs:
                cells += [f"{needed_row['cost_human']:,.0f}", f"{needed_row['cost']:,.0f}"]
            table.add_row(f"{effect:g}", study.feature_labels[str(row["feature"])], *cells)
    console.print(table)


def _table(text_headings: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table of names on the left and numbers on the right."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in text_headings:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _print_sizes(study: Study, plan: Result, row: Any, request: PlanRequest) -> None:
    console = wide_console()
    effect = request.effects[0]
    console.print(
        f"\n{100 * (1 - request.alpha):g}% interval of {_level(study, row)}, and power for an effect of "
        f"{effect:g}"
    )
    frame = plan.frame[_has_level(plan.frame, row) & (plan.frame["effect"] == effect)]
    has_costs = frame["cost"].notna().any()
    heads = ["width\nalone", "with\nmodel", "power\nalone", "with\nmodel"]
    table = _table(["People"], [*heads, *(("cost\nalone", "with\nmodel") if has_costs else ())])
    for size_row in frame.to_dict("records"):
        cells = [f"{size_row[name]:.3f}" for name in ("width_human", "width")]
        cells += [f"{size_row[name]:.2f}" for name in ("power_human", "power")]
        if has_costs:
            cells += [f"{size_row[name]:,.0f}" for name in ("cost_human", "cost")]
        table.add_row(f"{size_row['people']:,}", *cells)
    console.print(table)


def _print_split(study: Study, plan: Result, hardest: pd.DataFrame, request: PlanRequest) -> None:
    console = wide_console()
    budget = f"{request.currency} {money(plan.settings['budget'])}".strip()
    split = plan.extra["split"]
    n_people = f"{split['people_alone'].iloc[0]:,.0f}"
    console.print(
        f"\nBest split of {budget}, enough for {n_people} people without a model; the model also answers "
        f"their tasks"
    )
    table = _table(["For"], ["people", "other\npairs", "standard\nerror", "people\nalone"])
    split_rows = [(split[split["overall"]].iloc[0], "All effects together")]
    for row in hardest.to_dict("records"):
        split_rows.append((split[_has_level(split, row)].iloc[0], _level(study, row)))
    for split_row, label in split_rows:
        errors = [split_row["std_error"], split_row["std_error_human"]]
        error_texts = ["" if math.isnan(error) else f"{error:.4f}" for error in errors]
        other_pairs = "unlimited" if math.isinf(split_row["other"]) else f"{split_row['other']:,.0f}"
        table.add_row(label, f"{split_row['people']:,.0f}", other_pairs, *error_texts)
    console.print(table)


def _print_strata(study: Study, column: str, strata: pd.DataFrame, request: PlanRequest) -> None:
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
    ranked_strata = strata.sort_values("share", ascending=False, kind="stable")
    for row in ranked_strata.head(MOST_STRATA).to_dict("records"):
        table.add_row(
            " | ".join(labels.get(level, level) for level in str(row["stratum"]).split(BETWEEN)),
            f"{row['tasks_model']:,}",
            f"{row['tasks_both']:,}",
            f"{row['residual_sd']:.3f}",
            f"{row['share']:.1%}",
            f"{row['tasks']:,.0f}",
        )
    console.print(table)
    if len(ranked_strata) > MOST_STRATA:
        console.print(f"and {len(ranked_strata) - MOST_STRATA:,} strata with smaller shares")
    file = "FILE" if request.out is None else companion(request.out, "strata")
    hint = "" if request.out is not None else " (--out writes FILE)"
    console.print(
        f"Next: conjury design {study.here} --people {people} --sample strata --strata {column} --allocation "
        f"{file} --out FOLDER{hint}"
    )


def _has_level(frame: pd.DataFrame, row: Any) -> pd.Series[bool]:
    """Rows about the level of a row."""
    same = (frame[name].astype("string") == str(row[name]) for name in ("feature", "level"))
    return (next(same) & next(same)).fillna(False).astype(bool)


def _level(study: Study, row: Any) -> str:
    feature, level = str(row["feature"]), str(row["level"])
    return f"{study.feature_labels[feature]}: {study.level_labels[feature].get(level, level)}"


def _people(size: float) -> str:
    return f"{size:,.0f}" if math.isfinite(size) else "no number"
