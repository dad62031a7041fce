"""Blocks of tasks in a survey of Qualtrics, and the columns of an export that contain their answers."""

from __future__ import annotations

from dataclasses import dataclass

from ...study.panel_section import AttentionCheck
from ..plan import PanelPlan

SLOT, TIMING = "slot", "timing"


@dataclass(frozen=True)
class TaskSegment:
    """Consecutive tasks between two attention checks, which are one block with Loop & Merge."""

    number: int  # from 1
    first: int  # from 0
    after: int
    checks: tuple[AttentionCheck, ...] = ()
    optional: bool = False  # whether it is one task that some slots lack

    def column(self, task: int, name: str) -> str:
        """Column of an export with an answer to a task."""
        return f"{task - self.first + 1}_{self.tag(name)}"

    def tag(self, name: str) -> str:
        """Name of a question of this block."""
        return name if self.number == 1 else f"{name}_{self.number}"


def segments(plan: PanelPlan) -> list[TaskSegment]:
    """Divide the tasks of a visit at attention checks, and where some people have fewer tasks."""
    counts = [len(slot.tasks) for slot in plan.slots]
    least, most = min(counts), max(counts)
    cuts = {min(check.after, least) for check in plan.section.attention} - {0}
    ends = sorted({*cuts, least, *range(least, most + 1)})
    blocks, first = [], 0
    for number, end in enumerate(ends, start=1):
        checks = tuple(check for check in plan.section.attention if min(check.after, least) == end)
        blocks.append(TaskSegment(number, first, end, checks, optional=end > least))
        first = end
    return blocks


def column_of_comprehension(question: str, attempt: int) -> str:
    """Column of the answer to a question about the instructions; attempts count from 1."""
    return f"comprehension_{question}_{attempt}"


def item_field(task: int) -> str:
    """Embedded data with the id of the item of a task, counted from 0."""
    return f"item_{task + 1}"


def value_field(task: int, position: int, place: int) -> str:
    """Embedded data with one field of one profile of a task; task, position and place count from 0."""
    return f"K-{task + 1}-{position + 1}-{place + 1}"


def column_of_attention(check: str) -> str:
    """Column of the answer to an attention check."""
    return f"attention_{check}"


def column_of_question(question: str) -> str:
    """Column of the answer to a background question."""
    return f"question_{question}"
