"""An item of a checklist: what is known, where it comes from, and what only the author knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

State = Literal["done", "planned", "not done", "not applicable", "author"]
STUDY, RUN, RESULTS = "study file", "record of the run", "results"


@dataclass(frozen=True)
class Item:
    """One item.

    Parameters
    ----------
    code, name : str
        Which item it is.
    answer : str
        What is known, in sentences of plain text.
    source : str
        Where that comes from.
    author : str
        What only the author knows and has to state; empty where nothing is open.
    state : {"done", "planned", "not done", "not applicable", "author"}
        Whether a record shows it, the study file alone states it, it was left out, or it is for the author.

    Examples
    --------
    >>> item = Item("A1", "Purpose", author="State what the judge is for.", state="author")
    >>> item.code, item.state
    ('A1', 'author')
    """

    code: str
    name: str
    answer: str = ""
    source: str = ""
    author: str = ""
    state: State = "done"


@dataclass(frozen=True)
class Checklist:
    """A checklist, with what is known about each of its items.

    Parameters
    ----------
    title : str
        Name of the checklist.
    reference : str
        Where it was published.
    items : sequence of Item
        Its items, in order.
    texts : sequence of (str, str)
        Texts that follow, such as prompts, each with its heading.

    Examples
    --------
    >>> checklist = Checklist("Datasheet", "Gebru et al. (2021)", [Item("1", "Motivation", "An audit.")])
    >>> [item.state for item in checklist.items]
    ['done']
    """

    title: str
    reference: str
    items: Sequence[Item]
    texts: Sequence[tuple[str, str]] = ()


def item(code: str, name: str, parts: Sequence[str], source: str, author: str = "") -> Item:
    """An item from what is known, which may be nothing."""
    answer = " ".join(part for part in parts if part)
    return Item(code, name, answer, source if answer else "", author, "done" if answer else "author")


def planned_item(code: str, name: str, parts: Sequence[str], author: str = "") -> Item:
    """An item of which the study file states a plan, and no record shows that it was followed."""
    entry = item(code, name, parts, STUDY, author)
    return replace(entry, state="planned") if entry.answer else entry


def recorded_item(
    source: str, code: str, name: str, done: Sequence[str], plan: Sequence[str], author: str = ""
) -> Item:
    """An item as a record (``source``) shows it; without a record, as the study file plans it."""
    return item(code, name, done, source, author) if source else planned_item(code, name, plan, author)


def judged_item(code: str, name: str, done: str, missing: str, source: str) -> Item:
    """An item that is done, with what is known, or not done, with the remedy."""
    if done:
        return Item(code, name, done, source)
    return Item(code, name, missing, "", state="not done")


def unneeded_item(code: str, name: str, why: str) -> Item:
    """An item that does not apply."""
    return Item(code, name, why, state="not applicable")
