"""The answers of judges to a study of labels, with everything that they are scored against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import listed
from conjury.inference.tables.columns import UNPERTURBED, as_text

from ...frames.vocabulary import HUMAN
from ...results import Result
from ..parse_status import MISSING, WRONG
from .score import score
from .scoring import Scored, by_rule, rule_of
from .units import conditions_of

if TYPE_CHECKING:
    from conjury.inference.study.models import ItemStudy

PUBLISHED = "published"  # start of rules whose judgments are the strings of a published evaluation


@dataclass(frozen=True)
class LabelAnswers:
    """Answers to a study of labels."""

    study: ItemStudy  # with a response of form label or line_labels
    judgments: pd.DataFrame  # the judgments contract
    labels: pd.DataFrame  # ``item_id, label_set, label``, and ``raw`` with the label as it was written
    items: pd.DataFrame | None = None  # texts and strata of the items
    others: Sequence[pd.DataFrame] = field(default_factory=tuple)  # the same answers by other rules
    responses: pd.DataFrame | None = None  # raw answers: ``judge_id, item_id, prompt_id, sample, text``
    annotations: pd.DataFrame | None = None  # by those behind the gold labels, if not in ``judgments``

    @cached_property
    def of_models(self) -> pd.DataFrame:
        """Judgments that are scored: those of models, or of people where there are no models."""
        model = as_text(self.judgments["judge_kind"]).ne(HUMAN).to_numpy(dtype=bool)
        return self.judgments if model.all() or not model.any() else self.judgments[model]

    @cached_property
    def of_people(self) -> pd.DataFrame:
        """Judgments of people, or the annotations of the study where there are none."""
        human = as_text(self.judgments["judge_kind"]).eq(HUMAN).to_numpy(dtype=bool)
        people: pd.DataFrame = self.judgments[human]
        return self.annotations if people.empty and self.annotations is not None else people

    @cached_property
    def unperturbed(self) -> pd.DataFrame:
        """Judgments to score of items that were not perturbed."""
        mask = conditions_of(self.of_models, self.items).eq(UNPERTURBED).to_numpy(dtype=bool)
        judgments: pd.DataFrame = self.of_models[mask]
        return judgments

    @property
    def is_scored(self) -> bool:
        """Whether judgments are labels of the study, and no strings of a published evaluation."""
        return not rule_of(self.of_models).startswith(PUBLISHED)

    @cached_property
    def by_rule(self) -> dict[str, pd.DataFrame]:
        """Judgments by the rule that parsed them, of all files."""
        return by_rule(self.of_models, self.others)

    @property
    def other_rules(self) -> list[str]:
        """Other rules that parsed the same answers as labels of the study."""
        first = rule_of(self.of_models)
        return [rule for rule in self.by_rule if rule != first and not rule.startswith(PUBLISHED)]

    @property
    def parsed(self) -> list[pd.DataFrame]:
        """The scored judgments, and those by one other rule if there are any; strict ones come first."""
        rules = [rule_of(self.of_models), *self.other_rules[:1]]
        tables = [self.by_rule[rule] for rule in rules]
        return tables[::-1] if rules[-1] == "strict" else tables

    @cached_property
    def scored(self) -> Scored:
        """Judgments of items that were not perturbed, joined with gold labels."""
        return score_study(self, self.unperturbed)

    @cached_property
    def plain_scores(self) -> Scored:
        """As ``scored``, without the notes, which belong to all analyses together."""
        return replace(self.scored, notes=())

    @cached_property
    def strata(self) -> list[str]:
        """Strata of the study in which the judged items have at least two levels."""
        if self.items is None:
            return []
        judged = as_text(self.items["item_id"]).isin(as_text(self.judgments["item_id"]).unique())
        items = self.items[judged]
        return [
            stratum.id
            for stratum in self.study.strata
            if stratum.id in items and as_text(items[stratum.id]).nunique() > 1
        ]

    @cached_property
    def splits(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Name, title and columns of each way to split items: not at all, by each stratum, by all."""
        # A stratum that has a prompt of its own for each level splits every table, and is split by always.
        labels, scored = self.study.feature_labels, self.plain_scores
        levels = scored.frame.groupby("prompt", observed=True)
        bound = [name for name in self.strata if len(levels) > 1 and (levels[name].nunique() == 1).all()]
        several = [name for name in bound if scored.frame[name].nunique() > 1 and len(scored.tasks) == 1]
        free = [name for name in self.strata if name not in several]
        sets = [several, *([*several, name] for name in free)]
        sets += [[*several, *free]] if len(free) > 1 else []
        return [("_".join(by), " and ".join(labels[name].lower() for name in by), tuple(by)) for by in sets]

    def further_splits(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Splits of items by at least one stratum."""
        return (split for split in self.splits if split[2])


def score_study(answered: LabelAnswers, judgments: pd.DataFrame) -> Scored:
    """Join judgments with the gold labels of a study, in its classes."""
    study = answered.study
    return score(
        judgments,
        answered.labels,
        classes={
            task: [label.id for label in response.labels] for task, response in study.label_sets.items()
        },
        covers=study.gold.covers if study.gold is not None else None,
        items=answered.items,
        policy=study.missing_rules,
    )


def missing_in_words(study: ItemStudy) -> str:
    """What answers without a label count as by the rule of the study; empty where it has none."""
    if not study.missing_rules:
        return ""
    labels = {label.id: f"'{label.label}'" for part in study.label_sets.values() for label in part.labels}
    labels |= {WRONG: "wrong", MISSING: "excluded"}
    statuses: dict[str, list[str]] = {}
    names = {judge.id: judge.label for judge in study.judges}
    for status, meaning in study.missing_rules.items():
        judge, _, name = status.rpartition(": ")
        statuses.setdefault(labels[meaning], []).append(f"{name} of {names[judge]}" if judge else status)
    counted = "; ".join(f"{listed(names)}: {meaning}" for meaning, names in statuses.items())
    return f"By the study's rule, answers without a label are scored by their status ({counted})."


def in_order(result: Result, study: ItemStudy) -> Result:
    """Give strata and labels in a result the order of the study file."""
    orders: dict[str, list[Any]] = {
        stratum.id: [level.id for level in stratum.levels] for stratum in study.strata
    }

    def ordered(frame: pd.DataFrame) -> pd.DataFrame:
        for name, levels in orders.items():
            if name in frame:
                present = as_text(frame[name]).dropna().unique()
                head = [level for level in levels if level in present]
                tail = [level for level in present if level not in levels]
                frame = frame.assign(**{name: pd.Categorical(as_text(frame[name]), [*head, *tail])})
        return frame

    extra = {name: ordered(table) for name, table in result.extra.items()}
    return replace(result, frame=ordered(result.frame), extra=extra)
