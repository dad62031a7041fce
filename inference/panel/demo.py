"""Simulated people who take part: what they answer, and when, on a clock of their own.

Everything goes through `Visits`, as it does for real people: some leave, some return, some submit twice or
fail an attention check, and the slots of those who left are given to later ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from ..simulation.conjoint.conjoint_simulation import simulate
from ..simulation.labels import read_label_truth, simulate_people
from ..simulation.labels.label_truth import FILE as LABEL_TRUTH
from ..simulation.ratings import read_items, simulate_ratings
from ..simulation.ratings.rating_truth_table import FILE as RATING_TRUTH
from ..study.asking import Choice, Label, LineLabels, Ratings
from ..study.models import LINE, ItemStudy, Study
from ..study.panel_section import SEVERAL, Question
from ..tables.columns import as_text, stream
from ..tables.files import read_table
from ..tables.schema import POSITIONS
from .pages.reading_answers import line_field
from .pages.steps import (
    AttentionStep,
    ComprehensionStep,
    EndStep,
    QuestionsStep,
    Step,
    TaskStep,
    TextStep,
)
from .panel_answers import CHOICE, task_questions_of
from .plan import PanelPlan, panel_name_of
from .visits import Refused, Timing, Visits

Answers = Mapping[tuple[int, int], Mapping[str, str]]  # by number of the slot and order of the task

BEFORE = timedelta(days=1)  # when the first person arrived, before now, and four time limits more
BETWEEN = 90.0  # seconds between arrivals, on average and at most
SPREAD = 6 * 3600.0  # seconds within which as many people arrive as are wanted
# Probabilities per person, page, form or answer, so that each path of a visit occurs.
LEAVES, RETURNS, DECLINES, SCREENED, FAILS, TWICE, SWITCHES = 0.05, 0.4, 0.02, 0.05, 0.04, 0.02, 0.05
ERRS, WITHDRAWS, SAME = 0.1, 0.01, 0.8  # errs about instructions; answers a further question as the first
MOST_ARRIVALS = 200  # people who arrive for each place, at most
AWAY = (600.0, 7200.0)  # seconds until somebody returns
SCREENS = {"phone": (390, 844, 0.55), "computer": (1440, 900, 0.4), "tablet": (820, 1180, 0.05)}
SECONDS: dict[type[Step], float] = {
    **{TextStep: 25, ComprehensionStep: 20},
    **{QuestionsStep: 15, AttentionStep: 6, TaskStep: 9},
}
PER_FIELD = 3.0  # seconds for each further answer of a page


@dataclass
class DemoClock:
    """A clock that goes as fast as the simulated people need."""

    seconds: float

    def __call__(self) -> datetime:
        """The time."""
        return datetime.fromtimestamp(self.seconds, UTC)


@dataclass
class _Person:
    """A simulated person: how fast they are, on which page they leave, and how long they look at this one."""

    rng: np.random.Generator
    speed: float
    leaves_at: int | None
    visit: str = ""
    slot: int | None = None
    step: Step | None = None
    seconds: float = 0.0


def fill(
    plan: PanelPlan,
    url: str | None = None,
    *,
    seed: int = 1,
    now: datetime | None = None,
    leave: int = 0,
) -> None:
    """Let simulated people take part until every slot is filled."""
    end = datetime.now(UTC) if now is None else now
    clock = DemoClock((end - BEFORE).timestamp() - 4 * 60 * plan.section.minutes)
    visits = Visits.open(plan, url, now=clock, monotonic=lambda: clock.seconds, simulated=True)
    try:
        _fill(visits, clock, simulated_answers(plan, seed), seed, leave)
    finally:
        visits.close()


def _fill(visits: Visits, clock: DemoClock, answers: Answers, seed: int, leave: int) -> None:
    """Go from event to event: somebody arrives, or somebody answers a page."""
    events: list[tuple[float, int, _Person]] = []
    rng, arrived, unfilled = stream(seed, "demo"), 0, visits.unfilled() - leave
    between = min(BETWEEN, SPREAD / len(visits.plan.slots))
    arrival = clock.seconds
    while unfilled > 0 and arrived <= MOST_ARRIVALS * len(visits.plan.slots):  # quotas may leave places empty
        if not events or events[0][0] > arrival:
            clock.seconds, arrival = arrival, arrival + float(rng.exponential(between))
            arrived += 1
            person = _arrive(visits, arrived, seed)
        else:
            clock.seconds, _, person = heapq.heappop(events)
            _answer(visits, person, answers)
        if isinstance(person.step, EndStep):
            unfilled -= person.step.ended == "finished"
        elif person.step is not None:
            seconds = _look(person, person.step, visits.plan)
            heapq.heappush(events, (clock.seconds + seconds, arrived, person))


def _arrive(visits: Visits, number: int, seed: int) -> _Person:
    """Let a person arrive, who has no visit where no slot is left."""
    rng, section = stream(seed, "demo", str(number)), visits.plan.section
    kinds = list(SCREENS)
    kind = kinds[int(rng.choice(len(kinds), p=[share for _, _, share in SCREENS.values()]))]
    width, height, _ = SCREENS[kind]
    touch = "no" if kind == "computer" else "yes"
    smallest = section.smallest_screen
    if smallest is not None and kind == "computer":  # which is large enough, so that somebody takes part
        width, height = max(width, smallest.width), max(height, smallest.height)
    device = {"device": kind, "width": str(width), "height": str(height), "touch": touch}
    device |= {"screen_width": str(width), "screen_height": str(height)}
    named = {name: f"demo-{name.lower()}-{number:05d}" for name in section.recruiting.parameters}
    language = section.languages[int(rng.integers(len(section.languages)))]
    pages = 2 + len(visits.plan.slots[0].tasks)
    leaves_at = int(rng.integers(1, pages + 1)) if rng.random() < LEAVES else None
    visit = visits.arrive(named, device, language)
    speed = float(np.exp(0.35 * rng.standard_normal()))
    if isinstance(visit, EndStep):
        return _Person(rng, speed, leaves_at, step=visit)
    return _Person(rng, speed, leaves_at, visit, step=visits.step(visit))


def _look(person: _Person, step: Step, plan: PanelPlan) -> float:
    """Seconds until a person answers a page, or returns to it."""
    if person.leaves_at == step.number:
        person.leaves_at = None
        if person.rng.random() > RETURNS:
            person.step = None
        person.seconds = float(person.rng.uniform(*AWAY))
        return person.seconds
    fields = 1
    if isinstance(step, TaskStep) and isinstance(plan.study.response, Ratings):
        fields = len(plan.study.response.scales)
    usual = SECONDS[type(step)] + PER_FIELD * (fields - 1)
    person.seconds = usual * person.speed * float(np.exp(0.4 * person.rng.standard_normal()))
    return person.seconds


def _answer(visits: Visits, person: _Person, answers: Answers) -> None:
    """Let a person answer the page that they are on, unless they have left for good."""
    step, rng = person.step, person.rng
    if step is None:
        return
    focus_losses = int(rng.random() < SWITCHES)
    timing = Timing(1000 * person.seconds, focus_losses, 4000.0 * focus_losses, 300.0 * person.seconds)
    fields = _fields(visits, person, step, answers)
    reply = visits.submit(person.visit, step.number, fields, timing)
    if rng.random() < TWICE:
        reply = visits.submit(person.visit, step.number, fields, timing)
    assert not isinstance(reply, Refused), reply
    person.step = reply


def _fields(visits: Visits, person: _Person, step: Step, answers: Answers) -> Mapping[str, str]:
    rng, study = person.rng, visits.plan.study
    if isinstance(step, TextStep):
        if step.withdrawal:
            return {"withdraw": "yes" if rng.random() < WITHDRAWS else "no"}
        return {"consent": "no" if rng.random() < DECLINES else "yes"} if step.kind == "consent" else {}
    if isinstance(step, ComprehensionStep):
        wrong_options = {
            question.id: [o.id for o in question.options if o.id != question.right]
            for question in step.questions
        }
        return {
            question.id: wrong_options[question.id][0] if rng.random() < ERRS else question.right
            for question in step.questions
        }
    if isinstance(step, QuestionsStep):
        return {question.id: _to_question(question, rng) for question in step.questions}
    if isinstance(step, AttentionStep):
        wrong = [option.id for option in step.check.options if option.id != step.check.right]
        return {"answer": wrong[0] if rng.random() < FAILS else step.check.right}
    assert isinstance(step, TaskStep)
    if person.slot is None:
        slot = visits.slot(person.visit)
        assert slot is not None
        person.slot = slot.number
    answer = answers.get((person.slot, step.index))
    if answer is None:
        return random_fields(study, len(step.shown[0].lines), rng)
    return {**answer, **_further(study, answer, rng)}


def _further(study: Study | ItemStudy, answer: Mapping[str, str], rng: np.random.Generator) -> dict[str, str]:
    """Answers to further questions about a task: of a pair mostly as the first, of an item at random."""
    fields = {}
    for question in task_questions_of(study):
        options = [option.id for option in question.options] or list(POSITIONS)
        same = CHOICE in answer and rng.random() < SAME
        fields[question.id] = answer[CHOICE] if same else options[int(rng.integers(len(options)))]
    return fields


def _to_question(question: Question, rng: np.random.Generator) -> str:
    if question.form == "several":
        names = [option.id for option in question.options if option.id not in question.screen_out]
        names = names or [option.id for option in question.options]
        return SEVERAL.join(rng.permutation(names)[: 1 + int(rng.random() < LEAVES)])
    if question.form == "options":
        screened = question.screen_out if rng.random() < SCREENED else ()
        options = [
            option.id for option in question.options if (option.id in question.screen_out) == bool(screened)
        ]
        options = options or [option.id for option in question.options]
        return options[int(rng.integers(len(options)))]
    if question.form == "number":
        low = question.minimum if question.minimum is not None else 0
        high = question.maximum if question.maximum is not None else low + 100
        return str(min(max(int(rng.normal(low + (high - low) / 3, (high - low) / 6)), low), high))
    return "nothing to add"


# ---- what people answer ----


def simulated_answers(plan: PanelPlan, seed: int) -> Answers:
    """What the simulated person of each slot answers to each of its tasks."""
    # They follow the truth table of the study; without one nothing is known, and answers are at random.
    study = plan.study
    if isinstance(study, Study):
        has_truth = (study.folder / "truth.csv").is_file()
        return dict(_choices(plan, study, seed)) if has_truth else {}
    if isinstance(study.response, Ratings):
        has_truth = (study.folder / RATING_TRUTH).is_file() and study.assignment is not None
        return dict(_ratings(plan, study, seed)) if has_truth else {}
    path = study.file(LABEL_TRUTH)
    has_truth = study.gold is not None and path.is_file() and read_label_truth(path, study).panel is not None
    return dict(_labels(plan, study, seed)) if has_truth else {}


def simulated_choices(plan: PanelPlan, seed: int) -> pd.DataFrame:
    """The choices of the simulated people of a conjoint, by its truth table and the tasks of the plan."""
    assert isinstance(plan.study, Study)
    panel = panel_name_of(plan.study)
    return simulate(plan.study, seed, judges=[panel], design=plan.design, truth=False).choices


def _choices(plan: PanelPlan, study: Study, seed: int) -> Iterator[tuple[tuple[int, int], dict[str, str]]]:
    choices = simulated_choices(plan, seed)
    chosen = choices[choices["chosen"].eq(1).to_numpy(bool)]
    picked = {
        (str(judge), str(pair)): str(position)
        for judge, pair, position in chosen[["judge_id", "pair_id", "position"]].itertuples(index=False)
    }
    for slot in plan.slots:
        for index, task in enumerate(slot.tasks, start=1):
            yield (slot.number, index), {CHOICE: picked[slot.name, task.name]}


def _ratings(
    plan: PanelPlan, study: ItemStudy, seed: int
) -> Iterator[tuple[tuple[int, int], dict[str, str]]]:
    tasks = [
        (slot.number, index, task.name, task.repeat_of is not None)
        for slot in plan.slots
        for index, task in enumerate(slot.tasks, start=1)
    ]
    assignment = pd.DataFrame(tasks, columns=["rater", "index", "item_id", "repeat"])
    panel = panel_name_of(study)
    simulation = simulate_ratings(study, seed, judges=[panel], items=read_items(study), assignment=assignment)
    values = simulation.judgments["value"].to_numpy(dtype=int).reshape(len(tasks), -1)
    dimensions = simulation.judgments["dimension"].iloc[: values.shape[1]].tolist()
    for (slot, index, _, _), row in zip(tasks, values.tolist(), strict=True):
        yield (slot, index), dict(zip(dimensions, map(str, row), strict=True))


def _labels(plan: PanelPlan, study: ItemStudy, seed: int) -> Iterator[tuple[tuple[int, int], dict[str, str]]]:
    assert study.gold is not None
    items, gold = (
        read_items(study),
        read_table(study.file(study.gold.file), "labels"),
    )
    judgments = simulate_people(study, seed, items, gold, max(2, len(plan.slots)))
    person = pd.factorize(judgments["judge_id"])[0] + 1
    answers: dict[tuple[int, str], dict[str, str]] = {}
    for number, item, dimension, value in zip(
        person, judgments["item_id"], judgments["dimension"], as_text(judgments["value"]), strict=True
    ):
        answers.setdefault((int(number), str(item)), {})[_field(study, str(dimension))] = str(value)
    for slot in plan.slots:
        for index, task in enumerate(slot.tasks, start=1):
            answer = answers[slot.number, task.name]
            fields = {name: value for name, value in answer.items() if name}
            if fields:
                yield (slot.number, index), fields


def _field(study: ItemStudy, dimension: str) -> str:
    """Name of the field of a page that contains a dimension; empty where pages do not ask for it."""
    if isinstance(study.response, Label):
        return "label" if dimension == study.response.id else ""
    task, _, number = dimension.rpartition("_")
    return line_field(int(number)) if task == LINE and number.isdigit() else ""


def random_fields(study: Study | ItemStudy, lines: int, rng: np.random.Generator) -> dict[str, str]:
    """One answer at random, for practice and where nothing is known of people."""
    response = study.response
    if isinstance(response, Choice):
        choice = {CHOICE: POSITIONS[int(rng.integers(len(POSITIONS)))]}
        return {**choice, **_further(study, choice, rng)}
    if isinstance(response, Ratings):
        return {
            scale.id: str(int(rng.integers(scale.minimum, scale.maximum + 1))) for scale in response.scales
        }
    assert isinstance(response, Label | LineLabels)
    labels = [label.id for label in response.labels]
    fields = ["label"] if isinstance(response, Label) else [line_field(n) for n in range(1, lines + 1)]
    answer = {name: labels[int(rng.integers(len(labels)))] for name in fields}
    return {**answer, **_further(study, answer, rng)}
