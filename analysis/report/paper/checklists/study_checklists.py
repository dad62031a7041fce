"""All checklists of a study, and their text in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from conjury.inference.errors import counted
from conjury.inference.study.models import Study

from ...method_sentences import plain
from ..facts import MARK, Facts
from .checklist_items import Checklist, Item
from .conjoint_checklist import conjoint_practice
from .datasheet import datasheets
from .guide import guide_llm

__all__ = ["Checklist", "Item", "checklists_of", "in_markdown"]

SIMULATED = "Answers are simulated; nothing here is about the models whose names they have."


def checklists_of(facts: Facts) -> list[Checklist]:
    """The checklists of a study: GUIDE-LLM, conjoint practice for a conjoint, a datasheet for each model.

    Parameters
    ----------
    facts : Facts
        The study, and its run and results where there are any.

    Returns
    -------
    list of Checklist
        The checklists that apply, in this order.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> [len(one.items) for one in checklists_of(Facts(load_any_study("moderation")))][:2]
    [22, 26]
    """
    practice = [conjoint_practice(facts, facts.study)] if isinstance(facts.study, Study) else []
    return [guide_llm(facts), *practice, *datasheets(facts)]


def in_markdown(facts: Facts, checklists: Sequence[Checklist]) -> str:
    """Write checklists as one document, in which what only the author knows is marked.

    Parameters
    ----------
    facts : Facts
        The study, and its run and results where there are any.
    checklists : sequence of Checklist
        From `checklists_of`.

    Returns
    -------
    str
        The document, in Markdown.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> facts = Facts(load_any_study("moderation"))
    >>> in_markdown(facts, checklists_of(facts)).splitlines()[0]
    '# Checklists: Which post goes to review? People and models moderate the same posts'
    """
    title = plain(facts.study.title)
    sources = [f"the study file {facts.study.argument}"]
    sources += [f"the run {facts.run.folder}"] if facts.run is not None else []
    sources += [f"the results in {facts.results.path.name}"] if facts.results is not None else []
    head = [
        f"# Checklists: {title}",
        f"Filled from {plain(', '.join(sources))}. Fields marked **{MARK}** are open.",
    ]
    if facts.is_simulated:
        head.append(f"**{SIMULATED}**")
    return "\n\n".join([*head, *map(_section, checklists)]) + "\n"


def count_states(checklist: Checklist) -> Counter[str]:
    """How many items of a checklist are in each state; those with a field for the author count as open."""
    return Counter("to state" if item.author else item.state for item in checklist.items)


def states_in_words(checklist: Checklist) -> str:
    """How many items of a checklist are in each state: "8 items answered, 14 items with a field ..."."""
    counts = count_states(checklist)
    phrases = [
        counted(counts[state], f"item {words}", f"items {words}")
        for state, words in _COUNTED
        if counts[state]
    ]
    return ", ".join(phrases)


def _section(checklist: Checklist) -> str:
    lines = ["| Item | State | Answer | Source |", f"|:{'-' * 21}|:{'-' * 8}|:{'-' * 54}|:{'-' * 13}|"]
    lines += [_row(item) for item in checklist.items]
    texts = [f"### {plain(heading)}\n\n{_verbatim_block(text)}" for heading, text in checklist.texts]
    parts = [
        f"## {plain(checklist.title)}",
        plain(checklist.reference),
        f"{states_in_words(checklist)}.",
        "\n".join(lines),
    ]
    return "\n\n".join([*parts, *texts])


_COUNTED = (
    ("done", "answered"),
    ("planned", "planned in the study file"),
    ("to state", "with a field for the author"),
    ("author", "for the author"),
    ("not done", "not done"),
    ("not applicable", "not applicable"),
)


_STATES = {"author": "to state", "planned": "planned in the study file"}


def _row(item: Item) -> str:
    answer = " ".join(
        filter(None, [plain(item.answer), f"**{MARK}: {plain(item.author)}.**" if item.author else ""])
    )
    state = _STATES.get(item.state, item.state)
    return f"| {plain(item.code)} {plain(item.name)} | {state} | {answer} | {plain(item.source)} |"


def _verbatim_block(text: str) -> str:
    """A text as it is, in a block that it cannot end."""
    fence = "~~~~"
    while fence in text:
        fence += "~"
    return f"{fence}\n{text}\n{fence}"
