"""The parts of a study file: attributes, stimuli, prompts, judges, analyses."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, get_args

import pandas as pd
from pydantic import Field

from ..tables.limits import DRAWS, LEVELS, PAIRS, RESPONDENTS, STIMULI, TASKS
from .asking import Cues, LabelLevel, Response, Sampling
from .study_yaml import Amount, Count, Identifier, Named, Part, Probability, Share, Text


class Level(Named):
    """One level of an attribute."""

    probability: Probability | None = None
    """Probability that it is drawn, such as 0.25 or 1/7; give all levels one, or none for equal shares."""


class Attribute(Named):
    """A randomised attribute; its first level is the reference."""

    levels: list[Level] = Field(min_length=2, max_length=LEVELS)
    """Levels; the first is the reference."""
    ordered: bool = False
    """Whether the levels are in an order, such as degrees; figures keep it, and put others by the effect."""


class DerivedLevel(Named):
    """A level of a derived attribute, with the source levels that imply it."""

    covers: list[str] = Field(min_length=1)
    """Levels of the source that imply it."""


class Derived(Named):
    """An attribute that follows from another one and is never drawn on its own."""

    source: str
    """Attribute that it follows from."""
    levels: list[DerivedLevel] = Field(min_length=2)
    """Levels, which cover each level of the source once."""
    ordered: bool = False
    """Whether the levels are in an order, as of an attribute."""


class Stimulus(Named):
    """Interchangeable renderings of each level of an attribute, such as ten texts per topic."""

    attribute: str
    """Attribute whose levels it renders."""
    count: Annotated[Count, Field(le=STIMULI)]
    """Renderings of each level."""
    number_column: str | None = None
    """Column of raw data that counts them from 0."""


class TraitLevel(Part):
    """One value of a column of respondents."""

    id: Text
    """Value in the data."""
    label: Text
    """Name in words, as figures and reports print it."""


class Trait(Part):
    """A column of respondents in the data, such as their party, by which results are reported."""

    id: Text
    """Column of the data."""
    label: Text
    """Name in words, as figures and reports print it."""
    levels: list[TraitLevel] = Field(default_factory=list)
    """Its values; others are compared with the first. Without them the order is that of the alphabet."""


class Combination(Part):
    """Levels of several attributes that meet in one profile."""

    levels: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(min_length=2)
    """Levels that meet in one profile, any of those listed for each attribute."""
    because: Text | None = None
    """Why they never occur, or why they should be looked at."""


class Design(Part):
    """How many pairs models see, how many tasks how many respondents answer, and what never occurs."""

    pairs: Annotated[Count, Field(le=PAIRS)]
    """Pairs that every model judges under every prompt."""
    respondents: Annotated[Count, Field(le=RESPONDENTS)]
    """People in a panel."""
    tasks: Annotated[Count, Field(le=TASKS)]
    """Pairs for each respondent."""
    repeat_first: bool = False
    """Whether a respondent sees the first pair again at the end, positions swapped."""
    restrictions: list[Combination] = Field(default_factory=list)
    """Combinations of levels that never occur."""
    implausible: list[Combination] = Field(default_factory=list)
    """Combinations of levels that may occur, and of which `conjury design` warns."""


class Prompt(Named):
    """An instruction given to models."""

    template: str | None = None
    """File of the system message (Jinja2)."""
    user: str | None = None
    """File of the user message (Jinja2); by default what is judged, alone."""
    stimuli: Literal["any", "images"] = "any"
    """Whether it is for pictures alone (images), and excluded where text is shown."""
    cues: Cues = "both"
    """What of an author's identity its pictures show."""
    response: Response | None = None
    """What it asks for, where that is not the response of the study."""
    only: dict[str, list[str]] = Field(default_factory=dict)
    """Items that it is put to: a column of items with its values."""
    aliases: list[str] = Field(default_factory=list)
    """Names of it in raw data."""


class Judge(Named):
    """Who judges: a panel of people or one model, and how the model is asked."""

    kind: Literal["human", "model"]
    """human for a panel of people, model for a model."""
    ask: Sampling | None = None
    """How a model is asked."""
    prompts: Annotated[list[Identifier], Field(min_length=1)] | None = None
    """Prompts that it is asked under; all by default."""
    missing: dict[str, str] = Field(default_factory=dict)
    """In a study of labels, what its answers without a label count as, by status, in place of the study's."""
    aliases: list[str] = Field(default_factory=list)
    """Names of it in raw data."""


class Gold(Part):
    """The labels that are right."""

    file: Text = "labels.csv"
    """Table item_id, label_set, label next to the study file."""
    levels: list[LabelLevel] = Field(default_factory=list)
    """Gold labels in words, where they are not the labels of the answers."""
    rule: Text | None = None
    """How the gold label of an item came about, as reports end "The gold label is ..."."""
    covers: dict[str, list[str]] = Field(default_factory=dict)
    """For a label of the answers, the gold labels that count as it; by default the one of the same name."""


class Ignored(Part):
    """A check whose finding is known and accepted, and why."""

    code: Annotated[str, Field(pattern=r"^CJ[1-9][0-9]{2}$")]
    """Code of the check, such as CJ108."""
    because: Annotated[str, Field(pattern=r"\S")]
    """Why its finding is accepted."""


class Checks(Part):
    """How `conjury check` treats the study."""

    ignore: list[Ignored] = Field(default_factory=list)
    """Checks that are run, reported and not counted."""


class Clusters(Part):
    """The columns whose values identify independent observations, by kind of judge; several may cross."""

    human: str | list[str] = "judge_id"
    """Cluster columns of people."""
    model: str | list[str] = "pair_id"
    """Cluster columns of models."""
    vcov: str = "survey"
    """Convention of standard errors, as in conjury.analysis.conjoint.amce."""

    def of(self, kind: str) -> tuple[str, ...]:
        """Name the cluster columns of one kind of judge."""
        columns = self.human if kind == "human" else self.model
        return (columns,) if isinstance(columns, str) else tuple(columns)


class Bootstrap(Part):
    """The unit that is resampled, and how often."""

    unit: str = "pair_id"
    """Column whose values are resampled, or row."""
    draws: Annotated[Count, Field(le=DRAWS)] = 1000
    """Number of draws."""


class Intervals(Part):
    """The kind of intervals that figures, tables and sentences report, by kind of judge."""

    human: Literal["normal", "bootstrap"] = "normal"
    """Intervals of people: those of clustered standard errors, or those of the bootstrap."""
    model: Literal["normal", "bootstrap"] = "normal"
    """Intervals of models: those of clustered standard errors, or those of the bootstrap."""


class PairCost(Part):
    """What a judge cost for a number of pairs."""

    judge: Identifier
    """A model of the study."""
    cost: Amount
    """What it cost."""
    pairs: Count = 1
    """Number of pairs that it cost so much for."""
    note: Text | None = None
    """When and how that was paid."""

    @property
    def per_pair(self) -> float:
        """Cost of one answer to one pair."""
        return self.cost / self.pairs


class Costs(Part):
    """What judgments cost: each respondent of the panel, and pairs by judge."""

    currency: Text
    """Currency of all costs, such as USD."""
    per_respondent: Amount | None = None
    """Cost of one respondent of the panel."""
    judges: list[PairCost] = Field(default_factory=list)
    """Costs of models."""

    def per_pair(self, judge: str) -> float | None:
        """Cost of one pair, or None where it is not known."""
        return next((cost.per_pair for cost in self.judges if cost.judge == judge), None)


Preference = Literal["choice_level", "afcp", "preference_cycles", "importance", "share_preferring"]
PREFERENCES: tuple[str, ...] = get_args(Preference)


class Analysis(Part):
    """One analysis of the study."""

    name: Identifier
    """Name of its table in the results."""
    verb: Literal["amce", "mm", "amce_diffs", "mm_diffs", "cj_anova", "cj_freqs", "cj_props"] | Preference
    """What is estimated: amce, mm (marginal means), their differences between groups, and so on."""
    title: Text
    """Heading of the table."""
    formula: Text
    """Outcome and attributes: chosen ~ a + b, with a * b for attributes that restrict each other."""
    by: list[str] = Field(default_factory=list)
    """Attributes or columns of respondents whose levels are compared; of differences, judge_id compares
    each model with all people ([judge_id, race] how this differs between levels of race), and prompt_id each
    model under one prompt with itself under another."""
    exclude: dict[str, list[str]] = Field(default_factory=dict)
    """Levels whose profiles are excluded, by attribute."""
    h0: float | None = None
    """Value that marginal means are tested against; by default 0.5."""
    comparisons: list[Annotated[tuple[str, str], Field(strict=False)]] = Field(default_factory=list)
    """Pairs of levels of choice_level; by default all that meet in a task."""

    @property
    def compares_people(self) -> bool:
        """Whether it is about models minus people: differences by judge, and of these by an attribute."""
        return self.verb in ("amce_diffs", "mm_diffs") and self.by[:1] == ["judge_id"]

    @property
    def compares_prompts(self) -> bool:
        """Whether it is about one judge under several prompts: differences by prompt."""
        return self.verb in ("amce_diffs", "mm_diffs") and self.by == ["prompt_id"]

    @property
    def crosses_groups(self) -> bool:
        """Whether it compares answers that other analyses take one judge and prompt at a time."""
        return self.compares_people or self.compares_prompts

    @property
    def features(self) -> list[str]:
        """The names on the right of the formula."""
        _, _, right = self.formula.partition("~")
        return [name.strip() for name in right.replace("*", "+").replace(":", "+").split("+")]

    @property
    def joined(self) -> list[tuple[str, str]]:
        """Pairs of names that are joined with ``*`` in the formula."""
        _, _, right = self.formula.partition("~")
        terms = [[name.strip() for name in term.split("*")] for term in right.split("+")]
        return [pair for names in terms for pair in pairwise(names)]

    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a choices table that this analysis uses, without the levels it excludes."""
        for feature, levels in self.exclude.items():
            rows = rows[~rows[feature].isin(levels)]
            categories = [level for level in rows[feature].cat.categories if level not in levels]
            rows = rows.assign(**{feature: rows[feature].cat.set_categories(categories)})
        return rows


class Category(Part):
    """One value of a stratum."""

    id: Identifier
    """Value in the column of items."""
    label: Text
    """Name in words, as figures and reports print it."""
    text: Text | None = None
    """What it means, as reports put it in brackets behind the name where they first use it."""


class Stratum(Part):
    """A column of items by which results are reported separately, such as who wrote a response."""

    id: Identifier
    """Column of items."""
    label: Text
    """Name in words, as figures and reports print it."""
    levels: list[Category] = Field(min_length=1)
    """Its values, in the order of tables and figures."""


class Tiers(Part):
    """Levels of a stratum in their order of quality, the best first."""

    column: Identifier
    """A stratum."""
    levels: list[Identifier] = Field(min_length=2)
    """Its levels in their order of quality, the best first."""


class StratumLevel(Part):
    """One level of a stratum."""

    column: Identifier
    """A stratum."""
    level: Identifier
    """One of its levels."""


class Assignment(Part):
    """Which items a person rates."""

    within: Identifier
    """Column of what items belong to, such as their topic; a person rates one item of each."""
    across: Identifier
    """Stratum that distinguishes the items of a topic; every person meets its levels about equally often."""
    raters: Annotated[Count, Field(le=RESPONDENTS)]
    """People who rate each item."""
    repeats: Share = 0.0
    """Share of a person's items that is repeated."""
