"""Trial files: grids, parts of users, what is refused with its line, and the one that the site prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import refusals
from made_up.trials import CONTENT, written

from conjury.analysis.trial import list_trials, load_trial, run_trial
from conjury.inference.errors import InputError
from conjury.inference.tables.files import ROOT


def test_grids_multiply_parameters_and_options(tmp_path: Path) -> None:
    parts = {**CONTENT["processes"][0], "expand": {"rows": [10, 40], "effect": [0, 1, 2]}}  # type: ignore[index]
    trial = load_trial(written(tmp_path, processes=[parts]))
    assert [dict(cell.parameters) for cell in trial.cells][:4] == [
        {"rows": 10, "effect": 0},
        {"rows": 10, "effect": 1},
        {"rows": 10, "effect": 2},
        {"rows": 40, "effect": 0},
    ]
    assert [one.label for one in trial.tried] == ["means, scale=1.0", "means, scale=2.0"]


@pytest.mark.parametrize("name", list_trials())
def test_trials_that_ship_are_valid_and_say_what_they_ask(name: str) -> None:
    trial = load_trial(name)
    assert trial.name == name
    assert trial.title.endswith("?")
    assert trial.aims
    assert trial.draws >= 250


@pytest.mark.parametrize(("match", "columns", "changes"), refusals("trial", "file"))
def test_a_wrong_file_is_refused_with_line_and_remedy(tmp_path: Path, match, columns, changes) -> None:
    with pytest.raises(InputError) as refusal:
        load_trial(written(tmp_path, **changes))
    message = str(refusal.value)
    assert match in message, message
    assert re.search(r"own\.yaml:\d+: ", message)


def test_a_trial_that_is_not_there_is_refused_with_those_that_ship() -> None:
    with pytest.raises(InputError, match=r"no trial 'unit' \(did you mean 'units'\?\); .*few_clusters"):
        load_trial("unit")


def test_too_large_a_grid_is_refused(tmp_path: Path) -> None:
    grid = {**CONTENT["processes"][0], "expand": {"rows": list(range(4, 6000))}}  # type: ignore[index]
    with pytest.raises(InputError, match=r"11,992 combinations; the limit is 10,000"):
        load_trial(written(tmp_path, processes=[grid]))


def block(language: str) -> str:
    page = (ROOT / "docs" / "comparisons" / "validation.md").read_text(encoding="utf-8")
    found = re.search(rf"^```{language}\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_file_and_the_module_of_the_page_make_a_trial(tmp_path: Path) -> None:
    (tmp_path / "raters.yaml").write_text(block("yaml"), encoding="utf-8")
    (tmp_path / "means.py").write_text(block("py"), encoding="utf-8")
    result = run_trial(load_trial(tmp_path / "raters.yaml"), draws=8)
    tone = result.frame.query("quantity == 'tone=rude' and measure == 'failures'")
    assert set(tone["method"]) == {"CR1", "Means of raters"}
    assert (tone["estimate"] == 0).all()
    assert result.notes == ()
