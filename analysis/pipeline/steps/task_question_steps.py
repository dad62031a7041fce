"""Further questions about each task of a conjoint: effects on each, and how stable its answers are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd

from conjury.inference.readers.prepare import with_outcome
from conjury.inference.study.models import Study
from conjury.inference.study.panel_section import TaskQuestion
from conjury.inference.tables.schema import PROBABILITY

from ...conjoint.reliability.reliability_estimate import reliability
from ...frames.vocabulary import HUMAN
from ...results import AnalysisStep, Result, stack
from ..conjoint_steps import plan_conjoint
from ..runner import FitOptions, JudgeGroup, StudySteps, unused_name

RELIABILITY = "question_reliability"
OF_LEVELS = ("cj_freqs", "cj_props")  # verbs whose tables are the same for all questions


def answered_questions(study: Study, choices: pd.DataFrame) -> list[TaskQuestion]:
    """Further questions of the study that a table of choices has answers to."""
    if study.panel is None or study.outcome == PROBABILITY:
        return []
    return [
        question
        for question in study.panel.task_questions
        if question.id != study.outcome and question.id in choices and choices[question.id].notna().any()
    ]


def further_plan(
    study: Study, split: Sequence[JudgeGroup], choices: pd.DataFrame, options: FitOptions
) -> StudySteps:
    """Plan the analyses of the study once for each further question, then the reliability of all."""
    steps: list[AnalysisStep] = []
    notes: list[str] = []
    questions = answered_questions(study, choices)
    for question in questions:
        groups_asked = [
            group
            for group in split
            if question.id in group.choices and group.choices[question.id].notna().any()
        ]
        planned = plan_conjoint(_about(study, question), groups_asked, replace(options, correct=None))
        steps += planned.steps
        notes += planned.notes
    if questions:
        title = "Agreement of repeated answers, by question"
        step = partial(_reliability, study, questions, choices, options)
        steps.append(AnalysisStep(unused_name(study, RELIABILITY), title, step))
    return StudySteps(tuple(steps), tuple(notes))


def _about(study: Study, question: TaskQuestion) -> Study:
    """The study with its analyses about the answers to one further question."""
    about = with_outcome(study, question.id)
    analyses = [
        part.model_copy(
            update={
                "name": unused_name(study, f"{part.name}_{question.id}"),
                "title": f"{part.title}: {question.label}",
            }
        )
        for part in about.analyses
        if part.verb not in OF_LEVELS and not part.crosses_groups
    ]
    return about.model_copy(update={"analyses": analyses})


def _reliability(
    study: Study, questions: Sequence[TaskQuestion], choices: pd.DataFrame, options: FitOptions
) -> Result:
    """Agreement of people's repeated answers, one row per question, panel and kind of repeat."""
    people = choices[choices["judge_kind"].astype("string").eq(HUMAN).to_numpy(dtype=bool)]
    frames = []
    for outcome, label in _labels(study, questions):
        result = reliability(people, outcome=outcome, seed=options.seed, alpha=options.alpha)
        frames.append(result.frame.assign(question=label))
    frame = stack(frames)
    first = ["question", "judge", "prompt", "sides"]
    measures = ["n_compared", "n_units", "agreement", "std_error", "lower", "upper", "tau"]
    return Result(frame[[*first, *measures]], RELIABILITY, (), {"alpha": options.alpha, "seed": options.seed})


def _labels(study: Study, questions: Sequence[TaskQuestion]) -> Iterator[tuple[str, str]]:
    yield study.outcome, study.question
    yield from ((question.id, question.label) for question in questions)
