"""A folder with an experiment in jsPsych, for any static host or JATOS.

jsPsych itself is not part of it: ``package.json`` names the exact versions, and ``npm install`` gets them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, StrictUndefined

from ...study.asking import Choice, LineLabels
from ...study.panel_section import AttentionCheck, Ending, FactualQuestion, Question
from ...tables.files import ROOT
from ..displayed_fields import SubjectDisplay, title_of
from ..plan import PanelPlan, PlannedTask
from .task_html import (
    AnswerField,
    ProgramFiles,
    answers_of,
    at_hand_of,
    catalogue_of,
    markdown_html,
    media_of,
    plan_name,
    subjects_of,
)

TEMPLATES = ROOT / "data" / "panel" / "elsewhere" / "jspsych"
VERSION = "8.3.0"
PACKAGES = {
    "jspsych": VERSION,
    "@jspsych/plugin-html-button-response": "2.1.0",
    "@jspsych/plugin-preload": "2.1.0",
    "@jspsych/plugin-survey-html-form": "2.1.0",
}
WORDS = {  # by the name in the script, the key in the catalogue
    "continue": "continue",
    "consent": "consent.title",
    "agree": "consent.agree",
    "decline": "consent.decline",
    "instructions": "instructions.title",
    "practice": "task.practice_note",
    "questions": "questions.title",
    "loading": "loading",
    "failed": "picture_failed",
    "code": "ends.code",
    "redirect": "ends.redirect",
    "comprehension": "comprehension.title",
    "again": "comprehension.again",
    "debriefing": "debriefing.title",
    "submit": "debriefing.submit",
    "withdraw": "debriefing.withdraw",
    "close": "task.close",
}
ENDS = (
    *("finished", "declined", "screened_out", "full", "failed_checks", "no_person"),
    *("failed_comprehension", "withdrawn", "small_screen"),
)


def jspsych_experiment(plan: PanelPlan) -> ProgramFiles:
    """Write a study as an experiment in jsPsych.

    Parameters
    ----------
    plan : PanelPlan
        Who sees what.

    Returns
    -------
    ProgramFiles
        ``index.html``, ``experiment.js``, ``experiment.css``, ``study.json``, ``package.json``,
        ``README.md``, and pictures and clips in ``media``.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.panel.plan import make_plan
    >>> files = jspsych_experiment(make_plan("moderation", people=2, out=tempfile.mkdtemp()))
    >>> [slot["name"] for slot in json.loads(files.texts["study.json"])["slots"]]
    ['human_0001', 'human_0002']
    """
    study, words = plan.study, catalogue_of(plan)
    language = {"language": words.code, "direction": words.direction}
    package = {"name": study.name, "private": True, "dependencies": PACKAGES}
    about = {
        "title": study.title,
        "version": VERSION,
        "slots": f"{len(plan.slots):,}",
        "study": study.here,
        "run": str(plan.folder),
        "table": "choices" if isinstance(study.response, Choice) else "judgments",
    }
    texts = {
        "index.html": _fill_template("index.html", language | {"title": title_of(study)}),
        "experiment.js": _template("experiment.js"),
        "experiment.css": _template("experiment.css"),
        "study.json": json.dumps(_content(plan) | language, ensure_ascii=False, separators=(",", ":")) + "\n",
        "package.json": json.dumps(package, indent=2) + "\n",
        "README.md": _fill_template("README.md", about),
    }
    notes = [f"Run `npm install` in the folder, which gets jsPsych {VERSION}; README.md describes the rest."]
    if plan.section.quotas:
        notes.append("Quotas are not part of the experiment; `conjury panel` has them.")
    return ProgramFiles(texts, media_of(plan), tuple(notes))


def _content(plan: PanelPlan) -> dict[str, Any]:
    study, section, words = plan.study, plan.section, catalogue_of(plan)
    ends = {
        name: {"title": words(f"ends.{name}.title"), "text": words(f"ends.{name}.text")}
        | _ending(section.ending(name))
        for name in ENDS
    }
    at_hand_title, at_hand = at_hand_of(plan)
    return {
        "name": study.name,
        "plan": plan_name(plan),
        "question": study.question,
        "words": {name: words(key) for name, key in WORDS.items()},
        "consent": markdown_html(study, section.consent),
        "instructions": markdown_html(study, section.instructions),
        "parameters": section.recruiting.parameters,
        "person": section.recruiting.person,
        "required": section.recruiting.required,
        "first_questions": [_question(question) for question in section.first_questions],
        "last_questions": [_question(question) for question in section.last_questions],
        "attention": [{"after": check.after} | _check(check) for check in section.attention],
        "comprehension": None
        if section.comprehension is None
        else {
            "attempts": section.comprehension.attempts,
            "questions": [_check(question) for question in section.comprehension.questions],
        },
        "at_hand": {"title": at_hand_title, "html": at_hand} if at_hand else None,
        "debriefing": markdown_html(study, section.debriefing),
        "withdrawal": section.withdrawal,
        "smallest": None if section.smallest_screen is None else section.smallest_screen.model_dump(),
        "fail_limit": section.fail_limit,
        "ends": ends,
        "answers": [_answer(answer) for answer in answers_of(study)],
        "shown": {name: _display(plan, plan.shown.of(name)) for name in subjects_of(plan)},
        "slots": [
            {
                "name": slot.name,
                "tasks": [_task(task) for task in slot.tasks],
                "practice": None if slot.practice is None else _task(slot.practice),
            }
            for slot in plan.slots
        ],
    }


def _ending(ending: Ending) -> dict[str, Any]:
    return {"code": ending.code, "redirect": ending.redirect}


def _check(check: AttentionCheck | FactualQuestion) -> dict[str, Any]:
    options = [{"value": option.id, "label": option.label} for option in check.options]
    return {"id": check.id, "text": check.text, "right": check.right, "options": options}


def _question(question: Question) -> dict[str, Any]:
    options = [{"value": option.id, "label": option.label} for option in question.options]
    return question.model_dump(exclude={"options", "first"}) | {"options": options}


def _answer(answer: AnswerField) -> dict[str, Any]:
    options = [{"value": option.value, "label": option.label} for option in answer.options]
    return {
        "id": answer.id,
        "label": answer.label,
        "text": answer.text,
        "options": options,
        "minimum": answer.minimum,
        "maximum": answer.maximum,
    }


def _display(plan: PanelPlan, display: SubjectDisplay) -> dict[str, Any]:
    entry: dict[str, Any] = {"fields": display.fields}
    if display.media_name is not None:
        entry |= {"media": display.media_name, "kind": display.kind, "alt": display.alt}
    if isinstance(plan.study.response, LineLabels):
        entry["answers"] = [_answer(answer) for answer in answers_of(plan.study, display)]
    return entry


def _task(task: PlannedTask) -> dict[str, Any]:
    return {"name": task.name, "subjects": task.subjects, "repeat_of": task.repeat_of}


def _template(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _fill_template(name: str, values: Mapping[str, str]) -> str:
    """A template with values in their places, escaped in HTML."""
    environment = Environment(
        autoescape=name.endswith(".html"), undefined=StrictUndefined, keep_trailing_newline=True
    )
    return environment.from_string(_template(f"{name}.j2")).render(values)


__all__ = ["jspsych_experiment"]
