"""Example cards: single items with their gold labels and what every judge answered, word by word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.schema import require_columns

from ..results import Result
from ..steps import Step, analysis
from .by_length import has_texts
from .confusion import OTHER_LABEL
from .data.scoring import Scored
from .parse_status import NO_ANSWER

if TYPE_CHECKING:
    from .data.answered import Answered

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
    require_columns(items, ["item_id"], "items")
    known = items.assign(item_id=as_text(items["item_id"])).drop_duplicates("item_id").set_index("item_id")
    rows: list[dict[str, Any]] = []
    number = 0
    for task in scored.tasks:
        frame = scored.frame[scored.frame["task"].astype(str) == task]
        for reason, item in _picked(frame, known, reasons):
            number += 1
            own = frame[frame["item_id"].astype(str) == item]
            rows += [
                {
                    "card": number,
                    "reason": reason,
                    "task": task,
                    "item_id": item,
                    **_shown(known, item),
                    **row,
                }
                for row in _answers(own, scored, task)
            ]
    if not rows:
        raise InputError("items: none of them is judged; there is nothing to show.")
    table = pd.DataFrame(rows)
    table["raw"] = _raw(table, responses)
    return Result(table.drop(columns="sample"), "cards", (), {"reasons": list(reasons)})


def _picked(frame: pd.DataFrame, known: pd.DataFrame, reasons: Sequence[str]) -> list[tuple[str, str]]:
    """A reason and an item each; items that are not known are passed over."""
    frame = frame[frame["item_id"].astype(str).isin(known.index)]
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
    text = known["text"] if "text" in known else pd.Series("", index=known.index)
    length = as_text(text).fillna("").str.len().reindex(shares.index).fillna(0)
    found: list[tuple[str, str]] = []
    for reason in reasons:
        ranked = pd.DataFrame({"by": order[reason].round(6), "length": length}).sort_values(["by", "length"])
        free = [item for item in ranked.index if item not in {item for _, item in found}]
        if free and not (reason == SILENT and shares.loc[free[0], "missing"] == 0):
            found.append((reason, str(free[0])))
    return found


def _shown(known: pd.DataFrame, item: str) -> dict[str, str]:
    """Text and name of the media file of an item."""
    row: Mapping[Any, Any] = known.loc[item].to_dict()
    return {name: "" if pd.isna(row.get(name)) else str(row[name]) for name in ("text", "media")}


def _answers(own: pd.DataFrame, scored: Scored, task: str) -> list[dict[str, Any]]:
    """Gold and the first answer of each judge with each prompt."""
    classes, levels = (*scored.classes[task], OTHER_LABEL), scored.levels[task]
    result = []
    for (judge, prompt), part in own.groupby(["judge", "prompt"], sort=False, observed=True):
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


def _raw(table: pd.DataFrame, responses: pd.DataFrame | None) -> pd.Series[Any]:
    """Raw text of each answer, where it is known."""
    column = None if responses is None else next((name for name in RAW if name in responses), None)
    if responses is None or column is None:
        return pd.Series(pd.NA, index=table.index, dtype="string")
    asked = pd.DataFrame(
        {
            "judge": as_text(responses["judge_id"]),
            "prompt": as_text(responses["prompt_id"]).fillna("") if "prompt_id" in responses else "",
            "item_id": as_text(responses["item_id"]),
            "sample": responses["sample"].astype("int64") if "sample" in responses else 1,
            "_raw": as_text(responses[column]).fillna(""),
        }
    ).drop_duplicates(["judge", "prompt", "item_id", "sample"])
    keys = ["judge", "prompt", "item_id", "sample"]
    left = table[keys].astype(dict.fromkeys(keys[:3], "string"))
    return left.merge(asked, on=keys, how="left")["_raw"].set_axis(table.index)


@analysis("benchmark", order=100, when=has_texts)
def _steps(answered: Answered, drawn: Mapping[str, Any]) -> Iterator[Step]:
    scored, responses = answered.plain_scores, answered.responses
    items = cast(pd.DataFrame, answered.items)  # by has_texts
    yield Step("cards", "Examples", lambda: cards(scored, items, responses=responses))
