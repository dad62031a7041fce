"""A project for Label Studio: the configuration of its page, and one task for each task of a slot."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

from ...study.asking import Choice
from ...tables.schema import POSITIONS
from ..plan import PanelPlan
from .task_html import (
    PLAN,
    AnswerField,
    ProgramFiles,
    answers_of,
    display_html,
    media_to_upload,
    plan_name,
    refuse_lines,
)

ITEM = "item"
CONFIG, TASKS = "config.xml", "tasks.json"


def label_studio_project(plan: PanelPlan, media_url: str | None = None) -> ProgramFiles:
    """Write a study as a project of Label Studio.

    Parameters
    ----------
    plan : PanelPlan
        Who sees what.
    media_url : str, optional
        Address of the folder to which pictures and clips are uploaded.

    Returns
    -------
    ProgramFiles
        ``config.xml`` (the labelling interface), ``tasks.json`` (to be imported), and pictures and clips to
        be uploaded.

    Raises
    ------
    InputError
        For labels of single lines, and for pictures without an address.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.panel.plan import make_plan
    >>> files = label_studio_project(make_plan("multiturn", people=2, out=tempfile.mkdtemp()))
    >>> sorted(json.loads(files.texts["tasks.json"])[0]["data"])[:2]
    ['A', 'asked_joke_type']
    """
    refuse_lines(plan.study, "Label Studio")
    media = media_to_upload(plan, media_url, "Label Studio")
    tasks = json.dumps(_tasks(plan, media_url or ""), ensure_ascii=False, indent=1)
    notes = [
        "Give each annotator the tasks of one slot: filter the tasks by the column slot, and label all that "
        "are shown.",
        "Practice tasks, attention checks, questions about people and the instructions, the policy, the "
        "debriefing and quotas are not part of the project.",
    ]
    texts = {CONFIG: _config(plan), TASKS: tasks + "\n"}
    return ProgramFiles(texts, media, tuple(notes))


def _tasks(plan: PanelPlan, media_url: str) -> list[dict[str, Any]]:
    constants = {PLAN: plan_name(plan), "question": plan.study.question}
    answers = {f"asked_{answer.id}": answer.label for answer in answers_of(plan.study)}
    rows = []
    for slot in plan.slots:
        for number, task in enumerate(slot.tasks, start=1):
            name = "item_id" if len(task.subjects) == 1 else "pair_id"
            data = {"slot": slot.name, "task": number, name: task.name, **constants, **answers}
            for position, subject in zip(POSITIONS, task.subjects, strict=False):
                data[position] = display_html(plan.shown.of(subject), media_url)
            rows.append({"data": data})
    return rows


def _config(plan: PanelPlan) -> str:
    """The labelling interface; texts of the study are data of tasks, since a $ in it would name such data."""
    view = ElementTree.Element("View")
    pair = isinstance(plan.study.response, Choice)
    answers = answers_of(plan.study)
    ElementTree.SubElement(view, "Header", value="$question")
    sides = POSITIONS if pair else POSITIONS[:1]
    row = ElementTree.SubElement(view, "View", style="display:flex;gap:24px")
    for position, option in zip(sides, answers[0].options if pair else (None,), strict=True):
        side = ElementTree.SubElement(row, "View", style="flex:1")
        if option is not None:
            ElementTree.SubElement(side, "Header", value=_literal(option.label))
        ElementTree.SubElement(side, "HyperText", name=f"{ITEM}_{position}", value=f"${position}")
    for answer in answers:
        if len(answers) > 1:
            ElementTree.SubElement(view, "Header", value=f"$asked_{answer.id}", size="5")
        _control(view, answer)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def _control(view: ElementTree.Element, answer: AnswerField) -> None:
    about = {"name": answer.id, "toName": f"{ITEM}_{POSITIONS[0]}", "required": "true"}
    if not answer.options:
        limits = {"min": str(answer.minimum), "max": str(answer.maximum), "step": "1"}
        ElementTree.SubElement(view, "Number", about | limits)
        return
    choices = ElementTree.SubElement(view, "Choices", about | {"choice": "single-radio"})
    if all(option.value.lstrip("-").isdigit() for option in answer.options):
        choices.set("showInline", "true")
    for option in answer.options:
        # The value shows, the alias is what an export contains.
        ElementTree.SubElement(choices, "Choice", value=_literal(option.label), alias=option.value)


def _literal(text: str) -> str:
    """A text in which Label Studio finds no name of data: an invisible character follows each $."""
    return re.sub(r"\$(?=\w|\[|\{)", "$\u200b", text)


__all__ = ["label_studio_project"]
