"""Errors that a user can act on: one sentence each, naming what to do next."""

from __future__ import annotations


class ConjuryError(Exception):
    """A problem with a stated remedy; the command line prints it and exits with code 2."""


class InputError(ConjuryError):
    """Bad input: the sentence names the file or table, the field, the row and the remedy."""


class MissingDependency(ConjuryError):
    """An optional package or program is absent; the sentence says how to install it."""
