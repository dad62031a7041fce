"""The blocks of the later pages of docs/ run in an empty folder, a folder for each page."""

from __future__ import annotations

import pytest
from tour import LATER, README, RUN, Ran, Step, check, ids, runner
from wheel import ROOT

OF_DOCS = [step for step in RUN if ROOT / step.document not in README and step.document >= LATER]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return runner(tmp_path_factory)


@pytest.mark.slow
@pytest.mark.parametrize("step", OF_DOCS, ids=ids(OF_DOCS))
def test_the_tour_runs_in_an_empty_folder(step: Step, run: Ran) -> None:
    check(step, run)
