"""What effects of a conjoint say: the finding in words, a heading of its figure, differences beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ....figures.labels import LevelLabels, display_order, level_of
from ....frames.vocabulary import HUMAN
from ....results import Result
from ...method_sentences import bounds_name, unmarked
from ...report_data import ReportData
from ...sentences.effect_sentences import largest_effect, largest_effect_in_words
from ...sentences.focus_sentences import (
    MOST_ATTRIBUTES,
    ComparedFocus,
    compared_focus_in_words,
    find_compared_effects,
    find_focus_effects,
    focus_in_words,
    span_of_prompts,
)
from ...table_format import whole
from .conjoint_basis import contrasts, estimates, in_points, outcome_of

if TYPE_CHECKING:
    from ....pipeline.manifest import RecordedResult

MOST_JUDGES_IN_FOCUS = 2  # of more, the largest effect is named
FURTHER_CLAUSE = re.compile(r"; (?=(?:it|of|chance|Always)\b)")  # what follows the main clause of a finding
LONGEST_TITLE = 125  # letters of a heading of a figure; what is longer stands in the text above it


def headline(result: Result, record: RecordedResult, report: ReportData) -> str:
    """Name the effects that the study asks about, or else the largest one, of the main analysis."""
    frame, every = _of_focus(report, record)
    if names_focus(frame, report):
        return _in_focus(frame, record, report, every)
    names = [_bounds(frame.iloc[[at]], record) for at in range(len(frame))]
    levels = contrasts(frame, record, report)
    of_prompts = len(every) > len(frame)
    effect = largest_effect(frame, levels, names, of_prompts=of_prompts, in_points=in_points(record))
    return "" if effect is None else largest_effect_in_words(effect)


def names_focus(frame: pd.DataFrame, report: ReportData) -> bool:
    """Whether the finding is on the attributes that the study asks about, not on the largest effect alone."""
    has_few_judges = frame.empty or ("judge" in frame and frame["judge"].nunique() <= MOST_JUDGES_IN_FOCUS)
    return bool(report.manifest.get("focus")) and has_few_judges


def _of_focus(report: ReportData, record: RecordedResult) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Effects of the attributes that the study asks about, or of all: under one prompt, and under every."""
    focus = report.manifest.get("focus") or []
    frame, every = estimates(report, record), estimates(report, record, every_prompt=True)
    if not focus:
        return frame, every
    shown_prompt, all_prompts = (table[table["feature"].astype(str).isin(focus)] for table in (frame, every))
    return shown_prompt.reset_index(drop=True), all_prompts


def compared_levels(report: ReportData) -> set[str]:
    """Levels whose difference from people the main finding names already."""
    main = next(iter(report.of_kind("amce")), None)
    if main is None or not report.manifest.get("focus"):
        return set()
    frame, every = _of_focus(report, main)
    comparison = None if frame.empty else compared_focus(frame, main, report, every)
    return set() if comparison is None else {effect.level for effect in comparison.effects[:MOST_ATTRIBUTES]}


def _in_focus(frame: pd.DataFrame, record: RecordedResult, report: ReportData, every: pd.DataFrame) -> str:
    """The effects that the study asks about, judge by judge; ``every`` has those under all prompts."""
    comparison = compared_focus(frame, record, report, every)
    if comparison is not None:
        return compared_focus_in_words(comparison)
    labels, sentences = LevelLabels(report.labels), []
    judges = display_order(frame["judge"])
    for judge in judges:
        rows = frame[frame["judge"].astype(str) == judge]
        basis = _prompts_of(judge, frame, record, report, every)
        record_of_judge = find_focus_effects(
            rows,
            [labels.feature(name) for name in rows["feature"]],
            contrasts(rows, record, report),
            outcome=_outcome(record, report),
            bounds=_bounds(rows, record),
            judge="people" if judge == _people(report) else judge,
            prompt=basis.prompt,
            every=basis.every,
            is_alone=len(judges) == 1,
            n=basis.n,
            in_points=in_points(record),
        )
        if record_of_judge is not None:
            sentences.append(focus_in_words(record_of_judge))
    return " ".join(sentences)


def compared_focus(
    frame: pd.DataFrame, record: RecordedResult, report: ReportData, every: pd.DataFrame
) -> ComparedFocus | None:
    """The only model beside people, in attributes that the study asks about; None without a comparison."""
    beside, people = beside_effects(report, record, frame), _people(report)
    if beside is None:
        return None
    differences, alpha = beside
    differences = differences[differences["feature"].astype(str).isin(set(frame["feature"].astype(str)))]
    model = next(name for name in display_order(frame["judge"]) if name != people)
    of_model, of_people = (frame[frame["judge"].astype(str) == judge] for judge in (model, people))
    labels = LevelLabels(report.labels)
    effects = find_compared_effects(
        differences,
        of_model,
        of_people,
        [labels.feature(name) for name in differences["feature"]],
        contrasts(differences, record, report),
        alpha,
    )
    if not effects:
        return None
    basis = _prompts_of(model, frame, record, report, every)
    return ComparedFocus(
        model,
        effects,
        _outcome(record, report),
        (_bounds(of_model, record), _bounds(of_people, record)),
        (basis.n, _prompts_of(people, frame, record, report, every).n),
        basis.prompt,
        span_of_prompts(basis.every, [effect.level for effect in effects[:MOST_ATTRIBUTES]]),
        1 if basis.every is None else basis.every["prompt"].nunique(),
        in_points(record),
    )


class _Prompts(NamedTuple):
    """The prompt of the effects of a judge that has several, effects under all, choices under the one."""

    prompt: str
    every: pd.DataFrame | None
    n: int


def _prompts_of(
    judge: str, frame: pd.DataFrame, record: RecordedResult, report: ReportData, every: pd.DataFrame
) -> _Prompts:
    rows = frame[frame["judge"].astype(str) == judge]
    prompt = str(rows["prompt"].iloc[0]) if "prompt" in rows else ""
    of_judge = every[every["judge"].astype(str) == judge]
    sizes = {
        (report.label("judges", group["judge"]), report.label("prompts", group.get("prompt") or "")): group
        for group in record.groups
        if not group.get("variant")
    }
    n = int(sizes.get((judge, prompt), {}).get("n_choices") or 0)
    if "prompt" not in of_judge or of_judge["prompt"].nunique() < 2:
        return _Prompts("", None, n)
    return _Prompts(prompt, of_judge.assign(level_label=contrasts(of_judge, record, report)), n)


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


def basis_in_words(report: ReportData, record: RecordedResult, frame: pd.DataFrame) -> list[str]:
    """The prompt of the models where there are several, and how many choices each judge made."""
    prompts = [name for name in display_order(frame["prompt"]) if name] if "prompt" in frame else []
    has_several = len({group.get("prompt") for group in record.groups if group.get("prompt")}) > 1
    texts = [f"Prompt: {prompts[0]}."] if has_several and len(prompts) == 1 else []
    counts = {
        report.label("judges", group["judge"]): int(group["n_choices"])
        for group in reversed(record.groups)
        if group.get("n_choices")
    }
    judges = [name for name in (display_order(frame["judge"]) if "judge" in frame else []) if name in counts]
    if not judges:
        return texts
    low, high = (whole(end(counts[name] for name in judges)) for end in (min, max))
    each = f"{low if low == high else f'{low} to {high}'} of each judge"
    if len(judges) <= 2:
        each = ", ".join(f"{name} {whole(counts[name])}" for name in judges)
    return [*texts, f"Choices: {each}."]


def basis_of(result: Result) -> str:
    """How many items, answers or rows a result rests on, and the level of its intervals."""
    counts = {"n_items": "Items", "n_answers": "Answers", "n_labelled": "Labelled units", "n": "Rows"}
    texts = []
    for column, noun in counts.items():
        numbers = result.frame[column].dropna() if column in result.frame else pd.Series(dtype=float)
        numbers = numbers[numbers > 0]
        if len(numbers):
            low, high = whole(numbers.min()), whole(numbers.max())
            texts = [f"{noun}: {low if low == high else f'{low} to {high}'}."]
            break
    if "lower" in result.frame and result.frame["lower"].notna().any():
        texts.append(f"Lines: {level_of(result.settings)} intervals.")
    return " ".join(texts)


def beside_effects(
    report: ReportData, record: RecordedResult, frame: pd.DataFrame
) -> tuple[pd.DataFrame, float] | None:
    """Differences of the only model from people, which stand beside the effects, and alpha of their tests."""
    if record.kind != "amce" or "judge" not in frame or frame["judge"].nunique() != 2:
        return None
    for comparison in report.of_kind("people"):
        settings = comparison.settings
        if settings.get("verb") == "amce_diffs" and settings.get("formula") == record.settings.get("formula"):
            differences = estimates(report, comparison)
            if differences["judge"].nunique() == 1:
                return differences, float(settings.get("alpha") or 0.05)
    return None
