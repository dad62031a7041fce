"""Warnings that point at the line of the caller outside of this package."""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.partition(".")[0] + "."


def warn_caller(message: str, category: type[UserWarning] = UserWarning) -> None:
    """Warn at the first frame outside of this package, however deep the warning is raised."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
