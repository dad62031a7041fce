"""Every analysis that judgments of a study with gold labels can carry, for a results folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text, listed
from conjury.inference.tables.streams import UNPERTURBED

from ..audit.compare import JOKES
from ..audit.multiturn import READ_BY, compare_multiturn
from ..benchmark.annotators import annotators
from ..benchmark.by_length import length_effects
from ..benchmark.cards import cards
from ..benchmark.confusion import by_label, confusion
from ..benchmark.differences import differences
from ..benchmark.mixed import mixed_logit
from ..benchmark.parse_status import MISSING, WRONG, readings
from ..benchmark.pass_at_k import passes
from ..benchmark.probabilities import probabilities
from ..benchmark.robustness import robustness
from ..benchmark.scores import scores
from ..benchmark.scoring import Scored, by_rule, rule_of, score
from ..benchmark.units import conditions_of
from ..numerics.intervals import check_alpha, check_draws
from ..results import Result
from ..vocabulary import HUMAN
from .ratings import FittedRatings, Planned
from .saved import record_of

PUBLISHED = "published"  # start of rules whose judgments hold the strings of a published evaluation


@dataclass(frozen=True)
class BenchmarkOptions:
    """How to fit: confidence, bootstrap draws and seed."""

    alpha: float = 0.05
    draws: int = 2_000
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what nothing could be fitted with, before any work is done."""
        check_alpha(self.alpha)
        check_draws(self.draws, self.seed)

    @property
    def drawn(self) -> dict[str, Any]:
        """The options as analyses take them."""
        return {"alpha": self.alpha, "draws": self.draws, "seed": self.seed}


@dataclass(frozen=True)
class Answered:
    """What a benchmark rests on.

    Attributes
    ----------
    study : ItemStudy
        With a response of form label or line_labels.
    judgments : DataFrame
        The judgments contract.
    labels : DataFrame
        ``item_id, label_set, label``, and ``raw`` with the label as it was written.
    items : DataFrame or None
        What is known of the items.
    others : sequence of DataFrame
        The same answers read by other rules.
    responses : DataFrame or None
        Raw answers: ``judge_id, item_id, prompt_id, sample, text``.
    annotations : DataFrame or None
        Judgments of the people behind the gold labels, where they are not among ``judgments``.
    """

    study: ItemStudy
    judgments: pd.DataFrame
    labels: pd.DataFrame
    items: pd.DataFrame | None = None
    others: Sequence[pd.DataFrame] = field(default_factory=tuple)
    responses: pd.DataFrame | None = None
    annotations: pd.DataFrame | None = None

    @cached_property
    def of_models(self) -> pd.DataFrame:
        """Judgments that are scored: those of models, or of people where there are no models."""
        model = as_text(self.judgments["judge_kind"]).ne(HUMAN).to_numpy(dtype=bool)
        found: pd.DataFrame = self.judgments
        return found if model.all() or not model.any() else found[model]

    @cached_property
    def as_they_were(self) -> pd.DataFrame:
        """Judgments to score of items that were not perturbed."""
        kept: pd.DataFrame = self.of_models[_unperturbed(self.of_models, self.items)]
        return kept

    @property
    def is_scored(self) -> bool:
        """Whether judgments hold labels of the study, and no strings of a published evaluation."""
        return not rule_of(self.of_models).startswith(PUBLISHED)

    @property
    def by_published_rules(self) -> dict[str, pd.DataFrame]:
        """Judgments that hold the strings of a published evaluation, by its rules, with their condition."""
        named = {read_by: rules for rules, read_by in READ_BY.items()}
        return {
            named[rule]: table.assign(condition=conditions_of(table, self.items))
            for rule, table in self.by_rule.items()
            if rule in named
        }

    @property
    def by_other_rule(self) -> pd.DataFrame | None:
        """The same answers read by another rule with labels of the study; None where there are none."""
        return next((table for rule, table in self.by_rule.items() if rule in self._other_rules), None)

    @property
    def left_aside(self) -> list[str]:
        """Rules with labels of the study whose readings nothing is compared with."""
        return self._other_rules[1:]

    @property
    def _other_rules(self) -> list[str]:
        own = rule_of(self.of_models)
        return [rule for rule in self.by_rule if rule != own and not rule.startswith(PUBLISHED)]

    @cached_property
    def by_rule(self) -> dict[str, pd.DataFrame]:
        """Judgments by the rule that read them, of all files."""
        return by_rule(self.of_models, self.others)

    @cached_property
    def scored(self) -> Scored:
        """Judgments of items as they were beside gold labels."""
        return score_study(self, self.as_they_were)


def score_study(answered: Answered, judgments: pd.DataFrame) -> Scored:
    """Put judgments beside the gold labels of a study, in its classes."""
    study = answered.study
    found = study.label_sets
    return score(
        judgments,
        answered.labels,
        classes={task: [label.id for label in response.labels] for task, response in found.items()},
        covers=study.gold.covers if study.gold is not None else None,
        items=answered.items,
        policy=study.missing,
    )


def missing_in_words(study: ItemStudy) -> str:
    """What the study lets answers without a label count as, in a sentence; empty where it does not say."""
    if not study.missing:
        return ""
    words = {label.id: f"'{label.label}'" for found in study.label_sets.values() for label in found.labels}
    words |= {WRONG: "wrong", MISSING: "left out"}
    statuses: dict[str, list[str]] = {}
    for status, meaning in study.missing.items():
        statuses.setdefault(words[meaning], []).append(status)
    told = [f"{listed(names)}: {meaning}" for meaning, names in statuses.items()]
    return f"Under the study's rule answers without a label count by their status ({'; '.join(told)})."


def plan_benchmark(answered: Answered, options: BenchmarkOptions) -> list[Planned]:
    """List the analyses that a study and its judgments allow, in the order of a report."""
    planned = list(_of_readings(answered))
    if answered.is_scored:
        planned += _of_scores(answered, options)
    planned += _of_people(answered, options)
    if answered.by_published_rules and answered.study.name == JOKES:
        read = answered.by_published_rules
        planned.append(
            Planned(
                "beside_print",
                "Printed numbers beside recomputed ones",
                lambda: compare_multiturn(read, answered.labels, answered.items),
            )
        )
    return planned


def fit_benchmark(
    answered: Answered, options: BenchmarkOptions, progress: Callable[[str], None] | None = None
) -> FittedRatings:
    """Run every analysis; one that the judgments cannot carry is left out, and a note says why."""
    found = FittedRatings()
    if len(answered.of_models) < len(answered.judgments):
        found.notes.append("People are not scored: their votes make gold labels. Models are.")
    if told := missing_in_words(answered.study):
        found.notes.append(told)
    if answered.left_aside:
        found.notes.append(f"Readings by {listed(answered.left_aside)} are compared with nothing.")
    if answered.is_scored:
        found.notes += answered.scored.notes
    for planned in plan_benchmark(answered, options):
        if progress is not None:
            progress(planned.title)
        start = time.perf_counter()
        try:
            result = in_order(planned.run(), answered.study)
        except InputError as error:
            found.notes.append(f"{planned.title}: left out. {error}")
            continue
        found.results[planned.name] = result
        seconds = time.perf_counter() - start
        if planned.name == "beside_print":
            found.notes += result.notes
        found.records.append(record_of(planned.name, planned.title, result, seconds))
    return found


def in_order(result: Result, study: ItemStudy) -> Result:
    """Give strata and labels in a result the order of the study file."""
    orders = {stratum.id: [level.id for level in stratum.levels] for stratum in study.strata}

    def ordered(frame: pd.DataFrame) -> pd.DataFrame:
        for name, levels in orders.items():
            if name in frame:
                there = as_text(frame[name]).dropna().unique()
                known = [
                    *(level for level in levels if level in there),
                    *(x for x in there if x not in levels),
                ]
                frame = frame.assign(**{name: pd.Categorical(as_text(frame[name]), known)})
        return frame

    extra = {name: ordered(table) for name, table in result.extra.items()}
    return replace(result, frame=ordered(result.frame), extra=extra)


def strata_present(answered: Answered) -> list[str]:
    """Strata of the study of which the judged items hold at least two levels."""
    if answered.items is None:
        return []
    judged = answered.items[
        as_text(answered.items["item_id"]).isin(set(as_text(answered.judgments["item_id"])))
    ]
    return [
        stratum.id
        for stratum in answered.study.strata
        if stratum.id in judged and as_text(judged[stratum.id]).nunique() > 1
    ]


def _unperturbed(judgments: pd.DataFrame, items: pd.DataFrame | None) -> Any:
    """Which judgments are of items as they were."""
    return conditions_of(judgments, items).eq(UNPERTURBED).to_numpy(dtype=bool)


def _of_readings(answered: Answered) -> Iterator[Planned]:
    asked, other = answered.by_rule[rule_of(answered.of_models)], answered.by_other_rule
    pair = (other, asked) if other is not None and rule_of(other) == "strict" else (asked, other)
    yield Planned("readings", "What became of the answers", lambda: readings(*pair))


def _of_scores(answered: Answered, options: BenchmarkOptions) -> Iterator[Planned]:
    """Scores of all kinds, overall and by stratum."""
    drawn, plain = options.drawn, answered.as_they_were
    scored = replace(answered.scored, notes=())  # said once, of all analyses
    strata = strata_present(answered)
    splits = list(_splits(answered.study, strata, scored))
    if splits and not splits[0][2]:
        yield Planned("scores", "Scores of judges", lambda: scores(scored, strata=strata, **drawn))
    for name, title, by in (split for split in splits if split[2]):
        rest = [stratum for stratum in strata if stratum not in by]
        run = partial(scores, scored, by=by, strata=rest, **drawn)
        yield Planned(f"scores_{name}", f"Scores of judges by {title}", run)
    if "probability" in plain and plain["probability"].notna().any():
        yield Planned("probabilities", "Scores of probabilities", lambda: probabilities(scored, **drawn))
    if scored.frame["judge"].nunique() > 1:
        yield Planned("differences", "Differences between judges", lambda: differences(scored, **drawn))
        yield Planned("mixed", "Odds of a right answer", lambda: mixed_logit(scored, alpha=options.alpha))
    if len(answered.of_models) > len(plain):
        whole = score_study(answered, answered.of_models)
        of_copies = tuple(note for note in whole.notes if note not in answered.scored.notes)
        whole = replace(whole, notes=of_copies)
        yield Planned("robustness", "What perturbations change", lambda: robustness(whole, **drawn))
        for name, title, by in (split for split in splits if split[2]):
            run = partial(robustness, whole, by=by, **drawn)
            yield Planned(f"robustness_{name}", f"What perturbations change, by {title}", run)
    if scored.frame["sample"].nunique() > 1:
        yield Planned(
            "passes", "Several answers to the same item", lambda: passes(scored, strata=strata, **drawn)
        )
        for name, title, by in [split for split in splits if split[2]][:1]:
            run = partial(passes, scored, by=by, strata=strata, **drawn)
            yield Planned(f"passes_{name}", f"Several answers to the same item, by {title}", run)
    for task in scored.tasks:
        of_task = scored.of(task=task)
        title = task_in_words(answered.study, task).lower()
        yield Planned(f"confusion_{task}", f"What is called what: {title}", partial(_confusion, of_task))
        run = partial(by_label, of_task, **drawn)
        yield Planned(f"by_label_{task}", f"Labels that are given too often: {title}", run)
    if answered.items is not None and "text" in answered.items:
        texts = answered.items
        yield Planned(
            "lengths",
            "Scores by the length of items",
            lambda: length_effects(scored, texts, within=strata, **drawn),
        )
        yield Planned("cards", "Examples", lambda: cards(scored, texts, responses=answered.responses))


def _confusion(scored: Scored) -> Result:
    """Confusion matrices, and in their settings which gold labels count as which class."""
    result = confusion(scored)
    covers = {name: list(labels) for name, labels in scored.covers.items()}
    return replace(result, settings={**result.settings, "covers": covers})


def _of_people(answered: Answered, options: BenchmarkOptions) -> Iterator[Planned]:
    """Agreement of annotators, overall or by the first stratum."""
    people = answered.judgments[as_text(answered.judgments["judge_kind"]).eq(HUMAN).to_numpy(dtype=bool)]
    if people.empty and answered.annotations is not None:
        people = answered.annotations
    if people["judge_id"].nunique() < 2:
        return
    covers = answered.study.gold.covers if answered.study.gold is not None else {}
    by = strata_present(answered)[:1]
    yield Planned(
        "annotators",
        "Agreement of annotators",
        lambda: annotators(people, covers=covers, items=answered.items, by=by, **options.drawn),
    )


def _splits(
    study: ItemStudy, strata: Sequence[str], scored: Scored
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Name, title and columns of each way to split items: not at all, by each stratum, by all.

    A stratum that has a prompt of its own for each level splits every table, and is split by always.
    """
    words = study.feature_labels
    levels = scored.frame.groupby("prompt", observed=True)
    bound = [name for name in strata if len(levels) > 1 and (levels[name].nunique() == 1).all()]
    several = [name for name in bound if scored.frame[name].nunique() > 1 and len(scored.tasks) == 1]
    free = [name for name in strata if name not in several]
    sets = [several, *([*several, name] for name in free)]
    sets += [[*several, *free]] if len(free) > 1 else []
    for by in sets:
        yield "_".join(by), " and ".join(words[name].lower() for name in by), tuple(by)


def task_in_words(study: ItemStudy, task: str) -> str:
    """What is labelled, in words: the prompt that asks for it, or the id of the labels where several do."""
    response = study.label_sets.get(task)
    asking = [prompt.label for prompt in study.prompts if study.response_of(prompt.id) == response]
    text = asking[0] if len(asking) == 1 else task.replace("_", " ")
    return text[:1].upper() + text[1:]
