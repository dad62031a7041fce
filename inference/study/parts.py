"""The parts of a study file: attributes, stimuli, prompts, judges, analyses."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, get_args

import pandas as pd
from pydantic import Field

from ..tables.limits import DRAWS, LEVELS, PAIRS, RESPONDENTS, STIMULI, TASKS
from .asking import Cues, LabelLevel, Response, Sampling
from .base import Amount, Count, Identifier, Part, Probability, Share, Text


class Level(Part):
    """One level of an attribute; ``probability`` may be a fraction such as 1/7."""

    id: Identifier
    label: Text
    probability: Probability | None = None


class Attribute(Part):
    """A randomised attribute; its first level is the reference."""

    id: Identifier
    label: Text
    levels: list[Level] = Field(min_length=2, max_length=LEVELS)


class DerivedLevel(Part):
    """A level of a derived attribute, with the source levels that imply it."""

    id: Identifier
    label: Text
    covers: list[str] = Field(min_length=1)


class Derived(Part):
    """An attribute that follows from another one and is never drawn on its own."""

    id: Identifier
    label: Text
    source: str
    levels: list[DerivedLevel] = Field(min_length=2)


class Stimulus(Part):
    """Interchangeable renderings of each level of an attribute, such as ten texts per topic.

    ``number_column`` names the column of raw data that counts them from 0.
    """

    id: Identifier
    label: Text
    attribute: str
    count: Annotated[Count, Field(le=STIMULI)]
    number_column: str | None = None


class Combination(Part):
    """Levels of several attributes that meet in one profile, any of those listed for each.

    ``because`` states why they never occur, or why they should be looked at.
    """

    levels: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(min_length=2)
    because: Text | None = None


class Design(Part):
    """How many pairs models see, and how many tasks how many respondents answer.

    ``restrictions`` are combinations of levels that never occur; ``implausible`` ones may, and are warned of.
    """

    pairs: Annotated[Count, Field(le=PAIRS)]
    respondents: Annotated[Count, Field(le=RESPONDENTS)]
    tasks: Annotated[Count, Field(le=TASKS)]
    repeat_first: bool = False
    restrictions: list[Combination] = Field(default_factory=list)
    implausible: list[Combination] = Field(default_factory=list)


class Prompt(Part):
    """An instruction given to models; ``aliases`` are names it carries in raw data.

    ``template`` is the file of the system message, ``user`` that of the user message; a prompt with
    ``stimuli: images`` differs from others in the pictures alone and is excluded where text is shown;
    ``cues`` states what of an author's identity its pictures show.
    ``response`` is what it asks for where that is not the study's own; ``only`` names columns of items with
    the values of those to which it is put.
    """

    id: Identifier
    label: Text
    template: str | None = None
    user: str | None = None
    stimuli: Literal["any", "images"] = "any"
    cues: Cues = "both"
    response: Response | None = None
    only: dict[str, list[str]] = Field(default_factory=dict)
    aliases: list[str] = Field(default_factory=list)


class Judge(Part):
    """Who judges: a panel of people or one model, with its name in words, and how the model is asked.

    ``prompts`` are those it is asked under, all by default; ``aliases`` are names it carries in raw data.
    """

    id: Identifier
    label: Text
    kind: Literal["human", "model"]
    ask: Sampling | None = None
    prompts: Annotated[list[Identifier], Field(min_length=1)] | None = None
    aliases: list[str] = Field(default_factory=list)


class Gold(Part):
    """The labels that are right: a table ``item_id, label_set, label`` next to the study file.

    ``levels`` are the gold labels in words where they are not those of the answers; ``covers`` names, for a
    label of the answers, the gold labels that count as it (by default the one of the same name).
    """

    file: Text = "labels.csv"
    levels: list[LabelLevel] = Field(default_factory=list)
    covers: dict[str, list[str]] = Field(default_factory=dict)


class Ignored(Part):
    """A check whose finding is known and accepted, and why."""

    code: Annotated[str, Field(pattern=r"^CJ[1-9][0-9]{2}$")]
    because: Annotated[str, Field(pattern=r"\S")]


class Checks(Part):
    """How `conjury check` treats the study: checks in ``ignore`` are run, reported and not counted."""

    ignore: list[Ignored] = Field(default_factory=list)


class Clusters(Part):
    """The columns whose values identify independent observations, by kind of judge; several may cross.

    ``vcov`` is the convention of standard errors, as in ``conjury.analysis.conjoint.verbs.amce``.
    """

    human: str | list[str] = "judge_id"
    model: str | list[str] = "pair_id"
    vcov: str = "survey"

    def of(self, kind: str) -> tuple[str, ...]:
        """Name the cluster columns of one kind of judge."""
        named = self.human if kind == "human" else self.model
        return (named,) if isinstance(named, str) else tuple(named)


class Bootstrap(Part):
    """The unit that is resampled, and how often."""

    unit: str = "pair_id"
    draws: Annotated[Count, Field(le=DRAWS)] = 1000


class PairCost(Part):
    """What a judge cost for a number of pairs; ``note`` states when and how that was paid."""

    judge: Identifier
    cost: Amount
    pairs: Count = 1
    note: Text | None = None

    @property
    def per_pair(self) -> float:
        """Cost of one answer to one pair."""
        return self.cost / self.pairs


class Costs(Part):
    """What judgments cost: each respondent of the panel, and pairs by judge."""

    currency: Text
    per_respondent: Amount | None = None
    judges: list[PairCost] = Field(default_factory=list)

    def per_pair(self, judge: str) -> float | None:
        """Cost of one pair, or None where it is not known."""
        return next((known.per_pair for known in self.judges if known.judge == judge), None)


Preference = Literal["choice_level", "afcp", "preference_cycles", "importance", "share_preferring"]
PREFERENCES: tuple[str, ...] = get_args(Preference)


class Analysis(Part):
    """One analysis of the study; ``exclude`` excludes rows that contain the given levels.

    ``by: [judge_id]`` compares each model with all people; ``h0`` is the value that marginal means are
    tested against, by default 0.5 for a choice between two. ``comparisons`` are pairs of levels of
    ``choice_level``, by default all that meet in a task.
    """

    name: Identifier
    verb: Literal["amce", "mm", "amce_diffs", "mm_diffs", "cj_anova", "cj_freqs", "cj_props"] | Preference
    title: Text
    formula: Text
    by: list[str] = Field(default_factory=list)
    exclude: dict[str, list[str]] = Field(default_factory=dict)
    h0: float | None = None
    comparisons: list[tuple[str, str]] = Field(default_factory=list)

    @property
    def compares_people(self) -> bool:
        """Whether it is about models minus people: differences by judge."""
        return self.verb in ("amce_diffs", "mm_diffs") and self.by == ["judge_id"]

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
            kept = [level for level in rows[feature].cat.categories if level not in levels]
            rows = rows.assign(**{feature: rows[feature].cat.set_categories(kept)})
        return rows


class Category(Part):
    """One value of a stratum."""

    id: Identifier
    label: Text


class Stratum(Part):
    """A column of items by which results are reported separately, such as who wrote a response."""

    id: Identifier
    label: Text
    levels: list[Category] = Field(min_length=1)


class Tiers(Part):
    """Levels of a stratum in their order of quality, the best first."""

    column: Identifier
    levels: list[Identifier] = Field(min_length=2)


class StratumLevel(Part):
    """One level of a stratum."""

    column: Identifier
    level: Identifier


class Assignment(Part):
    """Which items a person rates.

    Of the items that agree in the column ``within`` (responses to one topic) a person rates one only; the
    column ``across`` (types of response) distinguishes these, and every person meets its levels about equally
    often. ``raters`` people rate each item, and the share ``repeats`` of a person's items comes twice.
    """

    within: Identifier
    across: Identifier
    raters: Annotated[Count, Field(le=RESPONDENTS)]
    repeats: Share = 0.0
