"""Methods of an analysis in sentences, from its record; text from outside as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ..figures.conjoint.effect_figures import WHO, name_intervals
from ..figures.labels import level_of
from ..frames.kinds import kind_of
from ..frames.reported_intervals import by_errors, interval_kinds, resampling
from ..frames.vocabulary import AGAINST_PEOPLE
from .table_format import number, whole

_ESCAPED = re.compile(r"\\([^\w\s])")
_MARKED = re.compile(r"(?<!\\)[*`]|\{(?:figure|table)[^}]*\}|\[@[^\]]*\]")

DOUBLE_BRACE = "{\N{WORD JOINER}{"
COUNTS = ("cj_freqs", "cj_props")
EFFECTS = ("amce", "amce_diffs", "amce_by_reference")
CONVENTIONS = {
    "CR0": ", without a small-sample factor (CR0)",
    "CR1": ", with the factor G/(G-1) and G-1 degrees of freedom (CR1)",
    "CR1S": ", with Stata's small-sample factor and G-1 degrees of freedom (CR1S)",
    "CR2": ", corrected for bias with Satterthwaite degrees of freedom (CR2)",
    "CV3": ", by the jackknife over clusters with G-1 degrees of freedom (CV3)",
    "HC0": " (HC0)",
    "HC1": " (HC1)",
    "HC2": " (HC2)",
    "HC3": " (HC3)",
}
IDENTIFIERS = {
    "judge_id": "respondent",
    "pair_id": "pair",
    "item_id": "item",
    "topic_id": "topic",
    "source_id": "source",
}
ADJUSTED_BY = {  # by the name of the adjustment of p values
    "holm": "Holm's method",
    "bh": "the method of Benjamini and Hochberg",
    "by": "the method of Benjamini and Yekutieli",
    "romano_wolf": "the method of Romano and Wolf",
}
OUTCOMES = {"chosen": "choices", "probability": "probabilities of choices"}
RESAMPLED = {"row": "single rows", "pair": "whole pairs", "respondent": "whole respondents"}


def describe_analysis(analysis: Mapping[str, Any], kind: str = "") -> str:
    """Describe an analysis of the manifest, and of the kind of its result, as far as its record goes."""
    parts = [
        _statistic_name(analysis),
        _excluded_rows(analysis),
        _model(analysis),
        _errors(analysis),
        _intervals(analysis, kind),
        _rows(analysis),
    ]
    return " ".join(part for part in parts if part)


def describe_comparison(compared: Mapping[str, Any], judge: str = "", prompt: str = "") -> str:
    """Describe a comparison of engines in sentences, as far as its record goes."""
    text = _estimand(compared)
    if judge:
        text += f", of the choices of {plain(judge)}" + (
            f" under the prompt {plain(prompt)}" if prompt else ""
        )
    *engines, last = [plain(name) for name in compared.get("engines") or [""]]
    if last:
        text += f", with the engine{'s' * bool(engines)} " + " and ".join(
            filter(None, [", ".join(engines), last])
        )
        text += f"; {plain(compared.get('reference_engine') or compared['engines'][0])} is the reference"
    rows = f"{whole(compared['n_rows'])} rows were given to each." if compared.get("n_rows") else ""
    parts = [
        f"{text}.",
        _excluded_rows(compared),
        _model(compared),
        _errors(compared),
        _intervals(compared),
        rows,
    ]
    return " ".join(part for part in parts if part)


def _statistic_name(analysis: Mapping[str, Any]) -> str:
    text = _estimand(analysis)
    if analysis.get("engine"):
        text += f", computed with the {plain(analysis['engine'])} engine"
    groups = analysis.get("groups") or []
    if len(groups) > 1:
        text += f", separately for {len(groups)} groups of judgments (by judge and prompt)"
    return text + "."


def _estimand(analysis: Mapping[str, Any]) -> str:
    verb = str(analysis.get("verb") or analysis.get("name") or "estimates")
    text = kind_of(verb).quantity or verb
    if analysis.get("formula"):
        text += f" of {code(analysis['formula'])}"
    by = analysis.get("by") or []
    names = [code(name) for name in (by if isinstance(by, list) else [by])]
    if _is_against_people(analysis):
        less = f", less this at the first level of {names[1]}" if names[1:] else ""
        return f"{text}: each model minus all people{less}"
    if analysis.get("against"):
        return f"{text}: each prompt of a model minus {code(analysis['against'])}"
    return f"{text}, by {', '.join(names)}" if names else text


def _excluded_rows(analysis: Mapping[str, Any]) -> str:
    """Which rows were excluded: those with some levels, swapped repeats."""
    text = ""
    if rules := [excluded(feature, levels) for feature, levels in (analysis.get("exclude") or {}).items()]:
        text = f"Rows were excluded where {' or '.join(rules)}."
    if repeats := analysis.get("repeats_left_out"):
        text += f" {whole(repeats)} rows of swapped repeats of earlier tasks were excluded."
    return text.strip()


def excluded(feature: object, levels: Sequence[object]) -> str:
    """An exclusion rule: which feature has which levels."""
    return f"{code(feature)} is {' or '.join(map(code, levels))}"


def _model(analysis: Mapping[str, Any]) -> str:
    """Family, weights and null value, as far as they are recorded."""
    if str(analysis.get("verb")) in COUNTS:
        return f"Rows are weighted by {code(analysis['weights'])}." if analysis.get("weights") else ""
    text = []
    if analysis.get("family") and str(analysis.get("verb")) in EFFECTS:
        is_linear = analysis["family"] == "gaussian"
        how = "linear (least squares)" if is_linear else f"of family {code(analysis['family'])}"
        text.append(f"The regression is {how}.")
    if "weights" in analysis:
        text.append(weighted_sentence(analysis))
    if analysis.get("h0") is not None:
        text.append(f"Tests are of the null value {number(float(analysis['h0']), 2)}.")
    return " ".join(text)


def weighted_sentence(settings: Mapping[str, Any]) -> str:
    """Which choices are weighted, in Markdown."""
    weights = settings.get("weights")
    if not weights:
        return "Rows are not weighted."
    effects = [
        float(group["design_effect"]) for group in settings.get("groups") or () if group.get("design_effect")
    ]
    single = settings.get("design_effect")
    effects += [float(single)] if single else []
    kinds = {str(group.get("kind")) for group in settings.get("groups") or ()}
    who = "People's choices are" if "model" in kinds or _is_against_people(settings) else "Rows are"
    cost = f" (design effect {number(max(effects), 2)} by Kish's formula)" if effects else ""
    contrast = ", those of models are not" if who != "Rows are" else ""
    return f"{who} weighted by {code(weights)}{cost}{contrast}."


def _errors(analysis: Mapping[str, Any]) -> str:
    if str(analysis.get("verb")) in {*COUNTS, "cj_anova"} or "id" not in analysis:
        return ""
    if _is_against_people(analysis):
        return _errors_against_people(analysis)
    kind = CONVENTIONS.get(str(analysis.get("vcov")), "")
    if not analysis.get("id"):
        return f"Standard errors treat every row as independent and allow unequal variances{kind}."
    clusters, crossed = analysis.get("n_clusters"), ", " in str(analysis["id"])
    counted = f" ({'at least ' if crossed else ''}{whole(clusters)} clusters)" if clusters else ""
    return f"Standard errors are clustered by {clustered_by(analysis)}{counted}{kind}."


def clustered_by(analysis: Mapping[str, Any]) -> str:
    """What standard errors are clustered by, with the kind of judges where kinds differ."""
    by_kind = _by_kind(analysis, "id")
    if by_kind:
        return " and ".join(f"{_columns(names)} for {who}" for who, names in by_kind.items())
    return " or ".join(_columns(part) for part in str(analysis["id"]).split(" or "))


def _by_kind(analysis: Mapping[str, Any], key: str) -> dict[str, str]:
    """What groups of judgments have under a key, for people and for models; empty where it is the same."""
    values: dict[str, set[str]] = {}
    for group in analysis.get("groups") or []:
        if group.get("kind") and group.get(key):
            values.setdefault(str(group["kind"]), set()).add(str(group[key]))
    entries = {WHO[kind]: names.pop() for kind, names in values.items() if kind in WHO and len(names) == 1}
    return entries if len(set(entries.values())) > 1 and len(entries) == len(values) else {}


def _errors_against_people(analysis: Mapping[str, Any]) -> str:
    """The clusters of a comparison with people: people by one column, models by another."""
    clusters = analysis.get("clusters") or {}
    if not clusters:
        return "Standard errors treat every row as independent and allow unequal variances."
    human, model = (" and ".join(map(code, clusters[kind])) for kind in ("human", "model"))
    text = f"Standard errors are clustered by {human} for people and by {model} for models"
    if any((group.get("pairs") or {}).get("shared") for group in analysis.get("groups") or []):
        text += "; pairs judged by both cross these clusters, and their covariance is included"
    return f"{text}."


def _columns(names: str) -> str:
    """Name the columns of one clustering: `text`, or the crossed columns `text` and `user`."""
    *most, last = map(code, names.split(", "))
    return f"the crossed columns {', '.join(most)} and {last}" if most else last


def _is_against_people(analysis: Mapping[str, Any]) -> bool:
    """Whether models are compared with people; prompts are compared with the first of them."""
    return analysis.get("against") == AGAINST_PEOPLE


def adjusted_over(kind: str, method: str) -> str:
    """By which method, and over which family of tests, the p values of a kind of result are adjusted."""
    return f"by {ADJUSTED_BY[method]} over {kind_of(kind).family}"


def _intervals(analysis: Mapping[str, Any], kind: str = "") -> str:
    if analysis.get("alpha") is None or str(analysis.get("verb")) in COUNTS:
        return ""
    text = f"Intervals cover {level_of(analysis)}"
    if analysis.get("draws"):
        method = str(analysis.get("interval") or "")
        method = "" if method in {"", "normal"} else f"{plain(method)} "
        seed = "" if analysis.get("seed") is None else f" (seed {analysis['seed']})"
        text += f"; the {method}bootstrap drew {_unit(analysis)} {whole(analysis['draws'])} times{seed}"
    if analysis.get("adjusted") and kind_of(kind).family:
        text += f"; p values are adjusted {adjusted_over(kind, str(analysis['adjusted']))}"
    return text + "."


def _unit(analysis: Mapping[str, Any]) -> str:
    unit = str(analysis.get("unit") or "row")
    if by_kind := _by_kind(analysis, "unit"):
        units = [f"{_unit({'unit': column})} for {who}" for who, column in by_kind.items()]
        return " and ".join(units)
    same = " or ".join(map(code, unit.split(" or ")))
    return RESAMPLED.get(unit, f"whole groups of rows with the same {same}")


def bounds_name(
    analysis: Mapping[str, Any], kind: str = "reported", frame: pd.DataFrame | None = None
) -> str:
    """Name an interval of an analysis in the manifest: ``95% normal interval``."""
    # `kind` is "normal", "bootstrap" or "reported", that which the study reports of the judges in `frame`.
    if analysis.get("alpha") is None:
        return ""
    kinds = {"normal": by_errors(analysis), "bootstrap": resampling(analysis)}
    reported = interval_kinds(analysis, frame)
    text = kinds.get(kind) or (next(iter(reported.values())) if len(reported) == 1 else "")
    return " ".join(filter(None, [level_of(analysis), text, "interval"]))


def bounds_names(analysis: Mapping[str, Any], frame: pd.DataFrame | None = None) -> str:
    """Name the intervals that a study reports, in the plural, by people and models where they differ."""
    return "" if analysis.get("alpha") is None else name_intervals(analysis, interval_kinds(analysis, frame))


def drawn_units(analysis: Mapping[str, Any]) -> str:
    """Draws of the bootstrap in parentheses: `` (500 draws of whole pairs)``."""
    return f" ({whole(analysis['draws'])} draws of {_unit(analysis)})" if analysis.get("draws") else ""


def _rows(analysis: Mapping[str, Any]) -> str:
    n_rows, n_used = analysis.get("n_rows"), analysis.get("n_used")
    if n_rows is None or n_used is None or _is_against_people(analysis):
        return ""
    if n_rows == n_used:
        return f"All {whole(n_rows)} rows were used."
    dropped = analysis.get("n_dropped")
    missing = n_rows - n_used if dropped is None else dropped
    return f"Of {whole(n_rows)} rows, {whole(n_used)} were used and {whole(missing)} were excluded."


def in_words(text: str, labels: Mapping[Any, str]) -> str:
    """Markdown with names of columns and levels as words: those of identifiers, and the labels of others."""

    def formula(match: re.Match[str]) -> str:
        outcome, _, terms = match[1].partition(" ~ ")
        named = [" and ".join(_word(name, labels) for name in term.split(":")) for term in terms.split(" + ")]
        return f"{OUTCOMES.get(outcome, outcome)} on {', '.join(named)}"

    text = re.sub(r"`(\w+ ~ [\w +:]+)`", formula, text)
    return re.sub(r"`(\w+)`", lambda match: _word(match[1], labels), text)


def _word(name: str, labels: Mapping[Any, str]) -> str:
    """A column or a level in words."""
    levels = {level: text for key, text in labels.items() if isinstance(key, tuple) for level in key[1:]}
    return plain(IDENTIFIERS.get(name) or labels.get(name) or levels.get(name) or name.replace("_", " "))


def note_list(notes: Sequence[object] | None) -> str:
    """Notes as a Markdown list; empty without notes."""
    return "\n".join(f"- {plain(note)}" for note in notes or [])


def code(text: object) -> str:
    """Set text from outside as inline code: backticks would end it and are dropped."""
    # A word joiner parts doubled braces, since Quarto looks for shortcodes in code, too.
    return f"`{' '.join(str(text).replace('`', '').replace('{{', DOUBLE_BRACE).split())}`"


def plain(text: object) -> str:
    r"""Escape text from outside so that it is plain text in Markdown and HTML; addresses become no links."""
    escaped = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for character in "\\`*_{}[]#@$^~|\"'":
        escaped = escaped.replace(character, f"\\{character}")
    return re.sub(r"(?<=[A-Za-z]):(?=\S)", "&#58;", " ".join(escaped.split()))


def unmarked(text: str) -> str:
    """Markdown of a caption or sentence as plain text."""
    return " ".join(html.unescape(_ESCAPED.sub(r"\1", _MARKED.sub("", text))).split())
