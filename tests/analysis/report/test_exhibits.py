"""Exhibits of conjoints, diagnoses and engines where results are unusual; the usual ones are stored texts."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from made_up.results import (
    CHECKS,
    COMPARED,
    amce_frame,
    difference_frame,
    record,
    write_diagnosed,
    write_items,
    write_manifest,
)
from snapshots import shown

from conjury.analysis.correction import rates
from conjury.analysis.figures.labels import LevelLabels
from conjury.analysis.report import Report
from conjury.analysis.report import exhibited_results as printing
from conjury.analysis.report.exhibits import EXHIBITS
from conjury.analysis.report.exhibits.diagnosed.diagnostic_exhibits import engines_table
from conjury.analysis.report.table_format import interval, number, p_value, starred, stars
from conjury.inference.errors import InputError

NO_BREAK = "\N{NO-BREAK SPACE}"


@pytest.fixture
def diagnosed(tmp_path) -> Path:
    return write_diagnosed(tmp_path / "diagnosed")


@pytest.fixture(scope="module")
def effects(results) -> pd.DataFrame:
    return pd.read_parquet(results / "tables" / "amce.parquet")


def change(folder: Path, name: str, frame: pd.DataFrame) -> Report:
    frame.to_parquet(folder / "tables" / f"{name}.parquet")
    return Report(folder)


def test_table_cells_equal_the_numbers_in_the_file(results, effects) -> None:
    text = shown(Report(results), "amce")
    rows = effects[(effects["variant"] == "") & (effects["prompt"] != "context")].dropna(subset="std_error")
    assert len(rows) == 12
    with starred():
        cells = [
            f"{100 * row.estimate:+.1f}{stars(row.p)} {interval(100 * row.lower, 100 * row.upper, 1)}"
            for row in rows.itertuples()
        ]
    assert all(cell.replace(NO_BREAK, " ").replace("-", "\N{MINUS SIGN}") in text for cell in cells)
    assert "In percentage points." in text


@pytest.mark.long
def test_the_table_of_one_judge_has_both_kinds_of_inference(copy, effects) -> None:
    frame = effects.query("judge == 'human'")
    text = shown(change(copy, "amce", frame), "amce")
    cells = [f"{100 * frame.iloc[1]['estimate']:+.1f}"]
    for kind in ("", "boot_"):
        row = frame.iloc[1][[f"{kind}{name}" for name in ("std_error", "lower", "upper", "p")]]
        cells += [
            number(100 * row.iloc[0], 2),
            interval(100 * row.iloc[1], 100 * row.iloc[2], 1),
            p_value(row.iloc[3]),
        ]
    assert "Level | Estimate | Normal approximation | Bootstrap" in text
    assert " | ".join(cells).replace(NO_BREAK, " ") in text
    wide = effects.copy()
    wide.loc[5, "boot_upper"] = wide.loc[5, "upper"] + 0.0123
    assert "at most 1.23 points (human, Identity: Black male)" in shown(change(copy, "amce", wide), "amce")


@pytest.mark.long
def test_more_than_six_judges_are_split_into_labelled_tables(copy) -> None:
    judges = [f"judge_{k}" for k in range(8)]
    text = shown(change(copy, "amce", amce_frame({name: [""] for name in judges})), "amce")
    heads = re.findall(r"^Level \| (.*)$", text, re.MULTILINE)
    assert heads == [" | ".join(judges[:4]), " | ".join(judges[4:])]


def test_judges_with_few_answers_or_one_position_are_named(copy) -> None:
    groups = [{"judge": "human", "n_used": 100}, {"judge": "model_x", "n_used": 900}]
    write_manifest(copy, analyses=[record("amce", "amce", "All", groups=groups)])
    share = pd.DataFrame({"judge": ["model_x"], "prompt": ["baseline"], "estimate": [0.9]})
    text = shown(change(copy, "check_position_share", share), "amce")
    assert "Intervals of human are based on 100 profiles" in text
    assert "Model X chose position A in 90.0% of pairs" in text


@pytest.mark.parametrize(
    "given", [{"simulated": True}, {"simulated": True, "study": "towns"}, {"study": "towns"}]
)
def test_only_real_judges_of_a_published_study_are_compared(copy, given) -> None:
    (copy / "tables" / "published.parquet").unlink()
    write_manifest(copy, **given)
    assert not shown(Report(copy), "published").strip()


def test_a_check_without_its_table_or_without_counts_has_words_and_no_figure(diagnosed) -> None:
    (diagnosed / "tables" / "check_position_share.parquet").unlink()
    text = shown(Report(diagnosed, "diagnosed"), "checks")
    assert "The table of its figure is not in the results folder." in text
    assert "**Error.**" in text
    change(diagnosed, "diagnosis", CHECKS[CHECKS["figure"]].assign(name="impossible_profiles"))
    table = pd.DataFrame({"judge": "gpt", "prompt": "", "rule": ["same", "other"], "n": 0, "of": 100})
    for counts, drawn in (([0, 0], False), ([0, 3], True)):
        report = change(diagnosed, "check_impossible_profiles", table.assign(n=counts))
        assert ("fig-checks-impossible-profiles" in shown(report, "checks")) is drawn


@pytest.mark.long
def test_the_largest_ratio_in_words_is_that_of_the_table(diagnosed) -> None:
    errors = pd.read_parquet(diagnosed / "tables" / "errors.parquet")
    of_method = errors["method"]
    wide = errors[of_method == "CR2"].assign(method="pigeonhole", ratio=2.94, choice="pigeonhole")
    text = shown(change(diagnosed, "errors", pd.concat([errors, wide])), "standard_errors")
    assert "clustered standard errors the largest ratio is 1.7 (Model X, Context matters, " in text
    assert "among all standard errors it is 2.9 (human, " in text
    assert "pigeonhole), which tends to be too wide." in text
    few = shown(change(diagnosed, "errors", errors[of_method == "CR2"]), "standard_errors")
    assert "among all" not in few
    none = shown(change(diagnosed, "errors", errors[of_method == "survey"]), "standard_errors")
    assert none.startswith("There are no standard errors by stimuli: ")
    assert none.count(". ") == 0


def test_references_and_groups_are_named_in_the_table_of_engines(copy) -> None:
    numbers = {"estimate": [0.0, 0.1], "std_error": [float("nan"), 0.02]}
    columns = {f"{name}_{engine}": own for engine in ("native", "survey") for name, own in numbers.items()}
    table = pd.DataFrame({"feature": "tone", "level": ["kind", "rude"], **columns})
    html = engines_table(table, LevelLabels(None)).as_raw_html()
    assert html.count(">reference</td>") == 2
    assert html.count("0.100000 (0.020000)") == 2
    assert "0.000000" not in html
    keys = difference_frame()[["by", "feature", "level"]].head(2)
    frame = keys.assign(estimate_native=0.1, std_error_native=0.01)
    labels = {"levels": {"identity": {"anonymous": "Nobody"}}}
    write_manifest(copy, compared={**COMPARED, "by": ["identity"]}, labels=labels)
    text = shown(change(copy, "engines", frame), "estimates_by_engine")
    assert "Sexism, Black male minus Nobody | 0.100000 (0.010000)" in text


def test_an_exhibit_without_a_figure_keeps_its_table(results, monkeypatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise InputError("There is nothing to draw.")

    monkeypatch.setattr(printing, "alt", refuse)
    text = shown(Report(results), "amce")
    assert text.startswith("There is nothing to draw. The numbers are in @tbl-amce.")
    assert "{#fig-amce}" not in text


def test_p_values_and_stars_follow_one_rule() -> None:
    with starred():
        texts = {p: (p_value(p), stars(p)) for p in (0.0004, 0.001, 0.01, 0.04, 0.05, 0.07, 0.5)}
    assert [mark for _, mark in texts.values()] == ["***", "**", "*", "*", "", "", ""]
    assert [p for p, _ in texts.values()] == ["<0.001", "0.001", "0.010", "0.040", "0.050", "0.070", "0.500"]


def test_a_study_of_contrasts_has_its_numbers_in_words(copy, effects) -> None:
    frame = effects.query("judge == 'human'").assign(estimate=0.1, lower=0.05, upper=0.2)
    frame.loc[frame["level"] == "racism", ["estimate", "lower", "upper"]] = [-0.4, -0.45, -0.3]
    minus, space = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
    for alpha, width in ((0.05, "1.96"), (0.1, "1.64")):
        analyses = [record("amce", "amce", "All", alpha=alpha, interval="normal", draws=None),
                    record("mm", "mm", "Means", h0=0.3)]  # fmt: skip
        write_manifest(copy, analyses=analyses, refusal="not_chosen")
        report = change(copy, "amce", frame)
        assert f"estimates plus and minus {width} standard errors" in shown(report, "amce")
    (main,) = report.of_kind("amce")
    largest = EXHIBITS["amce"].headline(report.read(main), main, report).replace(space, " ")
    assert f"largest effect is {minus}40.0 points (90% interval [{minus}45.0, {minus}30.0])" in largest
    assert "The vertical line is at 30%. " in shown(report, "mm")
    counts = pd.DataFrame(
        {"judge": list("aabbc"), "prompt": "", "status": ["ok", "refused", "ok", "refused", "ok"]}
    )
    answers = shown(change(copy, "answers", counts.assign(n=[10, 30, 900, 100, 50])), "answers")
    assert answers.startswith("130 of 1,090 answers (11.9%) contain no valid choice.")
    assert re.findall(r"^\w \|.*\| (\S+)$", answers, re.MULTILINE) == ["25.00%", "90.00%", "100.00%"]
    assert "count as not chosen for both profiles" in answers


def test_rates_are_shown_as_reported_and_corrected_by_each_method(tmp_path: Path) -> None:
    known = ["good"] * 10 + ["bad"] * 10 + [None] * 100
    judged = ["good"] * 9 + ["bad"] * 9 + ["good"] * 2 + ["good"] * 62 + ["bad"] * 38
    result = rates(pd.DataFrame({"label": known, "judged": judged}))
    text = shown(Report(write_items(tmp_path, {"rates": result}), about="items"), "rates")
    moved = "moves the rates of *Bad* and *Good* most, and equally: of *Bad* the judge reports 38.0%, and the"
    assert moved in text
    assert "Rogan-Gladen | 40.0" in text
    assert "20 units were labelled by people, 100 by the judge alone." in text
