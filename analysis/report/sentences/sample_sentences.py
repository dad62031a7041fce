"""Sentences on samples: choices, respondents, clusters and weights behind a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from conjury.inference.errors import counted

from ..table_format import number, whole

CLUSTER_NOUNS = {"judge_id": "respondent", "pair_id": "pair"}
MOST_GROUPS = 6  # groups of judgments whose sizes a note lists; of more it has the range


def sample_note(settings: Mapping[str, Any], groups: Sequence[tuple[str, Mapping[str, Any]]] = ()) -> str:
    """Choices, respondents, clusters and weights of an analysis, in plain text; empty where none is known."""
    # `groups` are groups of judgments with the names that the table has for them.
    if not groups:
        return _describe_sizes(settings)
    phrases = [(name, _describe_sizes(group)) for name, group in groups]
    phrases = [(name, text) for name, text in phrases if text]
    if len(phrases) == 1:
        return phrases[0][1]
    if len(phrases) > MOST_GROUPS:
        return _describe_range([group for _, group in groups])
    return " ".join(f"{name}: {text}" if name else text for name, text in phrases)


def _describe_sizes(group: Mapping[str, Any]) -> str:
    """Sizes of one group: ``N = 1,000 choices (2,000 profiles) by 200 respondents; ...``."""
    profiles, choices = group.get("n_used"), group.get("n_choices")
    if profiles is None:
        return ""
    text = f"N = {counted(int(profiles), 'profile')}"
    if choices:
        text = f"N = {counted(int(choices), 'choice')} ({counted(int(profiles), 'profile')})"
    if group.get("n_respondents"):
        text += f" by {counted(int(group['n_respondents']), 'respondent')}"
    n_rows = int(group.get("n_rows") or profiles)
    if n_rows > profiles:
        left_out = whole(n_rows - int(profiles))
        text += f", without {left_out} of {whole(n_rows)} rows that lack an outcome, a level"
        text += ", a group or a weight" if group.get("by") or group.get("subgroups") else " or a weight"
    clusters = group.get("n_clusters")
    if group.get("id") and clusters:
        crossed = ", " in str(group["id"])
        least = "at least " if crossed else ""
        by = " and ".join(CLUSTER_NOUNS.get(name, name) for name in str(group["id"]).split(", "))
        text += f"; standard errors clustered by {by} ({least}{counted(int(clusters), 'cluster')}"
        n_empty = int(clusters) - int(group.get("n_respondents") or clusters)
        is_known = group["id"] == "judge_id" and n_empty > 0
        text += f", {whole(n_empty)} of them without any of these choices)" if is_known else ")"
    weights = describe_weights(group)
    return f"{text}.{' ' * bool(weights)}{weights}"


def describe_weights(group: Mapping[str, Any]) -> str:
    """By which column choices are weighted, and the design effect; empty where they are not."""
    if not group.get("weights"):
        return ""
    effect = group.get("design_effect")
    cost = f" (design effect {number(float(effect), 2)} by Kish's formula)" if effect else ""
    return f"Weighted by {group['weights']}{cost}."


def describe_subgroups(group: Mapping[str, Any], label: Callable[[str, str], str]) -> str:
    """Choices and respondents in each group of respondents; empty where there are none."""
    phrases = []
    for part in group.get("subgroups") or ():
        name = ", ".join(label(trait, level) for trait, level in part["levels"].items())
        choices = part["n_choices"] or part["n_used"]
        people = part["n_respondents"]
        by = f" by {counted(int(people), 'respondent')}" if people else ""
        phrases.append(f"{name}, {counted(int(choices), 'choice' if part['n_choices'] else 'profile')}{by}")
    return f"Groups: {'; '.join(phrases)}." if phrases else ""


def _describe_range(groups: Sequence[Mapping[str, Any]]) -> str:
    """Sizes of many groups as a range."""
    sizes = [int(group["n_choices"]) for group in groups if group.get("n_choices")]
    if not sizes:
        return ""
    span = whole(min(sizes)) if min(sizes) == max(sizes) else f"{whole(min(sizes))} to {whole(max(sizes))}"
    weighted = dict.fromkeys(filter(None, map(describe_weights, groups)))
    return " ".join([f"N = {span} choices in each of {len(groups)} groups of judgments.", *weighted])


def groups_of_table(
    groups: Sequence[Mapping[str, Any]], names: Mapping[str, str], judges: Collection[str]
) -> list[tuple[str, Mapping[str, Any]]]:
    """Groups of the main data behind the columns of a table, with the labels of their judges."""
    # A column is named by a judge, or by a judge and a group of respondents after a comma.
    chosen: dict[str, Mapping[str, Any]] = {}
    for group in groups:
        label = names.get(str(group.get("judge")), str(group.get("judge") or ""))
        of_table = any(column == label or column.startswith(f"{label}, ") for column in judges)
        if not group.get("variant") and (of_table or not judges):
            chosen.setdefault(label, group)
    return list(chosen.items())
