"""What a survey shows, for a terminal and for one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.safe_text import printable

from ...figures.conjoint.effect_figures import is_reference
from ...figures.page_blocks import figure_block, paragraphs, result_page, table_block
from ...frames.rounding import digits_beside, p_value
from ...frames.word_table import WordTable
from ...results import Result
from .survey_effects import SurveyEffects, width_of

DIGITS = 3
OPEN = "h2 { margin-top: 2rem; }"


def summary(effects: SurveyEffects) -> list[str]:
    """What was estimated from how much, and how many effects are clear."""
    table, frame = effects.table, effects.results["amce"].frame
    what = "choices" if table.is_choice else f"ratings ({table.outcome})"
    sentences = [f"{_sample(effects)}; outcome: {what}; standard errors are clustered by respondent."]
    if effects.weights is not None:
        sentences.append(
            f"Weighted by '{effects.weights}'; design effect of the weights {effects.design_effect:.2f}."
        )
    return [*sentences, f"{_clear(frame, 'effect')}."]


def _clear(frame: pd.DataFrame, what: str, which: str = "") -> str:
    """How many estimates have an interval without 0."""
    tested = frame[frame["p"].notna()]
    n_clear = int(((tested["lower"] > 0) | (tested["upper"] < 0)).sum())
    verb = "has an interval" if n_clear == 1 else "have intervals"
    return f"{n_clear} of {counted(len(tested), what)}{which} {verb} without 0"


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    records = frame.astype(object).to_dict("records")
    return [{str(name): cell for name, cell in row.items()} for row in records]


def _scale(effects: SurveyEffects) -> int:
    """What estimates are multiplied by: effects on choices are in points, their means in percent."""
    return 100 if effects.table.is_choice else 1


def _number(value: Any, scale: int, digits: int = DIGITS) -> str:
    if pd.isna(value):
        return ""
    return f"{scale * float(value):.{digits - (2 if scale > 1 else 0)}f}".replace("-", "\u2212")


def _interval(row: Mapping[str, Any], scale: int) -> str:
    if pd.isna(row["lower"]):
        return ""
    ends = [row["lower"], row["upper"]]
    digits = digits_beside(ends, DIGITS, (0.0,))
    return " to ".join(_number(end, scale, digits) for end in ends)


def _p(value: Any) -> str:
    return "" if pd.isna(value) else p_value(float(value))


def tables(effects: SurveyEffects) -> list[WordTable]:
    """Effects with marginal means, then for each subgroup variable effects and differences."""
    written = [_main_table(effects)]
    for name in effects.by:
        suffix = "" if len(effects.by) == 1 else f"_{name}"
        written += [_group_table(effects, name, statistic, suffix) for statistic in ("amce", "mm")]
    return written


def sample_note(effects: SurveyEffects, by: str | None = None) -> str:
    """The sample, for the note of every table; of groups also that of each."""
    weighted = f", weighted by {effects.weights}" if effects.weights else ""
    n_rows, n_people = effects.sample(by)
    note = f"N = {n_rows:,} profiles of {counted(n_people, 'respondent')} (clusters){weighted}."
    if by is None:
        return note
    sizes = effects.sizes[by]
    groups = [f"{printable(name)} {n:,} of {people:,}" for name, (n, people) in sizes.items()]
    return f"{note} {printable(by)}: {', '.join(groups)}."


def _main_table(effects: SurveyEffects) -> WordTable:
    level, scale = width_of(effects.results["amce"].settings["alpha"]), _scale(effects)
    means = {(row["feature"], row["level"]): row for row in _rows(effects.results["mm"].frame)}
    of_effects, of_means = (", points", ", percent") if scale > 1 else ("", "")
    head = ["Level", f"AMCE{of_effects}", "SE", f"{level} interval", "p", f"Marginal mean{of_means}"]
    head.append(f"{level} interval")
    rows: list[list[str]] = []
    frame, last = effects.results["amce"].frame, None
    for row, is_base in zip(_rows(frame), is_reference(frame), strict=True):
        if row["feature"] != last:
            rows.append([printable(row["feature"])])
        last = row["feature"]
        mean = means[(row["feature"], row["level"])]
        cells = [_number(row[name], scale) for name in ("estimate", "std_error")]
        rows.append(
            [
                printable(row["level"]) + " (reference)" * bool(is_base),
                *(
                    [_number(0.0, scale), "", "", ""]
                    if is_base
                    else [*cells, _interval(row, scale), _p(row["p"])]
                ),
                _number(mean["estimate"], scale),
                _interval(mean, scale),
            ]
        )
    note = sample_note(effects)
    return WordTable("Effects (AMCE) and marginal means", head, rows, note, optional=len(head) - 1)


def _group_table(effects: SurveyEffects, by: str, statistic: str, suffix: str) -> WordTable:
    """Estimates in each group, and differences from the first group."""
    grouped, scale = effects.results[f"{statistic}_by{suffix}"].frame, _scale(effects)
    differences = effects.results[f"{statistic}_diffs{suffix}"].frame
    groups = list(dict.fromkeys(grouped[by].astype(str)))
    names = list(dict.fromkeys(differences["by"].astype(str)))
    estimates = {(row["feature"], row["level"], str(row[by])): row for row in _rows(grouped)}
    gaps = {(row["feature"], row["level"], str(row["by"])): row for row in _rows(differences)}
    level = width_of(effects.results["amce"].settings["alpha"])
    bases = grouped[is_reference(grouped).to_numpy(bool)] if statistic == "amce" else grouped.head(0)
    references = set(zip(bases["feature"], bases["level"], strict=True))
    head = ["Level", *groups]
    for name in names:
        head += [name.replace(" - ", " \u2212 "), f"{level} interval", "p"]
    rows: list[list[str]] = []
    last = None
    for feature, name in dict.fromkeys(zip(grouped["feature"], grouped["level"], strict=True)):
        if feature != last:
            rows.append([printable(feature)])
        last = feature
        cells = [printable(name) + " (reference)" * ((feature, name) in references)]
        cells += [_number(estimates[(feature, name, group)]["estimate"], scale) for group in groups]
        for difference in names:
            gap = gaps.get((feature, name, difference))
            cells += ["", "", ""]
            if gap is not None:
                cells[-3:] = [_number(gap["estimate"], scale), _interval(gap, scale), _p(gap["p"])]
        rows.append(cells)
    what = "Effects (AMCE)" if statistic == "amce" else "Marginal means"
    unit = "" if scale == 1 else ", points" if statistic == "amce" else ", percent"
    return WordTable(f"{what} by {printable(by)}{unit}", head, rows, sample_note(effects, by))


def to_page(effects: SurveyEffects, title: str, account: list[str]) -> str:
    """One page: summary, figures in both themes, tables, and how the file was read."""
    return result_page(printable(title), _blocks(effects, account), OPEN)


def figure_heading(effects: SurveyEffects, name: str = "amce") -> tuple[str, str]:
    """Title and line below it of the figure that a command writes: what is clear, and what it rests on."""
    by = effects.column_of_groups(name)
    title = _clear(effects.results["amce"].frame, "effect")
    if by is not None:  # groups are compared by their differences, not by which of them are clear
        differences = effects.results[name.replace("_by", "_diffs", 1)].frame
        title = _clear(differences, "difference", f" by {printable(by)}")
    weighted = f" Weighted by {printable(effects.weights)}." if effects.weights else ""
    return title, f"{_sample(effects, by)}.{weighted} Standard errors are clustered by respondent."


def _sample(effects: SurveyEffects, by: str | None = None) -> str:
    """How many respondents, tasks and profiles estimates rest on."""
    table, (n_rows, n_people) = effects.table, effects.sample(by)
    profiles = f"{table.profiles} profiles" if table.profiles > 1 else "1 profile"
    people = counted(n_people, "respondent")
    return f"{people}, {counted(table.tasks, 'task')} of {profiles} each, {n_rows:,} profiles"


def figures(effects: SurveyEffects) -> Iterator[tuple[str, Result, str]]:
    """Name, result and caption of each figure."""
    level = width_of(effects.results["amce"].settings["alpha"])
    captions = {"amce": "Effects (AMCE)", "mm": "Marginal means"}
    for name, result in effects.results.items():
        statistic, _, kind = name.partition("_")
        caption = captions[statistic]
        if kind.startswith("by"):
            caption += " in subgroups"
        if kind.startswith("diffs"):
            caption = f"Differences between subgroups: {caption}"
        yield (
            name,
            result,
            f"{caption} with {level} intervals. {sample_note(effects, effects.column_of_groups(name))}",
        )


def _blocks(effects: SurveyEffects, account: list[str]) -> Iterator[str]:
    yield from paragraphs(summary(effects))
    yield from paragraphs(effects.notes, "note")
    for name, result, caption in figures(effects):
        yield figure_block(result, name, caption, effects.labels)
    for table in tables(effects):
        yield f"<h2>{printable(table.title)}</h2>"
        yield table_block(table)
    yield "<h2>How the file was read</h2>"
    yield from paragraphs(account, "note")
