"""A survey for Qualtrics: a file that its menu Import survey reads, with the design as embedded data.

Qualtrics cannot read a table while a survey runs. So the survey flow has a randomizer with one element per
slot, which sets embedded data: the name of the slot and what each of its tasks shows. The tasks are one block
with Loop & Merge, whose fields are these data. The randomizer presents its elements evenly.

The form of the file is that of public files which Qualtrics has exported: ``SurveyEntry``, and
``SurveyElements`` with blocks (BL), flow (FL), options (SO), statistics and questions (SQ).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...study.asking import Choice, LabelLevel
from ...study.panel import AttentionCheck, Ending, Question
from ...tables.schema import POSITIONS
from ..plan import PanelPlan, Slot
from ..shown import Shown
from .asked import (
    PLAN,
    Answer,
    Files,
    answers_of,
    catalogue_of,
    escaped,
    field_names,
    hosted,
    markdown_html,
    media_html,
    plan_name,
    refuse_lines,
)

SLOT, TIMING, CONSENT = "slot", "timing", "consent"
Json = dict[str, Any]


@dataclass(frozen=True)
class Segment:
    """Consecutive tasks between two attention checks, which are one block with Loop & Merge.

    ``optional`` is one task that some slots lack. Tasks are counted from 0, segments from 1.
    """

    number: int
    first: int
    after: int
    checks: tuple[AttentionCheck, ...] = ()
    optional: bool = False

    def column(self, task: int, name: str) -> str:
        """Column of an export with an answer to a task."""
        return f"{task - self.first + 1}_{self.tag(name)}"

    def tag(self, name: str) -> str:
        """Name of a question of this block."""
        return name if self.number == 1 else f"{name}_{self.number}"


def segments(plan: PanelPlan) -> list[Segment]:
    """Divide the tasks of a visit at attention checks, and where some people have fewer tasks."""
    counts = [len(slot.tasks) for slot in plan.slots]
    least, most = min(counts), max(counts)
    cuts = {min(check.after, least) for check in plan.section.attention} - {0}
    ends = sorted({*cuts, least, *range(least, most + 1)})
    found, first = [], 0
    for number, end in enumerate(ends, start=1):
        checks = tuple(check for check in plan.section.attention if min(check.after, least) == end)
        found.append(Segment(number, first, end, checks, optional=end > least))
        first = end
    return found


def item_field(task: int) -> str:
    """Embedded data with the id of the item of a task, counted from 0."""
    return f"item_{task + 1}"


def value_field(task: int, position: int, place: int) -> str:
    """Embedded data with one field of one profile of a task; task, position and place count from 0."""
    return f"K-{task + 1}-{position + 1}-{place + 1}"


def column_of_attention(check: str) -> str:
    """Column of the answer to an attention check."""
    return f"attention_{check}"


def column_of_question(question: str) -> str:
    """Column of the answer to a background question."""
    return f"question_{question}"


def qualtrics_survey(plan: PanelPlan, media_url: str | None = None) -> Files:
    """Write a study as a survey of Qualtrics.

    Parameters
    ----------
    plan : PanelPlan
    media_url : str, optional
        Address of the folder to which pictures and clips are uploaded.

    Returns
    -------
    Files
        ``STUDY.qsf``, and pictures and clips to be uploaded.

    Raises
    ------
    InputError
        For labels of single lines, and for pictures without an address.

    Examples
    --------
    >>> import tempfile
    >>> from ..plan import make_plan
    >>> files = qualtrics_survey(make_plan("moderation", people=2, out=tempfile.mkdtemp()))
    >>> sorted(json.loads(files.texts["moderation.qsf"]))
    ['SurveyElements', 'SurveyEntry']
    """
    refuse_lines(plan.study, "Qualtrics")
    media = hosted(plan, media_url, "Qualtrics")
    survey = _Survey(plan, media_url or "")
    text = json.dumps(survey.content(), ensure_ascii=False, separators=(",", ":"))
    return Files({f"{plan.study.name}.qsf": text + "\n"}, media, tuple(_notes(plan)))


def _notes(plan: PanelPlan) -> Iterator[str]:
    section = plan.section
    yield "Slots are given out evenly; the slot of a person who leaves is not given out again."
    if section.quotas:
        yield "Quotas are not in the file; add them in Qualtrics (Survey, Tools, Quotas)."
    if section.fail_limit is not None and section.fail_limit > 1:
        yield "Failed attention checks are recorded and do not end the survey."


def _q(text: str) -> str:
    """Escape text, so that Qualtrics neither reads it as HTML nor fills in what is in ``${...}``."""
    return escaped(text).replace("$", "&#36;")


def _pipe(name: str) -> str:
    return f"${{e://Field/{name}}}"


def _loop(place: int) -> str:
    return f"${{lm://Field/{place}}}"


@dataclass
class _Survey:
    """A survey as it grows: its questions, blocks and flow."""

    plan: PanelPlan
    media_url: str
    questions: list[Json] = field(default_factory=list)
    blocks: list[Json] = field(default_factory=list)
    flows: int = 1

    def content(self) -> Json:
        """Return the whole file."""
        flow = list(self._flow())
        root: Json = {"Type": "Root", "FlowID": "FL_1", "Flow": flow}
        root["Properties"] = {"Count": self.flows, "RemovedFieldsets": []}
        trash = {"Type": "Trash", "Description": "Trash / Unused Questions", "ID": self._id("BL", "trash")}
        blocks = [*self.blocks, trash | {"BlockElements": []}]
        elements = [
            self._element("BL", "Survey Blocks", {str(place): one for place, one in enumerate(blocks)}),
            self._element("FL", "Survey Flow", root),
            self._element("SO", "Survey Options", self._options()),
            self._element("SCO", "Scoring", _SCORING),
            self._element("PROJ", "CORE", {"ProjectCategory": "CORE", "SchemaVersion": "1.1.0"})
            | {"TertiaryAttribute": "1.1.0"},
            self._element("STAT", "Survey Statistics", {"MobileCompatible": True, "ID": "Survey Statistics"}),
            self._element("QC", "Survey Question Count", None)
            | {"SecondaryAttribute": str(len(self.questions))},
            self._element("RS", self._id("RS", "responses"), None)
            | {"SecondaryAttribute": "Default Response Set"},
        ]
        for question in self.questions:
            one = self._element("SQ", question["QuestionID"], question)
            elements.append(one | {"SecondaryAttribute": question["QuestionDescription"]})
        return {"SurveyEntry": self._entry(), "SurveyElements": elements}

    def _entry(self) -> Json:
        never = "0000-00-00 00:00:00"
        return {
            "SurveyID": self._id("SV", "survey"),
            "SurveyName": self.plan.study.title,
            "SurveyDescription": None,
            "SurveyOwnerID": self._id("UR", "owner"),
            "SurveyBrandID": "",
            "DivisionID": None,
            "SurveyLanguage": self._language(),
            "SurveyActiveResponseSet": self._id("RS", "responses"),
            "SurveyStatus": "Inactive",
            **dict.fromkeys(("SurveyStartDate", "SurveyExpirationDate", "SurveyCreationDate"), never),
            "CreatorID": self._id("UR", "owner"),
            **dict.fromkeys(("LastModified", "LastAccessed", "LastActivated"), never),
            "Deleted": None,
        }

    def _options(self) -> Json:
        options = {
            **dict.fromkeys(("BackButton", "BallotBoxStuffingPrevention", "CollectGeoLocation"), "false"),
            **dict.fromkeys(("SaveAndContinue", "SecureResponseFiles"), "true"),
            "SurveyProtection": "PublicSurvey",
            "NoIndex": "Yes",
            "SurveyExpiration": "None",
            "Header": "",
            "Footer": "",
            "ProgressBarDisplay": "Text",
            "PartialData": "+1 week",
            "ValidationMessage": "",
            "PreviousButton": " ← ",
            "NextButton": " → ",
            "SurveyTitle": self.plan.study.title,
            "SkinLibrary": "Qualtrics",
            "SkinType": "MQ",
            "Skin": "v4qualtrics1",
            "NewScoring": 1,
            "AvailableLanguages": {self._language(): []},
        }
        return options | _ending(self.plan.section.completion)

    def _language(self) -> str:
        return self.plan.section.languages[0].upper()

    # ---- flow ----

    def _flow(self) -> Iterator[Json]:
        plan, section, words = self.plan, self.plan.section, catalogue_of(self.plan)
        yield self._data({PLAN: plan_name(plan)} | self._constants(), section.recruiting.parameters)
        if section.consent is not None:
            text = markdown_html(plan.study, section.consent).replace("$", "&#36;")
            levels = [("yes", words("consent.agree")), ("no", words("consent.decline"))]
            asked = self._choice(CONSENT, text, levels)
            yield self._block(words("consent.title"), [asked])
            yield self._end_if(asked, 2, "Selected", Ending())
        if section.instructions is not None:
            text = markdown_html(plan.study, section.instructions).replace("$", "&#36;")
            yield self._block(words("instructions.title"), [self._text("instructions", text)])
        yield from self._questions(section.first_questions, words("questions.title"))
        yield {
            **self._flow_of("BlockRandomizer"),
            "SubSet": 1,
            "EvenPresentation": True,
            "Flow": [self._data(self._data_of(slot)) for slot in plan.slots],
        }
        practice = plan.slots[0].practice
        if practice is not None:
            shown = [_values(plan.shown.of(name), field_names(plan), self) for name in practice.subjects]
            note = f"<p><em>{_q(words('task.practice_note'))}</em></p>"
            yield self._block(words("task.practice"), self._task("practice_", note, shown, False))
        for segment in segments(plan):
            yield from self._tasks(segment)
        yield from self._questions(section.last_questions, words("questions.title"))
        if section.completion.code is not None:
            text = f"<p>{_q(words('ends.code'))}: <strong>{_q(section.completion.code)}</strong></p>"
            yield self._block(words("ends.code"), [self._text("completion_code", text)])

    def _flow_of(self, kind: str) -> Json:
        self.flows += 1
        return {"Type": kind, "FlowID": f"FL_{self.flows}"}

    def _data(self, values: Mapping[str, str], received: Sequence[str] = ()) -> Json:
        """Embedded data: values that are set, and parameters that are received with the address."""
        rows = [{"Description": name, "Type": "Recipient", "Field": name} for name in received]
        rows += [
            {"Description": name, "Type": "Custom", "Field": name, "Value": value}
            for name, value in values.items()
        ]
        further = {"VariableType": "String", "DataVisibility": [], "AnalyzeText": False}
        return {**self._flow_of("EmbeddedData"), "EmbeddedData": [row | further for row in rows]}

    def _constants(self) -> dict[str, str]:
        """Labels of fields, by which the columns of profiles can be read without the study."""
        if not isinstance(self.plan.study.response, Choice):
            return {}
        names = field_names(self.plan)
        return {
            f"K-{task + 1}-{place + 1}": _q(name)
            for task in range(len(self.plan.slots[0].tasks))
            for place, name in enumerate(names)
        }

    def _data_of(self, slot: Slot) -> dict[str, str]:
        """Embedded data of a slot: its name, and what its tasks show."""
        values, names = {SLOT: slot.name}, field_names(self.plan)
        for number, task in enumerate(slot.tasks):
            if len(task.subjects) == 1:
                values[item_field(number)] = _q(task.subjects[0])
            for position, name in enumerate(task.subjects):
                row = _values(self.plan.shown.of(name), names, self)
                values |= {value_field(number, position, place): text for place, text in enumerate(row)}
        return values

    def _tasks(self, segment: Segment) -> Iterator[Json]:
        """The block of a segment, then its attention checks."""
        sides, width = len(self.plan.slots[0].tasks[0].subjects), _width(self.plan)
        rows = {
            str(task - segment.first + 1): {
                str(position * width + place + 1): _pipe(value_field(task, position, place))
                for position in range(sides)
                for place in range(width)
            }
            for task in range(segment.first, segment.after)
        }
        shown = [[_loop(side * width + place + 1) for place in range(width)] for side in range(sides)]
        asked = self._task("", "", shown, True, segment)
        block = self._block(f"Tasks {segment.first + 1} to {segment.after}", asked)
        self.blocks[-1]["Options"] |= {
            "Looping": "Static",
            "LoopingOptions": {"Static": rows, "Randomization": "None"},
        }
        if segment.optional:
            logic: Json = {"LogicType": "EmbeddedField", "LeftOperand": item_field(segment.first)}
            logic |= {"Operator": "NotEmpty", "_HiddenExpression": False}
            yield self._branch(logic, [block])
        else:
            yield block
        for check in segment.checks:
            asked_check = self._choice(
                column_of_attention(check.id), f"<p>{_q(check.text)}</p>", _pairs(check.options)
            )
            yield self._block(f"Attention check {check.id}", [asked_check])
            if self.plan.section.fail_limit == 1:
                right = [option.id for option in check.options].index(check.right) + 1
                yield self._end_if(asked_check, right, "NotSelected", Ending())

    def _questions(self, questions: Sequence[Question], title: str) -> Iterator[Json]:
        """A block of background questions, then the ends of those who are screened out."""
        if not questions:
            return
        asked = [self._question(question) for question in questions]
        yield self._block(title, asked)
        for question, one in zip(questions, asked, strict=True):
            ids = [option.id for option in question.options]
            for name in question.screen_out:
                yield self._end_if(one, ids.index(name) + 1, "Selected", self.plan.section.screened_out)

    def _end_if(self, question: Json, choice: int, operator: str, ending: Ending) -> Json:
        """Branch that ends the survey by the answer to a question."""
        name = question["QuestionID"]
        place = f"q://{name}/SelectableChoice/{choice}"
        logic = {"LogicType": "Question", "QuestionID": name, "QuestionIsInLoop": "no"}
        logic |= {"ChoiceLocator": place, "Operator": operator, "QuestionIDFromLocator": name}
        logic |= {"LeftOperand": place}
        flow: list[Json] = []
        if ending.code is not None and ending.redirect is None:
            words = catalogue_of(self.plan)
            text = f"<p>{_q(words('ends.code'))}: <strong>{_q(ending.code)}</strong></p>"
            flow.append(self._block(words("ends.code"), [self._text(f"code_{len(self.questions)}", text)]))
        options = {"Advanced": "true"} | _ending(ending)
        flow.append({**self._flow_of("EndSurvey"), "EndingType": "Advanced", "Options": options})
        return self._branch(logic, flow)

    def _branch(self, logic: Json, flow: list[Json]) -> Json:
        expression = logic | {"Type": "Expression", "Description": "Branch"}
        return {
            **self._flow_of("Branch"),
            "Description": "New Branch",
            "BranchLogic": {"0": {"0": expression, "Type": "If"}, "Type": "BooleanExpression"},
            "Flow": flow,
        }

    def _block(self, description: str, questions: Sequence[Json]) -> Json:
        name = self._id("BL", str(len(self.blocks)))
        elements = [{"Type": "Question", "QuestionID": one["QuestionID"]} for one in questions]
        self.blocks.append(
            {
                "Type": "Standard" if self.blocks else "Default",
                "SubType": "",
                "Description": description,
                "ID": name,
                "BlockElements": elements,
                "Options": {
                    "BlockLocking": "false",
                    "RandomizeQuestions": "false",
                    "BlockVisibility": "Expanded",
                },
            }
        )
        return {**self._flow_of("Standard"), "ID": name, "Autofill": []}

    # ---- questions ----

    def _task(
        self,
        before: str,
        note: str,
        shown: Sequence[Sequence[str]],
        required: bool,
        segment: Segment | None = None,
    ) -> list[Json]:
        """Questions of one task, with the text of what is shown; ``before`` begins their names."""
        study = self.plan.study
        answers = answers_of(study)

        def name(id: str) -> str:
            return f"{before}{id}" if segment is None else segment.tag(id)

        table = _table(shown, self._labels(), [option.label for option in answers[0].options])
        if isinstance(study.response, Choice):
            text = f"{note}<p>{_q(study.question)}</p>{table}"
            asked = [self._answer(answers[0], name(answers[0].id), text, required)]
        elif len(answers) == 1:
            text = f"{note}{table}<p>{_q(study.question)}</p>"
            asked = [self._answer(answers[0], name(answers[0].id), text, required)]
        else:
            asked = [self._text(name("item"), f"{note}{table}<p>{_q(study.question)}</p>")]
            asked += [self._answer(one, name(one.id), f"<p>{_q(one.label)}</p>", required) for one in answers]
        return asked if segment is None else [*asked, self._timing(name(TIMING))]

    def _labels(self) -> list[str]:
        """Labels of the fields of a profile or item, empty where a field needs none."""
        names = field_names(self.plan)
        media = [""] * (_width(self.plan) - len(names))
        alone = len(names) == 1 and not isinstance(self.plan.study.response, Choice)
        return [*media, *([""] if alone else names)]

    def _answer(self, answer: Answer, tag: str, text: str, required: bool) -> Json:
        if not answer.options:
            return self._entry_field(tag, text, (answer.minimum, answer.maximum), required)
        selector = "SAHR" if all(option.value.lstrip("-").isdigit() for option in answer.options) else "SAVR"
        levels = [(option.value, option.label) for option in answer.options]
        return self._choice(tag, text, levels, required, selector)

    def _choice(
        self,
        tag: str,
        text: str,
        levels: Sequence[tuple[str, str]],
        required: bool = True,
        selector: str = "SAVR",
    ) -> Json:
        """A question with options; what is exported as a number is a rating, or the place of an option."""
        order = [str(place) for place in range(1, len(levels) + 1)]
        numbers = all(value.lstrip("-").isdigit() for value, _ in levels)
        codes = [value for value, _ in levels] if numbers else order
        return self._add(
            tag,
            text,
            {
                "QuestionType": "MC",
                "Selector": selector,
                "SubSelector": "TX",
                "Choices": {
                    place: {"Display": _q(label)} for place, (_, label) in zip(order, levels, strict=True)
                },
                "ChoiceOrder": order,
                "RecodeValues": dict(zip(order, codes, strict=True)),
                "NextChoiceId": len(levels) + 1,
            },
            {"Type": "None"},
            required,
        )

    def _text(self, tag: str, text: str) -> Json:
        return self._add(tag, text, {"QuestionType": "DB", "Selector": "TB"}, {"Type": "None"}, None)

    def _entry_field(self, tag: str, text: str, bounds: tuple[int, int] | None, required: bool) -> Json:
        checks: Json = {"Type": "None"}
        if bounds is not None:
            limits = {"Min": str(bounds[0]), "Max": str(bounds[1]), "NumDecimals": "0"}
            checks = {"Type": "ContentType", "ContentType": "ValidNumber", "ValidNumber": limits}
        return self._add(tag, text, {"QuestionType": "TE", "Selector": "SL"}, checks, required)

    def _question(self, question: Question) -> Json:
        tag, text = column_of_question(question.id), f"<p>{_q(question.label)}</p>"
        if question.form == "options":
            return self._choice(tag, text, _pairs(question.options), question.required)
        low, high = question.minimum, question.maximum
        bounds = (-(10**9) if low is None else low, 10**9 if high is None else high)
        return self._entry_field(tag, text, bounds if question.form == "number" else None, question.required)

    def _timing(self, tag: str) -> Json:
        measured = ("First Click", "Last Click", "Page Submit", "Click Count")
        choices = {str(place): {"Display": name} for place, name in enumerate(measured, start=1)}
        made = {"QuestionType": "Timing", "Selector": "PageTimer", "Choices": choices}
        one = self._add(tag, "Timing", made, {"Type": "None"}, None)
        one["Configuration"] |= {"MinSeconds": "0", "MaxSeconds": "0"}
        return one

    def _add(self, tag: str, text: str, further: Json, checks: Json, required: bool | None) -> Json:
        """Add a question; ``required`` is None for what has no answer."""
        settings = dict(checks)
        if required is not None:
            settings |= {"ForceResponse": "ON" if required else "OFF", "ForceResponseType": "ON"}
        question: Json = {
            "QuestionText": text,
            "DefaultChoices": False,
            "DataExportTag": tag,
            "QuestionID": f"QID{len(self.questions) + 1}",
            "QuestionDescription": tag,
            "Configuration": {"QuestionDescriptionOption": "SpecifyLabel"},
            "Validation": {"Settings": settings},
            "GradingData": [],
            "Language": [],
            "NextChoiceId": 4,
            "NextAnswerId": 1,
            **further,
        }
        self.questions.append(question)
        return question

    def _id(self, kind: str, name: str) -> str:
        digest = hashlib.sha256(f"{self.plan.study.name} {kind} {name}".encode()).hexdigest()
        return f"{kind}_{digest[:15]}"

    def _element(self, kind: str, name: str, payload: Any) -> Json:
        return {
            "SurveyID": self._id("SV", "survey"),
            "Element": kind,
            "PrimaryAttribute": name,
            "SecondaryAttribute": None,
            "TertiaryAttribute": None,
            "Payload": payload,
        }


_SCORING: Json = {
    "ScoringCategories": [],
    "ScoringCategoryGroups": [],
    "ScoringSummaryCategory": None,
    "ScoringSummaryAfterQuestions": 0,
    "ScoringSummaryAfterSurvey": 0,
    "DefaultScoringCategory": None,
    "AutoScoringCategory": None,
}


def _ending(ending: Ending) -> Json:
    if ending.redirect is None:
        return {"SurveyTermination": "DefaultMessage"}
    return {"SurveyTermination": "Redirect", "EOSRedirectURL": ending.redirect}


def _pairs(levels: Sequence[LabelLevel]) -> list[tuple[str, str]]:
    return [(level.id, level.label) for level in levels]


def _width(plan: PanelPlan) -> int:
    """Number of fields of a profile or item; a picture or clip is the first of them."""
    return len(field_names(plan)) + bool(plan.shown.files)


def _values(shown: Shown, names: Sequence[str], survey: _Survey) -> list[str]:
    """What a profile or item shows, field by field, the picture or clip first."""
    values = dict(shown.fields)
    media = []
    if survey.plan.shown.files:
        address = f"{survey.media_url.rstrip('/')}/{shown.media_name}"
        media = [media_html(shown, address, _q) if shown.media_name is not None else ""]
    return [*media, *(_q(values.get(name, "")) for name in names)]


def _table(shown: Sequence[Sequence[str]], labels: Sequence[str], options: Sequence[str]) -> str:
    """One column per profile or item, one row per field."""
    head = ""
    if len(shown) == len(POSITIONS):
        names = "".join(f'<th style="padding:6px">{_q(option)}</th>' for option in options)
        head = f"<tr><th></th>{names}</tr>"
    rows = "".join(
        f'<tr><th style="text-align:left;padding:6px;vertical-align:top">{_q(label)}</th>'
        + "".join(f'<td style="padding:6px;vertical-align:top">{side[place]}</td>' for side in shown)
        + "</tr>"
        for place, label in enumerate(labels)
    )
    return f"<table>{head}{rows}</table>"


__all__ = ["Segment", "qualtrics_survey", "segments"]
