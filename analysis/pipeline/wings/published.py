"""Published numbers of the studies that ship, next to those of a fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import judges_by_origin
from conjury.inference.study.models import Study
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.files import PUBLISHED

from ...audit import compare_moderation, compare_oogiri
from ...audit.harm_or_humor import compare_harm
from ...audit.multiturn import READ_BY, SAMPLES, compare_multiturn, published_protocol
from ...audit.paper_comparison import HARM, JOKES, KIND
from ...benchmark.data.label_answers import LabelAnswers
from ...benchmark.data.units import conditions_of
from ...frames.reported_intervals import reported
from ...frames.vocabulary import HUMAN
from ...results import AnalysisStep, Result, analysis
from ..loading import LoadedStudy
from ..runner import FittedResults

Tables = dict[str, pd.DataFrame]
TITLE = "Published and recomputed numbers"


def published_tables(loaded: LoadedStudy, fitted: FittedResults, answered: LabelAnswers | None) -> Tables:
    """Published numbers with ours, of judges and people that are real; those of labels become a result."""
    if answered is not None:
        add_printed_numbers(answered, fitted, loaded.source())
        return {}
    if isinstance(loaded.study, Study):
        return _tables_of_choices(loaded.study.name, loaded, fitted)
    return _tables_of_ratings(loaded, fitted)


def _tables_of_choices(study: str, loaded: LoadedStudy, fitted: FittedResults) -> Tables:
    """Published effects, and what ours differ from them by where a judge is in both."""
    file, effects = PUBLISHED / f"{study}.csv", fitted.by_name.get("amce")
    source = loaded.source()
    if not file.is_file() or effects is None or not source["real_judges"]:
        return {}
    printed = pd.read_csv(file).assign(source="printed")
    ours = reported(effects.frame, effects.settings)
    ours = ours[ours["judge"].isin(source["real_judges"])]
    if set(ours["judge"]) & set(printed["judge"]):
        return {"published": printed, "published_difference": compare_moderation(printed, ours)}
    return {} if source["simulated"] else {"published": printed}


def _tables_of_ratings(loaded: LoadedStudy, fitted: FittedResults) -> Tables:
    """Published means and correlations with ours."""
    if loaded.study is None:
        return {}
    simulated, real = judges_by_origin(loaded.judgments)
    people = loaded.judgments.loc[as_text(loaded.judgments["judge_kind"]).eq(HUMAN), "judge_id"]
    all_real = len(people) > 0 and set(as_text(people)) <= set(real)
    groups_of_raters = {*map(str, real), *([HUMAN] if all_real else [])}
    return compare_oogiri(loaded.study.name, fitted.by_name, groups_of_raters if simulated else None)


def by_published_rules(answered: LabelAnswers) -> dict[str, pd.DataFrame]:
    """Judgments that are the strings of a published evaluation, by its rules, with their condition."""
    rules = {rule: name for name, rule in READ_BY.items()}
    return {
        rules[rule]: table.assign(condition=conditions_of(table, answered.items))
        for rule, table in answered.by_rule.items()
        if rule in rules
    }


@analysis("benchmark", order=120, when=lambda answered: answered.study.name == JOKES)
def published_jokes(answered: LabelAnswers, draw_options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    """The numbers of the paper on jokes, by its own rules, where answers were parsed by them."""
    judgments = by_published_rules(answered)
    if judgments:
        call = partial(compare_multiturn, judgments, answered.labels, answered.items)
        yield AnalysisStep(KIND, TITLE, call)
    if answered.is_scored and "language" in answered.strata:
        call = partial(scores_by_published_rules, answered)
        yield AnalysisStep(
            "protocol", "Accuracy, F1 and AUC of one and of several answers, by condition", call
        )


def scores_by_published_rules(answered: LabelAnswers) -> Result:
    """The numbers of the paper's tables of answers with labels of the study, each on its own item."""
    study = answered.study
    words = {id_: text for task in study.label_sets for id_, text in study.gold_labels(task).items()}
    judgments, labels = (
        table.assign(**{name: as_text(table[name]).replace(words)})
        for table, name in ((answered.of_models, "value"), (answered.labels, "label"))
    )
    return published_protocol(judgments, labels, items=answered.items, shifted=False, k=SAMPLES)


def add_printed_numbers(answered: LabelAnswers, fitted: FittedResults, source: Mapping[str, Any]) -> None:
    """Add the printed numbers of the harm paper on judges and people that are not simulated."""
    # Notes on printed numbers are about the whole fit.
    study = answered.study
    fitted.notes += [n for entry in fitted.results if entry.name == KIND for n in entry.result.notes]
    if study.name != HARM:
        return
    judges = answered.judgments.drop_duplicates("judge_id")
    person = dict(zip(as_text(judges["judge_id"]), as_text(judges["judge_kind"]).eq("human"), strict=True))
    real = [str(name) for name in (source["real_judges"] if source["simulated"] else person)]
    if not real:
        return
    people = any(person.get(name) for name in real)
    results = {name: result for name, result in fitted.by_name.items() if people or name != "annotators"}
    labels = {name: study.judge_labels[name] for name in real if name in study.judge_labels}
    try:
        printed = compare_harm(results, labels)
    except InputError as error:
        fitted.notes.append(f"Published numbers: not compared. {error}")
        return
    fitted.add(KIND, TITLE, printed)
