"""What the commands print reaches the screen as it is."""

from __future__ import annotations

import pytest

from conjury.analysis import r as bridge
from conjury.cli import printing
from conjury.cli.commands.doctor import doctor


def test_names_of_extras_in_brackets_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    printing.console.print("pip install 'conjury[r]'")
    assert capsys.readouterr().out == "pip install 'conjury[r]'\n"


def test_doctor_says_how_to_get_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "available", bridge.RStatus)
    doctor()
    printed = " ".join(capsys.readouterr().out.split())
    assert "rpy2 missing pip install 'conjury[r]'" in printed
    assert "R package cregg not examined" in printed
