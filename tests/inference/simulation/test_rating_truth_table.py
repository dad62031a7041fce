"""Truth tables of ratings: what is wrong with one is told by file and line, in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from fakes.studies import RATINGS, items, write_study

from conjury.inference.errors import InputError
from conjury.inference.simulation import read_rating_truth, simulate_ratings
from conjury.inference.study import ItemStudy, load_any_study


@pytest.fixture(scope="module")
def study():
    return load_any_study("oogiri")


def lines(study: ItemStudy) -> list[str]:
    return (study.folder / "truth.csv").read_text(encoding="utf-8").splitlines()


def number(table: list[str], start: str) -> int:
    """Position of the first line that starts so."""
    return next(n for n, line in enumerate(table) if line.startswith(start))


def change(start: str, new: str | None) -> Callable[[list[str]], list[str]]:
    """Put a line in place of the first one that starts so, or take it away."""

    def changed(table: list[str]) -> list[str]:
        at = number(table, start)
        return [*table[:at], *([] if new is None else [new]), *table[at + 1 :]]

    return changed


def add(line: str) -> Callable[[list[str]], list[str]]:
    return lambda table: [table[0], line, *table[1:]]


def test_the_table_that_ships_is_read_as_it_stands(study):
    truth = read_rating_truth(study.folder / "truth.csv", study)
    assert truth.judges == ["human", "gpt_4_1", "gemini_2_5_pro", "claude_sonnet_4"]
    assert dict(truth.topics) == {"text": 200, "image": 199}
    assert truth.people == 104
    assert (truth.panel.mean.shape, truth.panel.threshold.shape) == ((6, 8), (6, 4))
    assert (np.diff(truth.models[0].threshold, axis=1) > 0).all()
    frame = pd.read_csv(study.folder / "truth.csv")
    again = read_rating_truth(frame, study)
    assert np.array_equal(again.panel.mean, truth.panel.mean)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (add("human,person,people,,,3"), r"truth\.csv:2: column 'judge_kind' contains 'person'; write human"),
        (
            add("humans,human,people,,,3"),
            "truth.csv:2: column 'judge': 'humans' is unknown here; did you mean",
        ),
        (add("gpt_4_1,human,people,,,3"), "truth.csv:.*: gpt_4_1 is a human in an earlier row"),
        (
            add("human,human,peeple,,,3"),
            "column 'parameter': 'peeple' is unknown here; did you mean 'people'",
        ),
        (add("human,human,consensus_correlation,clarity,,1"), "consensus_correlation belongs to a model"),
        (add("gpt_4_1,model,halo_sd,,,1"), "halo_sd belongs to a human, not to a model; remove the row"),
        (add("human,human,mean,,high,1"), "mean needs a dimension; write one of novelty, clarity"),
        (add("human,human,mean,wit,high,1"), "column 'dimension': 'wit' is unknown here"),
        (
            add("human,human,mean,clarity,top,1"),
            "column 'level': 'top' is unknown here; use one of high, mid",
        ),
        (add("human,human,mean,clarity,,1"), "mean needs a level; write one of high, mid"),
        (add("human,human,halo_sd,clarity,,1"), "halo_sd has no dimension; leave it empty"),
        (add("human,human,halo_sd,,high,1"), "halo_sd has no level; leave it empty"),
        (
            add("human,human,threshold,clarity,5,1"),
            "column 'level': '5' is unknown here; use one of 1, 2, 3, 4",
        ),
        (add("human,human,modality,clarity,video,1"), "column 'level': 'video' is unknown here"),
        (add("human,human,people,,,12"), r"truth\.csv:5: people is given twice for human human; keep one"),
        (
            change("human,human,halo_sd", "human,human,halo_sd,,,much"),
            r"truth\.csv:9: column 'value' of halo_sd contains 'much'; give a number from 0 to 100",
        ),
        (change("human,human,halo_sd", "human,human,halo_sd,,,nan"), "contains 'nan'; give a number"),
        (change("human,human,halo_sd", "human,human,halo_sd,,,-1"), "contains '-1'; give a number from 0"),
        (change("human,human,people", None), "the number of people is missing"),
        (change("human,human,mean,clarity,mid", None), "mean of human for clarity mid is missing; add a row"),
        (change("gpt_4_1,model,threshold,empathy,2", None), "threshold of gpt_4_1 for empathy 2 is missing"),
        (change("gpt_4_1,model,consensus_correlation,empathy", None), "consensus_correlation of gpt_4_1 for"),
        (
            change("gpt_4_1,model,threshold,empathy,2", "gpt_4_1,model,threshold,empathy,2,99"),
            "the thresholds of gpt_4_1 for empathy do not rise",
        ),
        (add("gpt_4_1,model,item_sd,empathy,low,1"), "item_sd of gpt_4_1 differs between types"),
        (
            change(
                "human,human,correlation,empathy,funniness", "human,human,correlation,empathy,funniness,-1"
            ),
            "the correlations of human contradict each other",
        ),
        (add("human,human,correlation,funniness,empathy,0.1"), "human for .* is given twice"),
        (lambda table: [line for line in table if not line.startswith("human")], "topics is missing"),
        (lambda table: [line for line in table if ",topics," not in line], "the number of topics is missing"),
        (lambda table: [table[0].replace("level", "stage"), *table[1:]], "column 'level' is missing; add it"),
    ],
)
def test_a_bad_table_is_told_by_line(study, tmp_path, edit, told):
    path = tmp_path / "truth.csv"
    path.write_text("\n".join(edit(lines(study))) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=told) as refused:
        read_rating_truth(path, study)
    assert "\n" not in str(refused.value)


def test_a_bad_row_of_a_frame_is_told_by_its_number(study):
    frame = pd.read_csv(study.folder / "truth.csv", dtype=str)
    frame.loc[7, "value"] = "x"
    with pytest.raises(InputError, match="truth table, row 8: column 'value' of halo_sd contains 'x'"):
        read_rating_truth(frame, study)


def test_studies_that_cannot_be_simulated_say_why(study, tmp_path):
    bare = load_any_study(write_study(tmp_path / "posts", items(RATINGS)))
    with pytest.raises(InputError, match="Study 'posts' has no truth table"):
        simulate_ratings(bare, 1)
    with pytest.raises(InputError, match="Study posts has no rating scales or no assignment"):
        simulate_ratings(bare, 1, raters=study.folder / "truth.csv")
    with pytest.raises(InputError, match="there is no such file"):
        simulate_ratings(study, 1, raters=tmp_path / "none.csv")
