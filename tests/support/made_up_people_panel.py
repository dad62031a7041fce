"""Small studies that people take part in, plans and visits of them, and a person who answers."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from conjury.inference.panel.demo import random_fields
from conjury.inference.panel.pages.steps import (
    AttentionStep,
    EndStep,
    QuestionsStep,
    Step,
    TaskStep,
    TextStep,
)
from conjury.inference.panel.plan import PanelPlan, make_plan
from conjury.inference.panel.storage.reading import read_stored
from conjury.inference.panel.visits import Refused, Timing, Visits
from conjury.inference.tables.columns import stream

_PLANS: dict[str, PanelPlan] = {}
YES_NO = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
ADULT = {"id": "adult", "label": "Adult?", "options": YES_NO, "first": True, "screen_out": ["no"]}
CHECK = {
    "id": "check",
    "after": 1,
    "text": "Choose B.",
    "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}],
    "right": "b",
}
TIMING = Timing(1500.0, 1, 400.0, 700.0)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def advance(self, minutes: float) -> None:
        self.time += timedelta(minutes=minutes)


def write_towns(folder: Path, panel: Mapping[str, Any] | None = None, **changes: Any) -> Path:
    """Write a small conjoint: two attributes, two tasks and the repeat of the first."""
    section = {"consent": "consent.md", "instructions": "instructions.md", **(panel or {})}
    content = {
        "name": "towns",
        "title": "Towns",
        "kind": "conjoint",
        "question": "Which town?",
        "attributes": [
            {
                "id": "size",
                "label": "Size",
                "levels": [{"id": "small", "label": "Small"}, {"id": "big", "label": "Big"}],
            },
            {
                "id": "sea",
                "label": "Sea",
                "levels": [{"id": name, "label": name.title()} for name in ("none", "near", "far")],
            },
        ],
        "design": {"pairs": 4, "respondents": 3, "tasks": 2, "repeat_first": True},
        "judges": [{"id": "human", "label": "People", "kind": "human"}],
        "analyses": [{"name": "amce", "verb": "amce", "title": "All", "formula": "chosen ~ size + sea"}],
        "panel": {name: value for name, value in section.items() if value is not None},
        **changes,
    }
    return _write(folder, content)


def write_jokes(folder: Path, response: Mapping[str, Any], panel: Mapping[str, Any], n: int = 4) -> Path:
    """Write a small study of items."""
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(
        {"item_id": [f"j{i}" for i in range(n)], "text": [f"One {i}\nTwo {i}" for i in range(n)]}
    ).to_csv(folder / "items.csv", index=False)
    content = {
        "name": "jokes",
        "title": "Jokes",
        "kind": "items",
        "question": "How funny?",
        "items": "items.csv",
        "response": dict(response),
        "judges": [{"id": "human", "label": "People", "kind": "human"}],
        "panel": dict(panel),
    }
    return _write(folder, content)


def _write(folder: Path, content: Mapping[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "consent.md").write_text("# Information\n", encoding="utf-8")
    (folder / "instructions.md").write_text("# What to do\n", encoding="utf-8")
    (folder / "study.yaml").write_text(yaml.safe_dump(dict(content), sort_keys=False), encoding="utf-8")
    return folder / "study.yaml"


def plan_of(
    folder: Path, people: int = 3, panel: Mapping[str, Any] | None = None, **changes: Any
) -> PanelPlan:
    """The plan of the small conjoint for so many people; each is drawn once, whatever the folder."""
    key = json.dumps([people, panel, changes])
    if key not in _PLANS:
        kept = Path(tempfile.mkdtemp(prefix="plan"))
        study = write_towns(kept / "study", panel, **changes)
        _PLANS[key] = make_plan(study, out=kept / "run", people=people)
        atexit.register(shutil.rmtree, kept, ignore_errors=True)
    return replace(_PLANS[key], folder=folder / "run")


def answer(step: Step, seed: int = 1, **given: str) -> dict[str, str]:
    """Valid fields of a page: ``given`` where it has such fields, else what goes on, or chance."""
    if isinstance(step, TextStep):
        return {"consent": given.get("consent", "yes")} if step.kind == "consent" else {}
    if isinstance(step, AttentionStep):
        return {"answer": given.get("answer", step.check.right)}
    if isinstance(step, QuestionsStep):
        usual = {"options": "yes", "number": "30", "text": "fine"}
        return {question.id: given.get(question.id, usual[question.form]) for question in step.questions}
    assert isinstance(step, TaskStep)
    return {"choice": "AB"[int(stream(seed, step.task.name).random() < 0.5)]}


def take_part(
    visits: Visits,
    visit: str,
    *,
    until: Callable[[Step], bool] = lambda step: False,
    study: Any = None,
    **given: str,
) -> Step:
    """Answer page after page, to the end or to the first page that ``until`` is true of; return it."""
    step = visits.step(visit)
    while not isinstance(step, EndStep) and not until(step):
        fields = (
            answer(step, **given)
            if study is None or not isinstance(step, TaskStep)
            else random_fields(study, len(step.shown[0].lines), stream(1, step.task.name))
        )
        moved = visits.submit(visit, step.number, fields, TIMING)
        assert not isinstance(moved, Refused), moved
        step = moved
    return step


def arrive(visits: Visits, person: str = "", **device: str) -> str:
    """Arrive as a person of a platform; the visit must begin."""
    visit = visits.arrive({"PROLIFIC_PID": person} if person else {}, device, "en")
    assert isinstance(visit, str), visit
    return visit


def task(step: Any) -> bool:
    """Whether a page is a task that is no practice."""
    return isinstance(step, TaskStep) and not step.practice


def answered(visits: Visits) -> list[tuple[int, int]]:
    """Visit and page of every answer that is stored."""
    stored = read_stored(visits._database).answers
    return list(zip(stored["visit"], stored["page"], strict=True))
