"""Pages show hostile titles, labels, names, items and notes as text: nothing runs, loads or is included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fakes.studies import change_study, towns, write_study
from hostile import NAMES, TAKEN, check_markdown, check_seen, chromium, in_lines, look, payloads
from made_up import label_results as made
from made_up.results import manifest, record, write_results
from matplotlib.figure import Figure

from conjury.analysis.audit.published import Description, check_table
from conjury.analysis.figures.labels import ColumnNames
from conjury.analysis.pipeline.fitting import write_checked_tables
from conjury.analysis.pipeline.manifest import entry_of
from conjury.analysis.pipeline.runner import NamedResult, tables_of
from conjury.analysis.report import Report
from conjury.analysis.report import exhibited_results as printing
from conjury.analysis.report.blocks import raw_block
from conjury.analysis.report.exhibits.labels.cards_exhibit import card_markdown
from conjury.analysis.report.markup import to_html
from conjury.analysis.report.method_sentences import plain
from conjury.analysis.report.render import render
from conjury.cli.main import main
from conjury.inference.perturb import perturb_items, sheet
from conjury.inference.tables import write_table


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secrets")


@pytest.fixture(scope="module")
def texts(secrets: Path) -> dict[str, str]:
    return payloads(secrets)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def results(texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a conjoint with hostile text in every place that a study or its data can write."""
    folder = write_results(tmp_path_factory.mktemp("made_up") / "results")
    many, lines, names = " ".join(texts.values()), in_lines(texts), list(texts.values())
    told: dict[str, Any] = manifest(study="towns", title=lines, study_argument=many, command=many)
    told["notes"] = [*names, lines]
    told["labels"] = {
        "features": {"slur": names[0], "identity": names[1], "curse": lines},
        "levels": {
            "slur": dict(zip(("generic", "sexism", "racism", "none"), names[2:6], strict=True)),
            "identity": dict(zip(("anonymous", "black_male", "white_female"), names[6:9], strict=True)),
            "curse": {"curse": lines, "no_curse": many},
        },
        "judges": {"human": names[9], "model_x": lines},
        "prompts": {"baseline": names[10], "context": lines},
    }
    told["analyses"] = [
        record(one["name"], one["verb"], lines, exclude=one["exclude"], by=one["by"])
        for one in told["analyses"]
    ]
    told["compared"] = {**told["compared"], "title": lines, "notes": [lines], "command": many}
    (folder / "manifest.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=["conjoint", "estimators"])
def rendered(
    request: pytest.FixtureRequest, results: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The Markdown of a report after execution, in which Quarto looks for shortcodes, and its page."""
    folder = tmp_path_factory.mktemp("rendered")
    markdown: list[str] = []

    def recorded(text: str, *rest: Any) -> str:
        markdown.append(text)
        return to_html(text, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder))
        patch.setattr(import_module("conjury.analysis.report.render"), "to_html", recorded)
        page = render(request.param, results, folder / "reports").path
    return markdown[0], page


@pytest.mark.slow
@pytest.mark.browser
def test_a_report_shows_hostile_text_in_every_place(
    rendered: tuple[str, Path], browser: Any, secrets: Path
) -> None:
    seen = look(browser, rendered[1])
    check_seen(seen, secrets)
    for word in (f"document.title='{TAKEN}'", "conjurytoken3end", "{{< include", "{% include"):
        assert word in seen.text


@pytest.mark.slow
def test_what_quarto_is_handed_holds_no_shortcode_cell_or_raw_block_of_a_study(
    rendered: tuple[str, Path],
) -> None:
    check_markdown(rendered[0])


@pytest.mark.parametrize("name", NAMES)
def test_escaped_text_reads_as_it_was_written_and_holds_nothing_that_acts(
    name: str, texts: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "references.bib").write_text("", encoding="utf-8")
    text = texts[name]
    check_markdown(plain(text))
    body = to_html(f"A {plain(text)} z\n\n{plain(text)}", tmp_path, "references.bib")
    assert body.count("<") == 4  # two paragraphs
    assert unescape(body).count(text) == 2


def test_braces_before_a_tag_open_no_shortcode() -> None:
    markup = "<text>a {{</text>"
    check_markdown(raw_block(markup))
    assert unescape(raw_block(markup)).count(markup) == 1


def card(text: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"card": 1, "reason": text, "task": text, "item_id": text, "text": text, "media": text,
         "gold": text, "judge": [text, "pal"], "prompt": text, "answer": [text, ""],
         "status": ["ok", text], "right": 0.0, "raw": [text, None]}
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.browser
def test_cards_of_items_show_hostile_text(
    texts: dict[str, str], secrets: Path, browser: Any, tmp_path: Path
) -> None:
    (tmp_path / "references.bib").write_text("", encoding="utf-8")
    parts = [card_markdown(card(text), ColumnNames(None)) for text in (*texts.values(), in_lines(texts))]
    for part in parts:
        check_markdown(part)
    body = to_html("\n\n".join(parts), tmp_path, "references.bib")
    page = tmp_path / "cards.html"
    page.write_text(f"<!DOCTYPE html><meta charset=utf-8><title>x</title>{body}", encoding="utf-8")
    seen = look(browser, page)
    check_seen(seen, secrets)
    assert seen.title == "x"
    assert seen.text.count("conjurytoken3end") > 10


@pytest.fixture
def study(texts: dict[str, str], tmp_path: Path) -> Path:
    """A study with hostile text in its titles, labels and names."""
    names = list(texts.values())

    def change(content: dict[str, Any]) -> None:
        content["title"] = " ".join(names)
        content["question"] = names[0]
        content["collect"]["noun"] = names[1]
        attributes = content["attributes"]
        levels = [level for attribute in attributes for level in attribute["levels"]]
        places = [*attributes, *levels, *content["judges"], *content["prompts"]]
        for place, (part, text) in enumerate(zip(places, 2 * names, strict=False)):
            part["label"] = f"{text} {place}"
        content["analyses"][0]["title"] = names[4]

    folder = write_study(tmp_path / "towns", towns())
    change_study(folder, change)
    return folder


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("command", ["design", "gallery"])
def test_design_cards_and_galleries_show_hostile_text(
    study: Path, secrets: Path, browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    pytest.importorskip("fontpkg_inter")
    monkeypatch.chdir(tmp_path)
    size = ("--n", "3") if command == "gallery" else ("--pairs", "20")
    monkeypatch.setattr("sys.argv", ["conjury", command, str(study), *size])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    page = tmp_path / "runs" / "towns" / ("gallery.html" if command == "gallery" else "design/card.html")
    seen = look(browser, page)
    check_seen(seen, secrets, scripts=1 if command == "gallery" else 0)
    for word in (f"document.title='{TAKEN}'", "conjurytoken3end", "{{< include", "{% include"):
        assert word in seen.text


@pytest.mark.slow
@pytest.mark.browser
def test_the_sheet_of_copies_shows_hostile_text(
    texts: dict[str, str], secrets: Path, browser: Any, tmp_path: Path
) -> None:
    shown = [f"{text} my mom says" for text in texts.values()]
    table = {"item_id": list(texts.values()), "modality": "text", "text": shown, "language": "en"}
    items = pd.DataFrame(table)
    page = tmp_path / "sheet.html"
    page.write_text(sheet(perturb_items(items, ["dialect"], rates={"dialect": 0.1})), encoding="utf-8")
    seen = look(browser, page)
    check_seen(seen, secrets)
    assert seen.title == "Perturbed pairs"
    assert f"document.title='{TAKEN}'" in seen.text


BENCHMARKS = {
    "scores": made.scores,
    "passes": made.passes,
    "confusion": made.confusion,
    "by_label": made.by_label,
    "robustness": made.robustness,
    "differences": made.differences,
    "readings": made.readings,
    "harm": made.harm,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARKS)
def test_sections_of_benchmarks_hold_hostile_labels_as_text(
    name: str,
    texts: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(printing, "draw", lambda *_, **__: Figure(figsize=(1, 1)))  # the description is real
    result, lines = BENCHMARKS[name](), in_lines(texts)
    for table, frame in tables_of(NamedResult(name, name, result)).items():
        write_table(frame, tmp_path / "tables" / f"{table}.parquet")
    words = [*texts.values(), lines]
    labels = {
        "judges": dict(zip(made.JUDGES, words, strict=False)),
        "prompts": {"": lines, "plain": words[0]},
        "features": dict.fromkeys(("language", "task", "dimension", "judge", "condition"), words[-2]),
        "levels": {
            "task": {"joke_type": words[3], "line": lines, "harm": words[1]},
            "language": {"en": words[7], "es": words[-1]},
            **{
                task: dict(zip(made.LABELS, words, strict=False))
                for task in ("joke_type", "line", "dimension")
            },
        },
    }
    records = [{**entry_of(NamedResult(name, lines, result, 0.1)), "notes": [lines]}]
    told = {"format": 2, "conjury": "0", "study": "x", "title": lines, "labels": labels, "results": records,
            "created": "2026-01-01T00:00:00+00:00", "data": [], "notes": [lines], "files": []}  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps(told), encoding="utf-8")
    report = Report(tmp_path, "items")
    report.show(result.kind)
    check_markdown("\n\n".join([report.opening(), report.notes(), capsys.readouterr().out]))


@pytest.mark.slow
def test_checked_tables_show_hostile_text(
    texts: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names, lines = list(texts.values()), in_lines(texts)
    table = pd.DataFrame({"group": [*names, "A"], "mean": ["9.00"] * len(names) + ["2.30"], "sd": "0.82"})
    table.to_csv(tmp_path / "x.csv", index=False)
    group = {"check": "mean_sd", "name": lines, "by": ["group"], "numbers": {"mean": "mean", "sd": "sd"}}
    group |= {"settings": {"scale": [1, 5], "n": 10}, "alternatives": {lines: {"n": 20}, names[0]: {"n": 77}}}
    described = Description.model_validate({"title": lines, "source": lines, "groups": [group]})
    result = check_table(tmp_path / "x.csv", described)
    write_checked_tables(tmp_path / "results", result, [tmp_path / "x.csv"], 1.0, lambda folder, part: [])
    report = Report(tmp_path / "results", "published_numbers")
    report.show("published_numbers")
    assert set(result.frame["verdict"]) >= {"inconsistent", "consistent"}
    check_markdown("\n\n".join([report.opening(), report.methods(), report.notes(), capsys.readouterr().out]))
