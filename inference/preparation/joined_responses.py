"""Items of a study of ratings from responses: those that models wrote, and those that people voted on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING

import pandas as pd

from ..design.tiers import PAPER, select_tiers
from ..errors import InputError, counted, listed
from ..tables.columns import as_text

if TYPE_CHECKING:
    from ..design.tiers import VoteFilter
    from ..study.models import ItemStudy


@dataclass(frozen=True)
class ResponseColumns:
    """Columns of a study's items: the topic, the response, its type, and who wrote it."""

    topic: str
    response: str
    type: str
    generator: str
    types: tuple[str, ...]  # those that the study names

    @property
    def named(self) -> tuple[str, str, str]:
        """The columns that tell responses apart."""
        return self.topic, self.type, self.generator


@dataclass(frozen=True)
class JoinedItems:
    """Items with responses, and what was joined in sentences."""

    items: pd.DataFrame
    response: str  # column of the responses
    sentences: list[str]


def columns_of_responses(study: ItemStudy, items: pd.DataFrame) -> ResponseColumns:
    """The columns by the study file; refuses a study whose items are no responses to topics."""
    kind = study.tiers or study.unrelated
    if study.cluster is None or study.generator is None or kind is None:
        raise InputError(
            f"{study.name}: the items are no responses to topics; name the columns of both in the study "
            "file: cluster (the topic), generator, tiers or unrelated (the type of response)."
        )
    of_topic = items.groupby(study.cluster)
    fields_of_items = study.collect.fields or []
    fields = [name for name in fields_of_items if (of_topic[name].nunique(dropna=False) > 1).any()]
    if len(fields) != 1:
        raise InputError(
            f"{study.name}: exactly one of the fields {listed(fields_of_items)} may differ between "
            f"responses to a topic, but {listed(fields) if fields else 'none'} does; correct collect: fields."
        )
    stratum = next((entry for entry in study.strata if entry.id == kind.column), None)
    types = () if stratum is None else tuple(level.id for level in stratum.levels)
    return ResponseColumns(study.cluster, fields[0], kind.column, study.generator, types)


def join_responses(
    study: ItemStudy,
    items: pd.DataFrame,
    generated: Sequence[pd.DataFrame],
    voted: pd.DataFrame | None = None,
    filters: Sequence[VoteFilter] = PAPER,
    topics: int | None = None,
) -> JoinedItems:
    """Put responses of models, and of people chosen by votes, in the place of those that the items have."""
    columns = columns_of_responses(study, items)
    sentences: list[str] = []
    if voted is not None:
        renamed = voted.rename(columns={columns.topic: "topic_id", columns.response: "response"})
        selection = select_tiers(renamed, topics=topics, filters=filters, source="--voted")
        back = {"topic_id": columns.topic, "response": columns.response, "response_type": columns.type}
        items = selection.items.rename(columns=back)
        sentences += [f"{counted(len(items), 'response')} of people by votes.", *selection.notes]
    for table in generated:
        rows, notes = _generated(table, items, columns)
        replaced = _key(items, columns).isin(_key(rows, columns))
        sentences += [*notes, *_counts(rows, int(replaced.sum()), columns)]
        items = items[~replaced]
        rows = rows.assign(item_id=_names(rows, set(as_text(items["item_id"])), columns))
        items = pd.concat([items, rows[items.columns]], ignore_index=True)
    order = {name: place for place, name in enumerate(as_text(items[columns.topic]).unique())}
    items = items.assign(_place=as_text(items[columns.topic]).map(order))
    items = items.sort_values("_place", kind="stable", ignore_index=True).drop(columns="_place")
    unknown = [name for name in as_text(items[columns.type]).unique() if name not in columns.types]
    if unknown:
        sentences.append(
            f"{listed(unknown)}: the study file has no such level of {columns.type}; add it to strata."
        )
    return JoinedItems(items, columns.response, sentences)


def _generated(
    judgments: pd.DataFrame, items: pd.DataFrame, columns: ResponseColumns
) -> tuple[pd.DataFrame, list[str]]:
    """Responses of models as items, with what the items state of their topic."""
    lacking = [name for name in ("item_id", "judge_id", "prompt_id", "value") if name not in judgments]
    if lacking:
        raise InputError(
            f"--responses: there is no column {listed(lacking)}; give judgments.parquet of a run of a study "
            "with response: {form: text}."
        )
    texts = as_text(judgments["value"]).str.strip()
    has_text = texts.notna() & texts.ne("")
    notes = (
        [f"{counted(int((~has_text).sum()), 'answer')} without text left out."] if not has_text.all() else []
    )
    rows = judgments[has_text].assign(value=texts[has_text])
    rows = rows.sort_values(["judge_id", "prompt_id", "item_id"], kind="stable")
    of_topic = _topics(items, columns)
    topic = as_text(rows["item_id"])
    unknown = [name for name in topic.unique() if name not in of_topic.index]
    if unknown:
        raise InputError(
            f"--responses: topic '{unknown[0]}' is not in column {columns.topic} of the items "
            f"({counted(len(unknown), 'such topic')}); items and responses need the same names of topics."
        )
    new_items = of_topic.loc[topic].reset_index()
    new_items[columns.response] = rows["value"].to_numpy()
    new_items[columns.generator] = as_text(rows["judge_id"]).to_numpy()
    new_items[columns.type] = [
        _type_of(str(judge), str(prompt), columns)
        for judge, prompt in zip(rows["judge_id"], rows["prompt_id"], strict=True)
    ]
    return new_items.reindex(columns=list(dict.fromkeys([*items.columns, *new_items.columns]))), notes


def _names(rows: pd.DataFrame, names_of_items: set[str], columns: ResponseColumns) -> list[str]:
    """Names of items: topic and type, then the author, then a number, until nothing else has the name."""
    names = []
    for topic, kind, author in zip(*(rows[name] for name in columns.named), strict=True):
        first = dict.fromkeys([f"{topic}_{kind}", "_".join(dict.fromkeys([topic, kind, author]))])
        further = (f"{list(first)[-1]}_{number}" for number in count(2))
        name = next(text for text in chain(first, further) if text not in names_of_items)
        names_of_items.add(name)
        names.append(name)
    return names


def _topics(items: pd.DataFrame, columns: ResponseColumns) -> pd.DataFrame:
    """What is the same for all responses to a topic, by topic."""
    groups = items.assign(**{columns.topic: as_text(items[columns.topic])}).groupby(columns.topic, sort=False)
    varying = ("item_id", columns.response, columns.type, columns.generator, "votes")
    constant = [
        name
        for name in map(str, items)
        if name not in (columns.topic, *varying) and not (groups[name].nunique(dropna=False) > 1).any()
    ]
    return groups[constant].first()


def _type_of(judge: str, prompt: str, columns: ResponseColumns) -> str:
    """The type that a prompt is named after, such as serious or serious_ja; else the judge."""
    named = [name for name in columns.types if prompt == name or prompt.startswith(f"{name}_")]
    return named[0] if named else judge


def _key(items: pd.DataFrame, columns: ResponseColumns) -> pd.Series[str]:
    parts = [as_text(items[name]).fillna("") for name in columns.named]
    return parts[0] + "\n" + parts[1] + "\n" + parts[2]


def _counts(rows: pd.DataFrame, replaced: int, columns: ResponseColumns) -> Iterator[str]:
    """How many responses of each model and type were joined, and how many items they replace."""
    for (judge, kind), group in rows.groupby([columns.generator, columns.type], sort=False):
        what = "" if kind == judge else f" ({kind})"
        yield f"{counted(len(group), 'response')} of {judge}{what}."
    if replaced:
        yield f"{counted(replaced, 'item')} of the same topic, type and author replaced."
