"""The flow of a survey of Qualtrics: blocks of questions, branches, and ends."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...study.panel_section import Ending
from .survey_questions import Json, SurveyQuestions, plain_text
from .task_html import catalogue_of


@dataclass
class SurveyFlow(SurveyQuestions):
    """Blocks of a survey and their order, as they are added."""

    blocks: list[Json] = field(default_factory=list)
    flows: int = 1

    def flow_of(self, kind: str) -> Json:
        """Begin an element of the flow."""
        self.flows += 1
        return {"Type": kind, "FlowID": f"FL_{self.flows}"}

    def end_if(self, question: Json, choice: int, operator: str, ending: Ending) -> Json:
        """Branch that ends the survey by the answer to a question."""
        return self.branch([self.selected(question, choice, operator)], self.end(ending))

    def selected(self, question: Json, choice: int, operator: str) -> Json:
        """Whether an option of a question is selected, or is not."""
        name = question["QuestionID"]
        place = f"q://{name}/SelectableChoice/{choice}"
        logic = {"LogicType": "Question", "QuestionID": name, "QuestionIsInLoop": "no"}
        logic |= {"ChoiceLocator": place, "Operator": operator, "QuestionIDFromLocator": name}
        return logic | {"LeftOperand": place}

    def end(self, ending: Ending) -> list[Json]:
        """The end of the survey, after a code where there is one."""
        flow: list[Json] = []
        if ending.code is not None and ending.redirect is None:
            words = catalogue_of(self.plan)
            text = f"<p>{plain_text(words('ends.code'))}: <strong>{plain_text(ending.code)}</strong></p>"
            flow.append(self.block(words("ends.code"), [self.text(f"code_{len(self.questions)}", text)]))
        options = {"Advanced": "true"} | ending_options(ending)
        flow.append({**self.flow_of("EndSurvey"), "EndingType": "Advanced", "Options": options})
        return flow

    def code(self, tag: str, code: str) -> Json:
        """A block that shows a code."""
        title = catalogue_of(self.plan)("ends.code")
        text = f"<p>{plain_text(title)}: <strong>{plain_text(code)}</strong></p>"
        return self.block(title, [self.text(tag, text)])

    def branch(self, conditions: Sequence[Json], flow: list[Json]) -> Json:
        """A branch that is taken where one of the conditions holds."""
        expressions: Json = {}
        for place, condition in enumerate(conditions):
            joined = {} if place == 0 else {"Conjuction": "Or"}  # spelled so by Qualtrics
            expressions[str(place)] = condition | {"Type": "Expression", "Description": "Branch"} | joined
        return {
            **self.flow_of("Branch"),
            "Description": "New Branch",
            "BranchLogic": {"0": {**expressions, "Type": "If"}, "Type": "BooleanExpression"},
            "Flow": flow,
        }

    def block(self, description: str, questions: Sequence[Json]) -> Json:
        """Add a block of questions; return its element of the flow."""
        name = self.element_id("BL", str(len(self.blocks)))
        elements = [{"Type": "Question", "QuestionID": question["QuestionID"]} for question in questions]
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
        return {**self.flow_of("Standard"), "ID": name, "Autofill": []}

    def element_id(self, kind: str, name: str) -> str:
        """Name an element, the same for the same study."""
        digest = hashlib.sha256(f"{self.plan.study.name} {kind} {name}".encode()).hexdigest()
        return f"{kind}_{digest[:15]}"


def ending_options(ending: Ending) -> Json:
    """Where a survey leads at its end."""
    if ending.redirect is None:
        return {"SurveyTermination": "DefaultMessage"}
    return {"SurveyTermination": "Redirect", "EOSRedirectURL": ending.redirect}
