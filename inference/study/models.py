"""The study file: what was varied, who judged, and which analyses belong to the study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, PrivateAttr

from ..errors import InputError, distinct_labels
from ..tables.contained_paths import require_inside
from ..tables.files import STUDIES
from ..tables.limits import ATTRIBUTES
from .asking import (
    Choice,
    Collecting,
    Content,
    Label,
    LabelLevel,
    LineLabels,
    Ratings,
    Response,
    Scale,
    Vignette,
)
from .instrument import Instrument
from .panel_section import PanelSection
from .reading_section import ReadingSection
from .study_fields import (
    Analysis,
    Assignment,
    Attribute,
    Bootstrap,
    Category,
    Checks,
    Clusters,
    Costs,
    Derived,
    Design,
    Gold,
    Intervals,
    Judge,
    Prompt,
    Stimulus,
    Stratum,
    StratumLevel,
    Tiers,
    Trait,
)
from .study_yaml import Identifier, Part, Text, suggestion

NOUNS = {"conjoint": "Profile", "items": "Item"}
LINE = "line"  # task of the dimensions line_1, line_2, ...


class AnyStudy(Part):
    """What a study of any kind states: who judges what under which prompts, and in which form they answer.

    Parameters
    ----------
    name, title, kind, question, prompts, judges, response, collect, instrument, panel, column_aliases, checks
        As in the study file; each is described where it is declared.
    reading
        As in the study file; each is described where it is declared.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> study = load_any_study("moderation")
    >>> isinstance(study, AnyStudy), study.judge_labels["gpt4o"]
    (True, 'GPT-4o')
    """

    name: Identifier
    """Name of the study: small letters, digits and _. Runs are in the folder runs/NAME."""
    title: Text
    """Title of reports."""
    kind: str
    """conjoint for pairs of drawn profiles, items for a table of items."""
    question: Text
    """What judges are asked; prompts may use it as {{ question }}."""
    prompts: list[Prompt] = Field(default_factory=list)
    """Instructions that models are given, each from its templates."""
    judges: list[Judge] = Field(default_factory=list)
    """People and models who judge."""
    response: Response
    """Form of the answer."""
    collect: Collecting = Collecting()
    """How judgments are collected."""
    instrument: Instrument | None = None
    """How judges are tested: facets of the question, vacuum pairs, anchors."""
    panel: PanelSection | None = None
    """How people take part in the browser."""
    column_aliases: dict[str, str] = Field(default_factory=dict)
    """Names of columns in tables from elsewhere, as THEIRS: OURS."""
    checks: Checks = Checks()
    """How `conjury check` treats the study."""
    reading: ReadingSection = ReadingSection()
    """How tables of answers are read: what is missing, labels, rows, kinds of files."""
    _file: Path = PrivateAttr(default=Path("study.yaml"))

    @property
    def folder(self) -> Path:
        """The folder that contains the study file, its prompts and its truth table."""
        return self._file.parent

    def file(self, name: str) -> Path:
        """Return the path of a file of the study; InputError where it leads out of the study's folder."""
        return require_inside(self.folder / name, self.folder)

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
        return distinct_labels({judge.id: judge.label for judge in self.judges})

    @property
    def prompt_labels(self) -> dict[str, str]:
        """Prompts in words."""
        return distinct_labels({prompt.id: prompt.label for prompt in self.prompts})

    @property
    def instrument_prompts(self) -> list[Prompt]:
        """Prompts of the instrument: those that it names, else all of the study."""
        prompt_ids = self.instrument.facets.prompt if self.instrument is not None else []
        return [prompt for prompt in self.prompts if not prompt_ids or prompt.id in prompt_ids]

    def response_of(self, prompt_id: str | None) -> Response:
        """What a prompt asks for: its own response, else that of the study, which people have as well."""
        responses = {prompt.id: prompt.response for prompt in self.prompts}
        return responses.get(prompt_id or "") or self.response

    @property
    def responses(self) -> list[Response]:
        """What the study asks for: its own response, then those of prompts, each once."""
        unique_responses = [self.response]
        for prompt in self.prompts:
            if prompt.response is not None and prompt.response not in unique_responses:
                unique_responses.append(prompt.response)
        return unique_responses


class Study(AnyStudy):
    """A conjoint study as its file describes it.

    Parameters
    ----------
    name, title, kind, question, prompts, judges, response, collect, instrument, panel, column_aliases, checks
        As in the study file; each is described where it is declared.
    reading, outcome, attributes, derived, stimuli, content, vignette, design, traits, weights
        As in the study file; each is described where it is declared.
    refusal, clusters, bootstrap, intervals, costs, focus, analyses
        As in the study file; each is described where it is declared.

    Examples
    --------
    >>> from conjury.inference.study import load_study
    >>> study = load_study("moderation")
    >>> study.levels("reply"), study.design.pairs
    (['no_reply', 'agree', 'disagree'], 30000)
    """

    kind: Literal["conjoint"]
    """A study of pairs of profiles with randomised attributes."""
    outcome: Identifier = "chosen"
    """Column of choices that analyses are about."""
    attributes: list[Attribute] = Field(min_length=1, max_length=ATTRIBUTES)
    """Randomised attributes of profiles."""
    derived: list[Derived] = Field(default_factory=list)
    """Attributes that follow from others and are never drawn."""
    stimuli: list[Stimulus] = Field(default_factory=list)
    """Interchangeable renderings of levels, such as ten texts per topic."""
    content: Content | None = None
    """Texts, people and insults of a conjoint of posts; without it levels are shown by label."""
    vignette: Vignette | None = None
    """How profiles are drawn as pictures."""
    design: Design
    """Numbers of pairs, respondents and tasks, and combinations that never occur."""
    traits: list[Trait] = Field(default_factory=list)
    """Columns of respondents in the data, with labels and the order of their values."""
    weights: Text | None = None
    """Column of the data with the weight of each respondent; answers of models are not weighted."""
    response: Response = Choice(form="choice")
    """Form of the answer; by default a choice between A and B."""
    refusal: Literal["missing", "not_chosen"] = "missing"
    """Whether answers without a valid choice are missing and excluded, or count as not chosen for both
    profiles."""
    clusters: Clusters = Clusters()
    """Columns by which observations are clustered."""
    bootstrap: Bootstrap = Bootstrap()
    """Unit and number of draws of the bootstrap."""
    intervals: Intervals = Intervals()
    """Kind of intervals that figures, tables and sentences report."""
    costs: Costs | None = None
    """What judgments cost."""
    focus: list[Identifier] = Field(default_factory=list)
    """Attributes that the question is about; the finding speaks of them, and not of the largest effect."""
    analyses: list[Analysis] = Field(default_factory=list)
    """What `conjury fit` estimates for each judge under each prompt."""

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
    def group_columns(self) -> dict[str, list[str]]:
        """Columns of respondents by which analyses compare, with the names of these analyses."""
        columns: dict[str, list[str]] = {}
        for analysis in self.analyses:
            for name in () if analysis.crosses_groups else analysis.by:
                if name not in self.features:
                    columns.setdefault(name, []).append(analysis.name)
        return columns

    @property
    def feature_labels(self) -> dict[str, str]:
        """Attributes and columns of respondents in words."""
        return {part.id: part.label for part in [*self.features.values(), *self.traits]}

    @property
    def ordered(self) -> list[str]:
        """Attributes whose levels are in an order, and columns of respondents."""
        attributes = [part.id for part in self.features.values() if part.ordered]
        return [*attributes, *(part.id for part in self.traits)]

    @property
    def level_labels(self) -> dict[str, dict[str, str]]:
        """Levels in words, by attribute or column of respondents."""
        parts: list[Attribute | Derived | Trait] = [*self.features.values(), *self.traits]
        return {part.id: {level.id: level.label for level in part.levels} for part in parts}


class ItemStudy(AnyStudy):
    """A study of items that are judged one at a time, listed in a table next to the study file.

    Parameters
    ----------
    name, title, kind, question, prompts, judges, response, collect, instrument, panel, column_aliases, checks
        As in the study file; each is described where it is declared.
    reading, items, refusal, missing, strata, cluster, generator, main, tiers, unrelated, set_aside
        As in the study file; each is described where it is declared.
    assignment, gold
        As in the study file; each is described where it is declared.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> study = load_any_study("multiturn")
    >>> study.items, list(study.label_sets)
    ('items.csv', ['joke_type', 'line'])
    """

    kind: Literal["items"]
    """A study of items that are judged one at a time."""
    items: Text
    """Table of items next to the study file, with the column item_id."""
    response: Response
    """Form of the answer: ratings, a label, labels of lines, or text."""
    refusal: Literal["missing"] = "missing"
    """What a refused, empty or unreadable answer counts as."""
    missing: dict[str, str] = Field(default_factory=dict)
    """What an answer without a label counts as, by status: wrong, missing, or a label."""
    strata: list[Stratum] = Field(default_factory=list)
    """Columns of items by which results are reported separately."""
    cluster: Identifier | None = None
    """Column of items that names related ones, such as responses to one topic."""
    generator: Identifier | None = None
    """Column of items that names who wrote them: human, or the id of a judge."""
    main: Identifier | None = None
    """Scale that matters most."""
    tiers: Tiers | None = None
    """Levels of a stratum in their order of quality."""
    unrelated: StratumLevel | None = None
    """Level of the items that do not fit their context."""
    set_aside: list[StratumLevel] = Field(default_factory=list)
    """Levels that take no part in comparisons of who wrote what."""
    assignment: Assignment | None = None
    """Which items a person rates."""
    gold: Gold | None = None
    """The labels that count as correct."""

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
        labels_by_task: dict[str, Label | LineLabels] = {}
        for response in self.responses:
            if isinstance(response, Label | LineLabels):
                labels_by_task.setdefault(response.id if isinstance(response, Label) else LINE, response)
        return labels_by_task

    @property
    def missing_rules(self) -> dict[str, str]:
        """What answers without a label count as by status, and by "JUDGE: STATUS" where a judge has rules."""
        of_judges = {
            f"{judge.id}: {status}": meaning
            for judge in self.judges
            for status, meaning in judge.missing.items()
        }
        return {**self.missing, **of_judges}

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

    @property
    def level_meanings(self) -> dict[str, dict[str, str]]:
        """What levels of strata, and gold labels by task, mean, of those for which the study file says it."""
        parts: dict[str, Sequence[Category | LabelLevel]] = {part.id: part.levels for part in self.strata}
        gold = self.gold.levels if self.gold is not None else []
        parts |= {task: [*labels.labels, *gold] for task, labels in self.label_sets.items()}
        texts = {name: {part.id: part.text for part in levels if part.text} for name, levels in parts.items()}
        return {name: levels for name, levels in texts.items() if levels}

    def levels(self, stratum: str) -> list[str]:
        """Level ids of a stratum, in the order of the study file."""
        return list(self.level_labels[stratum])
