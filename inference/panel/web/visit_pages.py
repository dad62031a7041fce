"""Pages as HTML: what each step of a visit shows, in the language of the visit, with everything escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...study.asking import Choice, Label, LabelLevel, LineLabels, Ratings, Scale
from ...study.models import NOUNS, ItemStudy, Study
from ...study.panel_section import Question
from ...tables.html_page import markdown_reader
from ...tables.schema import POSITIONS
from ..pages.reading_answers import LONGEST, line_field
from ..pages.steps import (
    AttentionStep,
    ComprehensionStep,
    EndStep,
    QuestionsStep,
    Step,
    TaskStep,
    TextStep,
)
from .languages import Catalogue
from .page_templates import templates

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

BUTTONS = 11  # ratings of a scale that are shown as buttons; a number is typed where there are more
MENU = 9  # options of a question that are shown as buttons; they are a menu where there are more


@dataclass(frozen=True)
class FormOption:
    """One answer: what is sent, what is shown, and the key that chooses it."""

    value: str
    label: str
    key: str = ""
    under: str = ""  # heading of the options that are kinds of one answer, such as kinds of harm


@dataclass(frozen=True)
class FormField:
    """One question of a page: its name in the form, how it is answered, and its limits."""

    name: str
    label: str
    form: str  # scale, options, several, menu, number, text
    options: tuple[FormOption, ...] = ()
    help: str = ""
    required: bool = True
    minimum: int | None = None
    maximum: int | None = None
    anchors: tuple[str, ...] = ()
    longest: int = LONGEST


@dataclass(frozen=True)
class RefusedForm:
    """A page that was sent and refused: its answers, and the reasons by field."""

    values: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PageContext:
    """What every page needs: the language, the token of its form, and other languages to choose from."""

    # `action` is the address to which answers are sent, `at_once` whether a key that answers the last
    # question sends them.

    text: Catalogue
    token: str = ""
    languages: Sequence[Catalogue] = ()
    layout: str = "table"  # of pairs
    action: str = "/visit"
    at_once: bool = False


def render_step(
    study: Study | ItemStudy,
    step: Step,
    page: PageContext,
    answered: RefusedForm | None = None,
    *,
    screen: Mapping[str, str] | None = None,
) -> str:
    """Return the page of one step of a visit; ``screen`` is what the browser states of its device."""
    answered = answered or RefusedForm()
    if isinstance(step, EndStep):
        smallest = None if study.panel is None else study.panel.smallest_screen
        values = {"step": step, "smallest": smallest, "screen": screen or {}}
        return render("end.html.j2", page, title=page.text(f"ends.{step.ended}.title"), **values)
    common = {"step": step, "study": study, "answered": answered}
    if isinstance(step, TextStep):
        html = markdown(step.markdown)
        title = page.text(f"{step.kind}.title")
        return render("text.html.j2", page, title=title, html=html, headed="<h1>" in html, **common)
    if isinstance(step, TaskStep):
        template, values = task_page(study, step, page.text)
        return render(template, page, **values, **common)
    if isinstance(step, ComprehensionStep):
        factual = [
            FormField(question.id, question.text, "options", options_of(question.options))
            for question in step.questions
        ]
        title = page.text("comprehension.title")
        return render("questions.html.j2", page, title=title, fields=factual, **common)
    if isinstance(step, AttentionStep):
        check = FormField("answer", step.check.text, "options", options_of(step.check.options))
        title = page.text("attention.title")
        return render("questions.html.j2", page, title=title, fields=[check], **common)
    assert isinstance(step, QuestionsStep)
    fields = [question_field(question, page.text) for question in step.questions]
    return render("questions.html.j2", page, title=page.text("questions.title"), fields=fields, **common)


def task_page(study: Study | ItemStudy, step: TaskStep, text: Catalogue) -> tuple[str, dict[str, Any]]:
    """Return the template of a task, and what it shows besides step, study and answers."""
    title = text("task.practice")
    at_hand = None if step.at_hand is None else markdown(step.at_hand.markdown)
    if not step.practice:
        title = text("task.title", index=step.index, tasks=step.tasks)
    if isinstance(study.response, Choice):
        noun = study.collect.noun or NOUNS[study.kind]
        names = [f"{noun} {position}" for position in POSITIONS]
        further = further_fields(study, names, [position.lower() for position in POSITIONS])
        pair = {"noun": noun, "positions": POSITIONS, "further": further}
        return "pair.html.j2", {"title": title, "at_hand": at_hand, **pair}
    fields = task_fields(study, step, text)
    display = step.shown[0]
    return "item.html.j2", {
        "title": title,
        "at_hand": at_hand,
        "one": display,
        "fields": fields,
        "named": len(display.fields) > 1,
    }


def task_fields(study: Study | ItemStudy, step: TaskStep, text: Catalogue) -> list[FormField]:
    """Fields in which an item is answered."""
    response = study.response
    if isinstance(response, Ratings):
        return [scale_field(scale, text) for scale in response.scales]
    further = further_fields(study)
    if isinstance(response, Label):
        label = study.question if further else text("task.label")
        covers = study.gold.covers if isinstance(study, ItemStudy) and study.gold is not None else {}
        kinds = {
            level: name.replace("_", " ").capitalize()
            for name, levels in covers.items()
            for level in (levels if len(levels) > 1 else ())
        }
        return [FormField("label", label, "options", options_of(response.labels, kinds)), *further]
    assert isinstance(response, LineLabels)
    options = options_of(response.labels)
    lines = [
        FormField(line_field(number), line, "options", options, help=text("task.line", number=number))
        for number, line in enumerate(step.shown[0].lines, start=1)
    ]
    return [*lines, *further]


def further_fields(
    study: Study | ItemStudy, names: Sequence[str] = (), keys: Sequence[str] = ()
) -> list[FormField]:
    """Fields of further questions about a task; of a pair, ``names`` and ``keys`` are those of positions."""
    pair = tuple(map(FormOption, POSITIONS, names, keys)) if names else ()
    questions = () if study.panel is None else study.panel.task_questions
    return [
        FormField(question.id, question.text, "options", options_of(question.options) or pair)
        for question in questions
    ]


def scale_field(scale: Scale, text: Catalogue) -> FormField:
    """Field of one rating scale: buttons, or a number where the scale is long."""
    ratings = range(scale.minimum, scale.maximum + 1)
    meant = {anchor.value: anchor.text for anchor in scale.anchors or []}
    anchors = tuple(f"{value} = {meaning}" for value, meaning in sorted(meant.items()))
    help_text = scale.description or ""
    if len(ratings) > BUTTONS:
        limits = text("task.number", minimum=scale.minimum, maximum=scale.maximum)
        help_text = f"{help_text} {limits}".strip()
        return FormField(
            scale.id,
            scale.label,
            "number",
            help=help_text,
            minimum=scale.minimum,
            maximum=scale.maximum,
            anchors=anchors,
        )
    options = tuple(FormOption(str(value), str(value), str(value)) for value in ratings)
    return FormField(scale.id, scale.label, "scale", options, help=help_text, anchors=anchors)


def question_field(question: Question, text: Catalogue) -> FormField:
    """Field of one background question."""
    form = question.form
    options = options_of(question.options)
    help_text = "" if question.required else text("questions.optional")
    if form == "options":
        shape = "menu" if len(options) > MENU else "options"
        return FormField(question.id, question.label, shape, options, help_text, question.required)
    if form == "several":
        help_text = f"{text('questions.several')} {help_text}".strip()
        boxes = tuple(FormOption(option.value, option.label) for option in options)
        return FormField(question.id, question.label, form, boxes, help_text, question.required)
    limits = (question.minimum, question.maximum)
    if form == "number" and None not in limits:
        limits_text = text("task.number", minimum=question.minimum, maximum=question.maximum)
        help_text = f"{help_text} {limits_text}".strip()
    return FormField(question.id, question.label, form, (), help_text, question.required, *limits)


def options_of(
    levels: Sequence[LabelLevel], kinds: Mapping[str, str] | None = None
) -> tuple[FormOption, ...]:
    """Options in words; the first nine have a digit as their key."""
    return tuple(
        FormOption(level.id, level.label, str(number) if number < 10 else "", (kinds or {}).get(level.id, ""))
        for number, level in enumerate(levels, start=1)
    )


def markdown(text: str) -> Markup:
    """Return Markdown as HTML, without raw HTML, pictures, or links that could run something."""
    return Markup(_markdown().render(text))  # raw HTML is off, so everything else is escaped


@cache
def _markdown() -> MarkdownIt:
    reader = markdown_reader().disable("image")

    def open_link(renderer: Any, tokens: Sequence[Any], index: int, options: Any, env: Any) -> str:
        tokens[index].attrSet("rel", "noreferrer noopener")
        tokens[index].attrSet("target", "_blank")
        return str(renderer.renderToken(tokens, index, options, env))

    reader.add_render_rule("link_open", open_link)
    return reader


def render(template: str, page: PageContext, **values: Any) -> str:
    """Fill a template; values are escaped unless they are Markup."""
    return templates().get_template(template).render(t=page.text, page=page, **values)
