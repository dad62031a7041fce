"""Made-up studies for people, and exports of other programs with the answers of made-up people.

Qualtrics is played by `Qualtrics`, which reads a survey file as Qualtrics does: it walks the flow, sets
embedded data, fills in piped text, and repeats blocks with Loop & Merge. An export has its three rows of
headers.
"""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from conjury.inference.panel.elsewhere.study_export import Exported, export_study

HOSTILE = "<script>alert('x')</script> & \"${e://Field/slot}\" costs $5\nsecond line"
CONSENT = "# Consent\n\nYou may stop at any time. <b>no HTML</b> ${e://Field/x}\n"

FILE = Path(__file__).parents[2] / "fixtures" / "studies_for_people.yaml"
STUDIES = yaml.safe_load(FILE.read_text(encoding="utf-8"))
PANEL: dict[str, Any] = STUDIES["exported_panel"]


def write_study(folder: Path, kind: str) -> Path:
    """Write a study of hotels, or of jokes with ratings, labels or labels of lines; return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "consent.md").write_text(CONSENT)
    (folder / "instructions.md").write_text("Please read *carefully*.\n")
    content = STUDIES["hotel"] | {"panel": PANEL}
    if kind != "hotel":
        content = {
            "name": f"jokes_{kind}",
            **STUDIES["jokes_by_sort"],
            "response": STUDIES["responses"][kind],
        }
        content["panel"] = PANEL | {"practice_item": "warm_up"}
        rows = [
            {"item_id": f"{topic}_{sort}", "topic": topic, "sort": sort, "text": f"{topic} and\n{sort}"}
            for topic in ("cat", "dog", "ant")
            for sort in ("pun", "gag")
        ]
        rows[0]["text"] = HOSTILE
        rows.append({"item_id": "warm_up", "topic": "warm", "sort": "pun", "text": "for practice"})
        table = io.StringIO()
        writer = csv.DictWriter(table, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        (folder / "items.csv").write_text(table.getvalue())
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def written_for(tmp_path: Path, kind: str, to: str, **options: Any) -> Exported:
    """Export a made-up study for a program."""
    return export_study(write_study(tmp_path / kind, kind), to, out=tmp_path / "run", **options)


def drawn(*names: object, among: int) -> int:
    """A number below ``among`` that depends on the names alone."""
    digest = hashlib.sha256(repr(names).encode()).digest()
    return int.from_bytes(digest[:4], "big") % among


Json = dict[str, Any]
Decide = Callable[
    [str, int, str, int], int
]  # slot, task from 0, answer, options: the place of an option, or a number


@dataclass
class Qualtrics:
    """Play a survey file of Qualtrics, person by person, and export the responses."""

    survey: Json
    decide: Decide
    numeric: bool = False
    turn: int = 0
    rows: list[dict[str, str]] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts = self.survey["SurveyElements"]
        self.blocks = {one["ID"]: one for one in self._payload(parts, "BL").values()}
        self.flow = self._payload(parts, "FL")
        self.questions = {one["PrimaryAttribute"]: one["Payload"] for one in parts if one["Element"] == "SQ"}

    @staticmethod
    def _payload(parts: list[Json], kind: str) -> Json:
        (found,) = (one["Payload"] for one in parts if one["Element"] == kind)
        return dict(found)

    def answer(self, **given: Any) -> None:
        """One person takes the survey; ``given`` are columns that Qualtrics fills in."""
        self.data: dict[str, str] = {}
        self.row: dict[str, str] = {}
        self.task = 0
        self.given = given
        for element in self.flow["Flow"]:
            if not self._element(element):
                break
        recorded = {
            "StartDate": "2026-03-01 10:00:00",
            "EndDate": "2026-03-01 10:05:00",
            "Status": "IP Address",
            "Duration (in seconds)": "300",
            "Finished": "True",
            "ResponseId": f"R_{len(self.rows):03d}",
        }
        self.rows.append({**recorded, **self.row, **self.data, **given})

    def _element(self, element: Json) -> bool:
        kind = element["Type"]
        if kind == "EmbeddedData":
            for one in element["EmbeddedData"]:
                if one["Type"] == "Custom":
                    self.data[one["Field"]] = one["Value"]
        elif kind == "BlockRandomizer":
            assert element["SubSet"] == 1
            assert element["EvenPresentation"] is True
            chosen = element["Flow"][self.turn % len(element["Flow"])]
            self.turn += 1
            return self._element(chosen)
        elif kind == "Branch":
            logic = element["BranchLogic"]["0"]
            conditions = [condition for place, condition in logic.items() if place.isdigit()]
            assert all(one.get("Conjuction") == "Or" for one in conditions[1:])
            if any(map(self._holds, conditions)):
                return all(self._element(one) for one in element["Flow"])
        elif kind == "EndSurvey":
            return False
        else:
            assert kind in ("Block", "Standard"), kind
            self._block(self.blocks[element["ID"]])
        return True

    def _holds(self, logic: Json) -> bool:
        if logic["LogicType"] == "EmbeddedField":
            assert logic["Operator"] == "NotEmpty"
            return self.data.get(logic["LeftOperand"], "") != ""
        question = self.questions[logic["QuestionID"]]
        place = logic["ChoiceLocator"].rpartition("/")[2]
        assert place in question["Choices"]
        selected = self.places.get(logic["QuestionID"]) == place
        return selected == (logic["Operator"] == "Selected")

    def _block(self, block: Json) -> None:
        self.places: dict[str, str] = {}
        loops = block["Options"].get("LoopingOptions", {}).get("Static")
        for number, fields in (loops or {"": {}}).items():
            before = f"{number}_" if loops else ""
            for element in block["BlockElements"]:
                question = self.questions[element["QuestionID"]]
                text = self._filled(self._filled(question["QuestionText"], "lm", fields), "e", self.data)
                self.pages.append(text)
                self._question(
                    question, before + question["DataExportTag"], question["DataExportTag"], bool(loops)
                )
            self.task += bool(loops)

    @staticmethod
    def _filled(text: str, kind: str, values: Mapping[str, str]) -> str:
        return re.sub(r"\$\{" + kind + r"://Field/([^}]+)\}", lambda match: values[match[1]], text)

    def _question(self, question: Json, column: str, tag: str, looped: bool) -> None:
        kind = question["QuestionType"]
        if kind == "Timing":
            for place in question["Choices"].values():
                self.row[f"{column}_{place['Display']}"] = "2.5"
            return
        if kind == "DB":
            return
        task = self.task if looped else -1
        name = re.sub(r"_\d+$", "", tag) if looped else tag
        if kind == "TE":
            limits = question["Validation"]["Settings"]["ValidNumber"]
            low, high = int(limits["Min"]), int(limits["Max"])
            self.row[column] = str(low + self.decide(self.data.get("slot", ""), task, name, high - low + 1))
            return
        order = question["ChoiceOrder"]
        place = order[self.decide(self.data.get("slot", ""), task, name, len(order))]
        self.places[question["QuestionID"]] = place
        code = question["RecodeValues"][place]
        self.row[column] = code if self.numeric else html.unescape(question["Choices"][place]["Display"])

    def export(self, path: Path) -> Path:
        """Write the responses with the rows of names, question texts and import ids."""
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerow(columns)
            zone = {"timeZone": "Z"}
            writer.writerow(
                json.dumps({"ImportId": name} | (zone if name.endswith("Date") else {})) for name in columns
            )
            writer.writerows([row.get(name, "") for name in columns] for row in self.rows)
        return path


def jspsych_trials(study: Json, decide: Decide, slots: int | None = None) -> Iterator[list[Json]]:
    """Trials that the experiment records, visit by visit, for the first slots of ``study.json``."""
    for number, slot in enumerate(study["slots"][:slots]):
        shared = {"conjury_plan": study["plan"], "slot": slot["name"], "visit": f"v{number}"}
        shared |= {"started": "2026-03-01T10:00:00.000Z", "PROLIFIC_PID": f"person{number}"}
        trials: list[Json] = [{"part": "consent", "response": 0, "answers": None}]
        trials.append({"part": "preload", "success": True})
        trials.append({"part": "questions", "answers": {"adult": "yes"}})
        for task, one in enumerate(slot["tasks"]):
            asked = study["shown"][one["subjects"][0]].get("answers") or study["answers"]
            answers = {}
            for answer in asked:
                options = answer["options"]
                among = len(options) or answer["maximum"] - answer["minimum"] + 1
                place = decide(slot["name"], task, answer["id"], among)
                answers[answer["id"]] = options[place]["value"] if options else str(answer["minimum"] + place)
            trials.append(
                {"part": "task", "task": task + 1, "name": one["name"], "rt": 2500, "answers": answers}
            )
            if task == 1:
                trials.append({"part": "attention", "name": "colour", "answers": {"answer": "blue"}})
        trials.append({"part": "questions", "answers": {"age": "44"}})
        yield [
            {"trial_index": index, "time": "2026-03-01T10:05:00.000Z", **trial, **shared}
            for index, trial in enumerate(trials)
        ]


def label_studio_export(tasks: list[Json], config: str, decide: Decide) -> list[Json]:
    """Annotations of all tasks by one annotator per slot, with the controls of the configuration."""
    from xml.etree import ElementTree

    view = ElementTree.fromstring(config)
    slots = list(dict.fromkeys(task["data"]["slot"] for task in tasks))
    exported = []
    for number, task in enumerate(tasks, start=1):
        data = task["data"]
        results = []
        for control in view.iter():
            if control.tag not in ("Choices", "Number"):
                continue
            name = control.attrib["name"]
            if control.tag == "Number":
                low, high = int(control.attrib["min"]), int(control.attrib["max"])
                value: Json = {"number": low + decide(data["slot"], data["task"] - 1, name, high - low + 1)}
            else:
                aliases = [choice.attrib["alias"] for choice in control]
                value = {"choices": [aliases[decide(data["slot"], data["task"] - 1, name, len(aliases))]]}
            results.append(
                {
                    "from_name": name,
                    "to_name": control.attrib["toName"],
                    "type": control.tag.lower(),
                    "value": value,
                }
            )
        annotation = {
            "id": 100 + number,
            "completed_by": slots.index(data["slot"]) + 1,
            "result": results,
            "was_cancelled": False,
            "lead_time": 2.5,
            "created_at": "2026-03-01T10:04:00Z",
            "updated_at": "2026-03-01T10:05:00Z",
        }
        exported.append({"id": number, "data": data, "annotations": [annotation], "predictions": []})
    return exported
