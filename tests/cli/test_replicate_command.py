"""``conjury replicate``: tables and figures of a paper, from published numbers and from answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

Run = Callable[..., str]


def test_a_published_table_is_written_in_every_format(tmp_path: Path, done: Run) -> None:
    options = "replicate harm_or_humor --only table_6 --to html --to latex"
    printed = done(*options.split(), cwd=tmp_path)
    assert "| GPT-5 Pro " in printed
    assert "Table 6: 42 published numbers" in printed
    out = tmp_path / "replication" / "harm_or_humor"
    assert "GPT-5 Pro" in (out / "index.html").read_text(encoding="utf-8")
    assert r"\textbf{80.2}" in (out / "tables" / "table_6.tex").read_text(encoding="utf-8")
    assert pd.read_csv(out / "numbers.csv")["printed"].notna().sum() == 42


@pytest.mark.long
def test_answers_are_fitted_and_laid_out_as_in_the_paper(tmp_path: Path, done: Run) -> None:
    options = "simulate moderation --judge human --judge gpt4o --pairs 300 --respondents 40 --out few.parquet"
    done(*options.split(), cwd=tmp_path)
    reading = "judge,prompt,feature,level,identity,estimate\ngpt4o,baseline,slur,reclaimed,black_male,-0.1\n"
    (tmp_path / "moderation_figure3.csv").write_text(reading, encoding="utf-8")
    options = "replicate moderation --data few.parquet --draws 20 --out paper --to markdown --only figure_2a"
    former = tmp_path / "paper" / "figures" / "figure_2a_added.svg"
    former.parent.mkdir(parents=True)
    former.touch()
    printed = done(*options.split(), "--only", "figure_3", "--published", ".", cwd=tmp_path)
    assert "--only amce_speech,amce_by_identity,participants --draws 20" in printed
    assert "1 different: The answers are simulated" in printed
    fitted = {path.stem for path in (tmp_path / "paper/results/tables").glob("amce*.csv")}
    assert fitted == {"amce_speech", "amce_by_identity"}
    table = (tmp_path / "paper/tables/figure_2a.md").read_text(encoding="utf-8")
    assert (
        "| Level | GPT-4o, Policy only | GPT-4o, Context matters | GPT-4o, Same rule for all | People |"
        in table
    )
    assert "percentile bootstrap for models and normal for people" in table
    compared = (tmp_path / "paper/tables/figure_3_compared.md").read_text(encoding="utf-8")
    assert re.search(r"^\| Black man \| Simulated \| .*\d", compared, re.M)
    assert "GPT-4o, Policy only: 600 profiles in 300 clusters (pair)" in table
    drawn = {path.name for path in (tmp_path / "paper/figures").glob("*.pdf")}
    assert drawn == {"figure_2a.pdf", "figure_3.pdf", "figure_3_published.pdf"}
    drawings = [
        (tmp_path / f"paper/figures/{name}.svg").read_text("utf-8")
        for name in ("figure_3", "figure_3_published")
    ]
    assert ["Simulated data" in drawing for drawing in drawings] == [True, False]
    rows = re.findall("Black man|Black woman|White man|White woman", drawings[0])
    assert rows == ["Black man", "Black woman", "White man", "White woman"] * 5
    options = (
        "fit moderation --data few.parquet --prompt baseline --only amce_people --draws 0 --figures none"
    )
    done(*options.split(), "--out", "beside", cwd=tmp_path)  # people, who saw no prompt, stay
    assert len(pd.read_csv(tmp_path / "beside/tables/amce_people.csv")) == 18


@pytest.mark.parametrize(
    ("exhibit", "reason"),
    [("Table 1", "nothing there is computed"), ("Table A1", "people are counted there")],
)
def test_nothing_is_simulated_for_a_table_that_answers_do_not_change(
    exhibit: str, reason: str, tmp_path: Path, done: Run
) -> None:
    options = "replicate moderation --simulate --to markdown --out paper --only"
    assert f"{exhibit}: {reason}" in done(*options.split(), exhibit.replace(" ", "_"), cwd=tmp_path)
    assert not (tmp_path / "paper" / "answers").exists()


@pytest.mark.long
def test_a_new_judge_is_asked_and_set_beside_those_of_the_paper(tmp_path: Path, done: Run) -> None:
    other = "simulate moderation --judge gpt4o --pairs 60 --prompt baseline --out other.parquet"
    done(*other.split(), cwd=tmp_path)  # other pairs of the same names
    options = "replicate moderation --add-judge smollm2_135m --backend replay --pairs 60 --prompt baseline"
    options += (
        " --data other.parquet --draws 9 --to markdown --out paper --only figure_2_of_the_published_version"
    )
    printed = done(*options.split(), cwd=tmp_path)
    assert "$ conjury collect moderation --judge smollm2_135m --pairs 60" in printed
    assert "their names begin with 'smollm2_135m'" in " ".join(printed.split())
    assert "- Bootstrap: the published code resamples profiles" in printed
    table = pd.read_csv(tmp_path / "paper/added_judges.csv")
    assert set(table["judge"]) == {"SmolLM2 135M"}
    assert table["published_judge"].nunique() == 14
    row = table[table["published_judge"] == "GPT-4o"].iloc[0]
    assert row["difference"] == pytest.approx(row["ours"] - row["printed"])
    assert row["lower"] < row["difference"] < row["upper"]
    assert len(list((tmp_path / "paper/figures").glob("*_added.pdf"))) == 1


HEAD = "table,rater,response_type,dimension,coefficient,value,significant_05"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the file is empty"),
        ([HEAD, "3,GPT-4.1,Overall,Novelty,spearman,0.36,True,9"], "line 2 has 8 cells"),
        (
            [HEAD, *(f"3,GPT-4.1,Overall,Novelty,spearman,{r},True" for r in (0.3, 0.9))],
            "0.3 and 0.9; keep one",
        ),
    ],
)
def test_published_numbers_that_cannot_be_read_are_refused(
    rows: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("oogiri_correlations.csv").write_text("\n".join(rows), encoding="utf-8")
    assert message in refused("replicate oogiri --published . --only table_3")
    assert not Path("replication").exists()
