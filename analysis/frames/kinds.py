"""What is said of each kind of result, wherever it is shown: one record a kind, a row of `data/kinds`.

What the provenance of labels takes from it is a row of `data/claims`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .vocabulary import HUMAN


@dataclass(frozen=True)
class Claims:
    """What a result says, and what does not follow from it, in sentences."""

    says: str  # what may be concluded
    does_not_say: str  # what is often concluded, and does not follow
    must_not: tuple[str, ...] = ()  # sentences that must not be written of a result in its state

    def __str__(self) -> str:
        never = [f'Do not write: "{text}"' for text in self.must_not]
        return " ".join([self.says, self.does_not_say, *never])


@dataclass(frozen=True)
class FurtherFigure:
    """Texts of a further figure of a result."""

    lead: str
    figure: str  # its caption


@dataclass(frozen=True)
class Kind:
    """A kind of result: all texts that depend on nothing else, and what is known of its intervals."""

    # In texts, `{title}` is the title of the result with a full stop and `{name}` without one, `{level}` the
    # level of its intervals, `{drawn}` what its bootstrap resampled, `{clustered}` the clusters of its
    # intervals, `{adjusted}` how its p values are adjusted. `{figure}` and `{table has|have}` become
    # references; an exhibit may fill further ones.
    name: str
    claims: Claims | None = None  # None for descriptions of data and for checks
    about_units: bool = False  # whether claims name the units that intervals are about
    resamples: bool = False  # whether its draws resample data; others are of posteriors or of statistics
    references: tuple[str, ...] = ()  # keys of the bibliography
    passport: str = ""  # methods of the passport that measure it: those whose label begins so
    unmeasured: str = ""  # why the passport has none
    quantity: str = ""  # what an analysis of a formula estimates
    method: str = ""  # how it is computed
    family: str = ""  # the tests over which its p values are adjusted together
    lead: str = ""  # what its figure and tables are
    figure: str = ""  # caption of the figure; none without it
    table: str = ""  # caption of the tables; without it the title
    further: Mapping[str, FurtherFigure] = field(default_factory=dict)  # by the part that is drawn
    once: tuple[str, ...] = ()  # parts of tables and figures that only the first result of a kind shows
    by_group: bool = False  # whether each judge, prompt and variant has an exhibit


@cache
def kinds() -> Mapping[str, Kind]:
    """All kinds that have a row, by name."""
    from conjury.inference.tables.files import KINDS

    rows = {
        name: row or {} for path in sorted(KINDS.glob("*.yaml")) for name, row in _read_yaml(path).items()
    }
    return {name: _kind(name, **row) for name, row in rows.items()}


def _kind(name: str, **row: Any) -> Kind:
    """The record of a row."""
    row |= {key: tuple(row[key]) for key in ("references", "once") if key in row}
    further = {part: FurtherFigure(**texts) for part, texts in row.pop("further", {}).items()}
    claims = Claims(**row.pop("claims")) if "claims" in row else None
    return Kind(name, claims=claims, further=further, **row)


def kind_of(name: str) -> Kind:
    """The record of a kind; an empty one where it has no row."""
    return kinds().get(name) or Kind(name)


FURTHER_UNITS = {
    "pair_id": "further pairs of this design under the same prompts",
    "task_id": "further tasks of this design under the same prompts",
    "item_id": "further items of the same kind, and the same judges",
}
PEOPLE = "other people of the same population"
OTHERS = "other values of {} of the same kind"


def claims_of(name: str, settings: Mapping[str, Any]) -> Claims | None:
    """What results of a kind say and do not say, with what their intervals are about; None for checks."""
    claims = _claims_of_kind(name, settings)
    if claims is None:
        return None
    limits = settings.get("provenance", {}).get("limits", {})
    texts = [limit_text(limit, values) for limit, values in limits.items()]
    state = _state_of(name, settings)
    must_not = tuple(text for text, _ in state.never) if state else ()
    return Claims(claims.says, " ".join([claims.does_not_say, *texts]), must_not)


def _claims_of_kind(name: str, settings: Mapping[str, Any]) -> Claims | None:
    """The same without what labels take from it."""
    kind, unit = kind_of(name), settings.get("id")
    if kind.claims is None or not kind.about_units or not isinstance(unit, str) or not unit:
        return kind.claims
    about = list(dict.fromkeys(_about(column) for column in unit.split(" or ")))
    of_models = " or ".join(name for name in about if name != PEOPLE)
    scope = f"Intervals hold for {of_models or PEOPLE} only."
    if of_models and PEOPLE in about:
        scope = f"Intervals of models hold for {of_models}; those of people for {PEOPLE}."
    return Claims(kind.claims.says, f"{kind.claims.does_not_say} {scope}")


def _about(unit: str) -> str:
    if unit in ("judge_id", "respondent_id", HUMAN):
        return PEOPLE
    return FURTHER_UNITS.get(unit) or OTHERS.format(f"`{unit}`")


@dataclass(frozen=True)
class LabelLimit:
    """A limit of what labels show; in texts, `{n}` is the number of labels."""

    name: str
    text: str  # a sentence for reports and claims
    reason: str  # in the state of a system's labels; empty where it does not change that


@cache
def label_limits() -> Mapping[str, LabelLimit]:
    """All limits, by name."""
    return {name: LabelLimit(name, **row) for name, row in claims_table("limits").items()}


def limit_text(name: str, values: Mapping[str, Any]) -> str:
    """The sentence of a limit."""
    return _filled(label_limits()[name].text, values)


def limit_reason(name: str, **values: Any) -> str:
    """The reason of a limit, in the state of labels."""
    return _filled(label_limits()[name].reason, values)


@cache
def claims_table(name: str) -> Mapping[str, Any]:
    """A table of what may be claimed, as its file has it."""
    from conjury.inference.tables.files import CLAIMS

    return _read_yaml(CLAIMS / f"{name}.yaml")


def _filled(text: str, values: Mapping[str, Any]) -> str:
    numbers = {key: f"{value:,}" if isinstance(value, int) else value for key, value in values.items()}
    return text.format(**numbers)


@dataclass(frozen=True)
class StopCheck:
    """What must be looked at before any number of a result is written."""

    name: str
    check: str
    say: str  # the first sentence where it applies
    next: str  # command or remedy
    expect: Mapping[str, Any] = field(default_factory=dict)  # how a command ends on such a file


@dataclass(frozen=True)
class ResultState:
    """What a result has come to, and what is written of it."""

    name: str
    means: str
    begins: str  # the first sentence
    pattern: str  # of that sentence
    next: str
    never: tuple[tuple[str, str], ...]  # sentences that must not be written, with patterns of them


@dataclass(frozen=True)
class Procedure:
    """How a question is answered: stop checks, states of the result, sentences, the next command."""

    name: str
    question: str
    kind: str
    command: str
    stops: tuple[StopCheck, ...]
    states: Mapping[str, ResultState]


@cache
def procedures() -> Mapping[str, Procedure]:
    """All procedures, by task."""
    return {name: _procedure(name, row) for name, row in claims_table("procedure").items()}


def _procedure(name: str, row: Mapping[str, Any]) -> Procedure:
    stops = tuple(StopCheck(stop, **texts) for stop, texts in row["stops"].items())
    states = {}
    for state, texts in row["states"].items():
        never = tuple((entry["text"], entry["pattern"]) for entry in texts["never"])
        states[state] = ResultState(state, **{**texts, "never": never})
    return Procedure(name, row["question"], row["kind"], row["command"], stops, states)


PROCEDURE_HEAD = (
    "How to answer a question with conjury, for assistants and people. Stop checks come before any number; "
    "the first sentence of a report is that of the state; a sentence that must not be written is not written "
    "in other words either. Numbers, states and sentences are taken from the command's --json (`answer`, "
    "`verdict`, `settings.state`, `labels`, `notes`), never from the judge's scores."
)


def procedure_text(names: Sequence[str] = ()) -> str:
    """The procedures of some questions, by default of all, in Markdown."""
    parts = [_procedure_lines(procedures()[name]) for name in names or procedures()]
    lines = ["# Procedure", "", PROCEDURE_HEAD, *(line for part in parts for line in part)]
    limits = [f"- {limit.text}" for limit in label_limits().values()]
    intro = "`claims()` of a result adds those that apply:"
    return "\n".join([*lines, "", "## What labels take from claims", "", intro, "", *limits]) + "\n"


def procedure_records(names: Sequence[str] = ()) -> dict[str, Any]:
    """The same for programs, with what results of each kind say and do not say."""
    records = {}
    for name in names or procedures():
        procedure = procedures()[name]
        claims = claims_of(procedure.kind, {})
        records[name] = {**asdict(procedure), "claims": asdict(claims) if claims else None}
    return records


def _procedure_lines(procedure: Procedure) -> Iterator[str]:
    claims = claims_of(procedure.kind, {})
    yield from (
        "",
        f"## {procedure.name.capitalize()}: {procedure.question}",
        "",
        f"    {procedure.command}",
        "",
    )
    if claims is not None:
        yield from (f"- It says: {claims.says}", f"- It does not say: {claims.does_not_say}", "")
    yield from ("Stop checks, before any number:", "")
    for number, stop in enumerate(procedure.stops, start=1):
        yield f'{number}. {stop.check} First sentence: "{stop.say}" Next: {stop.next}'
    yield from ("", "| state | means | first sentence | never write | next |", "|---|---|---|---|---|")
    for state in procedure.states.values():
        never = " ".join(f'"{text}"' for text, _ in state.never)
        yield f"| {state.name} | {state.means} | {state.begins} | {never} | {state.next} |"


def _state_of(kind: str, settings: Mapping[str, Any]) -> ResultState | None:
    """The state that the settings of a result name; None where its kind has none."""
    state = settings.get("state")
    procedure = next((entry for entry in procedures().values() if entry.kind == kind), None)
    return procedure.states.get(str(state)) if procedure is not None and state else None


def _read_yaml(path: Path) -> Mapping[str, Any]:
    import yaml  # here, since results are imported by commands that print no texts

    table: Mapping[str, Any] = yaml.load(
        path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
    return table
