"""A survey for Qualtrics: a file that its menu Import survey reads, with the design as embedded data.

Qualtrics cannot read a table while a survey runs. So the survey flow has a randomizer with one element per
slot, which sets embedded data: the name of the slot and what each of its tasks shows. The tasks are one block
with Loop & Merge, whose fields are these data. The randomizer presents its elements evenly.

The form of the file is that of public files which Qualtrics has exported: ``SurveyEntry``, and
``SurveyElements`` with blocks (BL), flow (FL), options (SO), statistics and questions (SQ).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...study.asking import Choice
from ...study.panel_section import AttentionCheck, Comprehension, Ending, Question
from ..displayed_fields import title_of
from ..plan import PanelPlan, Slot
from .survey_flow import SurveyFlow, ending_options
from .survey_questions import (
    Json,
    fields_across,
    loop_field,
    piped_text,
    plain_text,
    values_of,
)
from .task_html import (
    PLAN,
    AnswerOption,
    ProgramFiles,
    catalogue_of,
    field_names,
    markdown_html,
    media_to_upload,
    options_of,
    plan_name,
    refuse_lines,
)
from .task_segments import (
    SLOT,
    TaskSegment,
    column_of_attention,
    column_of_comprehension,
    item_field,
    segments,
    value_field,
)

CONSENT, WITHDRAWAL = "consent", "withdrawal"


def qualtrics_survey(plan: PanelPlan, media_url: str | None = None) -> ProgramFiles:
    """Write a study as a survey of Qualtrics.

    Parameters
    ----------
    plan : PanelPlan
        Who sees what.
    media_url : str, optional
        Address of the folder to which pictures and clips are uploaded.

    Returns
    -------
    ProgramFiles
        ``STUDY.qsf``, and pictures and clips to be uploaded.

    Raises
    ------
    InputError
        For labels of single lines, and for pictures without an address.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.panel.plan import make_plan
    >>> files = qualtrics_survey(make_plan("moderation", people=2, out=tempfile.mkdtemp()))
    >>> sorted(json.loads(files.texts["moderation.qsf"]))
    ['SurveyElements', 'SurveyEntry']
    """
    refuse_lines(plan.study, "Qualtrics")
    media = media_to_upload(plan, media_url, "Qualtrics")
    survey = _Survey(plan, media_url or "")
    text = json.dumps(survey.content(), ensure_ascii=False, separators=(",", ":"))
    return ProgramFiles({f"{plan.study.name}.qsf": text + "\n"}, media, tuple(_notes(plan)))


def _notes(plan: PanelPlan) -> Iterator[str]:
    section = plan.section
    yield "Slots are given out evenly; the slot of a person who leaves is not given out again."
    if section.smallest_screen is not None:
        yield "The smallest screen is not in the file; add a meta info question and a branch in Qualtrics."
    if section.withdrawal:
        yield (
            f"Qualtrics keeps the answers of people who withdraw (question {WITHDRAWAL}); delete these "
            "responses there. They are left out when answers are imported."
        )
    if section.quotas:
        yield "Quotas are not in the file; add them in Qualtrics (Survey, Tools, Quotas)."
    if section.fail_limit is not None and section.fail_limit > 1:
        yield (
            "Failed attention checks do not end the survey; answers of people who fail "
            f"{section.fail_limit} are left out when they are imported."
        )


@dataclass
class _Survey(SurveyFlow):
    """A survey as it grows."""

    def content(self) -> Json:
        """Return the whole file."""
        flow = list(self._flow())
        root: Json = {"Type": "Root", "FlowID": "FL_1", "Flow": flow}
        root["Properties"] = {"Count": self.flows, "RemovedFieldsets": []}
        trash = {
            "Type": "Trash",
            "Description": "Trash / Unused Questions",
            "ID": self.element_id("BL", "trash"),
        }
        blocks = [*self.blocks, trash | {"BlockElements": []}]
        elements = [
            self._element("BL", "Survey Blocks", {str(place): block for place, block in enumerate(blocks)}),
            self._element("FL", "Survey Flow", root),
            self._element("SO", "Survey Options", self._options()),
            self._element("SCO", "Scoring", _SCORING),
            self._element("PROJ", "CORE", {"ProjectCategory": "CORE", "SchemaVersion": "1.1.0"})
            | {"TertiaryAttribute": "1.1.0"},
            self._element("STAT", "Survey Statistics", {"MobileCompatible": True, "ID": "Survey Statistics"}),
            self._element("QC", "Survey Question Count", None)
            | {"SecondaryAttribute": str(len(self.questions))},
            self._element("RS", self.element_id("RS", "responses"), None)
            | {"SecondaryAttribute": "Default Response Set"},
        ]
        for question in self.questions:
            element = self._element("SQ", question["QuestionID"], question)
            elements.append(element | {"SecondaryAttribute": question["QuestionDescription"]})
        return {"SurveyEntry": self._entry(), "SurveyElements": elements}

    def _entry(self) -> Json:
        never = "0000-00-00 00:00:00"
        return {
            "SurveyID": self.element_id("SV", "survey"),
            "SurveyName": title_of(self.plan.study),
            "SurveyDescription": None,
            "SurveyOwnerID": self.element_id("UR", "owner"),
            "SurveyBrandID": "",
            "DivisionID": None,
            "SurveyLanguage": self._language(),
            "SurveyActiveResponseSet": self.element_id("RS", "responses"),
            "SurveyStatus": "Inactive",
            **dict.fromkeys(("SurveyStartDate", "SurveyExpirationDate", "SurveyCreationDate"), never),
            "CreatorID": self.element_id("UR", "owner"),
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
            "SurveyTitle": title_of(self.plan.study),
            "SkinLibrary": "Qualtrics",
            "SkinType": "MQ",
            "Skin": "v4qualtrics1",
            "NewScoring": 1,
            "AvailableLanguages": {self._language(): []},
        }
        return options | ending_options(self.plan.section.completion)

    def _language(self) -> str:
        return self.plan.section.languages[0].upper()

    # ---- flow ----

    def _flow(self) -> Iterator[Json]:
        plan, section, words = self.plan, self.plan.section, catalogue_of(self.plan)
        yield self._data({PLAN: plan_name(plan)} | self._constants(), section.recruiting.parameters)
        if section.consent is not None:
            text = markdown_html(plan.study, section.consent).replace("$", "&#36;")
            options = (
                AnswerOption("yes", words("consent.agree")),
                AnswerOption("no", words("consent.decline")),
            )
            question = self.choice(CONSENT, text, options)
            yield self.block(words("consent.title"), [question])
            yield self.end_if(question, 2, "Selected", Ending())
        if section.instructions is not None:
            text = markdown_html(plan.study, section.instructions).replace("$", "&#36;")
            yield self.block(words("instructions.title"), [self.text("instructions", text)])
            if section.comprehension is not None:
                yield from self._comprehension(section.comprehension, text, 1)
        yield from self._questions(section.first_questions, words("questions.title"))
        yield {
            **self.flow_of("BlockRandomizer"),
            "SubSet": 1,
            "EvenPresentation": True,
            "Flow": [self._data(self._data_of(slot)) for slot in plan.slots],
        }
        practice = plan.slots[0].practice
        if practice is not None:
            columns = [values_of(plan.shown.of(name), field_names(plan), self) for name in practice.subjects]
            note = f"<p><em>{plain_text(words('task.practice_note'))}</em></p>"
            yield self.block(words("task.practice"), self.task("practice_", note, columns, required=False))
        for check in section.attention:
            if check.after == 0:
                yield from self._attention(check)
        for segment in segments(plan):
            yield from self._tasks(segment)
        yield from self._questions(section.last_questions, words("questions.title"))
        if section.debriefing is not None:
            yield from self._debriefing(section.debriefing)
        if section.completion.code is not None:
            yield self.code("completion_code", section.completion.code)

    def _data(self, values: Mapping[str, str], received: Sequence[str] = ()) -> Json:
        """Embedded data: values that are set, and parameters that are received with the address."""
        rows = [{"Description": name, "Type": "Recipient", "Field": name} for name in received]
        rows += [
            {"Description": name, "Type": "Custom", "Field": name, "Value": value}
            for name, value in values.items()
        ]
        further = {"VariableType": "String", "DataVisibility": [], "AnalyzeText": False}
        return {**self.flow_of("EmbeddedData"), "EmbeddedData": [row | further for row in rows]}

    def _constants(self) -> dict[str, str]:
        """Labels of fields, by which the columns of profiles can be read without the study."""
        if not isinstance(self.plan.study.response, Choice):
            return {}
        names = field_names(self.plan)
        return {
            f"K-{task + 1}-{place + 1}": plain_text(name)
            for task in range(len(self.plan.slots[0].tasks))
            for place, name in enumerate(names)
        }

    def _data_of(self, slot: Slot) -> dict[str, str]:
        """Embedded data of a slot: its name, and what its tasks show."""
        values, names = {SLOT: slot.name}, field_names(self.plan)
        for number, task in enumerate(slot.tasks):
            if len(task.subjects) == 1:
                values[item_field(number)] = plain_text(task.subjects[0])
            for position, name in enumerate(task.subjects):
                row = values_of(self.plan.shown.of(name), names, self)
                values |= {value_field(number, position, place): text for place, text in enumerate(row)}
        return values

    def _tasks(self, segment: TaskSegment) -> Iterator[Json]:
        """The block of a segment, then its attention checks."""
        sides, width = len(self.plan.slots[0].tasks[0].subjects), fields_across(self.plan)
        rows = {
            str(task - segment.first + 1): {
                str(position * width + place + 1): piped_text(value_field(task, position, place))
                for position in range(sides)
                for place in range(width)
            }
            for task in range(segment.first, segment.after)
        }
        columns = [[loop_field(side * width + place + 1) for place in range(width)] for side in range(sides)]
        questions = self.task("", "", columns, required=True, segment=segment)
        block = self.block(f"Tasks {segment.first + 1} to {segment.after}", questions)
        self.blocks[-1]["Options"] |= {
            "Looping": "Static",
            "LoopingOptions": {"Static": rows, "Randomization": "None"},
        }
        if segment.optional:
            logic: Json = {"LogicType": "EmbeddedField", "LeftOperand": item_field(segment.first)}
            logic |= {"Operator": "NotEmpty", "_HiddenExpression": False}
            yield self.branch([logic], [block])
        else:
            yield block
        for check in segment.checks:
            yield from self._attention(check)

    def _attention(self, check: AttentionCheck) -> Iterator[Json]:
        """An attention check; where one failure ends a participation, the end."""
        question = self.choice(
            column_of_attention(check.id), f"<p>{plain_text(check.text)}</p>", options_of(check.options)
        )
        yield self.block(f"Attention check {check.id}", [question])
        if self.plan.section.fail_limit == 1:
            right = [option.id for option in check.options].index(check.right) + 1
            yield self.end_if(question, right, "NotSelected", self.plan.section.failed)

    def _comprehension(self, comprehension: Comprehension, instructions: str, attempt: int) -> Iterator[Json]:
        """Questions about the instructions; after wrong answers the instructions again, then the end."""
        words, section = catalogue_of(self.plan), self.plan.section
        questions, wrong = [], []
        for question in comprehension.questions:
            tag = column_of_comprehension(question.id, attempt)
            questions.append(
                self.choice(tag, f"<p>{plain_text(question.text)}</p>", options_of(question.options))
            )
            right = [option.id for option in question.options].index(question.right) + 1
            wrong.append(self.selected(questions[-1], right, "NotSelected"))
        yield self.block(words("comprehension.title"), questions)
        if attempt == comprehension.attempts:
            yield self.branch(wrong, self.end(section.failed))
            return
        note = f"<p><em>{plain_text(words('comprehension.again'))}</em></p>"
        repeated = self.text(f"instructions_{attempt + 1}", note + instructions)
        block = self.block(words("instructions.title"), [repeated])
        yield self.branch(wrong, [block, *self._comprehension(comprehension, instructions, attempt + 1)])

    def _debriefing(self, file: str) -> Iterator[Json]:
        """The debriefing, and where people can withdraw, a question that ends the survey."""
        words, section = catalogue_of(self.plan), self.plan.section
        text = markdown_html(self.plan.study, file).replace("$", "&#36;")
        if not section.withdrawal:
            yield self.block(words("debriefing.title"), [self.text("debriefing", text)])
            return
        options = (
            AnswerOption("no", words("debriefing.submit")),
            AnswerOption("yes", words("debriefing.withdraw")),
        )
        question = self.choice(WITHDRAWAL, text, options)
        yield self.block(words("debriefing.title"), [question])
        yield self.end_if(question, 2, "Selected", section.withdrawn)

    def _questions(self, questions: Sequence[Question], title: str) -> Iterator[Json]:
        """A block of background questions, then the ends of those who are screened out."""
        if not questions:
            return
        entries = [self.question(question) for question in questions]
        yield self.block(title, entries)
        for question, entry in zip(questions, entries, strict=True):
            ids = [option.id for option in question.options]
            for name in question.screen_out:
                yield self.end_if(entry, ids.index(name) + 1, "Selected", self.plan.section.screened_out)

    def _element(self, kind: str, name: str, payload: Any) -> Json:
        return {
            "SurveyID": self.element_id("SV", "survey"),
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


__all__ = ["qualtrics_survey"]
