"""Checklists of a study: GUIDE-LLM, conjoint practice, and a datasheet for each judge."""

from .study_checklists import Checklist, Item, checklists_of, in_markdown

__all__ = ["Checklist", "Item", "checklists_of", "in_markdown"]
