"""What the commands print reaches the screen as it is."""

from __future__ import annotations

import pytest

from conjury.analysis.r.bridge import RStatus
from conjury.cli import commands, doctor


def test_names_of_extras_in_brackets_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    commands.console.print("pip install 'conjury[r]'")
    assert capsys.readouterr().out == "pip install 'conjury[r]'\n"


def test_doctor_says_how_to_get_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "available", RStatus)
    doctor.examine()
    printed = " ".join(capsys.readouterr().out.split())
    assert "rpy2 missing pip install 'conjury[r]'" in printed
    assert "R package cregg not examined" in printed
