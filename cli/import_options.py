"""Options of `conjury import`, by what they are about."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

COMPLETIONS = "Raw completions of models, and gold labels"
CONJOINT = "Conjoint exports of Qualtrics"
RATINGS = "Ratings: what the columns are"
VALUES = "Ratings: what the cells are"
MARKS = "Ratings: what is marked as left out"
PEOPLE = "People"


@dataclass(frozen=True)
class CompletionOptions:
    """Whose completions or gold labels a table holds, and how they are read."""

    study: Annotated[
        str | None,
        typer.Option(
            help="The table holds raw completions or, with --gold, gold labels of this study.",
            rich_help_panel=COMPLETIONS,
        ),
    ] = None
    parser: Annotated[
        str | None,
        typer.Option(
            help="Rule that reads completions: lenient (the default), strict, published, published_v1 or "
            "published_first.",
            rich_help_panel=COMPLETIONS,
        ),
    ] = None
    gold: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of gold labels, as joke_type=COLUMN or line=COLUMN; can be repeated.",
            rich_help_panel=COMPLETIONS,
        ),
    ] = None
    lines: Annotated[
        Path | None,
        typer.Option(
            help="Table with one row a line (item_id, line or line_no), for --gold line=COLUMN.",
            rich_help_panel=COMPLETIONS,
        ),
    ] = None

    def typed(self) -> list[str]:
        """Names of the options that were typed, the study last."""
        return [name for name in ("parser", "gold", "lines", "study") if getattr(self, name)]


@dataclass(frozen=True)
class ConjointOptions:
    """What the columns of a conjoint are, and what is written beside its choices."""

    outcomes: Annotated[
        list[str] | None,
        typer.Option(
            help="Outcome of each task: choice1,choice2,... Further ones as NAME=COLUMN,COLUMN,...",
            rich_help_panel=CONJOINT,
        ),
    ] = None
    repeated: Annotated[
        str | None,
        typer.Option(
            help="Outcome of the task that was shown again, as NAME or NAME=TASK.", rich_help_panel=CONJOINT
        ),
    ] = None
    flipped: Annotated[
        bool, typer.Option(help="Whether that task had its profiles swapped.", rich_help_panel=CONJOINT)
    ] = True
    first: Annotated[
        str | None, typer.Option(help="Answer that stands for the first profile.", rich_help_panel=CONJOINT)
    ] = None
    second: Annotated[
        str | None, typer.Option(help="Answer that stands for the second profile.", rich_help_panel=CONJOINT)
    ] = None
    labels: Annotated[
        Path | None,
        typer.Option(
            help="CSV with attribute and level, in order, the reference level first.",
            rich_help_panel=CONJOINT,
        ),
    ] = None
    prefix: Annotated[
        str | None,
        typer.Option(help="First part of the conjoint columns, such as K.", rich_help_panel=CONJOINT),
    ] = None
    draft_study: Annotated[
        Path | None,
        typer.Option(
            help="Write a first study file with the attributes and levels found.", rich_help_panel=CONJOINT
        ),
    ] = None
    id_column: Annotated[
        str, typer.Option("--id", help="Column that identifies respondents.", rich_help_panel=CONJOINT)
    ] = "ResponseId"
    covariates: Annotated[
        str | None,
        typer.Option(
            help="Columns of people to keep: age,party,... By default all of a conjoint, none of ratings.",
            rich_help_panel=PEOPLE,
        ),
    ] = None


@dataclass(frozen=True)
class RatingOptions:
    """What the columns and cells of ratings are, who gave them, and which are marked."""

    ratings: Annotated[
        list[str] | None,
        typer.Option(
            help="Names of rating columns with {item}, {dimension}, {place}, {sample} or {judge}, such as "
            "'Q{item}_{dimension}', or 'funniness={item}_Q3'; can be repeated.",
            rich_help_panel=RATINGS,
        ),
    ] = None
    value: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of ratings in a table with one row a rating, as COLUMN or DIMENSION=COLUMN; can be "
            "repeated.",
            rich_help_panel=RATINGS,
        ),
    ] = None
    dimension: Annotated[
        str | None, typer.Option(help="Column that names the dimension of a row.", rich_help_panel=RATINGS)
    ] = None
    item: Annotated[
        str | None,
        typer.Option(
            help="Column (or field of a task) that names the item; with {place} where there is one a place.",
            rich_help_panel=RATINGS,
        ),
    ] = None
    judge: Annotated[
        str | None,
        typer.Option(
            help="Column that tells who rated; for inspect grader, scorer or model.", rich_help_panel=RATINGS
        ),
    ] = None
    judge_kind: Annotated[
        str | None,
        typer.Option(
            help="Column that says whether a judge is a human or a model; for csv.", rich_help_panel=RATINGS
        ),
    ] = None
    models: Annotated[
        list[str] | None,
        typer.Option(
            help="Judge that is a model, all others are people; for csv; can be repeated.",
            rich_help_panel=RATINGS,
        ),
    ] = None
    people: Annotated[
        bool, typer.Option("--people", help="All judges are people; for csv.", rich_help_panel=RATINGS)
    ] = False
    sample: Annotated[
        str | None,
        typer.Option(help="Column that numbers repeated ratings of an item.", rich_help_panel=RATINGS),
    ] = None
    dimensions: Annotated[
        str | None,
        typer.Option(
            help="Dimensions to read, as wit,clarity, or as 1=wit,2=clarity to name them.",
            rich_help_panel=RATINGS,
        ),
    ] = None
    items: Annotated[
        str | None,
        typer.Option(
            help="Ids of items as 1=joke_a,2=joke_b, or a CSV with key and item_id; with --study the table "
            "of the items that were judged.",
            rich_help_panel=RATINGS,
        ),
    ] = None
    all_shown: Annotated[
        bool,
        typer.Option(
            "--all-shown",
            help="Everybody saw every item: one without a rating is missing, not unseen.",
            rich_help_panel=RATINGS,
        ),
    ] = False
    duration: Annotated[
        str | None, typer.Option(help="Column with the seconds it took.", rich_help_panel=RATINGS)
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(help="Of the file, such as cp932; by default found out.", rich_help_panel=RATINGS),
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(help="Between cells; by default found out.", rich_help_panel=RATINGS)
    ] = None
    timezone: Annotated[
        str | None, typer.Option(help="Of the times in the file: Asia/Tokyo.", rich_help_panel=RATINGS)
    ] = None
    anchors: Annotated[
        str | None,
        typer.Option(
            help="Numbers of words, as 'Not at all=0,...,Very=4', or a CSV with label, value and perhaps "
            "dimension.",
            rich_help_panel=VALUES,
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(help="Cell that counts as no answer; can be repeated.", rich_help_panel=VALUES),
    ] = None
    check: Annotated[
        list[str] | None,
        typer.Option(
            help="Attention check as COLUMN=ANSWER or COLUMN=ANSWER|ANSWER; can be repeated.",
            rich_help_panel=MARKS,
        ),
    ] = None
    check_item: Annotated[
        list[str] | None,
        typer.Option(
            help="Item with a known rating, ITEM=RATING: whoever rated otherwise is marked; can be repeated.",
            rich_help_panel=MARKS,
        ),
    ] = None
    min_seconds: Annotated[
        float | None, typer.Option(help="Whoever took less is marked.", rich_help_panel=MARKS)
    ] = None
    ignore: Annotated[
        str | None,
        typer.Option(
            help="Reasons of the program that do not count: unfinished,preview,...", rich_help_panel=MARKS
        ),
    ] = None
    again: Annotated[
        str,
        typer.Option(
            help="A second rating of an item by the same judge: refuse, sample (number it) or exclude.",
            rich_help_panel=MARKS,
        ),
    ] = "refuse"
    panel: Annotated[
        str | None, typer.Option(help="Column with the group of each person.", rich_help_panel=PEOPLE)
    ] = None
    prolific: Annotated[
        Path | None,
        typer.Option(help="Demographic export of Prolific to join to people.", rich_help_panel=PEOPLE),
    ] = None
    prolific_id: Annotated[
        str | None,
        typer.Option(help="Column with Prolific's ids; by default who rated.", rich_help_panel=PEOPLE),
    ] = None
    judgments: Annotated[
        Path | None,
        typer.Option(help="Judgments to which --format prolific is joined.", rich_help_panel=PEOPLE),
    ] = None
    anonymise: Annotated[
        bool,
        typer.Option("--anonymise", help="Replace ids of people by r001, r002, ...", rich_help_panel=PEOPLE),
    ] = False

    def typed(self) -> list[str]:
        """Names of the options that were typed."""
        return [
            field.name
            for field in fields(self)
            if getattr(self, field.name) not in (None, False, [], field.default)
        ]
