"""Short codes of the Quarto extension, run by pandoc's Lua: they print what conjury prints, or refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from cases import FIXTURES

from conjury.analysis.report.table_format import interval, number, p_value
from conjury.inference.tables.files import EXAMPLES, QUARTO

pypandoc = pytest.importorskip("pypandoc", reason="pandoc's wheel is missing (make test-pdf)")
pytestmark = pytest.mark.pdf
EXTENSION = QUARTO / "_extensions" / "conjury"
FORMAT = "html"
FILTER = (FIXTURES / "pages/short_codes.lua").read_text(encoding="utf-8")


def cite(folder: Path, *calls: tuple[str, str, dict[str, str]], form: str = FORMAT) -> list[str]:
    """What each short code gives: its name, its first argument and its other arguments."""
    listed = [{"code": code, "args": [name], "kwargs": others} for code, name, others in calls]
    meta = folder / "calls.yaml"
    meta.write_text(json.dumps({"conjury-results": str(folder), "calls": listed}), encoding="utf-8")
    script = folder / "filter.lua"
    head = f"FORMAT = {json.dumps(form)}\nEXTENSION = {json.dumps(str(EXTENSION))}\n"
    script.write_text(head + FILTER, encoding="utf-8")
    options = ["--lua-filter", str(script), "--metadata-file", str(meta), "--wrap=none"]
    printed = pypandoc.convert_text("", "plain", "markdown-smart", extra_args=options)
    return [line.strip(" ") for line in printed.strip("\n").splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    estimate = np.round(rng.normal(0, 0.2, 200), 6)
    estimate[:4] = (-0.0004, 0.4999, 0.0, 0.5)
    width = rng.uniform(0.0001, 0.3, 200)
    table = pd.DataFrame(
        {
            "judge": ["mini", 'a "large", one'] * 100,
            "level": [f"l{row // 2}" for row in range(200)],
            "estimate": estimate,
            "lower": estimate - width,
            "upper": estimate + width,
            "p": rng.uniform(0, 1, 200) ** 6,
        }
    )
    table.loc[199, ["lower", "upper", "p"]] = np.nan
    for name in ("tables", "figures"):
        (tmp_path / name).mkdir()
    table.to_csv(tmp_path / "tables" / "amce.csv", index=False)
    (tmp_path / "figures" / "amce.svg").touch()
    return tmp_path


def test_numbers_are_those_that_conjury_prints(folder: Path) -> None:
    table = pd.read_csv(folder / "tables" / "amce.csv")
    rows = [{"judge": row.judge, "level": row.level} for row in table.itertuples()]
    cited = cite(folder, *(("conjury", "amce", row) for row in rows))
    expected = [
        f"{number(row.estimate)} {interval(row.lower, row.upper)}".strip() for row in table.itertuples()
    ]
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in cited] == [
        text.replace("\N{NO-BREAK SPACE}", " ") for text in expected
    ]
    values = cite(folder, *(("conjury", "amce", {**row, "show": "p"}) for row in rows[:199]))
    assert values == [p_value(p) for p in table["p"][:199]]
    [points] = cite(folder, ("conjury", "amce", {**rows[9], "points": "true"}))
    assert points.startswith(number(100 * table["estimate"][9], 1))


def test_what_selects_no_row_or_several_ends_with_what_is_missing(folder: Path) -> None:
    several, none, column, table, figure, drawn = cite(
        folder,
        ("conjury", "amce", {"judge": "mini"}),
        ("conjury", "amce", {"judge": "maxi"}),
        ("conjury", "amce", {"jugde": "mini"}),
        ("conjury", "amces", {}),
        ("conjury-figure", "diffs", {}),
        ("conjury-figure", "amce", {}),
    )
    assert several.endswith("tables/amce.csv have these values; name also level (such as l0).")
    assert none.endswith("tables/amce.csv has no row with the values that are named.")
    assert "has no column jugde; it has judge, level, estimate" in column
    assert "tables/amces.csv; run `conjury fit`" in table
    assert figure.endswith("figures/diffs.svg; draw it by `conjury fit ... --figures svg`.")
    assert drawn.endswith("figures/amce.svg")
    [pdf] = cite(folder, ("conjury-figure", "amce", {}), form="latex")
    assert pdf.endswith("figures/amce.pdf; draw it by `conjury fit ... --figures pdf`.")


def test_the_example_cites_rows_of_the_study_that_it_names() -> None:
    text = (EXAMPLES / "quarto" / "paper.qmd").read_text(encoding="utf-8")
    study = yaml.safe_load((EXAMPLES.parent / "templates" / "minimal" / "study.yaml").read_text("utf-8"))
    levels = {(part["id"], level["id"]) for part in study["attributes"] for level in part["levels"]}
    cited = re.findall(r"feature=(\w+) level=(\w+)", text)
    assert len(cited) == 3
    assert set(cited) <= levels
