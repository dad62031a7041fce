"""Choices and judgments from files of other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from conjury.inference.errors import InputError

from .import_options import ConjointOptions, RatingOptions

if TYPE_CHECKING:
    import pandas as pd

    from conjury.inference.humans import Imported, Layout, Rules

console = Console(highlight=False, markup=False, soft_wrap=True)

FORMATS = ("qualtrics", "mturk", "lancers", "csv", "label-studio", "inspect", "prolific")
ANY = {"dimensions", "items", "judge", "anchors", "missing", "check_item", "again", "anonymise"}
PERSONS = {"item", "min_seconds", "prolific"}
SHEETS = {
    *("ratings", "sample", "all_shown", "duration", "encoding", "delimiter", "timezone", "check", "ignore"),
    *("panel", "prolific_id"),
}
READ = {  # options of ratings that each format reads
    "qualtrics": ANY | PERSONS | SHEETS,
    **dict.fromkeys(("mturk", "lancers"), ANY | PERSONS | SHEETS | {"value", "dimension"}),
    "csv": ANY | PERSONS | SHEETS | {"value", "dimension", "judge_kind", "models", "people"},
    "label-studio": (ANY | PERSONS | {"encoding"}),
    "inspect": ANY,
    "prolific": {"judgments", "prolific_id", "anonymise"},
}


def import_export(
    export: Path,
    form: str,
    out: Path,
    conjoint: ConjointOptions,
    given: RatingOptions,
) -> None:
    """Read an export of ratings where options speak of ratings, else of a conjoint."""
    if form not in FORMATS:
        raise InputError(f"--format {form!r} is unknown; use {', '.join(FORMATS)}.")
    if form == "qualtrics" and not given.ratings and not given.value:
        if given.typed():
            raise InputError(
                f"{_option(given.typed()[0])} is about ratings, and nothing tells which columns hold them; "
                "add --ratings, such as --ratings 'Q{item}_{dimension}'."
            )
        import_choices(export, out, conjoint)
        return
    for name in given.typed():
        if name not in READ[form]:
            able = ", ".join(known for known in FORMATS if name in READ[known])
            raise InputError(f"{_option(name)} is not for --format {form} (it is for {able}); leave it out.")
    if given.prolific_id is not None and given.prolific is None and form != "prolific":
        raise InputError("--prolific-id names the ids for --prolific; add --prolific FILE, or leave it out.")
    _refuse_conjoint(conjoint, form)
    import_judgments(export, form, out, conjoint, given)


def import_choices(export: Path, out: Path, conjoint: ConjointOptions) -> None:
    """Read an export, write its choices, say what was found, and draft a study file on request."""
    from conjury.inference.humans import draft_study, read_qualtrics
    from conjury.inference.humans.attributes import make_ids
    from conjury.inference.tables.files import write_table

    draft = conjoint.draft_study
    if draft is not None and draft.exists():
        raise InputError(f"{draft} exists; a draft would overwrite it, so name another file.")
    survey = read_qualtrics(
        export,
        outcomes=_outcomes(conjoint.outcomes),
        repeated=conjoint.repeated,
        flipped=conjoint.flipped,
        labels=conjoint.labels,
        first=conjoint.first,
        second=conjoint.second,
        covariates=None if conjoint.covariates is None else conjoint.covariates.split(","),
        prefix=conjoint.prefix,
        id=conjoint.id_column,
    )
    write_table(survey.choices, out)
    console.print(
        f"{len(survey.choices):,} rows of choices in {out}: {survey.respondents:,} respondents, "
        f"{survey.tasks} tasks, {survey.labels['attribute'].nunique()} attributes"
    )
    for note in survey.notes:
        console.print(f"  {note}")
    if draft is not None:
        name = make_ids([export.name.partition(".")[0]], "study")[0]
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(draft_study(survey, name, export.name), encoding="utf-8")
        console.print(f"A draft of the study in {draft}; go on with `conjury fit {draft} --data {out}`.")


def import_judgments(
    export: Path, form: str, out: Path, conjoint: ConjointOptions, given: RatingOptions
) -> None:
    """Read an export of ratings, join what Prolific tells, write judgments, and say what was found."""
    from conjury.inference.humans import anonymise, join_prolific
    from conjury.inference.tables.files import write_table

    if form == "prolific":
        imported = join_prolific(_earlier(given), export, given.prolific_id)
    else:
        imported = _read(export, form, _layout(conjoint, given), _rules(given), conjoint.id_column)
        if given.prolific is not None:
            imported = join_prolific(imported, given.prolific)
    if given.anonymise:
        imported = anonymise(imported)
    write_table(imported.judgments, out)
    console.print(_summary(imported.judgments, out))
    for note in imported.notes:
        console.print(f"  {note}")


def _read(export: Path, form: str, layout: Layout, rules: Rules, id: str) -> Imported:
    from conjury.inference.humans import read_crowd, read_inspect, read_label_studio, read_qualtrics_ratings

    if form == "qualtrics":
        return read_qualtrics_ratings(export, layout, rules, id=id)
    if form == "label-studio":
        return read_label_studio(export, layout, rules)
    if form == "inspect":
        return read_inspect(export, layout, rules)
    return read_crowd(export, form, layout, rules)


def _layout(conjoint: ConjointOptions, given: RatingOptions) -> Layout:
    from conjury.inference.humans import Layout
    from conjury.inference.humans.layout import read_names

    return Layout(
        ratings=tuple(given.ratings or ()),
        value=_values(given.value),
        dimension=given.dimension,
        item=given.item,
        judge=given.judge,
        sample=given.sample,
        panel=given.panel,
        duration=given.duration,
        person=given.prolific_id if given.prolific is not None else None,
        dimensions=read_names(given.dimensions, "--dimensions"),
        items=read_names(given.items, "--items"),
        covariates=_listed(conjoint.covariates),
        kind=given.judge_kind,
        models=tuple(given.models or ()),
        people=given.people,
        all_shown=given.all_shown,
        encoding=given.encoding,
        delimiter={"tab": "\t", "\\t": "\t"}.get(given.delimiter or "", given.delimiter),
        timezone=given.timezone,
    )


def _rules(given: RatingOptions) -> Rules:
    from conjury.inference.humans import Rules
    from conjury.inference.humans.checks import read_checks
    from conjury.inference.humans.scales import read_scale

    return Rules(
        scale=read_scale(given.anchors, tuple(given.missing or ())),
        checks=read_checks(given.check or ()),
        check_items=read_checks(given.check_item or (), "--check-item"),
        min_seconds=given.min_seconds,
        again=given.again,
        ignore=_listed(given.ignore),
    )


def _earlier(given: RatingOptions) -> Imported:
    from conjury.inference.humans import Imported
    from conjury.inference.tables.files import read_table

    if given.judgments is None:
        raise InputError(
            "--format prolific joins demographics to judgments; name them with --judgments, or import the "
            "ratings with --prolific."
        )
    return Imported(read_table(given.judgments, "judgments"), ())


def _refuse_conjoint(conjoint: ConjointOptions, form: str) -> None:
    given = {
        "--outcomes": conjoint.outcomes,
        "--repeated": conjoint.repeated,
        "--no-flipped": not conjoint.flipped,
        "--first": conjoint.first,
        "--second": conjoint.second,
        "--prefix": conjoint.prefix,
        "--labels": conjoint.labels,
        "--draft-study": conjoint.draft_study,
        "--id": form != "qualtrics" and conjoint.id_column != ConjointOptions.id_column,
        "--covariates": form in ("prolific", "inspect") and conjoint.covariates,
    }
    for option, value in given.items():
        if value:
            raise InputError(f"{option} is not for an import of ratings from {form}; leave it out.")


def _values(given: Sequence[str] | None) -> dict[str, str]:
    """Read ``rating`` and ``funniness=rating`` as columns by dimension."""
    named: dict[str, str] = {}
    for text in given or ():
        name, equals, column = text.partition("=")
        name, column = (name, column) if equals else (text, text)
        if not name or not column or name in named:
            raise InputError(f"--value {text!r} cannot be used; write each dimension once, as NAME=COLUMN.")
        named[name] = column
    return named


def _listed(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _summary(judgments: pd.DataFrame, out: Path) -> str:
    kinds = judgments.groupby("judge_kind", observed=True)["judge_id"].nunique()
    words = {"human": ("person", "people"), "model": ("model", "models")}
    judges = " and ".join(f"{count:,} {words[str(kind)][count > 1]}" for kind, count in kinds.items())
    dimensions = ", ".join(judgments["dimension"].drop_duplicates())
    used = int(((judgments["status"] == "ok") & judgments["excluded"].isna()).sum())
    return (
        f"{len(judgments):,} judgments in {out}: {judges}, {judgments['item_id'].nunique():,} items, "
        f"{dimensions}; {used:,} to be used"
    )


def _outcomes(given: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Read ``choice1,choice2`` and ``trusted=trust1,trust2`` as columns by the name of the result."""
    named: dict[str, list[str]] = {}
    for text in given or ():
        name, equals, columns = text.rpartition("=")
        name = name if equals else "chosen"
        if name in named or not columns:
            raise InputError(
                f"--outcomes {text!r} cannot be used; write each outcome once as NAME=COLUMN,COLUMN."
            )
        named[name] = columns.split(",")
    return named or None
