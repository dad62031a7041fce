"""Formats of other programs: how each is recognised, read and what it yields, without imports that take long.

A new format is a function of `record_shapes.py` that recognises it, a reader, and a row here; all commands
follow from the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ...entry_registry import Registry
from ...errors import InputError, did_you_mean, listed
from ...tables.reading.containers import FORMATS as KINDS_OF_FILES
from . import record_shapes as shapes

CHOICES, RATINGS, JOINED, ANSWERS = "choices", "ratings", "demographics", "answers"
ROOMS = {
    ANSWERS: "conjury.inference.readers.judged"
}  # where readers are; all others are of the wing of importers


@dataclass(frozen=True)
class Format:
    """One kind of export: what ``--format`` calls it, what the program is, and what it contains."""

    # `reader` is `module:function`: `reader(path, **options)` for choices, `reader(path, layout=, rules=,
    # **fixed)` for ratings, `reader(imported, path, column)` for demographics, all of `humans/`;
    # `reader(records, source)` of `judged/` for answers, which have a column of the judge next to one of
    # people. `detects` sees the first record, or the columns of a table. What `needs` options of `import` is
    # recognised, and other commands say so.

    name: str
    help: str
    content: str
    reader: str
    options: frozenset[str]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    detects: Callable[[Mapping[str, Any]], bool] | None = None
    words: str = ""  # such as "tasks of Label Studio"
    needs: str = ""

    @property
    def place(self) -> str:
        """Where its reader is."""
        return f"{ROOMS.get(self.content, 'conjury.inference.humans')}.{self.reader}"

    def load(self) -> Callable[..., Any]:
        """The reader, imported on demand."""
        return READERS.find(self.reader)


CELLS = frozenset(("missing", "levels", "relabel", "scale", "strict"))  # options about cells of any export
TABLE = CELLS | {"where", "exclude", "encoding", "delimiter", "decimal", "sheet", "header_row"}
ANY = CELLS | {"dimensions", "items", "judge", "anchors", "check_item", "again", "anonymise"}
PEOPLE = ANY | {"item", "min_seconds", "prolific", "covariates"}
WIDE = (PEOPLE | TABLE) | {
    *("ratings", "sample", "all_shown", "duration", "timezone", "check", "ignore", "panel", "prolific_id"),
}
LONG = WIDE | {"value", "dimension"}
CONJOINT = frozenset(
    (
        *("outcomes", "repeated", "flipped", "first", "second", "labels", "prefix", "draft_study"),
        *("id", "covariates", "check", "min_seconds", "ignore", "duration", "anonymise"),
        *(TABLE - {"levels", "relabel", "scale"}),
    )
)
JUDGED = CELLS | {"judge"}  # of files with a column of the judge; its column is named
RATED = "--ratings 'Q{item}_{dimension}'"
FORMATS = (
    Format("qualtrics", "surveys", CHOICES, "conjoint_export:read_qualtrics", CONJOINT),
    Format(
        *("qualtrics", "surveys", RATINGS, "qualtrics:read_qualtrics_ratings", WIDE | {"value", "id"}),
        detects=shapes.is_qualtrics,
        words="responses of Qualtrics",
        needs=RATED,
    ),
    Format(
        *("mturk", "crowd work", RATINGS, "crowd:read_crowd", LONG, {"platform": "mturk"}),
        detects=shapes.is_mturk,
        words="assignments of MTurk",
    ),
    Format("lancers", "crowd work", RATINGS, "crowd:read_crowd", LONG, {"platform": "lancers"}),
    Format(
        *("surveycto", "surveys", RATINGS, "crowd:read_crowd", LONG, {"platform": "surveycto"}),
        detects=shapes.is_surveycto,
        words="submissions of SurveyCTO",
        needs=RATED,
    ),
    Format(
        *("csv", "any table", RATINGS, "crowd:read_crowd"),
        LONG | {"judge_kind", "models", "people"},
        {"platform": "csv"},
    ),
    Format(
        *("label-studio", "annotations", RATINGS, "label_studio:read_label_studio", PEOPLE | {"encoding"}),
        detects=shapes.is_label_studio,
        words="annotations of Label Studio",
    ),
    Format(
        *("argilla", "annotations", RATINGS, "annotation_records:read_argilla", ANY | {"item", "ignore"}),
        detects=shapes.is_argilla,
        words="records of Argilla",
    ),
    Format(
        *("potato", "annotations", RATINGS, "records.annotator_files:read_potato", ANY | {"item"}),
        detects=shapes.is_potato,
        words="annotated instances of Potato",
    ),
    Format(
        *("doccano", "annotations", RATINGS, "records.annotator_files:read_doccano", ANY | {"item"}),
        detects=shapes.is_doccano,
        words="examples of Doccano",
    ),
    Format(
        *("jspsych", "experiments in the browser", RATINGS, "jspsych:read_jspsych"),
        LONG - {"timezone", "prolific"},
        detects=shapes.is_jspsych,
        words="trials of jsPsych",
        needs="--ratings 'response.{dimension}' --item item_id",
    ),
    Format("inspect", "evaluation logs", RATINGS, "inspect_logs:read_inspect", ANY, words="a log of Inspect"),
    Format(
        *("mt-bench", "votes and judgments on pairs", RATINGS, "records.pair_votes:read_mt_bench", ANY),
        detects=shapes.is_mt_bench,
        words="votes or judgments of MT-Bench",
    ),
    Format(
        *("alpaca-eval", "preferences between pairs", RATINGS, "records.pair_votes:read_alpaca_eval", ANY),
        detects=shapes.is_alpaca_eval,
        words="annotations of AlpacaEval",
    ),
    Format(
        *("promptfoo", "evaluation logs", ANSWERS, "promptfoo:table_of", JUDGED),
        detects=shapes.is_promptfoo,
        words="output of promptfoo",
    ),
    Format(
        *("lm-eval", "evaluation logs", ANSWERS, "lm_eval:table_of", JUDGED),
        detects=shapes.is_lm_eval,
        words="samples of lm-eval",
    ),
    Format(
        *("deepeval", "evaluation logs", ANSWERS, "deepeval:table_of", JUDGED),
        detects=shapes.is_deepeval,
        words="test cases of deepeval",
    ),
    Format(
        *("reward-bench", "choices between pairs", ANSWERS, "pair_tables:reward_bench", JUDGED),
        detects=shapes.is_reward_bench,
        words="results of RewardBench",
    ),
    Format(
        *("llmbar", "verdicts on pairs in both orders", ANSWERS, "pair_tables:llmbar", JUDGED),
        detects=shapes.is_llmbar,
        words="results of LLMBar",
    ),
    Format(
        *("arena", "battles of Chatbot Arena", ANSWERS, "pair_tables:battles", JUDGED),
        detects=shapes.is_arena,
        words="battles of Chatbot Arena",
    ),
    Format(
        *("prolific", "demographics of people", JOINED, "crowd:join_prolific"),
        frozenset(("judgments", "prolific_id", "anonymise")),
        detects=shapes.is_prolific,
        words="submissions of Prolific",
        needs="--judgments FILE",
    ),
)
READERS: Registry[Callable[..., Any]] = Registry(
    "conjury.readers",
    places={row.reader: row.place for row in FORMATS}
    | {"exclusion_rules:Rules": "conjury.inference.humans.exclusion_rules:Rules"},
)
PROGRAMS = {row.name: row.help for row in FORMATS}


def find_format(name: str, with_ratings: bool) -> Format:
    """The row of a format; where a program exports both, that of ratings or of choices."""
    rows = [row for row in FORMATS if row.name == name]
    if not rows:
        refuse_unknown(name)
    return next((row for row in rows if (row.content == RATINGS) == with_ratings), rows[0])


def readers_of(option: str) -> list[str]:
    """The formats that read an option, as ``ratings from csv``."""
    return [f"{row.content} from {row.name}" for row in FORMATS if option in row.options]


def refuse_unknown(name: str) -> NoReturn:
    """Refuse a name of `--format` that is neither that of a program nor of a kind of file."""
    names = [*PROGRAMS, *(kind for kind in KINDS_OF_FILES if kind not in PROGRAMS)]
    raise InputError(
        f"--format '{name}' is unknown{did_you_mean(name, names)}; use {listed(names, len(names))}."
    )


def format_of(record: Mapping[str, Any]) -> Format | None:
    """The format that wrote a record, or has such columns; None where no program is recognised."""
    return next((row for row in FORMATS if row.detects is not None and row.detects(record)), None)
