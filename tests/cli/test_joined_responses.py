"""Responses of models and of people become items of a study of ratings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

Run = Callable[..., str]
HEAD = "judge_id,judge_kind,item_id,prompt_id,sample,dimension,value"


def answers(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")
    return path


def test_generated_and_voted_responses_take_the_place_of_items(tmp_path: Path, done: Run) -> None:
    posts = [(topic, f"{topic} said {n}", n) for topic in ("a", "b") for n in (5, 9, 7)]
    pd.DataFrame(posts, columns=["topic_id", "response", "votes"]).to_csv(tmp_path / "posts.csv", index=False)
    texts = answers(
        tmp_path / "texts.csv",
        *("gpt_4_1,model,a,funny,1,text,A joke", "gpt_4_1,model,a,funny,2,text,Another joke"),
        *("gpt_4_1,model,a,serious_ja,1,text,A fact", "new_one,model,b,serious,1,text,Truth"),
    )
    options = (
        f"--voted {tmp_path}/posts.csv --least-responses 3 --responses {texts} --out {tmp_path}/items.csv"
    )
    done("prepare", "oogiri", *options.split(), cwd=tmp_path)
    items = pd.read_csv(tmp_path / "items.csv").set_index("item_id")
    assert items["response"].to_dict() == {
        **{"a_high": "a said 9", "a_mid": "a said 7", "a_low": "a said 5", "a_unrelated": "b said 9"},
        **{"a_gpt_4_1": "A joke", "a_gpt_4_1_2": "Another joke", "a_serious": "A fact"},
        **{"b_high": "b said 9", "b_mid": "b said 7", "b_low": "b said 5", "b_unrelated": "a said 9"},
        "b_serious": "Truth",
    }
    assert items.loc["b_serious", ["response_type", "generator"]].tolist() == ["serious", "new_one"]
