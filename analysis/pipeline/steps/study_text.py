"""What a study asks and who judged, in sentences: answers, reference levels, gold labels, prompts, judges."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.asking import Label, LabelLevel, LineLabels, Scale
from conjury.inference.study.models import ItemStudy, Study
from conjury.inference.study.study_fields import Category, Prompt

from ...figures.labels import task_in_words
from ...frames.sentences import agreeing, capitalised, together
from ...frames.vocabulary import BASELINE, HUMAN
from ...results import Result

MOST_LABELS = 5  # of a task that are named
MOST_NAMES = 8  # scales, attributes and prompts that are named
MOST_MODELS = 3
CUES = {
    "both": "the author's name and face",
    "name": "the author's name and no face",
    "face": "the author's face and no name",
    "none": "neither name nor face of the author",
}


def study_text(study: Study | ItemStudy, prompt_ids: Collection[str] | None = None) -> str:
    """The design of a study, in plain text; of its prompts those that data have, by default all."""
    prompts = [prompt for prompt in study.prompts if prompt_ids is None or prompt.id in prompt_ids]
    texts = _items(study) if isinstance(study, ItemStudy) else _profiles(study)
    return " ".join([*texts, *_prompts(study, prompts)])


def _profiles(study: Study) -> Iterator[str]:
    """That levels are drawn at random, and with which an effect compares."""
    levels = [f"{part.levels[0].label} ({part.label})" for part in study.attributes]
    yield (
        "A task is a choice between profiles, whose levels of "
        f"{counted(len(levels), 'attribute')} were drawn at random. The reference "
        f"{agreeing(len(levels), 'level is', 'levels are')} {together(levels, MOST_NAMES)}."
    )


def _items(study: ItemStudy) -> Iterator[str]:
    """What an answer is, what makes it right, and what levels of items mean, of those that say it."""
    if study.scales:
        yield _scales(study.scales)
    tasks = list(study.label_sets.items())
    texts = [_labels(labels) for _, labels in tasks]
    if len(tasks) == 1:
        yield f"An answer is {texts[0]}."
    elif tasks:
        named = [
            f"{task_in_words(study, name)}: {text}" for (name, _), text in zip(tasks, texts, strict=True)
        ]
        yield f"Answers are, for {'; for '.join(named)}."
    if tasks and study.gold is not None:
        rule = study.gold.rule
        yield (
            f"The gold label is {rule}."
            if rule
            else ("Scores compare answers with gold labels; the study file does not say who gave these.")
        )
        gold = {level.id: _with_meaning(level) for level in study.gold.levels}
        answers = {part.id: part.label for _, labels in tasks for part in labels.labels}
        for name, covered in study.gold.covers.items():
            if covered != [name]:
                verb = agreeing(len(covered), "counts", "count")
                yield f"{together(gold.get(level, level) for level in covered)} {verb} as {answers[name]}."
    for stratum in study.strata:
        if any(level.text for level in stratum.levels):
            yield f"{stratum.label}: {together(map(_with_meaning, stratum.levels), len(stratum.levels))}."


def _with_meaning(level: Category | LabelLevel) -> str:
    return f"{level.label} ({level.text})" if level.text else level.label


def _scales(scales: Sequence[Scale]) -> str:
    ends = [f"from {scale.minimum} to {scale.maximum}" for scale in scales]
    names = [scale.label for scale in scales]
    if len(set(ends)) > 1:
        named = [f"{name} ({range_})" for name, range_ in zip(names, ends, strict=True)]
        return f"Items are rated in whole numbers: {together(named, MOST_NAMES)}."
    on = "on a scale" if len(scales) == 1 else f"on {len(scales)} scales"
    return f"Items are rated {on} {ends[0]} in whole numbers: {together(names, MOST_NAMES)}."


def _labels(labels: Label | LineLabels) -> str:
    n, lines = len(labels.labels), " for each line" * isinstance(labels, LineLabels)
    names = f" ({', '.join(part.label for part in labels.labels)})" if n <= MOST_LABELS else ""
    return f"one of {n} labels{lines}{names}"


def _prompts(study: Study | ItemStudy, prompts: Sequence[Prompt]) -> Iterator[str]:
    """What prompts for the same answers about the same items differ in."""

    def question(prompt: Prompt) -> str:
        return str((study.response_of(prompt.id), sorted(prompt.only.items())))

    for _, members in groupby(sorted(prompts, key=question), key=question):
        group = sorted(members, key=prompts.index)
        has_wordings = len({(prompt.template, prompt.user) for prompt in group}) > 1
        has_pictures = len({(prompt.stimuli, prompt.cues) for prompt in group}) > 1
        if not has_wordings and not has_pictures:
            continue
        names = together([study.prompt_labels[prompt.id] for prompt in group], MOST_NAMES)
        what = together(["their instructions"] * has_wordings + ["what they show"] * has_pictures)
        pictures = [
            f"{study.prompt_labels[prompt.id]} shows pictures with {CUES[prompt.cues]}"
            for prompt in group
            if has_pictures and prompt.stimuli == "images"
        ]
        details = f": {'; '.join(pictures)}" if pictures else ""
        yield f"The {len(group)} prompts ({names}) differ in {what}{details}."


def judges_text(study: Study | ItemStudy, results: Mapping[str, Result]) -> str:
    """How many people and which models judged how much, by the first result that says so; plain text."""
    for result in results.values():
        if result.kind in JUDGED and (texts := list(JUDGED[result.kind](study, result))):
            return f"{capitalised('; '.join(texts))}."
    return ""


def _of_choices(study: Study | ItemStudy, result: Result) -> Iterator[str]:
    """Choices of people, and of models under each prompt."""
    groups = [group for group in result.settings.get("groups") or () if not group["variant"]]
    people = [group for group in groups if group["kind"] == HUMAN]
    models = [group for group in groups if group["kind"] != HUMAN]
    if people:
        n = sum(int(group["n_respondents"] or 0) for group in people)
        choices = counted(sum(int(group["n_choices"] or 0) for group in people), "choice")
        yield f"{counted(n, 'person', 'people') if n else 'people'} made {choices}"
    if models:
        n_prompts = len({group["prompt"] for group in models})
        under = f" under each of {n_prompts} prompts" if n_prompts > 1 else ""
        names = _models([group["judge"] for group in models], study)
        yield f"{names} made {_range(group['n_choices'] or 0 for group in models)} choices{under}"


def _of_ratings(study: Study | ItemStudy, result: Result) -> Iterator[str]:
    """Ratings of each item by people, and by models."""
    frame = result.frame.assign(group=result.frame["group"].astype(str))
    scales = " on each scale" if frame["dimension"].nunique() > 1 else ""
    for is_model, part in frame.groupby(frame["group"] != HUMAN, sort=True):
        ends = dict.fromkeys(f"{part['per_item'].agg(end):.1f}".removesuffix(".0") for end in ("min", "max"))
        ratings = f"{' to '.join(ends)} {'rating' if list(ends) == ['1'] else 'ratings'}"
        items = counted(int(part["n_items"].max()), "item")
        if is_model:
            yield f"{_models(part['group'], study)} gave {ratings} of each of {items}{scales}"
        else:
            yield f"each of {items} has {ratings}{scales} by people ({int(part['n_judges'].max()):,} in all)"


def _of_labels(study: Study | ItemStudy, result: Result) -> Iterator[str]:
    """Answers of models to each item, or line of an item, by prompt."""
    keys, counts = ["prompt", "task", "judge"], ["n_answers", "n_units", "n_items"]
    frame = result.frame[result.frame["judge_kind"].astype(str) != BASELINE].astype(dict.fromkeys(keys, str))
    frame = frame.groupby(keys, sort=False)[counts].max().reset_index()
    for (prompt, _), part in frame.groupby(keys[:2], sort=False):
        units, items = _range(part["n_units"]), _range(part["n_items"])
        times = _range((part["n_answers"] / part["n_units"]).round())
        lines = "" if units == items else f"{units} lines of "
        heading = f"{study.prompt_labels.get(str(prompt), prompt)}: " if frame["prompt"].nunique() > 1 else ""
        answers = "1 answer" if times == "1" else f"{times} answers"
        yield f"{heading}{_models(part['judge'], study)} gave {answers} to each of {lines}{items} items"


def _models(ids: Sequence[str] | pd.Series[str], study: Study | ItemStudy) -> str:
    names = [study.judge_labels.get(name, name) for name in dict.fromkeys(map(str, ids))]
    return together(names) if len(names) <= MOST_MODELS else f"{len(names)} judges"


def _range(sizes: Iterable[float]) -> str:
    ends = sorted({int(size) for size in sizes})
    return " to ".join(dict.fromkeys(f"{end:,}" for end in (ends[0], ends[-1])))


JUDGED: dict[str, Callable[[Any, Result], Iterator[str]]] = {
    "amce": _of_choices,
    "coverage": _of_ratings,
    "scores": _of_labels,
}
