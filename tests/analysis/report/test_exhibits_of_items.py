"""Exhibits of ratings and labels where results are unusual; the usual ones are stored texts."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made_up import label_results as labels
from made_up import rating_results as ratings
from made_up.analysis_results import checked_numbers
from made_up.results import write_items
from snapshots import shown

from conjury.analysis.figures.labels import ColumnNames
from conjury.analysis.report import Report
from conjury.analysis.report.exhibits.labels.cards_exhibit import LONGEST_ANSWER, card_markdown, shown_text
from conjury.analysis.report.exhibits.published.published_numbers_exhibit import findings, inconsistent_table
from conjury.analysis.report.exhibits.raters.agreement_exhibits import at_equal_steps
from conjury.analysis.report.markup import to_html
from conjury.analysis.results import Result

WORDS = {
    "judges": {"gpt_4_1": "GPT-4.1", "qwen3_8b": "Qwen3-8B", "olmo3_1_32b": "OLMo3.1-32B"},
    "features": {"language": "Language"},
    "levels": {
        "task": {"joke_type": "Kind of joke", "line": "Purpose of a line"},
        "language": {"en": "English", "es": "Spanish"},
    },
}
DOWN, DAGGER = "\N{DOWNWARDS ARROW}", "\N{DAGGER}"


@pytest.fixture
def text_of(tmp_path):
    """What a report prints of one result, or of several by name."""

    def text(result: Result | dict[str, Result], *kinds: str, **given: Any) -> str:
        results = result if isinstance(result, dict) else {result.kind: result}
        report = Report(write_items(tmp_path, results, **{"labels": WORDS, **given}))
        named = kinds or [one.kind for one in results.values()]
        return shown(report, *named).replace("\N{NO-BREAK SPACE}", " ")

    return text


def test_sequences_have_their_figure_and_the_numbers_of_the_last_look(text_of) -> None:
    found = few_looks()
    text = text_of(found)
    assert "The bands cover at all looks together" in text
    assert "0.250" in text or "0.25" in text
    assert "0.111" not in text


def few_looks() -> Result:
    """Means at two looks."""
    numbers = {"estimate": [0.111, 0.25], "std_error": 0.05, "lower": [float("-inf"), 0.05]}
    limits = {"upper": [float("inf"), 0.45], "fixed_lower": 0.1, "fixed_upper": 0.4, "n_units": [90, 300]}
    frame = pd.DataFrame({"dimension": "fun", "group": "human", **numbers, **limits})
    return Result(frame, "confidence_sequence", settings={"unit": "item_id", "alpha": 0.05, "verb": "means"})


@pytest.mark.parametrize("prior", [True, False])
def test_several_dimensions_have_a_table_of_what_priors_predict(text_of, prior: bool) -> None:
    table = ratings.shares().rename(columns={"category": "value"}).assign(statistic="share")
    check = pd.concat([table.assign(dimension=name) for name in ("fun", "wit")])
    strongest = pd.DataFrame(
        {"level": ["total"], "main": "fun", "dimension": "wit", "group": "human"}
    ).assign(estimate=0.5, lower=0.4, upper=0.6, probability=0.9)
    extra = {"check": check, "strongest": strongest}
    if prior:
        extra["prior_check"] = check.assign(lower=0.011, upper=0.987)
    text = text_of(Result(check, "dimension_model", extra=extra))
    assert ("the priors alone" in text) is prior
    assert ("0.99]" in text) is prior


def test_the_observed_share_of_equal_ratings_follows_the_expected_one(text_of) -> None:
    same = {"group": "human", "quantity": "same_rating", "estimate": 0.38, "lower": 0.36, "upper": 0.41}
    frame = pd.concat([ratings.rater_model().frame, pd.DataFrame([same | {"observed": 0.493}])])
    rows = text_of(Result(frame, "rater_model", settings={"alpha": 0.05})).splitlines()
    at = next(k for k, row in enumerate(rows) if row.startswith("The same: observed share"))
    assert "0.49" in rows[at]
    assert "0.38 [0.36, 0.41]" in rows[at - 1]


def test_latent_correlations_of_a_rater_at_the_end_of_the_scale_are_marked_and_no_others(text_of) -> None:
    frame = ratings.rater_model().frame
    text = text_of(Result(frame, "rater_model", settings={"alpha": 0.05, "at_the_end": ["gpt_4_1"]}))
    assert f"0.70 [0.60, 0.80] | 0.60 [0.50, 0.70]{DAGGER}" in text
    assert text.count(DAGGER) == 2  # with the note
    assert DAGGER not in text_of(Result(frame, "rater_model", settings={"alpha": 0.05}))


def test_odds_ratios_have_intervals_and_empty_cells_are_explained_where_there_are_any(text_of) -> None:
    odds = {"odds_ratio": 2.0, "odds_ratio_lower": 1.5, "odds_ratio_upper": 3.0, "sd_items": 1.25}
    frame = labels.differences().frame.assign(**odds)
    why = "Empty cells: a judge who is never or always correct has no finite odds."
    text = text_of(Result(frame, "mixed", settings={"by": [], "alpha": 0.05}))
    assert "2.00 [1.50, 3.00]" in text
    assert "divided by those of the second." in text
    assert why not in text
    frame.loc[0, ["odds_ratio", "p", "p_adjusted"]] = float("nan")
    assert why in text_of(Result(frame, "mixed", settings={"by": [], "alpha": 0.05}))


def test_sixty_findings_are_in_the_table_of_published_numbers_and_the_rest_is_counted() -> None:
    result = checked_numbers()
    one = findings(result.frame, "inconsistent").head(1)
    for n, note in ((60, False), (61, True)):
        table = inconsistent_table(pd.concat([one] * n, ignore_index=True), result).as_raw_html()
        assert table.count(str(one["numbers"].iloc[0])) >= 60
        assert table.count("(row ") == 60
        assert ("1 more finding in the results folder." in table) is note


def test_both_answers_keep_intervals_and_models_that_have_both(text_of) -> None:
    model = ratings.rater_model()
    text = text_of({"alt_test": ratings.alt_test(), "raters_fun": model}, "both_answers")
    for part in (
        "0.40 [0.30, 0.45]",
        "0.30 [0.10, 0.60]",
        "0.20 [0.00, 0.40]",
        "is behind a random person",
        "Epsilon 0.1",
    ):
        assert part in text
    assert "other" not in text.split("::: {#tbl")[1]
    apart = {"alt_test": ratings.alt_test(dimension="wit"), "raters_fun": model}
    assert not text_of(apart, "both_answers").strip()
    of_labels = {"alt_test": ratings.alt_test(dimension=""), "labels": ratings.label_model()}
    assert "Accuracy minus a person's" in text_of(of_labels, "both_answers")


@pytest.mark.parametrize("simulated", [True, False])
def test_only_real_judgments_are_compared_with_published_numbers(tmp_path, simulated: bool) -> None:
    folder = write_items(tmp_path, {"means": ratings.means()}, study="oogiri", simulated=simulated)
    ratings.published().to_parquet(folder / "tables" / "published_means.parquet")
    text = shown(Report(folder), "published_means", "published_correlations")
    assert ("3 published numbers" in text) is not simulated
    assert ("The folder has the other 1." in text) is not simulated
    ratings.published().head(2).to_parquet(folder / "tables" / "published_means.parquet")
    assert "The folder has the other" not in shown(Report(folder), "published_means")


def test_labels_given_clearly_too_often_are_named_and_those_never_given_marked(text_of) -> None:
    result = labels.by_label(["setup", "tag", "timing"], ["gpt"])
    n, p = [60, 5, 60], [0.01, 0.01, 0.2]
    often = {"ratio": [3.0, 9.0, 5.0], "n_predicted": [180, 45, 300], "n_gold": n, "n_answers": n}
    reading = text_of(replace(result, frame=result.frame.assign(**often, p_adjusted=p))).split("::: {")[0]
    assert "gpt, Setup (3.0)." in reading
    assert not re.search("Tag|Timing", reading)
    result = labels.by_label(["setup", "tag"], ["gpt"])
    never = {"ratio": 0.0, "n_predicted": 0, "n_gold": [60, 5], "n_answers": [120, 10], "p_adjusted": 0.9}
    text = text_of(replace(result, frame=result.frame.assign(**never)))
    assert text.count(f"0.00 {DOWN}") == 1
    assert "120" in text


HOSTILE = [
    labels.MARKUP,
    "<img src=x onerror=alert(1)>",
    "</td></tr></table><h1>taken</h1>",
    "```\n```{=html}\n<b>taken</b>\n```",
    "{{< include /etc/passwd >}} {{< meta title >}}",
    "conjurytoken0end conjurytoken1end CONJURYTOKEN2END",
    "::: {.callout-note}\ntaken\n:::",
    "[@calderon2025] @fig-scores $x^2$ ![](https://example.org/x.png)",
    "line\n\n\nafter blank lines\n\n# heading",
    "\u202egnol\u202c \x00 \ufeff",
    "&lt;b&gt; &#60;script&#62;",
]


def card(text: str, raw: str | None = "raw", **columns: Any) -> str:
    """A card as Markdown, with the answers of two judges."""
    frame = pd.DataFrame(
        {"card": 1, "reason": "hard", "task": "harm", "item_id": "j1", "text": text, "media": "",
         "gold": "implicit", "judge": ["gpt", "pal"], "prompt": "text", "answer": ["safe", ""],
         "status": ["ok", "refused"], "right": 0.0, "raw": [raw, None]}
    )  # fmt: skip
    return card_markdown(frame.assign(**columns), ColumnNames({("harm", "implicit"): "Implicit harm"}))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_shown_and_have_no_effect(text: str, tmp_path: Path) -> None:
    (tmp_path / "references.bib").touch()
    page = to_html(card(text, text), tmp_path, "references.bib")
    for markup in ("<script", "<img", "<h1", "<b>", "{{<", "class='callout", "\u202e", "\x00"):
        assert markup not in page
    assert page.count("<table") == 2
    assert ("taken" in page) == ("taken" in text)
    if text in HOSTILE[:5]:
        assert unescape(shown_text(text).replace("<br>", "\n")) == text


def test_cards_have_gold_answers_reasons_and_long_answers_cut() -> None:
    for part in ("Implicit harm", "A joke.", "Safe", "(refused)", "raw", "rarely correct"):
        assert part in card("A joke.")
    assert "verbatim" not in card("A joke.", None)
    long = "abc " * LONGEST_ANSWER
    assert f"({len(long) - LONGEST_ANSWER:,} more characters)" in card("A joke.", long)
    lines = {"gold": "1 setup\n2 punchline", "answer": ["1 setup\n2 -", ""]}
    text = card("One.\n\n  Two.\n\tThree.", **lines)
    assert "1 Setup<br>2 Punchline" in text
    assert "1 Setup<br>2 -" in text
    assert "One.<br><br>&nbsp;&nbsp;Two.<br>&nbsp;&nbsp;&nbsp;&nbsp;Three.</td>" in text
    assert text.count("<div style='font-size:85%;'>") == text.count("<colgroup>") == 2


def test_the_smallest_epsilon_is_one_with_which_the_model_passes(text_of) -> None:
    tests = ratings.alt_test(
        smallest_epsilon=[0.1011, 0.1], winning_rate=[0.4967, 0.5], passes=[False, True], n_annotators=300
    )
    text = text_of(tests)
    assert "0.497 | 0.400 [0.300, 0.500] | no | 0.11 | 300" in text
    assert "| yes | 0.10 | 300" in text
    untested = text_of(
        ratings.alt_test(
            smallest_epsilon=float("nan"), winning_rate=[float("nan"), 0.6], passes=[False, True]
        )
    )
    assert "no test" in untested
    assert "above 1" in untested
    assert "test with epsilon 0.1 is passed: other (Fun). 1 model could not be tested." in untested


def test_power_of_the_test_is_shown_with_the_mean_distance_from_people(text_of) -> None:
    frame = pd.DataFrame({"instances": [30, 100, 300], "difference": [0.1, 0.2, 0.6], "pass_rate": 0.4})
    same = {"scenario": "at the margin", "annotators": 3, "epsilon": 0.1, "model_agreement": 0.4}
    same |= {"human_agreement": 0.4, "lower": 0.3, "upper": 0.5}
    needed = pd.DataFrame([{"annotators": 3, "epsilon": 0.1, "model_agreement": 0.4, "instances": 300}])
    settings = {"target": 0.8, "alpha": 0.05}
    text = text_of(Result(frame.assign(**same), "alt_power", (), settings, {"needed": needed}))
    assert " | 0.1 | 0.40 | 0.30 | 0.40" in text
    assert at_equal_steps([float(k) for k in range(21)]) == [0, 3, 7, 10, 13, 17, 20]


@pytest.mark.parametrize("name", ["scores", "passes"])
def test_baselines_are_the_last_rows_of_each_group(text_of, name: str) -> None:
    result = getattr(labels, name)(by=())
    own = result.frame[~result.frame["judge"].isin(["majority class", "random"])]
    first, late = (own[own["task"] == task] for task in ("joke_type", "line"))
    one = own[own["judge"] == labels.FEW[0]]
    base = one.assign(judge="random", judge_kind="baseline", prompt="")
    early = pd.concat([first[first["judge"] == labels.FEW[0]], base, late], ignore_index=True)
    rows = text_of(replace(result, frame=early, extra={})).splitlines()
    at = [k for k, row in enumerate(rows) if row.startswith("Random label | ")]
    assert at
    assert all(not re.match(r"(Qwen|OLMo|Falcon)", rows[k + 1]) for k in at)
