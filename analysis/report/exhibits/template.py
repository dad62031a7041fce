"""The exhibit of a kind with the texts of its record: code adds tables, and what was found in numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...figures import parts
from ...figures.conjoint.preference_figures import GROUPS
from ...figures.labels import ColumnNames
from ...frames.kinds import kind_of, kinds
from ...results import Result
from ..method_sentences import adjusted_over, plain
from ..report_data import ReportData
from ..table_format import any_table, resampled
from .exhibit_registry import EXHIBITS, Drawn, Exhibit, ExhibitBuilder, Laid, ended, exhibit, level

if TYPE_CHECKING:
    from great_tables import GT

    from ...pipeline.manifest import RecordedResult

Tables = Mapping[str, "GT"] | Sequence["GT"]
Sentence = Callable[[Result, ColumnNames], str]
OF_DRAWS = re.compile(r"; [^;.]*\{drawn\}[^;.]*")  # of a caption, what holds of a bootstrap only


@dataclass(frozen=True)
class TemplateCode:
    """What code adds to the texts of a kind."""

    # without it all columns, where texts name a table
    tables: Callable[[Result, ColumnNames], Tables] | None = None
    # what was found, in words
    reading: Sentence | None = None
    # what fills placeholders of its own texts
    values: Callable[[Result, ColumnNames], Mapping[str, str]] | None = None
    # what the figure is of, where it is not of the whole result
    figure_of: Callable[[Result], Result] | None = None
    # exhibits below the further figures
    more: Callable[[Result, RecordedResult, ReportData], Sequence[Exhibit]] | None = None


def tables_of(
    *kinds: str, headline: Sentence | None = None, of_main: bool = True, **code: Any
) -> Callable[[Any], Any]:
    """Register a function from a result and names to the tables of kinds, whose texts are in `data/kinds`."""
    # `code` has the other fields of `TemplateCode`; `headline` gives the sentence of the report's opening, on
    # the main dimension alone where `of_main`, else with its name in the setting `main`.

    def register(tables: Any) -> Any:
        def opening(result: Result, _: RecordedResult, report: ReportData) -> str:
            main = {"main": result.settings.get("main") or report.manifest.get("main")}
            source = (
                on_main(result, report) if of_main else replace(result, settings={**result.settings, **main})
            )
            return headline(source, report.names) if headline else ""

        exhibit(*kinds, headline=opening if headline else None)(
            partial(from_texts, TemplateCode(tables, **code))
        )
        return tables

    return register


def on_main(result: Result, report: ReportData) -> Result:
    """A result on the main dimension of its study alone, where it has rows of it."""
    main, frame = report.manifest.get("main"), result.frame
    if not main or "dimension" not in frame or not (frame["dimension"].astype(str) == main).any():
        return result
    return replace(result, frame=frame[frame["dimension"].astype(str) == main].reset_index(drop=True))


def from_texts(
    code: TemplateCode, result: Result, record: RecordedResult, report: ReportData, *, all_groups: bool = True
) -> Exhibit:
    """The exhibit of a result from the texts of its kind and what code adds."""
    kind = kind_of(record.kind)
    if kind.by_group and all_groups:
        return _by_group(partial(from_texts, code, all_groups=False), result, record, report)
    hidden = kind.once if kind.once and report.of_kind(record.kind)[0].name != record.name else ()
    fill = partial(filled, record=record, values=code.values(result, report.names) if code.values else {})
    figure_result = code.figure_of(result) if code.figure_of else result
    tables: Tables = ()
    if code.tables is not None:
        tables = code.tables(result, report.names)
    elif "{table" in kind.lead:
        tables = any_table(result.frame, report.names)
    if hidden and isinstance(tables, Mapping):
        tables = [table for part, table in tables.items() if part not in hidden]
    further = [
        Exhibit(fill(texts.lead), [Drawn(result, fill(texts.figure), part, part)])
        for part in parts(result)
        if part not in hidden and (texts := kind.further.get(part)) is not None
    ]
    return Exhibit(
        fill(kind.lead),
        [Drawn(figure_result, fill(kind.figure))] if kind.figure else (),
        [Laid(tables, fill(kind.table))] if tables else (),
        code.reading(result, report.names) if code.reading else "",
        [*further, *(code.more(result, record, report) if code.more else ())],
    )


def filled(text: str, record: RecordedResult, values: Mapping[str, str]) -> str:
    """A text of a kind with its placeholders filled, but for references to figures and tables."""
    settings = record.settings
    if settings.get("draws") == 0:
        text = OF_DRAWS.sub("", text)
    units = resampled(settings)
    clustered = "" if units == "items" else f", clustered by {units.removeprefix('whole ')}"
    if settings.get("interval") == "bootstrap":
        clustered = f" (percentiles of the bootstrap, {units} resampled)"
    title = plain(record.title)
    values = {"title": ended(title), "name": title, "clustered": clustered} | dict(values)
    values |= {"level": level(record), "drawn": f"{units} resampled"}
    if settings.get("adjusted"):
        values["adjusted"] = adjusted_over(record.kind, str(settings["adjusted"]))
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), text).strip()


def result_by_group(result: Result) -> dict[tuple[str, ...], Result]:
    """The results of each judge under each prompt in each variant, or the one without such columns."""
    columns = [name for name in GROUPS if name in result.frame]
    if not columns:
        return {(): result}

    def groups(table: pd.DataFrame) -> pd.DataFrame:
        return table[columns].astype("string").fillna("")

    def of(table: pd.DataFrame, key: tuple[str, ...]) -> pd.DataFrame:
        mask = (groups(table) == list(key)).all(axis=1)
        return table[mask].drop(columns=columns).reset_index(drop=True)

    return {
        key: replace(
            result,
            frame=of(result.frame, key),
            extra={name: of(table, key) if len(table) else table for name, table in result.extra.items()},
        )
        for key in dict.fromkeys(groups(result.frame).itertuples(index=False, name=None))
    }


def _by_group(
    build: Callable[[Result, RecordedResult, ReportData], Exhibit],
    result: Result,
    record: RecordedResult,
    report: ReportData,
) -> Exhibit:
    """A result of several judges, prompts or variants as an exhibit for each; notes come with the first."""
    exhibits = []
    for place, (key, group_result) in enumerate(result_by_group(result).items()):
        columns = zip(("judges", "prompts", "variants"), key, strict=False)
        group = ", ".join(report.names.of(column, name) for column, name in columns if name)
        title = f"{record.title or record.name}: {group}" if group else record.title
        group_result = replace(group_result, notes=()) if place else group_result
        group_exhibit = build(group_result, replace(record, title=title), report)
        mark = str(place + 1) if place else ""
        exhibits.append(
            replace(
                group_exhibit,
                figures=[replace(figure, key=mark) for figure in group_exhibit.figures],
                tables=[replace(table, key=mark) for table in group_exhibit.tables],
            )
        )
    return replace(exhibits[0], further=exhibits[1:])


for _kind in kinds().values():  # texts suffice for most kinds; what registers code for one replaces this
    if _kind.lead:
        EXHIBITS.registered.setdefault(_kind.name, ExhibitBuilder(partial(from_texts, TemplateCode())))
