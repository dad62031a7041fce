"""People from recruited to analysed: everyone is counted once."""

from __future__ import annotations

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.analysis.frames.participation import people_flow


def answers(people: dict[str, tuple[str, str | None]]) -> pd.DataFrame:
    rows = [(name, "human", status, why) for name, (status, why) in people.items()]
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "status", "excluded"])


def counts(flow: pd.DataFrame | None) -> list[tuple[str, str, int]]:
    assert flow is not None
    return [tuple(row) for row in flow.itertuples(index=False)]


def test_people_who_left_and_who_were_excluded_are_counted_by_reason() -> None:
    respondents = pd.DataFrame(
        {"judge_id": list("abcdef"), "state": ["finished"] * 4 + ["screened_out", "left"]}
    )
    data = answers({"a": ("ok", None), "b": ("ok", "too fast"), "c": ("refused", None)})
    assert counts(people_flow(data, respondents)) == [
        ("started", "", 6), ("not finished", "screened out", 1), ("not finished", "left", 1),
        ("finished", "", 4), ("excluded", "not in the data", 1), ("excluded", "too fast", 1),
        ("excluded", "no valid answer", 1), ("analysed", "", 1),
    ]  # fmt: skip


def test_a_person_with_one_answer_that_counts_is_analysed() -> None:
    data = pd.concat([answers({"a": ("ok", "too fast"), "b": ("ok", None)}), answers({"a": ("ok", None)})])
    assert people_flow(data) is None
    assert counts(people_flow(answers({"a": ("ok", "yes"), "b": ("ok", None)})))[1:] == [
        ("excluded", "marked as excluded", 1), ("analysed", "", 1)
    ]  # fmt: skip


def test_without_people_or_losses_there_is_no_flow() -> None:
    models = answers({"a": ("ok", None)}).assign(judge_kind="model")
    assert people_flow(models) is None
    assert people_flow(models.iloc[:0]) is None
    assert people_flow(answers({"a": ("empty", None)})) is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["ok", "fast", "empty", "left", "failed_checks", "absent"]), min_size=2))
def test_who_started_has_left_is_excluded_or_is_analysed(fates: list[str]) -> None:
    names = [f"p{k}" for k in range(len(fates))]
    state = [fate if fate in ("left", "failed_checks") else "finished" for fate in fates]
    respondents = pd.DataFrame({"judge_id": names, "state": state})
    status = {"ok": ("ok", None), "fast": ("ok", "too fast"), "empty": ("empty", None)}
    data = answers({name: status[fate] for name, fate in zip(names, fates, strict=True) if fate in status})
    flow = people_flow(data, respondents)
    if flow is None:
        assert sum(fate in status for fate in fates) < 2
        return
    total = flow.groupby("step")["n"].sum()
    assert total["started"] == len(fates) == total.get("not finished", 0) + total["finished"]
    assert total["finished"] == total.get("excluded", 0) + total["analysed"]
    assert total["analysed"] == fates.count("ok")
