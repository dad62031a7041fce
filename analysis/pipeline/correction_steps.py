"""Ratings and labels among people with the help of models, as steps; who may be named for any correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.readers.judged.gold_labels import majority_labels, notes_of_majority
from conjury.inference.readers.prepare import judge_of
from conjury.inference.study.models import LINE, ItemStudy
from conjury.inference.tables.columns import UNPERTURBED, as_text, names_of
from conjury.inference.tables.items import refuse_two_values
from conjury.inference.tables.schema import SAMPLING

from ..benchmark import score, scores
from ..benchmark.data.scoring import Scored
from ..benchmark.data.units import conditions_of
from ..benchmark.parse_status import WRONG
from ..correction.correction_methods import CovariateAdjustment, PredictThenDebias
from ..correction.sources import AT_MOST_HALF
from ..frames.notes import Note, excluding, note_under
from ..frames.vocabulary import HUMAN
from ..raters.descriptive import means, prediction_powered
from ..raters.scales import dimension_names, with_items
from ..results import AnalysisStep, Result
from .runner import FitOptions

NAMED_IN = ("judge_id", "panel", "judge_kind")
GOLD = "gold"  # judge of gold labels, where no person is among the judges
WHOLE = "whole_item"  # column: the item of a line


def title_of(title: str) -> str:
    """The title of an analysis among people with the help of models."""
    return f"{title}: people, corrected by models"


Method = PredictThenDebias | CovariateAdjustment


def check_sources(table: pd.DataFrame, method: Method, what: str, remedy: str) -> None:
    """Refuse names that no row of choices or judgments (``what``) has, or that are of the other kind."""
    judges = [str(name) for name in judge_of(table).unique()]
    all_names = [*judges, *as_text(table["judge_id"]).dropna().unique()]
    for kind, names in (("human", method.human), ("model", method.model)):
        for name in names_of(names):
            rows = _rows_named(table, [name])
            if not rows.any() and name == kind:
                lacking = "people" if kind == "human" else "models"
                raise InputError(
                    f"--correct {method.name} needs {what} of people and of models, and there are none "
                    f"of {lacking}; {remedy}."
                )
            if not rows.any():
                raise InputError(
                    f"--{kind} {name}: the {what} have no such judge, panel or kind of judge"
                    f"{did_you_mean(name, all_names)}; they have {listed(judges)}."
                )
            if not (table["judge_kind"][rows] == kind).all():
                description = "a model, not people" if kind == "human" else "people, not a model"
                raise InputError(f"--{kind} {name}: by the {what}, this is {description}; name another.")


def _rows_named(table: pd.DataFrame, names: str | Sequence[str]) -> np.ndarray:
    """Flag the rows of judges, panels or kinds of judges, shape (n,)."""
    answerers = table[[name for name in NAMED_IN if name in table]].astype("string")
    return answerers.isin(names_of(names)).any(axis=1).to_numpy(dtype=bool)


@dataclass(frozen=True)
class _Helpers:
    """Models that can help, the dimensions on which they do, and who or what was excluded."""

    models: list[str]
    dimensions: list[str] | None
    notes: list[str]


def _find_helpers(judgments: pd.DataFrame, method: Method) -> _Helpers:
    """Find the models that answered items of people and others, on every dimension that people answered."""
    # A model that is named by its id is never excluded, so that the estimator refuses it with the reason.
    people, of_models = _rows_named(judgments, method.human), _rows_named(judgments, method.model)
    usable = (as_text(judgments["status"]).eq("ok") & judgments["value"].notna()).to_numpy(dtype=bool)
    judge, item = (as_text(judgments[name]).to_numpy(dtype=object) for name in ("judge_id", "item_id"))
    models = [str(name) for name in dict.fromkeys(judge[of_models])]
    dimensions = [name for name in dimension_names(judgments) if name is not None]
    helps: dict[str, list[str]] = {}
    for dimension in dimensions:
        here = as_text(judgments["dimension"]).eq(dimension).to_numpy(dtype=bool)
        labelled = set(item[here & people & usable])
        for name in models if labelled else ():
            judge_rows = here & (judge == name)
            items = set(item[judge_rows])
            if (judge_rows & usable).any() and items & labelled and items - labelled:
                helps.setdefault(dimension, []).append(name)
    if not helps:
        return _Helpers(models, None, [])
    helping_models = [
        name
        for name in models
        if name in names_of(method.model) or all(name in helpers for helpers in helps.values())
    ]
    excluded = [name for name in models if name not in helping_models]
    other_dimensions = [name for name in dimensions if name not in helps]
    notes: list[str] = []
    if excluded:
        text = (
            "{judges}: excluded from the correction, since usable answers to items that people answered "
            "and to others are missing."
        )
        notes.append(excluding(text, judges=excluded))
    if other_dimensions:
        text = "{dimensions}: not corrected, since people or models gave no usable answer."
        notes.append(Note.of(text, dimensions=other_dimensions))
    return _Helpers(helping_models or models, [name for name in dimensions if name in helps], notes)


def means_steps(
    study: ItemStudy,
    judgments: pd.DataFrame,
    items: pd.DataFrame | None,
    options: FitOptions,
    title: str,
    **where: Any,
) -> tuple[AnalysisStep, ...]:
    """Plan people's mean ratings with the help of models; ``where`` has options of `means`."""
    if options.correct is None:
        return ()
    check_sources(judgments, options.correct, "judgments", "add them with --data")
    call = partial(_means, judgments, items, options, options.correct, cluster=study.cluster, **where)
    return (AnalysisStep("means_corrected", title_of(title), call, required=True),)


def _means(
    judgments: pd.DataFrame,
    items: pd.DataFrame | None,
    options: FitOptions,
    method: Method,
    **where: Any,
) -> Result:
    helped = _find_helpers(judgments, method)
    result = means(
        judgments,
        items,
        dimensions=helped.dimensions,
        overall=bool(where["by"]),
        alpha=options.alpha,
        correct=PredictThenDebias(
            method.human,
            helped.models,
            seed=options.seed,
            calibration=isinstance(method, PredictThenDebias) and method.calibration,
        ),
        **where,
    )
    return replace(result, notes=(*helped.notes, *result.notes))


def label_steps(
    study: ItemStudy,
    judgments: pd.DataFrame,
    items: pd.DataFrame | None,
    gold: pd.DataFrame | None,
    options: FitOptions,
) -> tuple[AnalysisStep, ...]:
    """Plan shares of labels among people, and scores of judges against people's labels."""
    # Where no person is among the judges, the gold labels are those of people.
    method = options.correct
    if method is None:
        return ()
    if isinstance(method, PredictThenDebias) and method.calibration:
        raise InputError(
            f"--calibration: {study.name} is a study of labels, which have no order, so that no monotone map "
            "of them exists; omit it."
        )
    is_unperturbed = conditions_of(judgments, items).eq(UNPERTURBED).to_numpy(dtype=bool)
    table = _without_prompts(_in_classes(judgments[is_unperturbed], study))
    if gold is not None and names_of(method.human) == [HUMAN] and not _rows_named(table, method.human).any():
        table = pd.concat([table, _as_judgments(gold, study)], ignore_index=True)
    check_sources(table, method, "judgments", "add them with --data")
    labels = partial(_shares, study, table, items, options, method)
    judged = partial(_scores, study, table, _with_probabilities(items, table, method), options, method)
    return (
        AnalysisStep("shares_corrected", title_of("Shares of labels"), labels, required=True),
        AnalysisStep("scores_corrected", title_of("Scores of judges"), judged),
    )


def _with_probabilities(
    items: pd.DataFrame | None, table: pd.DataFrame, method: Method
) -> pd.DataFrame | None:
    """Items with the sampling probabilities that people's judgments state, where the items have none."""
    if SAMPLING not in table or (items is not None and SAMPLING in items):
        return items
    probability_rows = table[_rows_named(table, method.human) & table[SAMPLING].notna().to_numpy(bool)]
    if probability_rows.empty:
        return items
    refuse_two_values(probability_rows, "item_id", [SAMPLING], "judgments")
    of_item = probability_rows.drop_duplicates("item_id").set_index(
        as_text(probability_rows["item_id"]).drop_duplicates()
    )
    base_items = table[["item_id"]].drop_duplicates() if items is None else items
    return base_items.assign(**{SAMPLING: as_text(base_items["item_id"]).map(of_item[SAMPLING])})


def _in_classes(judgments: pd.DataFrame, study: ItemStudy) -> pd.DataFrame:
    """Judgments whose labels are classes, where people's labels are finer than those of models."""
    covers = study.gold.covers if study.gold is not None else {}
    owner = {level: name for name, levels in covers.items() for level in levels}
    return judgments.assign(value=as_text(judgments["value"]).replace(owner))


def _as_judgments(gold: pd.DataFrame, study: ItemStudy) -> pd.DataFrame:
    """Gold labels as judgments of one person."""
    judgments = pd.DataFrame(
        {
            "judge_id": GOLD,
            "judge_kind": HUMAN,
            "item_id": as_text(gold["item_id"]),
            "dimension": as_text(gold["label_set"]),
            "value": as_text(gold["label"]),
            "status": "ok",
            "sample": 1,
        }
    )
    return _in_classes(judgments, study)


def _shares(
    study: ItemStudy,
    table: pd.DataFrame,
    items: pd.DataFrame | None,
    options: FitOptions,
    method: Method,
) -> Result:
    """Shares of each label among people; lines of an item are units of their own, clustered by item."""
    if items is not None and SAMPLING in items:
        table = with_items(table, items, [SAMPLING])
    table, cluster = _by_line(table)
    helped = _find_helpers(table, method)
    result = prediction_powered(
        table,
        statistic="share",
        human=method.human,
        model=helped.models,
        dimensions=helped.dimensions,
        cluster=cluster,
        seed=options.seed,
        alpha=options.alpha,
    )
    labels = [label.id for response in study.label_sets.values() for label in response.labels]
    levels = list(result.frame["level"].cat.categories)
    order = [name for name in dict.fromkeys(labels) if name in levels]
    frame = result.frame.assign(
        level=result.frame["level"].cat.set_categories([*order, *(n for n in levels if n not in order)])
    )
    frame = frame.sort_values(["dimension", "level"], kind="stable", ignore_index=True)
    settings = {**result.settings, "cluster": ["item_id"]}
    return replace(result, frame=frame, settings=settings, notes=(*helped.notes, *result.notes))


def _without_prompts(table: pd.DataFrame) -> pd.DataFrame:
    """The same without prompts where no judge answered one item under two, as with a prompt per modality."""
    keys = [name for name in ("judge_id", "item_id", "dimension", "sample") if name in table]
    has_duplicates = table.duplicated(keys).any()
    return table if has_duplicates else table.drop(columns="prompt_id", errors="ignore")


def _by_line(table: pd.DataFrame) -> tuple[pd.DataFrame, str | None]:
    """Labels of lines as those of units of their own on one dimension, and the column of their items."""
    dimension = as_text(table["dimension"])
    line = dimension.str.extract(rf"^{LINE}_(\d+)$", expand=False)
    if line.isna().all():
        return table, None
    item = as_text(table["item_id"])
    result = table.assign(
        dimension=dimension.mask(line.notna(), LINE),
        item_id=item.mask(line.notna(), item + f", {LINE} " + line),
        **{WHOLE: item},
    )
    return result, WHOLE


def _scores(
    study: ItemStudy,
    table: pd.DataFrame,
    items: pd.DataFrame | None,
    options: FitOptions,
    method: Method,
) -> Result:
    """Scores of each judge against people's labels, with the help of the labels of the other models."""
    judge = as_text(table["judge_id"])
    of_models = table[as_text(table["judge_kind"]).ne(HUMAN).to_numpy(dtype=bool)]
    helpers = [str(name) for name in judge[_rows_named(table, method.model)].unique()]
    labels, notes = _people_labels(table[_rows_named(table, method.human)])
    against = partial(_scored, study, of_models, items)
    human, by_model = against(labels), {}
    for name in helpers:
        try:
            by_model[name] = against(_labels_of(table[(judge == name).to_numpy(dtype=bool)]))
        except InputError:
            text = excluding("excluded from the correction of scores, since its answers have no label.")
            notes.append(note_under({"judge": name}, text))
    results, refused = [], []
    for name in dict.fromkeys(human.frame["judge"].astype(str)):
        try:
            results.append(_scores_of(name, human, by_model, options))
        except InputError as error:
            refused.append(note_under({"judge": name}, f"scores not corrected. {error}"))
    if not results:
        raise InputError(" ".join(refused[:1]))
    helping_models = [name for name in helpers if any(name in result.settings["model"] for result in results)]
    frame = pd.concat([_with_named_weights(result, helping_models) for result in results], ignore_index=True)
    settings = {
        **results[0].settings,
        "model": helping_models,
        "human": names_of(method.human),
        "weighted": any(result.settings["weighted"] for result in results),
    }
    several = len(results) > 1
    all_notes = [
        note_under({"judge": result.frame["judge"].iloc[0]}, note)
        if several and note != AT_MOST_HALF
        else note
        for result in results
        for note in result.notes
    ]
    all_notes = list(dict.fromkeys([*notes, *refused, *all_notes]))
    return Result(frame, results[0].kind, tuple(all_notes), settings)


def _scores_of(judge: str, human: Scored, by_model: Mapping[str, Scored], options: FitOptions) -> Result:
    """Scores of one judge, with the help of the models that labelled wherever it is scored."""
    judge_scores = human.of(judge=judge)

    def places(scored: Scored) -> set[Any]:
        here = scored.frame["judge"].astype(str).eq(judge).to_numpy(dtype=bool)
        rows = scored.frame.loc[here, ["prompt", "task"]].astype(str)
        return set(rows.itertuples(index=False, name=None))

    models = {
        name: model_scores.of(judge=judge)
        for name, model_scores in by_model.items()
        if name != judge and places(judge_scores) <= places(model_scores)
    }
    if not models:
        raise InputError(
            "This needs labels of another model for the same items; give one by --model, or collect its "
            "labels."
        )
    return scores(
        judge_scores,
        missing=[WRONG],
        alpha=options.alpha,
        correct=PredictThenDebias(model=models, seed=options.seed),
    )


def _scored(
    study: ItemStudy, judgments: pd.DataFrame, items: pd.DataFrame | None, labels: pd.DataFrame
) -> Scored:
    """Judgments scored against labels, without notes, which would be about single models."""
    classes = {task: [label.id for label in response.labels] for task, response in study.label_sets.items()}
    result = score(judgments, labels, classes=classes, items=items, policy=study.missing_rules)
    return replace(result, notes=())


def _people_labels(people: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Labels of the majority of people, and what to know about them."""
    n = people["judge_id"].nunique()
    votes = pd.concat([majority_labels(people, str(name)) for name in people["dimension"].unique()])
    is_gold = (people["judge_id"] == GOLD).all()
    of = f"the majority of {n:,} people" if n > 1 else "one person"
    first = "People's labels are the gold labels." if is_gold else f"People's labels are those of {of}."
    notes = [first, *notes_of_majority(votes)]
    return votes[votes["label"].notna()].reset_index(drop=True), notes


def _labels_of(judgments: pd.DataFrame) -> pd.DataFrame:
    """The first label that a model gave each item, as gold labels are written."""
    usable = judgments[as_text(judgments["status"]).eq("ok").to_numpy(dtype=bool)].dropna(subset="value")
    first = usable.sort_values("sample", kind="stable") if "sample" in usable else usable
    first = first.drop_duplicates(["item_id", "dimension"])
    names = {"dimension": "label_set", "value": "label"}
    return first[["item_id", *names]].rename(columns=names)


def _with_named_weights(result: Result, models: Sequence[str]) -> pd.DataFrame:
    """The table with a column of weights named by model, where there are several models in all."""
    result_models = result.settings["model"]
    if len(models) == 1 or len(result_models) > 1:
        return result.frame
    return result.frame.rename(columns={"weight": f"weight_{result_models[0]}"})
