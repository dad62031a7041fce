"""Columns of items: their strata, their lines, and texts where a cell contains a list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..design.subjects import takes
from ..errors import InputError, did_you_mean, listed
from ..study.asking import LineLabels
from ..study.models import LINE, ItemStudy
from ..tables.columns import as_text, refuse
from ..tables.files import read_table
from ..tables.schema import JUDGE_KINDS, require_columns, validate


def with_texts(items: pd.DataFrame) -> pd.DataFrame:
    """Write cells that hold a list of texts as one text, a line for each."""
    lists = {
        str(name): column.map(_joined)
        for name, column in items.items()
        if column.dtype == object and column.map(_is_list).any()
    }
    return items.assign(**lists) if lists else items


def strata_of(study: ItemStudy, items: pd.DataFrame, source: str) -> dict[str, dict[str, str]]:
    """Strata of each item, as its table has them, and the other columns by which prompts pick items."""
    picked = list(dict.fromkeys(column for prompt in study.prompts for column in prompt.only))
    require_columns(items, picked, source)
    columns = [name for name in dict.fromkeys([*study.level_labels, *picked]) if name in items]
    texts = {name: as_text(items[name]).astype(object).tolist() for name in columns}
    found = {
        str(item): {name: str(texts[name][row]) for name in columns if not pd.isna(texts[name][row])}
        for row, item in enumerate(items["item_id"])
    }
    if study.prompts and all(prompt.only for prompt in study.prompts):
        taken = [any(takes(prompt, strata) for prompt in study.prompts) for strata in found.values()]
        _refuse_untaken(study, items, np.array(taken, dtype=bool), source)
    return found


def lines_of(study: ItemStudy, items: pd.DataFrame, source: str) -> dict[str, dict[str, int]]:
    """Number of lines of each item, by the column that holds them."""
    columns = {response.lines for response in study.responses if isinstance(response, LineLabels)}
    require_columns(items, sorted(columns), source)
    return {
        column: {
            str(item): 0 if pd.isna(text) else len(str(text).splitlines())
            for item, text in zip(items["item_id"], items[column], strict=True)
        }
        for column in columns
    }


def judged_texts(texts: Sequence[str], by_line: bool) -> list[str]:
    """Judged texts, and each of their lines where every line is labelled: an answer may repeat either."""
    return [*texts, *(line for text in texts for line in text.splitlines())] if by_line else list(texts)


def _refuse_untaken(study: ItemStudy, items: pd.DataFrame, taken: Any, source: str) -> None:
    if taken.all():
        return
    row = int(np.flatnonzero(~taken)[0])
    column = next(
        column
        for prompt in study.prompts
        for column, values in prompt.only.items()
        if str(items[column].iloc[row]) not in values
    )
    known = dict.fromkeys(value for prompt in study.prompts for value in prompt.only.get(column, []))
    problem = f"contains '{items[column].iloc[row]}', which no prompt of study {study.name} takes"
    remedy = f"use one of {listed(known)}, or add a prompt for it"
    refuse(source, column, ~taken, problem, remedy)


def _is_list(cell: object) -> bool:
    return isinstance(cell, list | tuple | np.ndarray)


def _joined(cell: Any) -> Any:
    return "\n".join(map(str, cell)) if _is_list(cell) else cell


_MODELS = (
    *(
        "gpt",
        "chatgpt",
        "claude",
        "gemini",
        "gemma",
        "llama",
        "mistral",
        "mixtral",
        "qwen",
        "deepseek",
    ),
    *("grok", "olmo", "smollm", "falcon", "vicuna", "command-r", "kimi", "glm", "llm", "bot", "model"),
    *("openai", "anthropic", "davinci", "granite", "nemotron", "ernie", "internlm", "dbrx", "jamba"),
)
_LIKE_A_MODEL = re.compile(
    rf"(?<![a-z0-9])(?:{'|'.join(_MODELS)})(?![a-z])(?! [a-z]+$)|(?<![a-z0-9])o[134]-(?:mini|pro|preview)"
    r"|(?<![a-z0-9])phi-?\d|^ai$|[a-z]{3,}[-.0-9a-z]*-\d+(?:\.\d+)?b(?![a-z0-9])|-(?:instruct|chat)(?![a-z])",
    re.IGNORECASE,
)


def like_models(names: Sequence[object]) -> list[str]:
    """Names that look like those of language models."""
    return [str(name) for name in names if _LIKE_A_MODEL.search(str(name).replace("_", "-"))]


_LINES = rf"{LINE}_[1-9]\d*"  # dimensions of labels of lines
RATING = "rating"  # dimension of judgments that name none


def load_judgments(
    path: str | Path,
    *,
    study: ItemStudy | None = None,
    renames: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
) -> pd.DataFrame:
    """Read a tidy table of judgments and fill in columns that it may lack; ``notes`` receives assumptions."""
    frame = _renamed(read_table(path), renames or {}, str(path))
    frame = _selected(frame, where or {}, str(path))
    require_columns(frame, ["judge_id", "item_id", "value"], str(path), "--rename")
    if "judge_kind" not in frame:
        kinds = _kinds(frame, study, str(path))
        frame = frame.assign(judge_kind=kinds)
        people = frame.loc[(kinds == "human").to_numpy(dtype=bool), "judge_id"].nunique()
        if notes is not None:
            notes.append(
                f"{Path(path).name} has no judge_kind: {people:,} judges that the study does not name as "
                "models count as people."
            )
    if "sample" not in frame:
        frame = frame.assign(sample=1)
    if "status" not in frame:
        held = frame["value"].notna().to_numpy(dtype=bool)
        frame = frame.assign(status=np.where(held, "ok", "missing"))
    if "dimension" not in frame:
        frame = frame.assign(dimension=_only_dimension(study))
    valid = validate(frame, "judgments", str(path))
    if study is not None:
        _check_dimensions(valid, study, str(path))
    return valid


def stack_judgments(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack judgments of several files; the same judgment in two of them is refused."""
    stacked = pd.concat(tables.values(), ignore_index=True)
    return validate(stacked, "judgments", " and ".join(tables)) if len(tables) > 1 else stacked


def dimensions_of(study: ItemStudy) -> dict[str, str]:
    """Labels of what a study has rated or labelled, by id."""
    if study.response.form == "ratings":
        return {scale.id: scale.label for scale in study.response.scales}
    return {task: task for task in study.label_sets if task != LINE}


def scales_of(study: ItemStudy) -> dict[str, Sequence[int]]:
    """Ratings that each dimension of a study allows."""
    if study.response.form != "ratings":
        return {}
    return {scale.id: range(scale.minimum, scale.maximum + 1) for scale in study.response.scales}


def _renamed(frame: pd.DataFrame, renames: Mapping[str, str], source: str) -> pd.DataFrame:
    for theirs in renames:
        if theirs not in frame:
            raise InputError(
                f"{source}: there is no column '{theirs}' to rename{did_you_mean(theirs, frame.columns)}."
            )
    return frame.rename(columns=dict(renames))


def _selected(frame: pd.DataFrame, where: Mapping[str, str], source: str) -> pd.DataFrame:
    for column, value in where.items():
        require_columns(frame, [column], source)
        texts = as_text(frame[column])
        kept = (texts == value).fillna(False).to_numpy(dtype=bool)
        if not kept.any():
            known = [str(name) for name in texts.dropna().unique()]
            raise InputError(
                f"{source}: no row has '{value}' in column '{column}'{did_you_mean(value, known)}; it "
                f"contains {listed(known)}."
            )
        frame = frame[kept]
    return frame.reset_index(drop=True)


def _kinds(frame: pd.DataFrame, study: ItemStudy | None, source: str) -> pd.Series[str]:
    known = {judge.id: judge.kind for judge in study.judges} if study is not None else {}
    if not known:
        raise InputError(
            f"{source}: column 'judge_kind' is missing; add it, with {' or '.join(JUDGE_KINDS)} in each row, "
            "or rename the column that says so, as --rename THEIRS=judge_kind."
        )
    names = as_text(frame["judge_id"]).dropna().unique()
    unknown = like_models([name for name in names if name not in known])
    if unknown:
        what = "a model" if len(unknown) == 1 else "models"
        raise InputError(
            f"{source}: {listed(unknown, 4)} may be {what} that the study does not name; add the column "
            f"'judge_kind', with {' or '.join(JUDGE_KINDS)} in each row, or name the models in the study."
        )
    return as_text(frame["judge_id"]).map(known).fillna("human").astype("string")


def _only_dimension(study: ItemStudy | None) -> str:
    names = list(dimensions_of(study)) if study is not None else []
    return names[0] if len(names) == 1 else RATING


def _check_dimensions(frame: pd.DataFrame, study: ItemStudy, source: str) -> None:
    known = list(dimensions_of(study))
    found = [str(name) for name in frame["dimension"].unique()]
    lines = LINE in study.label_sets
    stray = next(
        (name for name in found if name not in known and not (lines and re.fullmatch(_LINES, name))), None
    )
    if stray is not None:
        known += [f"{LINE}_1, {LINE}_2, ..."] if lines else []
        raise InputError(
            f"{source}: study {study.name} has no dimension '{stray}'{did_you_mean(stray, known)}; it has "
            f"{listed(known)}."
        )
