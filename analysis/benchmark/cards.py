"""Where judges fail: by the length of what they judge, and as cards of single items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.schema import require_columns

from ..frames.notes import Note, excluding
from ..frames.vocabulary import BASELINE
from ..numerics.intervals import inference
from ..numerics.significance import insert_adjusted_p_values
from ..results import AnalysisStep, Result, analysis
from .confusion import OTHER_LABEL
from .data.scoring import Scored
from .data.units import distinct_items
from .parse_status import NO_ANSWER, WRONG
from .scores import scores

if TYPE_CHECKING:
    from .data.label_answers import LabelAnswers

METRICS = ("accuracy", "missing_rate")
LENGTH, BIN = "length", "length_group"


def length_effects(
    scored: Scored,
    items: pd.DataFrame,
    *,
    by: Sequence[str] = (),
    within: Sequence[str] = (),
    groups: int = 4,
    metrics: Sequence[str] = METRICS,
    draws: int = 2_000,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
) -> Result:
    """Score judges on items of different lengths; missing answers count as wrong."""
    # What languages differ in is no effect of length: items are compared within each level of `within`.
    require_columns(items, ["item_id", "text"], "items")
    items = distinct_items(items)
    require_columns(scored.frame, list(within), "scored judgments")
    lengths, ungrouped = _lengths(scored, items, groups, list(within))
    length_groups = lengths.set_index("item_id")[BIN]
    frame = scored.frame.assign(**{BIN: scored.frame["item_id"].astype(str).map(length_groups)})
    subset = replace(scored, frame=frame).where(frame[BIN].notna().to_numpy(dtype=bool))
    options: dict[str, Any] = {"draws": draws, "seed": seed, "alpha": alpha, "cluster": cluster}
    by = [*by, *(name for name in within if name not in by)]
    result = scores(subset, by=[*by, BIN], metrics=list(metrics), missing=[WRONG], **options)
    table = result.frame[result.frame["judge_kind"] != BASELINE].assign(
        **{BIN: lambda rows: rows[BIN].astype(float).astype(int)}
    )
    cells = lengths.groupby([*within, BIN])[LENGTH]
    spans = cells.agg(shortest="min", longest="max", length="mean").reset_index()
    table = table.merge(spans.astype({BIN: int}), on=[*within, BIN], how="left")
    keys = ["judge", "prompt", "task", *by, "metric"]
    numbers = ["estimate", "std_error", "lower", "upper", "n_units", "n_items"]
    table = table[[*keys, BIN, "shortest", "longest", "length", *numbers]]
    ranked = dict.fromkeys(result.frame[keys].itertuples(index=False, name=None))
    order = {key: place for place, key in enumerate(ranked)}
    rank = [order[key] for key in table[keys].itertuples(index=False, name=None)]
    table = table.assign(_rank=rank).sort_values(["_rank", BIN]).drop(columns="_rank").reset_index(drop=True)
    left_out = scored.frame["item_id"].nunique() - subset.frame["item_id"].nunique() - ungrouped
    lacking = Note.of("no text or no {columns}", columns=within) if within else "no text"
    template = "{n:,} items have {lacking} and are excluded."
    notes: list[str] = [excluding(template, n=left_out, lacking=lacking)] if left_out else []
    if ungrouped:
        notes.append(
            excluding(
                "{n:,} items are excluded: their texts cannot be divided into two groups by length.",
                n=ungrouped,
            )
        )
    if within:
        notes.append(
            Note.of("Lengths are grouped and compared within each value of {columns}.", columns=within)
        )
    return Result(
        table,
        "errors",
        (*notes, *result.notes),
        {"by": list(by), "within": list(within), "groups": int(lengths[BIN].nunique()), **options},
        {"ends": _end_differences(table, keys, alpha)},
    )


def _lengths(scored: Scored, items: pd.DataFrame, groups: int, within: list[str]) -> tuple[pd.DataFrame, int]:
    """Characters of the judged items with a text, and their group, 1 for the shortest; how many have none."""
    text = as_text(items["text"])
    table = pd.DataFrame({"item_id": as_text(items["item_id"]), LENGTH: text.str.len()})
    table = table[(table[LENGTH].fillna(0) > 0).to_numpy(dtype=bool)].astype({LENGTH: float})
    judged = scored.frame[["item_id", *within]].drop_duplicates("item_id").dropna().astype("string")
    table = table.merge(judged.astype(object), on="item_id")
    if within:
        group = table.groupby(within, sort=False)[LENGTH].transform(_length_group_numbers, groups)
    else:
        group = _length_group_numbers(table[LENGTH], groups)
    result = table.assign(**{BIN: group}).dropna(subset=BIN)
    if result.empty:
        raise InputError(
            "items: fewer than two groups of lengths; length effects need texts of several lengths."
        )
    return result, len(table) - len(result)


def _length_group_numbers(length: pd.Series[float], groups: int) -> pd.Series[float]:
    """Group of each length, from 1; missing where there are fewer than two groups."""
    if len(length) < groups:
        return pd.Series(np.nan, index=length.index)
    cut = pd.Series(pd.qcut(length, groups, labels=False, duplicates="drop"), index=length.index)
    return cut.rank(method="dense") if cut.nunique() > 1 else cut.astype(float) * np.nan


def _end_differences(table: pd.DataFrame, keys: Sequence[str], alpha: float) -> pd.DataFrame:
    """The longest group minus the shortest of each judge, task, stratum and metric."""
    of_key = table.groupby(list(keys), sort=False, observed=True)[BIN]
    last = table[(table[BIN] == of_key.transform("max")) & (of_key.transform("nunique") > 1)]
    ends = [part.set_index(list(keys)) for part in (table[table[BIN] == of_key.transform("min")], last)]
    pairs = ends[1].join(ends[0].add_suffix("_short"), how="inner")
    errors = pairs[["std_error", "std_error_short"]].to_numpy(dtype=float)
    error = np.sqrt((errors**2).sum(axis=1))
    estimate = pairs["estimate"] - pairs["estimate_short"]
    bounds = inference(estimate.to_numpy(dtype=float), error, alpha)
    result = pd.DataFrame(
        {
            "short": pairs["estimate_short"],
            "long": pairs["estimate"],
            "estimate": estimate,
            "std_error": error,
            "lower": bounds.lower,
            "upper": bounds.upper,
            "p": bounds.p,
        }
    )
    return insert_adjusted_p_values(result.reset_index(), ["task", "metric"], "holm")


def has_texts(answered: LabelAnswers) -> bool:
    """Whether judgments are scored and the texts of their items are known."""
    return answered.is_scored and answered.items is not None and "text" in answered.items


@analysis("benchmark", order=90, when=has_texts)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    scored, strata = answered.plain_scores, answered.strata
    items = cast(pd.DataFrame, answered.items)  # by has_texts
    yield AnalysisStep(
        "lengths",
        "Scores by the length of items",
        lambda: length_effects(scored, items, within=strata, **options),
    )


HARD, DIVIDED, SILENT, EASY = "hard", "divided", "silent", "easy"
REASONS = (HARD, DIVIDED, SILENT, EASY)
RAW = ("response", "text", "raw_completion")  # columns of raw answers, the first that is there


def cards(
    scored: Scored,
    items: pd.DataFrame,
    *,
    responses: pd.DataFrame | None = None,
    reasons: Sequence[str] = REASONS,
) -> Result:
    """Pick items that show how judges fail, one a task and reason, with every judge's first answer."""
    # Hard: fewest right answers; divided: nearest one half; silent: most missing; easy: most right.
    # Ties go to the shortest text, and an item is shown once.
    by_id = distinct_items(items).set_index("item_id")
    rows: list[dict[str, Any]] = []
    number = 0
    for task in scored.tasks:
        frame = scored.frame[scored.frame["task"].astype(str) == task]
        for reason, item in _pick_items(frame, by_id, reasons):
            number += 1
            item_rows = frame[frame["item_id"].astype(str) == item]
            rows += [
                {
                    "card": number,
                    "reason": reason,
                    "task": task,
                    "item_id": item,
                    **_item_content(by_id, item),
                    **row,
                }
                for row in _judge_answers(item_rows, scored, task)
            ]
    if not rows:
        raise InputError("items: none of them is judged, so no items can be shown.")
    table = pd.DataFrame(rows)
    table["raw"] = _raw_texts(table, responses)
    return Result(table.drop(columns="sample"), "cards", (), {"reasons": list(reasons)})


def _pick_items(frame: pd.DataFrame, by_id: pd.DataFrame, reasons: Sequence[str]) -> list[tuple[str, str]]:
    """A reason and an item each; items that are not known are passed over."""
    frame = frame[frame["item_id"].astype(str).isin(by_id.index)]
    by_item = frame.assign(missing=frame["predicted"] == NO_ANSWER).groupby(
        frame["item_id"].astype(str), sort=False
    )
    shares = by_item[["correct", "missing"]].mean()
    order = {
        HARD: shares["correct"],
        DIVIDED: (shares["correct"] - 0.5).abs(),
        SILENT: -shares["missing"],
        EASY: -shares["correct"],
    }
    text = by_id["text"] if "text" in by_id else pd.Series("", index=by_id.index)
    length = as_text(text).fillna("").str.len().reindex(shares.index).fillna(0)
    picks: list[tuple[str, str]] = []
    for reason in reasons:
        ranked = pd.DataFrame({"by": order[reason].round(6), "length": length}).sort_values(["by", "length"])
        free = [item for item in ranked.index if item not in {item for _, item in picks}]
        if free and not (reason == SILENT and shares.loc[free[0], "missing"] == 0):
            picks.append((reason, str(free[0])))
    return picks


def _item_content(by_id: pd.DataFrame, item: str) -> dict[str, str]:
    """Text and name of the media file of an item."""
    row: Mapping[Any, Any] = by_id.loc[item].to_dict()
    return {name: "" if pd.isna(row.get(name)) else str(row[name]) for name in ("text", "media")}


def _judge_answers(item_rows: pd.DataFrame, scored: Scored, task: str) -> list[dict[str, Any]]:
    """Gold and the first answer of each judge with each prompt."""
    classes, levels = (*scored.classes[task], OTHER_LABEL), scored.levels[task]
    result = []
    for (judge, prompt), part in item_rows.groupby(["judge", "prompt"], sort=False, observed=True):
        first = part[part["sample"] == part["sample"].min()].sort_values("line")
        codes, lines = first["predicted"].to_numpy(), first["line"].to_numpy()
        answers = ["" if code == NO_ANSWER else classes[code] for code in codes]
        gold = [levels[code] for code in first["level"]]
        status = [str(name) for name in first["status"]]
        result.append(
            {
                "gold": listed_lines(gold, lines),
                "judge": str(judge),
                "prompt": str(prompt),
                "sample": int(first["sample"].iloc[0]),
                "answer": listed_lines(answers, lines) if any(answers) else "",
                "status": "ok" if any(answers) else max(set(status), key=status.count),
                "right": float(first["correct"].mean()),
            }
        )
    return result


def listed_lines(labels: Sequence[str], lines: np.ndarray) -> str:
    """Labels of the lines of an item, one a line of text; of a whole item the label alone."""
    if len(lines) == 1 and lines[0] == 0:
        return labels[0]
    return "\n".join(f"{line} {label or '-'}" for line, label in zip(lines, labels, strict=True))


def _raw_texts(table: pd.DataFrame, responses: pd.DataFrame | None) -> pd.Series[Any]:
    """Raw text of each answer, where it is known."""
    column = None if responses is None else next((name for name in RAW if name in responses), None)
    if responses is None or column is None:
        return pd.Series(pd.NA, index=table.index, dtype="string")
    response_table = pd.DataFrame(
        {
            "judge": as_text(responses["judge_id"]),
            "prompt": as_text(responses["prompt_id"]).fillna("") if "prompt_id" in responses else "",
            "item_id": as_text(responses["item_id"]),
            "sample": responses["sample"].astype("int64") if "sample" in responses else 1,
            "_raw": as_text(responses[column]).fillna(""),
        }
    ).drop_duplicates(["judge", "prompt", "item_id", "sample"])
    keys = ["judge", "prompt", "item_id", "sample"]
    answer_keys = table[keys].astype(dict.fromkeys(keys[:3], "string"))
    return answer_keys.merge(response_table, on=keys, how="left")["_raw"].set_axis(table.index)


@analysis("benchmark", order=100, when=has_texts)
def _card_steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    scored, responses = answered.plain_scores, answered.responses
    items = cast(pd.DataFrame, answered.items)  # by has_texts
    yield AnalysisStep("cards", "Examples", lambda: cards(scored, items, responses=responses))
