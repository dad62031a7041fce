"""Judgments and items of users' tables: renamed, filled in, checked and stacked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..design.subjects import takes
from ..errors import InputError, Problems, did_you_mean, listed
from ..study.asking import LineLabels
from ..study.models import LINE, ItemStudy
from ..tables.columns import as_text, refuse
from ..tables.reading.account import AccountEntry, ReadingAccount
from ..tables.reading.answers.answer_scales import stated_order
from ..tables.reading.answers.compared_answers import read_answers
from ..tables.reading.cell_rules import number_of
from ..tables.reading.containers import FileContent
from ..tables.reading.reading_rules import ReadingRules, common_order
from ..tables.reading.table_reading import TableReading, read, select_rows
from ..tables.row_numbers import with_name
from ..tables.schema import JUDGE_KINDS, require_columns, validate
from .aliases import is_used
from .choice_cells import relabel_cells
from .judged.judged_columns import columns_of
from .judged.judged_files import read_answers_of, read_judgments_of
from .judged.judged_shapes import judgments_of_columns
from .model_names import like_models
from .ordinary_answers import ordinary_answers
from .programs.formats import ANSWERS
from .programs.recognised_files import RecognisedFile, recognise
from .raters.rater_columns import judgments_of_table
from .raters.rating_rows import has_judgments


def with_texts(items: pd.DataFrame) -> pd.DataFrame:
    """Write cells that contain a list of texts as one text, a line for each."""
    lists = {
        str(name): column.map(_cell_text)
        for name, column in items.items()
        if column.dtype == object and column.map(_is_list).any()
    }
    return items.assign(**lists) if lists else items


def strata_of(study: ItemStudy, items: pd.DataFrame, source: str) -> dict[str, dict[str, str]]:
    """Strata of each item, as its table has them, and the other columns by which prompts pick items."""
    prompt_columns = list(dict.fromkeys(column for prompt in study.prompts for column in prompt.only))
    require_columns(items, prompt_columns, source)
    columns = [name for name in dict.fromkeys([*study.level_labels, *prompt_columns]) if name in items]
    texts = {name: as_text(items[name]).astype(object).tolist() for name in columns}
    strata_by_item = {
        str(item): {name: str(texts[name][row]) for name in columns if not pd.isna(texts[name][row])}
        for row, item in enumerate(items["item_id"])
    }
    if study.prompts and all(prompt.only for prompt in study.prompts):
        has_prompt = [
            any(takes(prompt, strata) for prompt in study.prompts) for strata in strata_by_item.values()
        ]
        _refuse_untaken(study, items, np.array(has_prompt, dtype=bool), source)
    return strata_by_item


def lines_of(study: ItemStudy, items: pd.DataFrame, source: str) -> dict[str, dict[str, int]]:
    """Number of lines of each item, by the column that contains them."""
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


def _refuse_untaken(study: ItemStudy, items: pd.DataFrame, has_prompt: Any, source: str) -> None:
    if has_prompt.all():
        return
    row = int(np.flatnonzero(~has_prompt)[0])
    column = next(
        column
        for prompt in study.prompts
        for column, values in prompt.only.items()
        if str(items[column].iloc[row]) not in values
    )
    options = dict.fromkeys(value for prompt in study.prompts for value in prompt.only.get(column, []))
    problem = f"contains '{items[column].iloc[row]}', which no prompt of study {study.name} takes"
    remedy = f"use one of {listed(options)}, or add a prompt for it"
    refuse(source, column, ~has_prompt, problem, remedy)


def _is_list(cell: object) -> bool:
    return isinstance(cell, list | tuple | np.ndarray)


def _cell_text(cell: Any) -> Any:
    return "\n".join(map(str, cell)) if _is_list(cell) else cell


_LINES = rf"{LINE}_[1-9]\d*"  # dimensions of labels of lines
RATING = "rating"  # dimension of judgments that name none


def load_judgments(
    path: str | Path | FileContent | TableReading,
    *,
    study: ItemStudy | None = None,
    renames: Mapping[str, str] | None = None,
    rules: ReadingRules | None = None,
    notes: list[str] | None = None,
    ordinary: bool = True,
    raters: Sequence[str] = (),
    models: Sequence[str] = (),
) -> pd.DataFrame:
    """Read judgments and fill in columns that they may lack; ``notes`` receives assumptions."""
    # A tidy table, what a program of `formats.py` wrote, or a table with a row per rating or a column per
    # rater. Answers that test judges as instruments are excluded unless `ordinary` is False. Rows are
    # selected by the names that columns get by `renames`.
    rules = rules or ReadingRules()
    if study is not None:
        rules = rules.over(study.reading.rules())
    if isinstance(path, TableReading):
        source, recognised = path.source, RecognisedFile(Path(path.source), None, path.rules)
    else:
        source, recognised = str(path), recognise(path, rules)
    if recognised.format is not None:
        frame, assumed = _of_program(recognised, raters, models)
        rules = replace(recognised.rules, where={}, exclude={}, missing=(), relabel={})
        account = ReadingAccount(strict=rules.strict)
        frame = _rename_columns(frame, renames or {}, source)
        if notes is not None:
            notes += assumed
    else:
        rules, renamed = recognised.rules, set((renames or {}).values())
        content = path if isinstance(path, TableReading) else recognised.content
        reading = read(content, rules.conditions_on(renamed, only=False))
        source = with_name(reading.source, source)
        frame = _rename_columns(reading.frame, renames or {}, source)
        frame, entries, source = select_rows(frame, rules.conditions_on(renamed, only=True), source)
        account, rules = reading.account.adding(entries), reading.rules
        if raters or models or (study is None and not has_judgments(frame)):
            frame, entries, rules, source = judgments_of_table(frame, rules, source, raters, models)
            account = account.adding(entries)
    require_columns(frame, ["judge_id", "item_id", "value"], source, "--rename")
    if "judge_kind" not in frame:
        kinds = _judge_kinds(frame, study, source)
        frame = frame.assign(judge_kind=kinds)
        people = frame.loc[(kinds == "human").to_numpy(dtype=bool), "judge_id"].nunique()
        if notes is not None:
            notes.append(
                f"{Path(source).name} has no judge_kind: {people:,} judges that the study does not name "
                "as models count as people."
            )
    if "sample" not in frame:
        frame = frame.assign(sample=1)
    if "status" not in frame:
        has_value = frame["value"].notna().to_numpy(dtype=bool)
        frame = frame.assign(status=np.where(has_value, "ok", "missing"))
    if "dimension" not in frame:
        frame = frame.assign(dimension=_only_dimension(study))
    valid = validate(frame, "judgments", source)
    if study is not None:
        valid = relabel_cells(valid, ["value"], rules.relabel, source)
        _check_dimensions(valid, study, source)
    else:
        valid, entries = _with_labels(valid, rules, source)
        account = account.adding(entries)
    if notes is not None:
        notes += account.notes()
    if ordinary:
        instrument = None if study is None else study.instrument
        valid, excluded = ordinary_answers(valid, "judgments", instrument, Path(source).name)
        if notes is not None:
            notes += excluded
    return valid


def _of_program(
    recognised: RecognisedFile, people: Sequence[str], models: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Judgments of what a program wrote, and what was assumed."""
    row = recognised.format
    assert row is not None
    if row.content != ANSWERS:
        if people or models:
            option = "--raters" if people else "--models"
            raise InputError(f"{option} names columns, and {row.words} name their judges; omit it.")
        return read_judgments_of(recognised)
    judged = read_answers_of(recognised)
    source = judged.source
    table = read(judged.frame, recognised.rules, source).with_entries(*recognised.entries)
    judged = replace(judged, frame=table.frame)
    columns = columns_of(
        judged, models[0] if models else None, [name for name in people if name not in models]
    )
    judges = list(models) or [columns.judge]
    answers = {name: judged.frame[name] for name in (*judges, *columns.human)}
    read_answers(answers, recognised.rules, source=source)  # refuses what may be no answer, by its column
    notes = [f"{listed(columns.guessed).capitalize()}."] if columns.guessed else []
    notes += [entry.sentence for entry in recognised.entries if entry.option]
    long = judgments_of_columns(judged, judges, columns.human)
    return long, [*judged.notes, *table.account.notes(), *notes]


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


def _rename_columns(frame: pd.DataFrame, renames: Mapping[str, str], source: str) -> pd.DataFrame:
    for alias in renames:
        if alias not in frame:
            raise InputError(
                f"{source}: there is no column '{alias}' to rename{did_you_mean(alias, frame.columns)}."
            )
    return frame.rename(columns=dict(renames))


def _with_labels(
    frame: pd.DataFrame, rules: ReadingRules, source: str
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """Labels in one spelling, by dimension; in the order that is stated or declared for all dimensions."""
    is_valid = (as_text(frame["status"]) == "ok") & frame["value"].notna() & is_used(frame)
    entries: list[AccountEntry] = []
    values = frame["value"].astype(object)
    orders: list[tuple[str, ...]] = []
    n_read = 0
    dimensions = frame["dimension"].dropna().unique()
    for dimension in dimensions:
        mask = (is_valid & (frame["dimension"] == dimension)).fillna(False).to_numpy(dtype=bool)
        if not mask.any():
            continue
        n_read += 1
        names = ["value", str(dimension)] if len(dimensions) == 1 else [str(dimension)]
        levels = next(filter(None, map(rules.levels.get, names)), rules.order_of(str(dimension)))
        by_value = next(filter(None, map(rules.value_labels.get, names)), ())
        of_dimension = replace(
            rules,
            levels={"value": levels} if levels else {},
            value_labels={"value": by_value} if by_value else {},
            strict=False,
        )
        answers = read_answers(
            {"value": frame["value"][mask]}, of_dimension, source=source, rows=np.flatnonzero(mask)
        )
        entries += [entry for entry in answers.entries if entry.subject != "types"]
        if answers.classes and any(number_of(name) is None for name in answers.classes):
            values[mask] = np.array([*answers.classes, None], dtype=object)[answers.codes[0]]
            is_stated = bool(levels) and rules.scale is None
            orders.append(answers.classes if is_stated or answers.scale == "ordinal" else ())
            entries += [stated_order(answers.classes)] if is_stated else []
            if by_value and not orders[-1] and rules.scale is None:
                sentence = f"Labels of {dimension} count as unordered; --scale ordinal orders them by value."
                entries.append(AccountEntry("types", sentence, option="--scale ordinal"))
    if not orders:
        return frame, entries
    labels = pd.Series(values, index=frame.index)
    if order := common_order(orders, n_read):
        return frame.assign(value=pd.Categorical(labels, categories=order, ordered=True)), entries
    if any(orders):
        sentence = "Labels count as unordered, since not all dimensions have the same; read one alone."
        entries.append(AccountEntry("types", sentence))
    return frame.assign(value=labels.astype("string")), entries


def _judge_kinds(frame: pd.DataFrame, study: ItemStudy | None, source: str) -> pd.Series[str]:
    kinds = {judge.id: judge.kind for judge in study.judges} if study is not None else {}
    if not kinds:
        raise InputError(
            f"{source}: column 'judge_kind' is missing; add it, with {' or '.join(JUDGE_KINDS)} in each row, "
            "or rename the column that says so, as --rename THEIRS=judge_kind."
        )
    names = as_text(frame["judge_id"]).dropna().unique()
    unknown = like_models([name for name in names if name not in kinds])
    if unknown:
        what = "a model" if len(unknown) == 1 else "models"
        raise InputError(
            f"{source}: {listed(unknown, 4)} may be {what} that the study does not name; add the column "
            f"'judge_kind', with {' or '.join(JUDGE_KINDS)} in each row, or name the models in the study."
        )
    return as_text(frame["judge_id"]).map(kinds).fillna("human").astype("string")


def _only_dimension(study: ItemStudy | None) -> str:
    names = list(dimensions_of(study)) if study is not None else []
    return names[0] if len(names) == 1 else RATING


def _check_dimensions(frame: pd.DataFrame, study: ItemStudy, source: str) -> None:
    names = list(dimensions_of(study))
    dimensions = [str(name) for name in frame["dimension"].unique()]
    lines = LINE in study.label_sets
    stray = [name for name in dimensions if name not in names and not (lines and re.fullmatch(_LINES, name))]
    if stray and not names and not lines:
        raise InputError(
            f"{source}: answers to study {study.name} are texts, which are not analysed; have them rated: "
            f"conjury prepare RATING_STUDY --responses {source} --out items.csv."
        )
    names += [f"{LINE}_1, {LINE}_2, ..."] if lines else []
    problems = Problems()
    problems.sentences += [
        f"{source}: study {study.name} has no dimension '{name}'{did_you_mean(name, names)}; it has "
        f"{listed(names)}."
        for name in stray
    ]
    problems.refuse()
