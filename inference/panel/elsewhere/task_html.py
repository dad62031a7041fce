"""What people are asked in other programs: the answers to a task, and what is shown, in HTML."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import InputError, require_installed
from ...study.asking import Choice, Label, LabelLevel, LineLabels, Ratings, Scale
from ...study.models import ItemStudy, Study
from ...study.panel_section import SEVERAL
from ...tables.html_page import markdown_reader
from ...tables.limits import read_text
from ...tables.reading.cell_rules import number_of
from ...tables.schema import POSITIONS
from ..displayed_fields import SubjectDisplay
from ..panel_answers import task_questions_of
from ..plan import PanelPlan, PlannedTask
from ..web.languages import Catalogue, load_catalogues

CHOICE = "choice"  # id of the answer to a pair
MOST_OPTIONS = 21  # points of a scale that are shown as options; a scale with more of them takes a number
FIRST_CODE = 1001  # of options that are no numbers; lower ones are often labels, such as those of ages
PLAN = "conjury_plan"  # where an export states to which plan its answers belong
HASH_LENGTH = 16  # 64 bits
FOLDER = "elsewhere"  # in the folder of a run, with a folder per program


@dataclass(frozen=True)
class AnswerOption:
    """One answer: what is stored, and what is shown."""

    value: str
    label: str


@dataclass(frozen=True)
class AnswerField:
    """One answer that a task asks for: one of ``options``, or a number where there are none."""

    id: str
    label: str
    options: tuple[AnswerOption, ...] = ()
    minimum: int = 0
    maximum: int = 0
    text: str = ""  # line that takes a label

    def read(self, text: str, coded: bool = False) -> str | None:
        """Find the value of an answer by itself or its label; None where it is neither."""
        # With ``coded`` it is a label or one of `codes_of`: exports of Qualtrics contain no values.
        text = html.unescape(text).strip()
        if not self.options:
            number = number_of(text)
            is_valid = number is not None and number.is_integer() and self.minimum <= number <= self.maximum
            return str(int(number)) if is_valid and number is not None else None
        values, labels = (
            [option.value for option in self.options],
            [option.label for option in self.options],
        )
        return self._option_of(text, codes_of(self.options) if coded else values, labels, values)

    def read_several(self, text: str, coded: bool = False) -> str | None:
        """Find several options in a list with commas, in their order; None where a part is none of them."""
        chosen, parts = [], html.unescape(text).split(",")
        while parts:  # a label may contain commas itself
            lengths = range(len(parts), 0, -1)
            values = ((length, self.read(",".join(parts[:length]), coded)) for length in lengths)
            length, value = next(((n, value) for n, value in values if value is not None), (0, None))
            if value is None:
                return None
            chosen.append(value)
            parts = parts[length:]
        return SEVERAL.join(option.value for option in self.options if option.value in chosen)

    @staticmethod
    def _option_of(text: str, codes: list[str], labels: list[str], values: list[str]) -> str | None:
        for names in (codes, labels):
            for name, value in zip(names, values, strict=True):
                if " ".join(name.split()) == " ".join(text.split()):
                    return value
        return None


def codes_of(options: Sequence[AnswerOption]) -> list[str]:
    """Numbers of options in numeric exports: ratings are their own, others have numbers that no label has."""
    values, labels = [option.value for option in options], [option.label.strip() for option in options]
    numbers = all(value.lstrip("-").isdigit() for value in values)
    if numbers and all(
        label == value or label not in values for value, label in zip(values, labels, strict=True)
    ):
        return values
    first = FIRST_CODE
    while {str(first + place) for place in range(len(options))} & set(labels):
        first += FIRST_CODE
    return [str(first + place) for place in range(len(options))]


@dataclass(frozen=True)
class ProgramFiles:
    """What is written for one program: texts by their path in the folder, and pictures and clips to copy."""

    texts: Mapping[str, str]
    media: Mapping[str, Path] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def answers_of(study: Study | ItemStudy, display: SubjectDisplay | None = None) -> tuple[AnswerField, ...]:
    """Answers that a task asks for; ``display`` is the item, whose lines may take a label each."""
    response = study.response
    if isinstance(response, Choice):
        pairs = zip(POSITIONS, response.options, strict=True)
        positions = tuple(AnswerOption(value, label) for value, label in pairs)
        return (AnswerField(CHOICE, study.question, positions), *_further_answers(study, positions))
    if isinstance(response, Ratings):
        return tuple(_scale_answer(scale) for scale in response.scales)
    if isinstance(response, Label | LineLabels):
        options = options_of(response.labels)
        if isinstance(response, Label):
            return (AnswerField(response.id, study.question, options), *_further_answers(study))
        lines = () if display is None else display.lines
        labels = tuple(
            AnswerField(f"line_{number}", str(number), options, text=line)
            for number, line in enumerate(lines, start=1)
        )
        return (*labels, *_further_answers(study))
    raise InputError(f"Study {study.name} asks for text; people give choices, ratings or labels.")


def _further_answers(
    study: Study | ItemStudy, positions: tuple[AnswerOption, ...] = ()
) -> tuple[AnswerField, ...]:
    """Answers to further questions about a task; of a pair, ``positions`` are the options."""
    return tuple(
        AnswerField(question.id, question.text, options_of(question.options) or positions)
        for question in task_questions_of(study)
    )


def at_hand_of(plan: PanelPlan) -> tuple[str, str]:
    """Title and HTML of what people can open during tasks: the policy, else the instructions."""
    kind = "policy" if plan.section.policy is not None else "instructions"
    text = markdown_html(plan.study, getattr(plan.section, kind))
    return catalogue_of(plan)(f"{kind}.title"), text


def options_of(levels: Sequence[LabelLevel]) -> tuple[AnswerOption, ...]:
    """Options of a question or a check."""
    return tuple(AnswerOption(level.id, level.label) for level in levels)


def _scale_answer(scale: Scale) -> AnswerField:
    label = scale.label if scale.description is None else f"{scale.label}: {scale.description}"
    points = range(scale.minimum, scale.maximum + 1)
    if len(points) > MOST_OPTIONS:
        return AnswerField(scale.id, label, (), scale.minimum, scale.maximum)
    anchors = {anchor.value: f"{anchor.value}: {anchor.text}" for anchor in scale.anchors or ()}
    options = tuple(AnswerOption(str(point), anchors.get(point, str(point))) for point in points)
    return AnswerField(scale.id, label, options)


def refuse_lines(study: Study | ItemStudy, program: str) -> None:
    """Refuse labels of single lines, of which items have different numbers."""
    if isinstance(study.response, LineLabels):
        raise InputError(
            f"Study {study.name} asks for a label per line, which {program} cannot ask about items of "
            "different length; use --to jspsych, or conjury panel."
        )


def plan_name(plan: PanelPlan) -> str:
    """Short hash of who sees which tasks, by which an export of answers is recognised."""
    digest = hashlib.sha256()
    for slot in plan.slots:
        tasks = [(task.name, task.subjects, task.repeat_of) for task in slot.tasks]
        digest.update(repr((slot.name, tasks)).encode())
    return digest.hexdigest()[:HASH_LENGTH]


def subjects_of(plan: PanelPlan) -> list[str]:
    """All profiles or items that somebody sees, each once, in order of appearance."""
    names: dict[str, None] = {}
    for slot in plan.slots:
        for task in tasks_of(slot.tasks, slot.practice):
            names.update(dict.fromkeys(task.subjects))
    return list(names)


def tasks_of(tasks: Sequence[PlannedTask], practice: PlannedTask | None) -> Iterator[PlannedTask]:
    """The practice task, where there is one, and the tasks."""
    if practice is not None:
        yield practice
    yield from tasks


def field_names(plan: PanelPlan) -> list[str]:
    """Fields that any profile or item shows, in order of appearance."""
    displays = (plan.shown.of(name) for name in subjects_of(plan))
    return list(dict.fromkeys(name for display in displays for name, _ in display.fields))


def media_of(plan: PanelPlan) -> dict[str, Path]:
    """Pictures and clips that somebody sees, by their place in the folder that is written."""
    displays = (plan.shown.of(name) for name in subjects_of(plan))
    names = dict.fromkeys(display.media_name for display in displays if display.media_name is not None)
    return {f"media/{name}": plan.shown.files[name][0] for name in names}


def media_to_upload(plan: PanelPlan, media_url: str | None, program: str) -> dict[str, Path]:
    """Pictures and clips to be uploaded; refuse where there are some and no address is known."""
    media = media_of(plan)
    if media and media_url is None:
        raise InputError(
            f"Study {plan.study.name} shows pictures or clips, which {program} loads from an address; upload "
            "them and name the folder with --media-url https://..."
        )
    return media


# ---- HTML ----


def escaped(text: str) -> str:
    """Escape text for HTML; line breaks are kept."""
    return html.escape(text).replace("\r\n", "\n").replace("\n", "<br>")


def media_html(display: SubjectDisplay, address: str, escape: Callable[[str], str] = escaped) -> str:
    """Return the picture or clip of what is shown, at an address."""
    source = escape(address)
    if display.kind == "video":
        return f'<video controls preload="auto" style="max-width:100%" src="{source}"></video>'
    return f'<img style="max-width:100%" src="{source}" alt="{escape(display.alt)}">'


def display_html(display: SubjectDisplay, media_url: str = "") -> str:
    """Return a profile or item with its fields, picture or clip; every text is escaped."""
    parts = []
    if display.media_name is not None:
        parts.append(media_html(display, f"{media_url.rstrip('/')}/{display.media_name}"))
    if len(display.fields) == 1 and not parts:
        parts.append(f"<p>{escaped(display.fields[0][1])}</p>")
    elif display.fields:
        rows = "".join(
            f'<tr><th style="text-align:left;padding:4px 12px 4px 0">{escaped(name)}</th>'
            f'<td style="padding:4px 0">{escaped(value)}</td></tr>'
            for name, value in display.fields
        )
        parts.append(f"<table>{rows}</table>")
    return "".join(parts)


def markdown_html(study: Study | ItemStudy, name: str | None) -> str:
    """Read a Markdown file next to the study file as HTML; HTML inside of it shows as text."""
    if name is None:
        return ""
    require_installed(
        ("markdown_it",),
        "Texts in Markdown need markdown-it-py; install it with: pip install 'conjury[panel]'.",
    )
    return str(markdown_reader().render(read_text(study.file(name))))


def catalogue_of(plan: PanelPlan) -> Catalogue:
    """Strings in the first language of the study."""
    code = plan.section.languages[0]
    return load_catalogues([code], plan.study.folder)[code]
