"""Position effects: shares by hand, effects that no preference for a position moves, a recorded judge."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up.choices import crossed_choices
from scipy.special import expit

from conjury.analysis.instrument import order_effects
from conjury.analysis.instrument.order import AVERAGED, BOTH, FIRST, SECOND
from conjury.inference.errors import InputError
from conjury.inference.tables.schema import SWAPPED_SUFFIX

pytestmark = pytest.mark.long

RECORDED = Path(__file__).parents[3] / "data" / "recorded" / "moderation_smollm2_135m.parquet"
FORMULA = "chosen ~ tone + length"


def quantities(found, judge: str | None = None) -> dict[str, float]:
    frame = found.frame[found.frame["facet"] == "all"]
    frame = frame if judge is None else frame[frame["judge"] == judge]
    return dict(zip(frame["quantity"], frame["estimate"], strict=True))


def test_classes_of_pairs_in_both_orders_are_counted_by_hand() -> None:
    first = {"same": (1, 0), "a": (1, 1), "b": (0, 0)}
    rows = []
    for number, name in enumerate(["same", "same", "a", "a", "a", "b"]):
        for order, answer in zip(("given", "swapped"), first[name], strict=True):
            ids = (2 * number, 2 * number + 1)
            shown = ids if order == "given" else ids[::-1]
            rows += [
                {"pair_id": number, "option_order": order, "position": side, "profile_id": one, "chosen": won}
                for side, one, won in zip("AB", shown, (answer, 1 - answer), strict=True)
            ]
    table = pd.DataFrame(rows).assign(judge_id="m", judge_kind="model")
    found = quantities(order_effects(table))
    assert found["same_profile"] == pytest.approx(2 / 6)
    assert found["always_first"] == pytest.approx(3 / 6)
    assert found["always_second"] == pytest.approx(1 / 6)
    assert found["net_first"] == pytest.approx(2 / 6)
    assert found["first_share"] == pytest.approx(8 / 12)


def test_intervals_of_shares_are_clustered_by_pair() -> None:
    data = crossed_choices(300, lean=0.5, samples=3)
    row = order_effects(data).frame.iloc[0]
    a = data[data["position"] == "A"]
    means = a.groupby("pair_id")["chosen"].mean()
    assert row["estimate"] == pytest.approx(a["chosen"].mean())
    assert row["std_error"] == pytest.approx(means.std(ddof=1) / np.sqrt(300))
    assert row["n"] == len(a)
    assert row["n_clusters"] == 300
    assert row["lower"] < row["estimate"] < row["upper"]


def test_averaged_effects_recover_the_mean_over_positions_despite_a_strong_lean() -> None:
    data = crossed_choices(4000, lean=2.0, effect=1.0, prompts=("plain",), seed=3)
    effects = order_effects(data, FORMULA).extra["effects"].set_index(["version", "level"])
    # A kind profile against one that is kind or rude with probability one half each.
    first = (expit(2 + 1) + expit(2)) / 2 - (expit(2) + expit(2 - 1)) / 2
    second = (expit(2 - 0) + expit(2 + 1)) / 2 - (expit(2 - 1) + expit(2)) / 2
    for version, truth in {FIRST: first, SECOND: second, AVERAGED: (first + second) / 2}.items():
        row = effects.loc[(version, "kind")]
        assert abs(row["estimate"] - truth) < 4 * row["std_error"]
    both = effects.loc[(BOTH, "kind")]
    assert both["estimate"] == pytest.approx(effects.loc[(AVERAGED, "kind"), "estimate"], abs=0.01)
    assert effects.loc[(AVERAGED, "long"), "lower"] < 0 < effects.loc[(AVERAGED, "long"), "upper"]


def test_pairs_of_identical_profiles_have_a_share_of_their_own_and_no_say_in_effects() -> None:
    data = crossed_choices(200, lean=1.0)
    same = data[data["pair_id"].isin([f"p{k:04d}" for k in range(50)])].assign(profile_id=9_999, tone="rude")
    same = same.assign(pair_id="v" + same["pair_id"].astype(str), length="short")
    both = pd.concat([data, same], ignore_index=True).astype({"tone": "category", "length": "category"})
    found, alone = order_effects(both, FORMULA), order_effects(data, FORMULA)
    rows = found.frame[found.frame["facet"] == "pair_kind"].set_index("level")
    vacuum = same[same["position"] == "A"]
    assert rows.loc["identical profiles", "estimate"] == pytest.approx(vacuum["chosen"].mean())
    assert quantities(found)["same_profile"] == pytest.approx(quantities(alone)["same_profile"])
    numbers = [one.extra["effects"].set_index(["version", "feature"])["std_error"] for one in (found, alone)]
    np.testing.assert_allclose(*numbers)


def test_the_kind_of_a_pair_is_a_facet_where_the_data_name_it() -> None:
    data = crossed_choices(60, lean=1.0)
    kind = np.where(data["pair_id"] < "p0020", "same_quality", "random")
    levels = order_effects(data.assign(pair_kind=kind)).frame.query("facet == 'pair_kind'")["level"]
    assert set(levels) == {"same_quality", "random"}


def test_one_order_only_gives_shares_and_no_classes() -> None:
    data = crossed_choices(50).query("option_order == 'given'")
    assert set(order_effects(data).frame["quantity"]) == {"first_share"}


def test_a_constant_judge_has_a_share_with_limits_and_a_note_instead_of_effects() -> None:
    data = crossed_choices(40)
    data["chosen"] = (data["position"] == "A").astype(int)
    found = order_effects(data, FORMULA)
    row = found.frame.iloc[0]
    assert row["estimate"] == 1
    assert 0.9 < row["lower"] < 1
    assert quantities(found)["always_first"] == 1


def test_data_without_answers_and_ratings_are_refused() -> None:
    data = crossed_choices(10)
    with pytest.raises(InputError, match="No choice has an answer"):
        order_effects(data.assign(chosen=np.nan))
    with pytest.raises(InputError, match="need choices between two profiles"):
        order_effects(data.drop(columns="position"))
    with pytest.raises(InputError, match="has one level"):
        order_effects(data, facets=["judge_kind"])


def recorded_choices() -> pd.DataFrame:
    """Choices of the recorded judge, from its responses alone: profiles without attributes."""
    responses = pd.read_parquet(RECORDED)
    arrangement = responses["arrangement"].map(json.loads)
    repeat = responses["task_id"].str.endswith(SWAPPED_SUFFIX)
    sides = [
        responses[["judge_id", "judge_kind", "prompt_id", "sample"]].assign(
            pair_id=responses["task_id"],
            position=side,
            profile_id=[one[side] for one in arrangement],
            chosen=(responses["text"].str.strip() == side).astype(int),
            repeat=repeat,
            repeat_of=responses["task_id"].str.removesuffix(SWAPPED_SUFFIX).where(repeat),
        )
        for side in "AB"
    ]
    return pd.concat(sides, ignore_index=True)


def test_the_recorded_judge_follows_the_position_and_not_the_profile() -> None:
    found = order_effects(recorded_choices())
    rows = found.frame[found.frame["facet"] == "all"].set_index("quantity")
    assert rows.loc["first_share", "estimate"] == pytest.approx(0.93, abs=0.005)
    assert 0.92 < rows.loc["first_share", "lower"] < rows.loc["first_share", "upper"] < 0.94
    assert rows.loc["always_first", "estimate"] == pytest.approx(0.90, abs=0.01)
    assert rows.loc["always_second", "estimate"] == 0
    assert rows.loc["net_first", "p"] < 1e-20
    assert rows.loc["same_profile", "upper"] < 0.15
    by_prompt = found.frame.query("facet == 'prompt_id'")
    assert len(by_prompt) == 3
    assert by_prompt["lower"].min() > 0.9
