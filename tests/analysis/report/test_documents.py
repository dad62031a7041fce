"""Every document prints what is stored of it: sections, tables, captions, descriptions of figures."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import snapshots
from made_up import label_results as labels
from made_up import rating_results as ratings
from made_up import trials
from made_up.analysis_results import checked_numbers, few_people_means, few_people_scores, few_people_shares
from made_up.ratings import ratings_in_tiers
from made_up.results import (
    SOFTWARE,
    amce_frame,
    bounded,
    corrected,
    difference_frame,
    write_checked,
    write_diagnosed,
    write_items,
    write_results,
    write_simulated_results,
)

from conjury.analysis.pipeline.fitting import write_checked_tables, write_trial
from conjury.analysis.raters import agreement, correlations, coverage
from conjury.analysis.results import Result
from conjury.inference.tables.files import QUARTO


def items_of_ratings(folder: Path) -> Path:
    table = ratings_in_tiers()
    results = {
        "means": ratings.means(),
        "means_corrected": few_people_means(("wit", "fun"), strata=True),
        "correlations": correlations(table, draws=0),
        "biases": ratings.biases(),
        "agreement": agreement(table, draws=0),
        "alt_test": ratings.alt_test(),
        "rater_model": ratings.rater_model(
            frequencies=ratings.shares(), prior_frequencies=ratings.shares(wide=0.3)
        ),
        "label_model": ratings.label_model(),
    }
    write_items(folder, results, study="oogiri", simulated=True, notes=["gpt_4_1 <answered> twice."])
    ratings.recovered().to_parquet(folder / "tables" / "recovery.parquet")
    return folder


def real_ratings(folder: Path) -> Path:
    write_items(folder, {"means": ratings.means(types=False)}, study="oogiri")
    ratings.published().to_parquet(folder / "tables" / "published_means.parquet")
    return folder


def items_with_labels(folder: Path) -> Path:
    card = {"card": 0, "task": "line", "reason": "hard", "item_id": "m01", "media": None}
    card |= {"text": "A <b>man</b>.", "gold": "1 setup", "judge": "qwen3_8b", "prompt": "", "status": "ok"}
    card |= {"answer": "1 timing", "raw": "Line 1: timing"}
    names = ("passes", "confusion", "by_label", "differences", "robustness")
    results = {
        "readings": labels.readings(),
        "scores": labels.scores(by=()),
        "scores_language": labels.scores(),
        **{name: getattr(labels, name)() for name in names},
        "cards": Result(pd.DataFrame([card]), "cards"),
    }
    return write_items(folder, results, study="multiturn", labels={"judges": {"qwen3_8b": "Qwen3-8B"}})


def items_in_modalities(folder: Path) -> Path:
    results = {"shares_corrected": few_people_shares(), "scores_modality": labels.harm()}
    return write_items(folder, results, study="harm_or_humor", simulated=True)


def items_of_corrections(folder: Path) -> Path:
    effects = amce_frame({"human": [""]})
    results = {
        "amce_corrected": corrected(effects, verb="amce", id="judge_id", n_clusters=120),
        "amce_by_identity_corrected": corrected(
            difference_frame().query("judge == 'human'"), ("model_x", "gpt_4_1"), by=["identity"]
        ),
    }
    return write_items(folder, results, study="moderation", simulated=True)


def corrections_of_labels(folder: Path) -> Path:
    results = {"shares_corrected": few_people_shares(), "scores_corrected": few_people_scores()}
    return write_items(folder, results, study="multiturn")


def unanswered_choices(folder: Path) -> Path:
    effects = bounded(amce_frame(), verb="amce", formula="chosen ~ slur + identity + curse", id="pair_id")
    means = amce_frame({"model_x": ["baseline"]}).assign(statistic="mm")
    results = {"amce_bounds": effects, "mm_bounds": bounded(means, verb="mm", null=0.5)}
    further = bounded(amce_frame({"model_x": [""]}), verb="amce")
    return write_items(folder, {**results, "amce_slur_bounds": further}, study="moderation")


def unanswered_ratings(folder: Path) -> Path:
    frame = ratings.means().frame.assign(std_error=0.02)
    asked = {"statistic": "mean", "counted": "judgments", "draws": 200}
    found = bounded(frame, ("group",), null=1.0, **asked)
    return write_items(
        folder, {"coverage": coverage(ratings_in_tiers()), "means_bounds": found}, study="oogiri"
    )


def unanswered_labels(folder: Path) -> Path:
    scores = labels.scores(by=()).frame.query("missing == 'wrong' and judge_kind == 'model'")
    scores = scores.query("metric == 'accuracy'").assign(null=0.1)
    found = bounded(scores, ("judge",), null=None, counted="labels", by=[], draws=200)
    return write_items(folder, {"by_label": labels.by_label(), "scores_bounds": found}, study="multiturn")


def stamped(folder: Path, part: str, command: str) -> Path:
    """The folder, with the same software and time in its manifest wherever it is written."""
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    run = {**SOFTWARE, "command": command}
    parts = {part: manifest["parts"][part] | run}
    file.write_text(json.dumps(manifest | run | {"parts": parts}), encoding="utf-8")
    return folder


def tried(folder: Path) -> Path:
    found = trials.result()
    found.extra["seconds"]["seconds"] = 0.002
    found = replace(found, settings={**found.settings, "processor_seconds": 1.0})
    write_trial(folder, "own", found, 1.0, lambda folder, part: [])
    return stamped(folder, "own", "conjury trial own")


def checked_tables(folder: Path) -> Path:
    found = checked_numbers()
    sources = [folder.parent / name for name in found.settings["files"]]
    for source in sources:
        source.write_text("mean\n2.3\n", encoding="utf-8")
    write_checked_tables(folder, found, sources, 1.0, lambda folder, part: [])
    command = "conjury check-table ratings.csv scores.csv --out results"
    return stamped(folder, "published_numbers", command)


DOCUMENTS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "moderation": ("moderation", write_results),
    "conjoint_simulated": ("conjoint", write_simulated_results),
    "correction": ("correction", items_of_corrections),
    "correction_of_labels": ("correction", corrections_of_labels),
    "diagnostics": ("diagnostics", write_diagnosed),
    "checks": ("checks", write_checked),
    "estimators": ("estimators", write_results),
    "oogiri": ("oogiri", real_ratings),
    "raters_simulated": ("raters", items_of_ratings),
    "multiturn": ("multiturn", items_with_labels),
    "harm_or_humor_simulated": ("harm_or_humor", items_in_modalities),
    "benchmark": ("benchmark", items_with_labels),
    "conjoint_unanswered": ("conjoint", unanswered_choices),
    "raters_unanswered": ("raters", unanswered_ratings),
    "trials": ("trials", tried),
    "published": ("published", checked_tables),
    "benchmark_unanswered": ("benchmark", unanswered_labels),
}


@pytest.mark.long
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_prints_what_is_stored_of_it(name: str, tmp_path: Path) -> None:
    document, write = DOCUMENTS[name]
    text = snapshots.document(document, write(tmp_path / "results"))
    assert "Not shown" not in text
    assert "<script" not in text.replace("<script>document.title='taken'</script>", "")  # in cells as text
    snapshots.check(name, text)


def test_every_document_has_a_stored_text() -> None:
    assert {document for document, _ in DOCUMENTS.values()} == {
        path.stem for path in QUARTO.glob("[!_]*.qmd")
    }


ID = re.compile(r"\b(?:pair|judge|item|topic|source)_id\b|\b(?:pair|source) id\b|\bslur =")


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_stored_texts_have_no_empty_section_repeated_paragraph_zero_count_or_identifier(name: str) -> None:
    text = (snapshots.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip()]
    headings = [re.match(r"#+ ", line) for line in lines]
    for first, second in itertools.pairwise([*headings, None]):
        assert not first or not second or len(second[0]) > len(first[0])  # a heading with nothing below
    blocks = re.split(r"\n\s*\n", re.sub(r"::: \{#(?:fig|tbl)-.*?\n:::", "", text, flags=re.DOTALL))
    prose = [
        " ".join(one.split()) for one in blocks if " | " not in one and not one.startswith(("#", ":::", "`"))
    ]
    long = [one for one in prose if len(one) > 60]
    assert len(long) == len(set(long))
    assert not [one for one in prose if re.search(r"\b0 of \d+ [a-z]", one)]
    assert not [one for one in prose if ID.search(one)]
    assert not re.search(r"conjury [a-z-]+[^\n`]* \N{EN DASH}", text)
    commands = (
        r"`conjury (?!view RUN )\w+ [^`]+`"  # but for the answers behind a cell, no "see also" of commands
    )
    assert not [one for one in prose if re.search(commands, one)]
    methods = text.partition("## Methods {#sec-methods}")[2].partition("\n#")[0]
    sentences = [one for one in re.split(r"(?<=[.?!]) (?=[A-Z])", methods) if len(one) > 60]
    assert len(sentences) == len(set(sentences))
    assert all(row.startswith("all labels |") for row in lines if " | No answer | " in row)
    assert len(re.findall(r"\{#tbl-means(?!-corrected|-bounds)", text)) <= 1
