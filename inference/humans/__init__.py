"""Choices of people: exports of survey programs, and a first study file for them."""

from .draft import draft_study
from .qualtrics import Survey, read_qualtrics

__all__ = ["Survey", "draft_study", "read_qualtrics"]
