"""Figures of several judges and prompts side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import pytest

from conjury.analysis.conjoint import amce_diffs, cj, mm_diffs
from conjury.analysis.results import Result
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

pytestmark = pytest.mark.long


@pytest.mark.parametrize("verb", [amce_diffs, mm_diffs, partial(cj, estimate="mm")])
def test_groups_of_several_prompts_are_drawn_side_by_side(verb: Callable[..., Result]) -> None:
    study = load_study("moderation")
    prompts = ["baseline", "context_free"]
    choices = simulate(study, seed=1, pairs=300, judges=["gpt4o"], prompts=prompts).choices
    results = {
        prompt: verb(rows, "chosen ~ curse", by="identity", id="pair_id")
        for prompt, rows in choices.groupby("prompt_id", observed=True)
    }
    frames = [result.frame.assign(prompt=prompt) for prompt, result in results.items()]
    stacked = pd.concat(frames, ignore_index=True)
    kind = next(iter(results.values())).kind
    figure = Result(stacked, kind, (), {"by": ["identity"]}).plot(labels=study)
    texts = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    texts += [text.get_text() for axes in figure.axes for text in axes.texts]
    for label in ("Policy only", "Same rule for all"):
        assert any(label in text for text in texts), texts
