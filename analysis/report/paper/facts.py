"""What is known of a study, a run and results, for checklists, preregistrations, methods and metadata."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from conjury.inference.study.models import AnyStudy, ItemStudy, Study
from conjury.inference.tables.contained_paths import read_inside
from conjury.inference.tables.limits import TEMPLATE_BYTES

from ...figures.note_labels import texts_in_words
from ...frames.participation import COMPLETE
from ..report_data import ReportData

SIMULATED = "simulated"
MARK = "TO STATE BY THE AUTHOR"  # of fields that only the author can fill
INCLUDE = re.compile(r"""\{%-?\s*include\s+["']([\w./-]+)["']\s*-?%\}""")


@dataclass(frozen=True)
class RunFacts:
    """What a run has recorded."""

    folder: str  # its name
    # how each model was asked: model, backend, answer, settings
    judges: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # versions that answered by judge: `model_returned`, `system_fingerprint`, `n, first, last`
    served: Sequence[Mapping[str, Any]] = ()
    # size, seed and SHA-256 of what was shown
    design: Mapping[str, Any] = field(default_factory=dict)
    # prompts whose templates are still those that were sent, by their SHA-256
    same_texts: Collection[str] = ()
    # `judge_id, prompt_id, state, n, prompt_tokens, completion_tokens`
    counts: pd.DataFrame = field(default_factory=pd.DataFrame)
    # `judge_id, prompt_id, status, n` of parsed answers
    statuses: pd.DataFrame = field(default_factory=pd.DataFrame)
    # parsing rules of the judgments
    rules: Sequence[str] = ()
    # respondents of a panel, one row per participation, with their `state`
    people: pd.DataFrame | None = None


@dataclass(frozen=True)
class Facts:
    """A study, and as far as they exist its run and its results."""

    study: Study | ItemStudy
    run: RunFacts | None = None
    results: ReportData | None = None

    @property
    def is_simulated(self) -> bool:
        """Whether answers of the run, or data behind the results, are simulated."""
        served = self.run.served if self.run is not None else ()
        judges = self.run.judges.values() if self.run is not None else ()
        return (
            (self.results is not None and self.results.simulated)
            or any(entry.get("model_returned") == SIMULATED for entry in served)
            or any(entry.get("backend") == SIMULATED for entry in judges)
        )

    @property
    def models(self) -> list[Any]:
        """Models of the study."""
        return [judge for judge in self.study.judges if judge.kind == "model"]

    @property
    def models_asked(self) -> list[Any]:
        """Models with answers in the run or the results; all of the study where neither is known."""
        ids = set(self.run.judges) if self.run is not None else set()
        ids |= self._in_answers("judge")
        return [judge for judge in self.models if judge.id in ids] or self.models

    @property
    def answered_in_run(self) -> set[str]:
        """Ids of the judges with answers in the run; people count once a respondent has finished."""
        if self.run is None:
            return set()
        counts = self.run.counts
        ids = counts[(counts["state"] == "answered") & (counts["n"] > 0)]["judge_id"] if len(counts) else ()
        finished = self.run.people is not None and (self.run.people["state"] == COMPLETE).any()
        return {*map(str, ids), *(judge.id for judge in self.people if finished)}

    @property
    def answered_in_results(self) -> set[str]:
        """Ids of the judges of the study with answers in the results."""
        return {judge.id for judge in self.study.judges} & self._in_answers("judge")

    @property
    def prompts_asked(self) -> list[Any]:
        """Prompts with requests in the run or answers in the results; all of the study if neither has any."""
        counts = self.run.counts if self.run is not None else pd.DataFrame()
        ids = self._in_answers("prompt") | (set(counts["prompt_id"].astype(str)) if len(counts) else set())
        return [prompt for prompt in self.study.prompts if prompt.id in ids] or self.study.prompts

    def _in_answers(self, column: str) -> set[str]:
        answers = self.table("answers")
        if answers is None or not {column, "n"} <= set(answers.columns):
            return set()
        return set(answers.loc[answers["n"] > 0, column].astype("string").dropna())

    @property
    def people(self) -> list[Any]:
        """Panels of people of the study."""
        return [judge for judge in self.study.judges if judge.kind == "human"]

    def records(self, *kinds: str) -> list[Any]:
        """Results of some kinds; none without results."""
        return self.results.of_kind(*kinds) if self.results is not None else []

    def table(self, name: str) -> pd.DataFrame | None:
        """A table of the results; None where there is none."""
        return self.results.table(name) if self.results is not None and self.results.has(name) else None

    def check(self, code: str) -> Mapping[str, Any] | None:
        """The verdict and finding of a check of the results, in words; None where it was not run."""
        for name in ("diagnosis", "battery"):
            frame = self.table(name)
            if self.results is not None and frame is not None and "code" in frame:
                settings = next((record.settings for record in self.records(name)), None)
                words = texts_in_words(frame, settings or {}, self.results.labels)
                rows = words[words["code"] == code]
                if len(rows):
                    return dict(rows.iloc[0])
        return None


def template_text(study: AnyStudy, name: str | None) -> str:
    """The text of a template beside the study file, with those that it includes; empty without one."""
    if not name or not study.file(name).is_file():
        return ""

    folder = PurePosixPath(name).parent  # a template includes files by their path from its own folder

    def included(line: re.Match[str]) -> str:
        part = str(folder / line[1])
        return read_template(part).strip() if study.file(part).is_file() else line[0]

    def read_template(part: str) -> str:
        return read_inside(study.folder / part, study.folder, TEMPLATE_BYTES).decode("utf-8", "replace")

    return INCLUDE.sub(included, read_template(name)).strip()


def study_file(study: AnyStudy) -> Path:
    """The file of a study."""
    return study._file
