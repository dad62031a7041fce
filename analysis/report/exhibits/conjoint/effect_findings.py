"""What effects of a conjoint say: the finding in words, a heading of its figure, differences beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from ....figures.labels import LevelLabels, display_order
from ....frames.vocabulary import HUMAN
from ....results import Result
from ...method_sentences import bounds_name, unmarked
from ...report_data import FURTHER_EFFECTS, ReportData
from ...sentences.effect_sentences import largest_effect, largest_effect_in_words
from ...sentences.focus_sentences import (
    MOST_ATTRIBUTES,
    PEOPLE,
    Basis,
    ComparedFocus,
    compared_focus_in_words,
    find_compared_effects,
    find_focus_effects,
    focus_in_words,
    span_of_prompts,
)
from .conjoint_basis import contrasts, estimates, group_columns, in_points, outcome_of

if TYPE_CHECKING:
    from ....pipeline.manifest import RecordedResult

MOST_JUDGES_IN_FOCUS = 2  # of more, none compared with people, the largest effect is named
FURTHER_CLAUSE = re.compile(r"; (?=(?:it|of|chance|Always)\b)")  # what follows the main clause of a finding
SAMPLE = ("formula", "exclude")  # settings of an analysis
LONGEST_TITLE = 125  # letters of a heading of a figure; what is longer stands in the text above it


class Focus(NamedTuple):
    """Effects that the study asks about, from all analyses, and differences of models from people in them."""

    effects: pd.DataFrame  # with feature_label and level_label
    every: pd.DataFrame  # the same under every prompt
    differences: pd.DataFrame  # empty without comparisons
    alpha: float  # of their tests
    record: RecordedResult  # of the first effects


def headline(result: Result, record: RecordedResult, report: ReportData) -> str:
    """Name the effects that the study asks about, or else the largest one, of the main analysis."""
    focus = find_focus(report, record)
    return largest_headline(record, report) if focus is None else _in_focus(focus, report)


def largest_headline(record: RecordedResult, report: ReportData) -> str:
    """Name the largest effect of a result."""
    frame, every = estimates(report, record), estimates(report, record, every_prompt=True)
    names = [_bounds(frame.iloc[[at]], record) for at in range(len(frame))]
    levels = contrasts(frame, record, report)
    of_prompts = len(every) > len(frame)
    effect = largest_effect(frame, levels, names, of_prompts=of_prompts, in_points=in_points(record))
    return "" if effect is None else largest_effect_in_words(effect)


def find_focus(report: ReportData, main: RecordedResult) -> Focus | None:
    """What the finding is on; None where nothing is asked, or of many judges none is compared with people."""
    names = [str(name) for name in report.manifest.get("focus") or []]
    effects: list[pd.DataFrame] = []
    every: list[pd.DataFrame] = []
    differences: list[pd.DataFrame] = []
    sources: dict[str, RecordedResult] = {}
    alpha = 0.05
    for record in (main, *(part for part in report.of_kind(FURTHER_EFFECTS) if not group_columns(part))):
        frame = estimates(report, record)
        features = {name for name in frame["feature"].astype(str) if name in names and name not in sources}
        if not features:
            continue
        sources |= dict.fromkeys(features, record)
        comparison = differences_from_people(report, record)
        tables = [frame, estimates(report, record, every_prompt=True)]
        if comparison is not None:
            tables.append(comparison[0])
            alpha = comparison[1]
        for parts, table in zip((effects, every, differences), tables, strict=False):
            rows = table[table["feature"].astype(str).isin(features)].reset_index(drop=True)
            parts.append(_labelled(rows, record, report))
    if not effects:
        return None
    in_focus, all_prompts, compared = (
        _in_order(pd.concat(parts), names) if parts else pd.DataFrame()
        for parts in (effects, every, differences)
    )
    has_many_judges = "judge" in in_focus and in_focus["judge"].nunique() > MOST_JUDGES_IN_FOCUS
    if has_many_judges and compared.empty:
        return None
    return Focus(in_focus, all_prompts, compared, alpha, sources[str(in_focus["feature"].iloc[0])])


def _labelled(frame: pd.DataFrame, record: RecordedResult, report: ReportData) -> pd.DataFrame:
    """Name the attribute of each row, and its level with the reference."""
    labels = LevelLabels(report.labels)
    names = [labels.feature(name) for name in frame["feature"]]
    return frame.assign(feature_label=names, level_label=contrasts(frame, record, report))


def _in_order(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Rows by the order in which the study asks."""
    order = frame["feature"].astype(str).map({name: place for place, name in enumerate(names)})
    return frame.iloc[np.argsort(order.to_numpy(), kind="stable")].reset_index(drop=True)


def compared_levels(report: ReportData) -> set[str]:
    """Levels whose difference from people the main finding names already."""
    main = next(iter(report.of_kind("amce")), None)
    focus = None if main is None else find_focus(report, main)
    comparison = None if focus is None else compared_focus(focus, report)
    return set() if comparison is None else {effect.level for effect in comparison.effects[:MOST_ATTRIBUTES]}


def _in_focus(focus: Focus, report: ReportData) -> str:
    """The effects that the study asks about: models beside people, or judge by judge."""
    comparison = compared_focus(focus, report)
    if comparison is not None:
        return compared_focus_in_words(comparison)
    frame, sentences = focus.effects, []
    judges = display_order(frame["judge"])
    for judge in judges:
        rows = frame[frame["judge"].astype(str) == judge]
        basis = _prompts_of(judge, focus, report)
        record_of_judge = find_focus_effects(
            rows,
            rows["feature_label"].tolist(),
            rows["level_label"].tolist(),
            outcome=_outcome(focus.record, report),
            bounds=_bounds(rows, focus.record),
            judge=PEOPLE if judge == _people(report) else judge,
            prompt=basis.prompt,
            every=basis.every,
            is_alone=len(judges) == 1,
            n=basis.n,
            in_points=in_points(focus.record),
        )
        if record_of_judge is not None:
            sentences.append(focus_in_words(record_of_judge))
    return " ".join(sentences)


def compared_focus(focus: Focus, report: ReportData) -> ComparedFocus | None:
    """Models beside people, in attributes that the study asks about; None without a comparison."""
    if focus.differences.empty:
        return None
    frame, people = focus.effects.astype({"judge": str}), _people(report)
    frame = frame.assign(judge=frame["judge"].replace(people, PEOPLE))
    effects = find_compared_effects(focus.differences, frame, focus.alpha)
    if not effects:
        return None
    bases, every = {}, None
    for judge in display_order(focus.effects["judge"]):
        basis, name = _prompts_of(judge, focus, report), PEOPLE if judge == people else judge
        bases[name] = Basis(_bounds(frame[frame["judge"] == name], focus.record), basis.n, basis.prompt)
        every = every if basis.every is None else basis.every
    if len(bases) > 2:  # whose effects depend on prompts is said of a model that is alone
        every = None
    return ComparedFocus(
        effects,
        _outcome(focus.record, report),
        bases,
        focus.alpha,
        span_of_prompts(every, [effect.level for effect in effects[:MOST_ATTRIBUTES]]),
        1 if every is None else every["prompt"].nunique(),
        in_points(focus.record),
    )


class _Prompts(NamedTuple):
    """The prompt of the effects of a judge that has several, effects under all, choices under the one."""

    prompt: str
    every: pd.DataFrame | None
    n: int


def _prompts_of(judge: str, focus: Focus, report: ReportData) -> _Prompts:
    rows = focus.effects[focus.effects["judge"].astype(str) == judge]
    prompt = str(rows["prompt"].iloc[0]) if "prompt" in rows else ""
    of_judge = focus.every[focus.every["judge"].astype(str) == judge]
    sizes = {
        (report.label("judges", group["judge"]), report.label("prompts", group.get("prompt") or "")): group
        for group in focus.record.groups
        if not group.get("variant")
    }
    n = int(sizes.get((judge, prompt), {}).get("n_choices") or 0)
    if "prompt" not in of_judge or of_judge["prompt"].nunique() < 2:
        return _Prompts("", None, n)
    return _Prompts(prompt, of_judge, n)


def _people(report: ReportData) -> str:
    return report.labels.get(("judges", HUMAN), HUMAN)


def _outcome(record: RecordedResult, report: ReportData) -> str:
    return "the probability of being chosen" if in_points(record) else outcome_of(report)


def _bounds(rows: pd.DataFrame, record: RecordedResult) -> str:
    return bounds_name(record.settings, frame=rows).replace(" normal", "").replace(" t ", " ")


def title_of(sentence: str) -> str:
    """The first sentence of a finding as a heading, or its first clause: without intervals and tests."""
    text = re.sub(r"(?<=\d)\s*\[[^\[\]]*\]", "", unmarked(sentence))
    text = re.sub(r"(?<=\(\d\.\d\d), [\d,]+ answers?[^()]*(?=\))", "", text)  # the line below has the items
    text = re.sub(r"\s*\([^()]*(?:\[[^\]]*\]|p below)[^()]*\)", "", text)
    text = re.split(r"\.(?=\s|$)", text)[0].strip()
    return text if len(text) <= LONGEST_TITLE else FURTHER_CLAUSE.split(text)[0]


def beside_effects(
    report: ReportData, record: RecordedResult, frame: pd.DataFrame
) -> tuple[pd.DataFrame, float] | None:
    """Differences of the only model from people, which stand beside the effects, and alpha of their tests."""
    if record.kind != "amce" or "judge" not in frame or frame["judge"].nunique() != 2:
        return None
    beside = differences_from_people(report, record)
    return beside if beside is not None and beside[0]["judge"].nunique() == 1 else None


def differences_from_people(report: ReportData, record: RecordedResult) -> tuple[pd.DataFrame, float] | None:
    """Differences of models from people in the effects of a result, and alpha of their tests."""
    for comparison in report.of_kind("people"):
        if comparison.settings.get("verb") == "amce_diffs" and is_about_same(comparison, record):
            return estimates(report, comparison), float(comparison.settings.get("alpha") or 0.05)
    return None


def is_about_same(first: RecordedResult, second: RecordedResult) -> bool:
    """Whether two results are about the same attributes of the same profiles."""
    return all((first.settings.get(name) or None) == (second.settings.get(name) or None) for name in SAMPLE)
