"""The section of a report about models compared with people: what differs, in words, a figure and a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...figures.labels import Labels, display_order, series_labels
from ..markdown import captioned, picture, slug, table_blocks, table_references
from ..methods import bounds_name, plain
from ..tables import (
    MOST_SERIES_WITH_INTERVALS,
    NO_BREAK,
    STAR_RULE,
    batches,
    interval,
    number,
    p_value,
    stars,
    styled_table,
    whole,
)

if TYPE_CHECKING:
    from great_tables import GT

    from ..data import ReportData

KIND = "people"
QUANTITIES = {"amce_diffs": "AMCEs", "mm_diffs": "marginal means"}


def people_section(report: ReportData) -> str:
    """Tell how models differ from people; empty where the results do not compare them."""
    analyses = report.analyses(KIND)
    if not analyses:
        return ""
    first, *others = analyses
    name = str(first["name"])
    tables, caption = people_tables(report, name), f"{plain(report.title(first))}."
    where = f" @fig-{slug(name)} shows the differences, {table_references(name, len(tables))} the numbers."
    prompts = (
        " Each model is shown under one prompt; the table in the results folder contains all of them."
        if _several(first)
        else ""
    )
    drawn = picture(name, report.build_figure(name), report.alt(name))  # type: ignore[attr-defined]
    lines = f"Points are model minus people, lines their {plain(report.lines(name) or 'intervals')}."
    return "\n\n".join(
        [
            " ".join([*lead(report, first), *(lead(report, other)[0] for other in others)]),
            f"{pairs_note(first)}{where}{prompts}",
            captioned(f"fig-{slug(name)}", drawn, f"{caption} {lines}"),
            table_blocks(name, tables, caption),
        ]
    )


def lead(report: ReportData, analysis: Mapping[str, Any]) -> list[str]:
    """Say in two sentences how many differences there are, and which is the largest."""
    name, labels = str(analysis["name"]), Labels(report.labels)
    frame = report.estimates(name)
    tested = frame[frame["p_adjusted"].notna()]
    what = QUANTITIES.get(str(analysis.get("verb")), "estimates")
    if tested.empty:
        return [f"No difference between models and people in {what} could be tested."]
    alpha = float(analysis.get("alpha") or 0.05)
    differs = tested["p_adjusted"] < alpha
    series = tested["judge"].astype(str)
    counts = differs.groupby(series, sort=False).agg(["sum", "size"])
    rule = f"p below {alpha:g}, adjusted by Holm's method"
    told = [
        f"{plain(who)} in {_of(row)}" for who, row in counts.sort_values("sum", ascending=False).iterrows()
    ]
    if len(counts) == 1:
        count = f"{plain(counts.index[0])} differs from people in {_of(counts.iloc[0])} {what} ({rule})."
    else:
        count = (
            f"{int((counts['sum'] > 0).sum())} of {len(counts)} models differ from people in {what} ({rule} "
            f"within each model): {', '.join(told[:3])}{' and so on' if len(told) > 3 else ''}."
        )
    row = tested.iloc[int(tested["estimate"].abs().to_numpy().argmax())]
    who = plain(row["judge"])
    return [
        count,
        f"The largest difference{f' of {who}' if len(counts) > 1 else ''} is {number(row['estimate'])} "
        f"({100 * (1 - alpha):g}% interval {interval(row['lower'], row['upper'])}), for "
        f"{plain(labels.both(row['feature'], row['level']))}: {number(row['model'])} for {who}, "
        f"{number(row['people'])} for people.",
    ]


def pairs_note(analysis: Mapping[str, Any]) -> str:
    """Say whether people and models judged the same pairs, and what standard errors make of it."""
    counts = [group["pairs"] for group in analysis.get("groups") or [] if group.get("pairs")]
    if not counts:
        return ""
    shared = [count["shared"] for count in counts]
    if not any(shared):
        return "People and models judged different pairs."
    low, high = min(shared), max(shared)
    span = whole(high) if low == high else f"{whole(low)} to {whole(high)}"
    people = int(counts[0]["people"])
    pairs = "pair" if people == 1 else "pairs"
    told = f"People judged {whole(people)} {pairs}, {span} of which a model judged as well"
    if str(analysis.get("vcov")).startswith("HC"):
        return f"{told}; standard errors take all rows as independent."
    return f"{told}; standard errors account for the covariance that shared pairs cause."


def people_tables(report: ReportData, name: str) -> list[GT]:
    """Lay differences out: people, model and difference of one model, or differences of several."""
    frame, labels = report.estimates(name), Labels(report.labels)
    found = batches(frame)
    return [
        _table(
            part, labels, name if k == 1 else f"{name}-{k}", bounds_name(report.analysis(name)) or "interval"
        )
        for k, part in enumerate(found, start=1)
    ]


def _table(frame: pd.DataFrame, labels: Labels, name: str, bounds: str) -> GT:
    series = series_labels(frame).to_numpy(str)
    names = list(dict.fromkeys(series))
    rows: dict[tuple[str, str], dict[str, str]] = {
        (feature, level): {}
        for feature in display_order(frame["feature"])
        for level in display_order(frame.loc[frame["feature"].astype("string") == feature, "level"])
    }
    for record, who in zip(frame.to_dict("records"), series, strict=True):
        cells = rows[str(record["feature"]), str(record["level"])]
        cells["People"] = number(record["people"])
        limits, mark = interval(record["lower"], record["upper"]), stars(record["p_adjusted"])
        if len(names) == 1:
            cells[str(record["judge"])] = number(record["model"])
            cells |= {"Difference": number(record["estimate"]), bounds: limits}
            cells["Adjusted p"] = p_value(record["p_adjusted"])
        else:
            texts = [number(record["estimate"]) + mark, limits * (len(names) <= MOST_SERIES_WITH_INTERVALS)]
            cells[who] = NO_BREAK.join(filter(None, texts))
    shown = [
        {"Attribute": labels.feature(feature), "Level": labels.level(feature, level), **cells}
        for (feature, level), cells in rows.items()
    ]
    notes = ["p values: adjusted by Holm's method over the differences of each model under each prompt."]
    if len(names) > 1:
        notes = [f"Columns of models: model minus people. {STAR_RULE}", *notes]
        if len(names) <= MOST_SERIES_WITH_INTERVALS:
            notes.insert(1, f"In brackets: {bounds}s.")
    return styled_table(pd.DataFrame(shown), name=name, groups="Attribute", note=" ".join(notes))


def _of(counts: pd.Series[Any]) -> str:
    return f"{int(counts['sum'])} of {int(counts['size'])}"


def _several(analysis: Mapping[str, Any]) -> bool:
    """Whether a model was compared under several prompts."""
    judges = [group["judge"] for group in analysis.get("groups") or [] if not group.get("variant")]
    return len(set(judges)) < len(judges)
