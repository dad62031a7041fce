"""What cregg refuses or breaks on, and every pin that PARITY.md names."""

from __future__ import annotations

import re

import golden
import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import amce, amce_diffs, cj, cj_freqs, cj_props


def posts() -> pd.DataFrame:
    random = np.random.default_rng(11)
    frame = pd.DataFrame(
        {
            "y": random.integers(0, 2, 900),
            "a": pd.Categorical(random.choice(list("xyz"), 900)),
            "b": pd.Categorical(random.choice(list("uvw"), 900)),
            "g": pd.Categorical(random.choice(["old", "young"], 900)),
            "id": random.integers(0, 90, 900),
        }
    )
    return frame[~((frame["a"] == "z") & (frame["b"] == "w"))].reset_index(drop=True)


def test_differences_of_restricted_effects_are_those_of_the_groups() -> None:
    frame = posts()
    found = amce_diffs(frame, "y ~ a * b", "g", id="id").frame.set_index(["feature", "level"])["estimate"]
    young, old = (
        amce(frame[frame["g"] == group], "y ~ a * b", id="id").frame.set_index(["feature", "level"])[
            "estimate"
        ]
        for group in ("young", "old")
    )
    np.testing.assert_allclose(found, (young - old).loc[found.index], atol=1e-12)


def test_frequencies_by_group_are_counts_of_the_groups() -> None:
    frame = posts()
    found = cj(frame, "y ~ a", estimate="frequencies", by="g").frame
    assert found["estimate"].tolist() == pd.crosstab(frame["g"], frame["a"]).to_numpy().ravel().tolist()
    assert found["g"].tolist() == ["old"] * 3 + ["young"] * 3


def test_shares_of_one_feature_add_up_to_one() -> None:
    found = cj_props(posts(), "~ a").frame
    np.testing.assert_allclose(found["proportion"], posts()["a"].value_counts(normalize=True, sort=False))


def test_one_label_in_two_features_gives_a_row_for_each() -> None:
    frame = posts().assign(c=lambda d: d["g"].cat.rename_categories({"old": "x", "young": "y"}))
    found = amce(frame, "y ~ a + c", id="id").frame
    assert found[["feature", "level"]].astype(str).to_numpy().tolist() == [
        ["a", "x"],
        ["a", "y"],
        ["a", "z"],
        ["c", "x"],
        ["c", "y"],
    ]
    renamed = amce(posts(), "y ~ a + g", id="id").frame
    np.testing.assert_allclose(found["estimate"], renamed["estimate"], atol=1e-12)
    assert cj_freqs(frame, "~ a + c").frame["estimate"].sum() == 2 * len(frame)


def test_text_is_a_feature_and_numbers_are_not() -> None:
    frame = posts()
    as_text = frame.assign(a=frame["a"].astype(str))
    pd.testing.assert_frame_equal(amce(as_text, "y ~ a").frame, amce(frame, "y ~ a").frame)


PARITY = (golden.REPOSITORY / "PARITY.md").read_text(encoding="utf-8")
PINS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PARITY)))


@pytest.mark.parametrize(("file", "test"), PINS)
def test_every_difference_is_pinned_by_a_test_that_exists(file: str, test: str) -> None:
    assert f"def {test}(" in (golden.REPOSITORY / file).read_text(encoding="utf-8")


def test_every_row_of_the_list_of_differences_names_its_test() -> None:
    rows = [line for line in PARITY.splitlines() if line.startswith("| ") and not line.startswith("| case")]
    rows = [row for row in rows if not row.startswith("| printed |")]
    assert len(rows) >= 20
    assert [row for row in rows if "::" not in row] == []
