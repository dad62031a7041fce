"""The study file: what was varied, who judged, and which analyses belong to the study."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, PrivateAttr

from ..errors import InputError
from ..tables.files import STUDIES
from ..tables.limits import ATTRIBUTES
from .asking import Choice, Collecting, Content, Label, LineLabels, Ratings, Response, Scale, Vignette
from .base import Identifier, Part, Text, suggestion
from .instrument import Instrument
from .panel import PanelSection
from .parts import (
    Analysis,
    Assignment,
    Attribute,
    Bootstrap,
    Checks,
    Clusters,
    Costs,
    Derived,
    Design,
    Gold,
    Judge,
    Prompt,
    Stimulus,
    Stratum,
    StratumLevel,
    Tiers,
)

NOUNS = {"conjoint": "Profile", "items": "Item"}
LINE = "line"  # task of the dimensions line_1, line_2, ...


class AnyStudy(Part):
    """What a study of any kind states: who judges what under which prompts, and in which form they answer."""

    name: Identifier
    title: Text
    kind: str
    question: Text
    prompts: list[Prompt] = Field(default_factory=list)
    judges: list[Judge] = Field(default_factory=list)
    response: Response
    collect: Collecting = Collecting()
    instrument: Instrument | None = None
    panel: PanelSection | None = None
    column_aliases: dict[str, str] = Field(default_factory=dict)
    checks: Checks = Checks()
    _file: Path = PrivateAttr(default=Path("study.yaml"))

    @property
    def folder(self) -> Path:
        """The folder that contains the study file, its prompts and its truth table."""
        return self._file.parent

    @property
    def argument(self) -> str:
        """How commands name the study: as it ships, else its file without the folder."""
        folder = self._file.resolve().parent
        return folder.name if folder.parent == STUDIES else self._file.name

    @property
    def here(self) -> str:
        """How commands on this machine name the study: as it ships, else by the path of its file."""
        return self.argument if self._file.resolve().parent.parent == STUDIES else str(self._file)

    @property
    def judge_labels(self) -> dict[str, str]:
        """Judges in words."""
        return {judge.id: judge.label for judge in self.judges}

    @property
    def prompt_labels(self) -> dict[str, str]:
        """Prompts in words."""
        return {prompt.id: prompt.label for prompt in self.prompts}

    @property
    def instrument_prompts(self) -> list[Prompt]:
        """Prompts of the instrument: those that it names, else all of the study."""
        named = self.instrument.facets.prompt if self.instrument is not None else []
        return [prompt for prompt in self.prompts if not named or prompt.id in named]

    def response_of(self, prompt_id: str | None) -> Response:
        """What a prompt asks for: its own response, else that of the study, which people have as well."""
        named = {prompt.id: prompt.response for prompt in self.prompts}
        return named.get(prompt_id or "") or self.response

    @property
    def responses(self) -> list[Response]:
        """What the study asks for: its own response, then those of prompts, each once."""
        found = [self.response]
        for prompt in self.prompts:
            if prompt.response is not None and prompt.response not in found:
                found.append(prompt.response)
        return found


class Study(AnyStudy):
    """A conjoint study as its file describes it."""

    kind: Literal["conjoint"]
    outcome: Identifier = "chosen"
    attributes: list[Attribute] = Field(min_length=1, max_length=ATTRIBUTES)
    derived: list[Derived] = Field(default_factory=list)
    stimuli: list[Stimulus] = Field(default_factory=list)
    content: Content | None = None
    vignette: Vignette | None = None
    design: Design
    response: Response = Choice(form="choice")
    refusal: Literal["missing", "not_chosen"] = "missing"
    clusters: Clusters = Clusters()
    bootstrap: Bootstrap = Bootstrap()
    costs: Costs | None = None
    analyses: list[Analysis] = Field(default_factory=list)

    @property
    def features(self) -> dict[str, Attribute | Derived]:
        """Randomised attributes, then derived ones, by id."""
        parts: list[Attribute | Derived] = [*self.attributes, *self.derived]
        return {part.id: part for part in parts}

    def levels(self, feature: str) -> list[str]:
        """Level ids of an attribute or derived attribute, the reference first."""
        return [level.id for level in self.features[feature].levels]

    def analysis(self, name: str) -> Analysis:
        """Return the analysis called ``name``; raise InputError with the known names otherwise."""
        for analysis in self.analyses:
            if analysis.name == name:
                return analysis
        hint = suggestion(name, [analysis.name for analysis in self.analyses])
        raise InputError(f"Study {self.name}, analyses: {hint}")

    @property
    def feature_labels(self) -> dict[str, str]:
        """Attributes in words."""
        return {name: part.label for name, part in self.features.items()}

    @property
    def level_labels(self) -> dict[str, dict[str, str]]:
        """Levels in words, by attribute."""
        return {
            name: {level.id: level.label for level in part.levels} for name, part in self.features.items()
        }


class ItemStudy(AnyStudy):
    """A study of items that are judged one at a time, listed in the table ``items`` next to the study file.

    ``refusal`` gives what a refused, empty or unreadable answer counts as: a missing value. Of the columns of
    items, ``strata`` are those by which results are reported separately, ``cluster`` names related
    items (responses to one topic), and ``generator`` states who wrote an item: "human", or the id of a judge.
    ``gold`` names the right labels. ``missing`` gives what an answer without a label counts as, by its
    status: "wrong", "missing" (excluded, as statuses that are not named), or a label of the answers.
    ``main`` is the scale that matters most; ``tiers`` are levels of a
    stratum in their order of quality, and ``unrelated`` is the one whose items do not fit their context.
    Levels in ``set_aside`` (responses that are not meant to be funny) take no part in comparisons of who
    wrote what.
    """

    kind: Literal["items"]
    items: Text
    response: Response
    refusal: Literal["missing"] = "missing"
    missing: dict[str, str] = Field(default_factory=dict)
    strata: list[Stratum] = Field(default_factory=list)
    cluster: Identifier | None = None
    generator: Identifier | None = None
    main: Identifier | None = None
    tiers: Tiers | None = None
    unrelated: StratumLevel | None = None
    set_aside: list[StratumLevel] = Field(default_factory=list)
    assignment: Assignment | None = None
    gold: Gold | None = None

    @property
    def scales(self) -> list[Scale]:
        """The rating scales; none where the answer has another form."""
        return list(self.response.scales) if isinstance(self.response, Ratings) else []

    @property
    def scale_labels(self) -> dict[str, str]:
        """Rating scales in words."""
        return {scale.id: scale.label for scale in self.scales}

    @property
    def label_sets(self) -> dict[str, Label | LineLabels]:
        """What gives labels, by task: a dimension, or "line" for the dimensions line_1, line_2 and so on."""
        found: dict[str, Label | LineLabels] = {}
        for response in self.responses:
            if isinstance(response, Label | LineLabels):
                found.setdefault(response.id if isinstance(response, Label) else LINE, response)
        return found

    def gold_labels(self, task: str) -> dict[str, str]:
        """Gold labels of a task in words: those of the answers unless the study file has others."""
        levels = self.gold.levels if self.gold is not None else []
        return {label.id: label.label for label in levels or self.label_sets[task].labels}

    @property
    def feature_labels(self) -> dict[str, str]:
        """Strata in words."""
        return {stratum.id: stratum.label for stratum in self.strata}

    @property
    def level_labels(self) -> dict[str, dict[str, str]]:
        """Levels in words, by stratum."""
        return {part.id: {level.id: level.label for level in part.levels} for part in self.strata}

    def levels(self, stratum: str) -> list[str]:
        """Level ids of a stratum, in the order of the study file."""
        return list(self.level_labels[stratum])
