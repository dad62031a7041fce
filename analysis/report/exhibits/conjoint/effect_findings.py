"""What effects of a conjoint say: the finding in words, a heading of its figure, differences beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pandas as pd

from ....figures.labels import LevelLabels, display_order, level_of
from ....frames.vocabulary import HUMAN
from ....results import Result
from ...method_sentences import bounds_name, unmarked
from ...report_data import ReportData
from ...sentences.effect_sentences import (
    find_focus_effects,
    focus_in_words,
    largest_effect,
    largest_effect_in_words,
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
    frame, every = estimates(report, record), estimates(report, record, every_prompt=True)
    focus = report.manifest.get("focus") or []
    if focus:
        of_focus = frame["feature"].astype(str).isin(focus)
        frame, every = frame[of_focus].reset_index(drop=True), every[every["feature"].astype(str).isin(focus)]
        if frame.empty or ("judge" in frame and frame["judge"].nunique() <= MOST_JUDGES_IN_FOCUS):
            return _in_focus(frame, record, report, every)
    names = [
        bounds_name(record.settings, frame=frame.iloc[[at]]).replace(" normal", "").replace(" t ", " ")
        for at in range(len(frame))
    ]
    levels = contrasts(frame, record, report)
    of_prompts = len(every) > len(frame)
    effect = largest_effect(frame, levels, names, of_prompts=of_prompts, in_points=in_points(record))
    return "" if effect is None else largest_effect_in_words(effect)


def _in_focus(frame: pd.DataFrame, record: RecordedResult, report: ReportData, every: pd.DataFrame) -> str:
    """The effects that the study asks about, judge by judge; ``every`` has those under all prompts."""
    labels, sentences = LevelLabels(report.labels), []
    judges = display_order(frame["judge"])
    people = report.labels.get(("judges", HUMAN), HUMAN)
    sizes = {
        (report.label("judges", group["judge"]), report.label("prompts", group.get("prompt") or "")): group
        for group in record.groups
        if not group.get("variant")
    }
    for judge in judges:
        rows = frame[frame["judge"].astype(str) == judge]
        prompt = str(rows["prompt"].iloc[0]) if "prompt" in rows else ""
        other_prompts = every[every["judge"].astype(str) == judge]
        other_prompts = (
            other_prompts[other_prompts["prompt"].astype(str) != prompt]
            if "prompt" in other_prompts
            else other_prompts.head(0)
        )
        record_of_judge = find_focus_effects(
            rows,
            [labels.feature(name) for name in rows["feature"]],
            contrasts(rows, record, report),
            outcome="the probability of being chosen" if in_points(record) else outcome_of(report),
            bounds=bounds_name(record.settings, frame=rows).replace(" normal", "").replace(" t ", " "),
            judge="people" if judge == people else judge,
            prompt=prompt if len(other_prompts) else "",
            other_prompts=(
                other_prompts.assign(
                    feature_label=[labels.feature(name) for name in other_prompts["feature"]]
                )
                if len(other_prompts)
                else None
            ),
            is_alone=len(judges) == 1,
            n=int(sizes.get((judge, prompt), {}).get("n_choices") or 0),
            in_points=in_points(record),
        )
        if record_of_judge is not None:
            sentences.append(focus_in_words(record_of_judge))
    return " ".join(sentences)


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
