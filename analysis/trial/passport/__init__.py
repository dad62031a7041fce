"""Passports of intervals: every interval that the project prints, in sparse situations with known truth."""

from .passport_table import passport, passport_trials, run_passport, write_passport

__all__ = ["passport", "passport_trials", "run_passport", "write_passport"]
