"""The card of a conjoint design: on the terminal, as one HTML file, and as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.table import Table as Grid

from conjury.inference.collecting.past_runs import run_folder
from conjury.inference.collecting.runs import RunFolder
from conjury.inference.design.drawn import DrawnDesign
from conjury.inference.design.panels import TaskPanel
from conjury.inference.design.testing_pairs import design_pairs
from conjury.inference.errors import listed
from conjury.inference.study import load_study
from conjury.inference.study.models import Study
from conjury.inference.tables.html_page import page
from conjury.inference.tables.schema import POSITIONS

from ...automation import record
from ...card_words import LEVELS, POWER, CardTable, CardText, describe_card, in_words, plan_name
from ...planned import PlannedJudges, find_groups, find_prices
from ...printing import console, wide_console

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from conjury.analysis.conjoint.power.design_card import DesignCard

WORDS = ("none", "reference")
STYLE = """
main { max-width: 56rem; }
ul.warnings { list-style: none; margin: 0; padding: 0; }
ul.warnings li { background: var(--notice); border-radius: 6px; margin: 0.5rem 0; padding: 0.6rem 0.9rem; }
figure svg { display: block; height: auto; margin: 0 auto; width: 100%; }
.table { margin: 1.25rem 0; overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; min-width: 60%; }
th { border-bottom: 1px solid var(--muted); font-weight: 600; text-align: left; vertical-align: bottom; }
th, td { padding: 0.22rem 0.6rem; }
tbody tr { border-bottom: 1px solid var(--line); }
tbody th { background: var(--band); border-bottom: 0; }
.number { text-align: right; white-space: nowrap; }
.note { color: var(--muted); font-size: 0.92rem; margin: 0.5rem 0 0; }
"""


@dataclass(frozen=True)
class CardFigure:
    """A figure as part of a page, its caption, and the width in rem that suits its letters."""

    # `table` is the title of the table above which it stands.

    table: str
    svg: str
    caption: str
    width: float


def write_page(card_text: CardText, drawings: Sequence[CardFigure], style: str) -> str:
    """Write a design card as a page without anything external."""
    figures = {drawing.table: _figure(drawing) for drawing in drawings}
    warnings = "\n".join(f"<li>{_text(text)}</li>" for text in card_text.warnings)
    body = [
        f'<header>\n<h1>{escape(card_text.title)}</h1>\n<p class="subtitle">Design card</p>\n</header>',
        *(f"<p>{_text(text)}</p>" for text in card_text.opening),
        _section("Warnings", f'<ul class="warnings">\n{warnings}\n</ul>') if card_text.warnings else "",
        *(_section(table.title, figures.get(table.title, "") + _table(table)) for table in card_text.tables),
        _section("Notes", "\n".join(f"<p>{_text(text)}</p>" for text in card_text.notes))
        if card_text.notes
        else "",
        '<p class="note">All numbers are in card.csv next to this page.</p>',
    ]
    content = "\n".join(part for part in body if part)
    return page(
        f"Design card: {card_text.title}", f"<main>\n{content}\n</main>", f"{style}{STYLE}", base=False
    )


def _text(text: str) -> str:
    """Escape a text, with commands in the type of code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text)).replace("\n", "<br>")


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>"


def _figure(drawing: CardFigure) -> str:
    return (
        f'<figure style="max-width: {drawing.width:g}rem; margin-inline: auto">\n{drawing.svg}\n'
        f"<figcaption>{_text(drawing.caption)}</figcaption>\n</figure>\n"
    )


def _table(table: CardTable) -> str:
    numeric = [_is_numeric(table, column) for column in range(len(table.header))]
    kinds = [' class="number"' if number else "" for number in numeric]
    header = "".join(
        f'<th scope="col"{kind}>{_text(name)}</th>' for name, kind in zip(table.header, kinds, strict=True)
    )
    rows = []
    for row in table.rows:
        if len(row) == 1:
            rows.append(f'<tr><th scope="rowgroup" colspan="{len(table.header)}">{escape(row[0])}</th></tr>')
            continue
        cells = "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
        rows.append(f"<tr>{cells}</tr>")
    note = f'\n<p class="note">{_text(table.note)}</p>' if table.note else ""
    if not rows:
        return note.strip()
    return (
        f'<div class="table">\n<table>\n<thead><tr>{header}</tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + f"\n</tbody>\n</table>{note}\n</div>"
    )


def _is_numeric(table: CardTable, column: int) -> bool:
    """Whether a column contains numbers, or words that stand for one."""
    cells = [row[column] for row in table.rows if len(row) > 1]
    return column > 0 and all(not cell or cell[0].isdigit() or cell in WORDS for cell in cells)


ASSUMED: dict[str, Any] = {
    "tests": 1,
    "stimulus_sd": None,
    "icc": 0.0,
    "reliability": None,
    "repeats": None,
}
WIDE = 95  # columns of a terminal that take all columns of a table
COLUMNS = ["part", "judge", "feature", "level", "reference", "combination", "quantity", "value"]


def write_card(study: Study, design: DrawnDesign, folder: Path) -> CardText:
    """Write the card of a design next to its tables, and return it in words."""
    # Written are `card.html`, `card.csv` and the drawings of `figures/`, in both themes.
    from conjury.analysis.conjoint.power.design_card import PairPlan, make_card
    from conjury.inference.collecting.jobs import expected_costs
    from conjury.inference.collecting.prices import read_prices
    from conjury.inference.tables.files import write_table
    from conjury.inference.tables.writing import atomic_write

    groups = _groups(study, design)
    plans = [PairPlan(plan_name(group), group.label, group.pairs, group.options) for group in groups]
    card = make_card(study, _profiles_of_pairs(design), plans)
    table = read_prices()
    costs = expected_costs(study, design, table)
    prices = find_prices(study, None, None)
    card_text = describe_card(study, design, card, groups, prices, costs, table.currency)
    drawings = _draw(study, card, groups, folder / "figures")
    people = pd.DataFrame(
        [
            {"judge": judge, "shown": "people", "cost": group.cost(prices, group.pairs, judge)}
            for group in groups
            if group.kind == "human"
            for judge in group.judges
        ]
    )
    numbers = _numbers(study, card, pd.concat([people, costs]))
    record(card=numbers, warnings=card_text.warnings, notes=card_text.notes)
    write_table(numbers, folder / "card.csv")
    with atomic_write(folder / "card.html") as file:
        file.write(write_page(card_text, drawings, _style()).encode("utf-8"))
    return card_text


def _groups(study: Study, design: DrawnDesign) -> list[PlannedJudges]:
    """Who judges pairs, models first; nobody where profiles are judged one at a time."""
    if study.collect.form == "single":
        return []
    groups = find_groups(study, None, design.drawn["pairs"], None, ASSUMED)
    if design.panel is not None:
        name = design.panel.drawn["name"]
        groups = [
            _at_design_size(group, design.panel) if group.judges == (name,) else group for group in groups
        ]
    return sorted(groups, key=lambda group: group.kind == "human")


def _at_design_size(group: PlannedJudges, panel: TaskPanel) -> PlannedJudges:
    """A panel at the size of its tasks in the design; a survey has the mean number of tasks."""
    people = panel.tasks["judge_id"].nunique()
    answers = int((~panel.tasks["repeat"].to_numpy(bool)).sum()) // len(POSITIONS)
    tasks = max(round(answers / people), 1)
    repeats = 0 if panel.drawn["sample"] == "imported" else group.repeats
    options = group.options | {"tasks": tasks, "repeats": repeats}
    return replace(group, pairs=float(people * tasks), tasks=tasks, repeats=repeats, options=options)


def _profiles_of_pairs(design: DrawnDesign) -> pd.DataFrame:
    """Profiles of the pairs that were drawn, A and B of each pair next to each other, without repeats."""
    tasks = design_pairs(design.tasks)
    first = tasks[~tasks["repeat"].astype(bool)]
    profile_ids = first["profile_id"].to_numpy()
    return design.profiles.set_index("profile_id").loc[profile_ids].reset_index(drop=True)


def _draw(study: Study, card: DesignCard, groups: Sequence[PlannedJudges], folder: Path) -> list[CardFigure]:
    from conjury.analysis.conjoint.power.design_card import SMALL
    from conjury.analysis.figures import alt
    from conjury.analysis.figures import draw as draw_figure
    from conjury.analysis.results import Result

    labels: dict[Any, str] = dict(study.feature_labels)
    labels |= {
        (name, level): text
        for name, level_labels in study.level_labels.items()
        for level, text in level_labels.items()
    }
    shares = Result(card.levels, "design_shares")
    drawings = [
        _save(
            LEVELS,
            draw_figure(shares, labels=labels),
            folder / "levels",
            alt(shares, labels),
            "Levels: their shares in the design, and in the pairs drawn.",
        )
    ]
    if groups:
        power, group = card.powers[0], groups[0]
        options: dict[str, Any] = {"part": "plan", "effect": SMALL, "plan": group.pairs}
        drawings.append(
            _save(
                POWER,
                draw_figure(power, labels=labels, **options),
                folder / "plan",
                alt(power, labels, **options),
                f"{group.label}: minimum detectable effects by the number of pairs. Each attribute has "
                "the line of its hardest level.",
            )
        )
    return drawings


def _save(table: str, figure: Figure, path: Path, alt: str, caption: str) -> CardFigure:
    from conjury.analysis.figures import save_variants
    from conjury.analysis.figures.inline import inline_figure

    save_variants(figure, path)
    width = 6.4 * figure.get_size_inches()[0]
    return CardFigure(table, inline_figure(figure, path.name, alt), caption, float(width))


def _style() -> str:
    from conjury.analysis.figures.inline import color_variables
    from conjury.inference.tables.files import QUARTO

    return f"{(QUARTO / 'fallback.css').read_text(encoding='utf-8').rstrip()}\n{color_variables()}"


def _numbers(study: Study, card: DesignCard, costs: pd.DataFrame) -> pd.DataFrame:
    """All numbers of a card in one long table: a row for each quantity."""
    names = {
        "restrictions": [in_words(study, part) for part in study.design.restrictions],
        "implausible": [in_words(study, part) for part in study.design.implausible],
    }
    parts = [
        _long_table("levels", card.levels.drop(columns=["reference", "derived"])),
        _long_table("contrasts", card.contrasts.rename(columns={"plan": "judge"})),
        *(
            _long_table(part, table.assign(combination=[names[part][at] for at in table["combination"]]))
            for part, table in (("restrictions", card.restrictions), ("implausible", card.implausible))
        ),
        _long_table("ties", card.ties.rename(columns={"partner": "reference"})),
        *(
            _long_table(
                f"costs, {form}",
                rows.drop(columns=["model", "backend", "shown", "as_of"]).reset_index(drop=True),
            )
            for form, rows in costs.groupby("shown", sort=False)
        ),
    ]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def _long_table(part: str, table: pd.DataFrame) -> pd.DataFrame:
    id_columns = [name for name in COLUMNS if name in table]
    wide = table.drop(columns="because", errors="ignore")
    long = wide.melt(id_vars=id_columns, var_name="quantity", value_name="value", ignore_index=False)
    long = long.sort_index(kind="stable").assign(part=part)
    types = dict.fromkeys(COLUMNS[:-1], "string") | {"value": "float64"}
    return long.reindex(columns=COLUMNS).astype(types)


def _print(card_text: CardText) -> None:
    console = wide_console()
    for text in card_text.opening:
        console.print(text)
    for table in card_text.tables:
        console.print()
        _print_table(console, table)
    for heading, texts in (("Warnings", card_text.warnings), ("Notes", card_text.notes)):
        if texts:
            console.print(f"\n{heading}", style="bold")
            for text in texts:
                console.print(f"- {text}")


def _print_table(console: Console, table: CardTable) -> None:
    console.print(table.title, style="bold")
    columns = [k for k in range(len(table.header)) if k != table.spare or console.width >= WIDE]
    grouped = any(len(row) == 1 for row in table.rows)
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for position in columns:
        words = position == 0 or table.header[position] == "Because"
        grid.add_column(table.header[position], justify="left" if words else "right")
    for row in table.rows:
        cells = [row[k] for k in columns if k < len(row)]
        grid.add_row(*([f"  {cells[0]}", *cells[1:]] if grouped and len(row) > 1 else cells))
    if table.rows:
        console.print(grid)
    if table.note:
        console.print(table.note)


def draw_card(
    study: str, out: Path | None, pairs: int | None, swapped_share: float | None, seed: int | None
) -> None:
    """Draw profiles, tasks and posts of a conjoint, write them to the run's folder and show the design."""
    loaded_study = load_study(study)
    folder = run_folder(loaded_study, out)
    show_card(loaded_study, folder.draw(loaded_study, pairs, swapped_share, seed), folder)


def show_card(study: Study, design: DrawnDesign, folder: RunFolder) -> None:
    """Say what the folder of a design contains, write its card and print it."""
    swapped = int(design.tasks["repeat"].sum()) // 2
    counts = {"tasks": len(design.tasks) // 2, "swapped": swapped, "profiles": len(design.profiles)}
    record(folder=folder.path / "design", drawn=counts)
    console.print(f"{study.title}: the design in {folder.path / 'design'}")
    console.print(
        f"  tasks.parquet     {len(design.tasks) // 2:,} tasks, {swapped:,} of them with positions swapped"
    )
    console.print(f"  profiles.parquet  {len(design.profiles):,} profiles with their attributes")
    console.print(f"  posts.parquet     what a judge is shown of them: {listed(design.posts.columns[1:])}")
    console.print("  card.html         what follows, with figures; its numbers are in card.csv\n")
    _print(write_card(study, design, folder.path / "design"))
