"""Which of a judge's verdicts need no person, at an error that is stated first."""

from .selective_decisions import automate

__all__ = ["automate"]
