"""Functions of Python take frames and files of any format, and give the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import conjury
from conjury.inference.errors import InputError

FORMULA = "chosen ~ tone + price"


@pytest.fixture
def choices() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 120
    pair = np.repeat(np.arange(n), 2)
    first = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "judge_id": np.where(pair < 60, [f"p{number % 6}" for number in pair], "mini"),
            "judge_kind": np.where(pair < 60, "human", "model"),
            "pair_id": pair % 60,
            "tone": rng.choice(["kind", "rude"], 2 * n),
            "price": rng.choice([9.0, 2_500_001.0, 1.5], 2 * n),
            "chosen": np.column_stack([first, 1 - first]).ravel(),
        }
    )


def write(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep=";" if path.stem == "continental" else ",")
    return path


@pytest.mark.parametrize("name", ["choices.csv", "continental.txt", "choices.jsonl"])
@pytest.mark.filterwarnings("ignore::conjury.analysis.frames.stored.ReadingGuess")
@pytest.mark.filterwarnings("ignore:Few clusters")
def test_estimates_of_a_file_are_those_of_its_rows(name: str, choices: pd.DataFrame, tmp_path: Path) -> None:
    path = write(choices, tmp_path / name)
    levels = pd.Categorical(
        choices["price"].map({1.5: "1.5", 9.0: "9", 2_500_001.0: "2500001"}), ["1.5", "9", "2500001"]
    )
    frame = choices.assign(price=levels)
    verbs: dict[str, Any] = {
        "amce": {"id": "pair_id"},
        "mm": {"id": "pair_id"},
        "people_diffs": {"judge": "mini"},
    }
    for verb, options in verbs.items():
        of_file, of_rows = (getattr(conjury, verb)(data, FORMULA, **options).frame for data in (path, frame))
        pd.testing.assert_frame_equal(of_file, of_rows, check_categorical=False, rtol=1e-12)
    assert list(of_file[of_file["feature"] == "price"]["level"].astype(str)) == ["9", "2500001"]


def test_what_is_assumed_of_a_file_is_said_and_what_is_none_is_refused(
    choices: pd.DataFrame, tmp_path: Path
) -> None:
    with pytest.warns(UserWarning, match=r"continental.txt: Columns are separated by semicolons"):
        conjury.mm(write(choices, tmp_path / "continental.txt"), FORMULA)
    choices.loc[5, "tone"] = "n/a"
    with pytest.raises(InputError, match=r"'tone' contains 'n/a' in 1 cell \(first in row 6\)"):
        conjury.amce(write(choices, tmp_path / "gap.csv"), FORMULA)
    for name in ("absent.csv", "absent.parquet"):
        with pytest.raises(InputError, match="there is no such file"):
            conjury.amce(tmp_path / name, FORMULA)
    with pytest.raises(InputError, match="A table is given as 3; give a DataFrame"):
        conjury.amce(3, FORMULA)


def test_scores_of_files_are_those_of_their_rows(tmp_path: Path) -> None:
    judged = pd.DataFrame(
        {"judge_id": "mini", "item_id": list("abcd"), "value": ["dry", "pun", "pun", "dry"]}
    )
    judged = judged.assign(judge_kind="model", dimension="joke_type", language="en", status="ok")
    gold = pd.DataFrame(
        {"item_id": list("abcd"), "label_set": "joke_type", "label": ["dry", "pun", "dry", "dry"]}
    )
    paths = [write(frame, tmp_path / f"{name}.csv") for name, frame in (("judged", judged), ("gold", gold))]
    of_files, of_rows = conjury.score(*paths), conjury.score(judged, gold)
    pd.testing.assert_frame_equal(of_files.frame, of_rows.frame, check_categorical=False, check_dtype=False)


@pytest.mark.long
def test_agreement_of_a_file_is_that_of_its_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    people = pd.DataFrame(rng.integers(1, 4, (30, 3)), columns=["ann", "bob", "cleo"])
    wide = people.assign(item=[f"q{row}" for row in range(30)])
    path = write(wide, tmp_path / "continental.txt")
    of_file, of_rows = (conjury.agreement(data, draws=0).frame for data in (path, wide))
    names = ["coefficient", "estimate", "lower", "upper", "n_items", "n_judges"]
    assert len(of_file) > 5
    pd.testing.assert_frame_equal(of_file[names], of_rows[names])
    with pytest.raises(InputError, match="there is no such file"):
        conjury.agreement(tmp_path / "absent.csv")
