"""What limits a finding, from all results that say so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ....figures.benchmark.score_figures import policy_of, rows_of_policy
from ....figures.note_labels import note_text
from ....frames.kinds import claims_of
from ....frames.notes import Note
from ....frames.passport import is_coverage_note
from ....frames.sentences import together
from ....frames.vocabulary import BASELINE
from ....numerics.bootstrap import FIXED_PEOPLE
from ....pipeline.manifest import runs_of
from ....pipeline.recovery import coverage_groups
from ....raters.descriptive.correlations import ATTENUATED
from ....raters.descriptive.dimension_correlations import UNLIKE
from ....raters.reading import CONSTANT
from ...method_sentences import plain
from ...report_data import ReportData
from ...sentences.missing_sentences import (
    LackingAnswers,
    MeanReliability,
    UnansweredCounts,
    attenuated_in_words,
    count_unanswered,
    ends_in_words,
    find_end_shares,
    find_low_coverage,
    find_mean_reliability,
    lacking_in_words,
    rarely_in_words,
)
from ...table_format import whole
from ..conjoint.bounds_exhibit import answers_sentence, turning_sentences
from ..diagnosed.diagnostic_exhibits import current_verdicts
from ..exhibit_registry import EXHIBITS

if TYPE_CHECKING:
    from ....pipeline.manifest import RecordedResult

FEW_CLUSTERS = 50
MOST_FAILED = 6  # checks that are named
VERDICTS = ("error", "warning")
ABOUT_RATERS = {
    FIXED_PEOPLE: (
        "Intervals of ratings are about further items, rated by the same people; for other people they are "
        "too short."
    ),
    UNLIKE: (
        "Correlations between dimensions are of means of several people and of single ratings of a model, "
        "whose noise makes them smaller: sizes of people and of models do not compare."
    ),
}


def limiting_sentences(report: ReportData, records: Sequence[RecordedResult]) -> list[str]:
    """What limits a finding that rests on some results: each sentence from a record, where it holds."""
    claims = [claims_of(record.kind, record.settings) for record in records]
    texts = [
        *_missing(report),
        *_coverage(report, records),
        *_few_clusters(report),
        *_raters(report),
        *_failed_checks(report),
        *(spec.limit(report) for name in EXHIBITS if (spec := EXHIBITS[name]).limit is not None),
        *dict.fromkeys(claim.does_not_say for claim in claims if claim is not None),
    ]
    return list(filter(None, texts))


def _missing(report: ReportData) -> list[str]:
    """Which conclusions missing answers could change, or how many are missing where these are many."""
    for record in report.of_kind("bounds")[:1]:
        result = report.read(record)
        where = " (@sec-unanswered)"
        return [
            f"{answers_sentence(result, report.names)} {turning_sentences(result, report)}".strip() + where
        ]
    for record in report.of_kind("scores")[:1]:
        frame = report.read(record).frame
        policy = policy_of(frame, None)
        is_rate = (frame["metric"] == "missing_rate") & (frame["judge_kind"] != BASELINE)
        rates = rows_of_policy(frame[is_rate], policy)
        without = (rates["estimate"] * rates["n_answers"]).sum() if "n_answers" in rates else 0
        counts = UnansweredCounts(round(without), int(rates["n_answers"].sum()) if without else 0)
        return [lacking_in_words(LackingAnswers(counts, policy == "wrong"))]
    tables = [report.table("answers")] if report.has("answers") else []
    return [lacking_in_words(LackingAnswers(count_unanswered(table), wrong=False)) for table in tables]


def _coverage(report: ReportData, records: Iterable[RecordedResult]) -> list[str]:
    """Intervals that are too short: in simulated tables like these, or by the true values of these data."""
    notes = [note for record in records for note in record.notes if is_coverage_note(note)]
    texts = list(dict.fromkeys(note_text(note, report.labels) for note in notes))[:1]
    if report.has("recovery"):
        titles = {record.name: plain(record.title).rstrip(".") for record in report.results}
        level = 1 - max((float(record.settings.get("alpha") or 0.05) for record in records), default=0.05)
        groups = coverage_groups(report.table("recovery"), titles, report.names)
        texts.append(rarely_in_words(find_low_coverage(groups, level)))
    return texts


def _raters(report: ReportData) -> list[str]:
    """That people are treated as fixed, that their means are noisy, and who rates at an end of the scale."""
    templates = {note.template for record in report.of_run for note in record.notes}
    texts = [sentence_ for note, sentence_ in ABOUT_RATERS.items() if note in templates]
    if constant := together(_constant_raters(report)):
        what = "gave all items the same rating on at least one scale, which lowers agreement"
        texts.append(f"{constant} {what}; a person who does so makes replacement tests easier to pass.")
    if ATTENUATED in templates:
        texts.append(attenuated_in_words(_reliability_of_people(report)))
    for record in report.of_kind("distributions")[:1]:
        texts.append(ends_in_words(find_end_shares(report.read(record).frame, report.names.of)))
    return texts


def _constant_raters(report: ReportData) -> list[str]:
    """Raters with the same rating for every item, as notes name them."""
    notes = [note for record in report.of_run for note in record.notes]
    notes += [note.values["note"] for note in notes if isinstance(note.values.get("note"), Note)]
    ids = dict.fromkeys(name for note in notes if note.template == CONSTANT for name in note.values["judges"])
    return [plain(report.label("judges", name)) for name in ids]


def _reliability_of_people(report: ReportData) -> MeanReliability:
    """How reliable people's mean rating is on the dimension that correlations are first about."""
    for correlations in report.of_kind("correlations")[:1]:
        for record in report.of_kind("agreement")[:1]:
            main = str(correlations.settings.get("main"))
            return find_mean_reliability(report.read(record).frame, main, report.names.of("dimension", main))
    return MeanReliability()


def _few_clusters(report: ReportData) -> list[str]:
    """Judges whose intervals rest on few clusters."""
    smallest: dict[str, int] = {}
    for record in report.of_run:
        for group in record.groups:
            if 0 < int(group.get("n_clusters") or 0) < FEW_CLUSTERS:
                name = report.label("judges", group["judge"])
                smallest[name] = min(smallest.get(name, FEW_CLUSTERS), int(group["n_clusters"]))
    named = [f"{plain(name)} {whole(n)}" for name, n in smallest.items()]
    text = f"Intervals rest on few clusters of answers: {together(named)}. They tend to be too short."
    return [text] if named else []


def _failed_checks(report: ReportData) -> list[str]:
    """Checks with an error or a warning, by name, or that none were made."""
    runs = runs_of(report.manifest)
    diagnoses = [record for record in report.results if record.kind in ("diagnosis", "battery")]
    for record in diagnoses[-1:]:
        frame = current_verdicts(report.read(record), report)
        failed = frame[frame["verdict"].isin(VERDICTS)]
        titles = [plain(text) for text in failed["title"].astype(str)]
        if titles:
            return [f"Checks of the data with an error or a warning: {together(titles, MOST_FAILED)}."]
        return []
    is_checked = {"diagnosed", "checked"} & set(runs)
    kinds = "copies" if _constant_raters(report) else "copies, constant answers"
    return [] if is_checked else [f"Answers were not checked for {kinds} or change over time."]
