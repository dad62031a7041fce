"""Checks of published numbers, given as they are printed."""

from __future__ import annotations

from typing import Any

from conjury.analysis.audit.arithmetic import Finding, Group, Printed
from conjury.analysis.audit.arithmetic.findings import REGISTERED


def findings(check: str, numbers: dict[str, str], percent: bool = False, **settings: Any) -> list[Finding]:
    """What a check finds in numbers by their role; shares of labels and of agreement are in percent."""
    read = {
        role: Printed.read(text, percent or role.startswith(("share:", "percent_")))
        for role, text in numbers.items()
    }
    return list(REGISTERED[check].run(Group(read, settings, "row 1")))


def verdict(check: str, numbers: dict[str, str], percent: bool = False, **settings: Any) -> str:
    """The verdict on the first finding."""
    return findings(check, numbers, percent, **settings)[0].verdict
