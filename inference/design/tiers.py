"""Responses of each tier, chosen from all responses to a topic by their votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from ..errors import InputError, listed
from ..tables.columns import as_text, coerce, refuse, stream
from ..tables.frames import any_frame
from ..tables.schema import require_columns

TIERS = ("high", "mid", "low")
UNRELATED = "unrelated"


@dataclass(frozen=True)
class VoteFilter:
    """Topics with a minimum number of responses, the best of which has a minimum number of votes.

    Parameters
    ----------
    responses : int
        Least number of responses to a topic.
    top_votes : int
        Least number of votes for its best response.

    Examples
    --------
    >>> VoteFilter(responses=3, top_votes=10)
    VoteFilter(responses=3, top_votes=10)
    """

    responses: int
    top_votes: int = 0


PAPER = (VoteFilter(responses=10, top_votes=100), VoteFilter(responses=100))


@dataclass(frozen=True)
class TierSelection:
    """Responses that were chosen.

    Parameters
    ----------
    items : DataFrame
        ``item_id, topic_id, response, response_type, generator, votes`` and what else was known of a topic;
        four rows per topic, topics in order of their best response's votes.
    topics : DataFrame
        Every topic of the candidates: ``topic_id, n_responses, top_votes, outcome``, where the outcome is
        "chosen", or why not.
    notes : tuple of str
        Topics that were excluded, and responses with equal votes.

    Examples
    --------
    >>> rows = [(topic, f"{topic}{n}", n) for topic in "ab" for n in range(5)]
    >>> table = pd.DataFrame(rows, columns=["topic_id", "response", "votes"])
    >>> selection = select_tiers(table, filters=[VoteFilter(responses=3)])
    >>> len(selection.items), selection.topics["outcome"].tolist()
    (8, ['chosen', 'chosen'])
    """

    items: pd.DataFrame
    topics: pd.DataFrame
    notes: tuple[str, ...]


@any_frame
def select_tiers(
    candidates: pd.DataFrame,
    *,
    topics: int | Mapping[str, int] | None = None,
    filters: Sequence[VoteFilter] = PAPER,
    seed: int = 1,
    source: str = "candidates",
) -> TierSelection:
    """Choose the responses with the most, the middle and the fewest votes to each topic.

    A topic stays if it passes any of the filters; of those that stay, the ones whose best response has the
    most votes are taken. Of n responses in the order of their votes, high is the first, low the last and mid
    the one at position ``n // 2`` counted from 0. Equal votes are put into the alphabetical order of the
    responses, equal topics into that of their ids, so that the order of rows does not matter. The unrelated
    response to a topic is the best one to another topic that was chosen, drawn so that each is used once.

    Parameters
    ----------
    candidates : DataFrame
        One row a response: ``topic_id, response, votes``; columns such as ``topic``, ``modality`` and
        ``media`` that are the same for all responses to a topic are kept.
    topics : int or mapping of modality to int, optional
        How many topics to take; all that stay by default.
    filters : sequence of VoteFilter
        A topic stays if it passes any of them.
    seed : int
        Of the unrelated responses.
    source : str
        What errors call the table.

    Returns
    -------
    TierSelection
        The responses chosen, and what became of every topic.

    Raises
    ------
    InputError
        For missing columns or cells, votes that are no counts, or fewer than two topics that stay.

    Examples
    --------
    >>> rows = [(topic, f"{topic}{n}", n) for topic in "ab" for n in range(5)]
    >>> table = pd.DataFrame(rows, columns=["topic_id", "response", "votes"])
    >>> chosen = select_tiers(table, filters=[VoteFilter(responses=3)]).items
    >>> chosen[chosen["topic_id"] == "a"][["response_type", "response"]].to_numpy().tolist()
    [['high', 'a4'], ['mid', 'a2'], ['low', 'a0'], ['unrelated', 'b4']]
    """
    table, notes = _check_candidates(candidates, source)
    summary = _summary(table)
    summary["outcome"] = _apply_filters(summary, filters)
    summary["outcome"] = _limit_topics(summary, topics, source)
    chosen = summary[summary["outcome"] == "chosen"]
    if len(chosen) < 2:
        raise InputError(
            f"{source}: {len(chosen)} of {len(summary)} topics remain, but unrelated responses need two; "
            "give more responses or weaker filters."
        )
    items = _items(table, chosen["topic_id"].tolist(), seed)
    counts = summary["outcome"].value_counts()
    notes += [f"{n:,} topics were excluded: {why}." for why, n in counts.items() if why != "chosen"]
    notes += _notes_on_ties(items)
    return TierSelection(items, summary.reset_index(drop=True), tuple(notes))


def _check_candidates(candidates: pd.DataFrame, source: str) -> tuple[pd.DataFrame, list[str]]:
    require_columns(candidates, ["topic_id", "response", "votes"], source)
    table = candidates.reset_index(drop=True)
    for name in ("topic_id", "response", "votes"):
        missing = table[name].isna().to_numpy(dtype=bool)
        if missing.any():
            refuse(source, name, missing, "is empty", "fill it in")
    votes = coerce(table["votes"], "integer", source)
    negative = (votes < 0).to_numpy(dtype=bool)
    if negative.any():
        refuse(source, "votes", negative, "is negative", "give a count")
    table = table.assign(
        topic_id=as_text(table["topic_id"]), response=as_text(table["response"]), votes=votes
    )
    table = table.sort_values(["topic_id", "votes", "response"], ascending=[True, False, True], kind="stable")
    repeats = table.duplicated(["topic_id", "response"])
    notes = []
    if repeats.any():
        notes = [
            f"{int(repeats.sum()):,} responses occur more than once in their topic; the one with the most "
            f"votes is used."
        ]
    return table[~repeats].reset_index(drop=True), notes


def _summary(table: pd.DataFrame) -> pd.DataFrame:
    """One row per topic, the one with the most popular best response first."""
    groups = table.groupby("topic_id", sort=True)
    summary = groups.agg(n_responses=("response", "size"), top_votes=("votes", "max")).reset_index()
    if "modality" in table:
        summary["modality"] = as_text(groups["modality"].first().reset_index(drop=True))
    order = ["top_votes", "topic_id"]
    return summary.sort_values(order, ascending=[False, True], kind="stable").reset_index(drop=True)


def _apply_filters(summary: pd.DataFrame, filters: Sequence[VoteFilter]) -> pd.Series[str]:
    passed = np.zeros(len(summary), dtype=bool)
    for part in filters:
        enough = (summary["n_responses"] >= part.responses) & (summary["top_votes"] >= part.top_votes)
        passed |= enough.to_numpy(dtype=bool)
    outcome = pd.Series(np.where(passed, "chosen", "too few responses or votes"), index=summary.index)
    return outcome.mask((summary["n_responses"] < len(TIERS)).to_numpy(), "fewer than three responses")


def _limit_topics(
    summary: pd.DataFrame, topics: int | Mapping[str, int] | None, source: str
) -> pd.Series[str]:
    """Keep the most popular topics, so many of each modality where a mapping states so."""
    outcome = summary["outcome"]
    if topics is None:
        return outcome
    stay = outcome == "chosen"
    if isinstance(topics, Mapping):
        require_columns(summary, ["modality"], source)
        groups, limits = summary["modality"], topics
    else:
        groups, limits = pd.Series("", index=summary.index, dtype="string"), {"": topics}
    rank = stay.groupby(groups).cumsum()
    limit = groups.map(dict(limits)).fillna(0)
    for name, n_topics in limits.items():
        n_candidates = int(stay[(groups == name).to_numpy(dtype=bool)].sum())
        if n_candidates < n_topics:
            of = f" of modality {name}" if name else ""
            raise InputError(
                f"{source}: {n_topics} topics{of} are requested, but {n_candidates} remain; request fewer."
            )
    return outcome.mask((stay & (rank > limit)).to_numpy(dtype=bool), "less popular than those chosen")


def _items(table: pd.DataFrame, chosen: list[str], seed: int) -> pd.DataFrame:
    rows = table[table["topic_id"].isin(chosen)].groupby("topic_id", sort=False)
    constant = [
        name
        for name in table.columns.difference(["topic_id", "response", "votes"], sort=False)
        if (rows[name].nunique(dropna=False) == 1).all()
    ]
    ordered = {str(name): group for name, group in rows}
    shuffled = stream(seed, "unrelated").permutation(len(chosen))
    next_topic = dict(zip(shuffled, np.roll(shuffled, -1), strict=True))
    records = []
    for number, topic in enumerate(chosen):
        group = ordered[topic]
        best = ordered[chosen[next_topic[number]]].iloc[0]
        tier_rows = [group.iloc[0], group.iloc[len(group) // 2], group.iloc[-1], best]
        for kind, row in zip((*TIERS, UNRELATED), tier_rows, strict=True):
            records.append(
                {
                    "item_id": f"{topic}_{kind}",
                    "topic_id": topic,
                    **{name: group.iloc[0][name] for name in constant},
                    "response": row["response"],
                    "response_type": kind,
                    "generator": "human",
                    "votes": row["votes"],
                }
            )
    items = pd.DataFrame(records).astype({"votes": "Int64"})
    kinds = pd.Categorical(items["response_type"], categories=[*TIERS, UNRELATED])
    texts = ["item_id", "topic_id", "response", "generator"]
    return items.assign(response_type=kinds).astype(dict.fromkeys(texts, "string"))


def _notes_on_ties(items: pd.DataFrame) -> list[str]:
    """State where tiers have equal votes."""
    votes = items.pivot(index="topic_id", columns="response_type", values="votes")
    notes = []
    for upper, lower in pairwise(TIERS):
        same = votes.index[(votes[upper] == votes[lower]).to_numpy(dtype=bool)].tolist()
        if same:
            notes.append(
                f"{upper} and {lower} have equal votes in {len(same):,} topics ({listed(same, 5)}), so their "
                "order in these is alphabetical."
            )
    return notes
