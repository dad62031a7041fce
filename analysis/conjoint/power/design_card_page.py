"""The card of a conjoint design as one HTML file, with its figures, and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.design.run_design import DrawnDesign
from conjury.inference.design.task_panels import TaskPanel
from conjury.inference.design.testing_pairs import design_pairs
from conjury.inference.study.models import Study
from conjury.inference.tables.files import QUARTO, write_table
from conjury.inference.tables.html_page import page
from conjury.inference.tables.schema import POSITIONS
from conjury.inference.tables.writing import write_text

from ...figures import alt, save_variants
from ...figures import draw as draw_figure
from ...figures.inline import drawing_styles
from ...figures.page_blocks import bullets, drawn_block, inline_text, paragraphs, table_block
from ...results import Result
from .design_card_numbers import SMALL, DesignCard, PairPlan, make_card
from .design_card_text import LEVELS, POWER, CardText, describe_card, in_words, plan_name
from .planned_study import PlannedJudges, find_groups, find_prices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def write_page(card_text: CardText, figures: Mapping[str, str]) -> str:
    """Write a design card as a page without anything external, each figure above the table of its title."""
    sections = {"Warnings": bullets(card_text.warnings, "warnings") if card_text.warnings else ""}
    sections |= {table.title: figures.get(table.title, "") + table_block(table) for table in card_text.tables}
    sections["Notes"] = "\n".join(paragraphs(card_text.notes))
    body = [
        f'<header>\n<h1>{inline_text(card_text.title)}</h1>\n<p class="subtitle">Design card</p>\n</header>',
        *paragraphs([card_text.finding]),
        *paragraphs(card_text.opening),
        *(
            f"<section>\n<h2>{inline_text(title)}</h2>\n{content}\n</section>"
            for title, content in sections.items()
            if content
        ),
        *paragraphs(["All numbers are in card.csv next to this page."], "note"),
    ]
    main = f"<main>\n{chr(10).join(body)}\n</main>"
    return page(f"Design card: {card_text.title}", main, f"{_style()}{STYLE}", base=False)


ASSUMED: dict[str, Any] = {
    "tests": 1,
    "stimulus_sd": None,
    "icc": 0.0,
    "reliability": None,
    "repeats": None,
}
COLUMNS = ["part", "judge", "feature", "level", "reference", "combination", "quantity", "value"]


def write_card(
    study: Study, design: DrawnDesign, costs: pd.DataFrame, currency: str, folder: Path
) -> tuple[CardText, pd.DataFrame]:
    """Write the card of a design next to its tables; return it in words, and all its numbers."""
    # Written are `card.html`, `card.csv` and the drawings of `figures/`, in both themes.
    groups = _groups(study, design)
    plans = [PairPlan(plan_name(group), group.label, group.pairs, group.options) for group in groups]
    card = make_card(study, _profiles_of_pairs(design), plans)
    prices = find_prices(study, None, None)
    card_text = describe_card(study, design, card, groups, prices, costs, currency)
    figures = _draw(study, card, groups, folder / "figures")
    people = pd.DataFrame(
        [
            {"judge": judge, "shown": "people", "cost": group.cost(prices, group.pairs, judge)}
            for group in groups
            if group.kind == "human"
            for judge in group.judges
        ]
    )
    numbers = _numbers(study, card, pd.concat([people, costs]))
    write_table(numbers, folder / "card.csv")
    write_text(folder / "card.html", write_page(card_text, figures))
    return card_text, numbers


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


def _draw(study: Study, card: DesignCard, groups: Sequence[PlannedJudges], folder: Path) -> dict[str, str]:
    """Draw and save the figures of a card; return them as blocks of a page, by the titles of their tables."""
    labels: dict[Any, str] = dict(study.feature_labels)
    labels |= {
        (name, level): text
        for name, level_labels in study.level_labels.items()
        for level, text in level_labels.items()
    }
    shares = Result(card.levels, "design_shares")
    caption = "Levels: their shares in the design, and in the pairs drawn."
    figure = draw_figure(shares, labels=labels)
    blocks = {LEVELS: _save(figure, folder / "levels", alt(shares, labels), caption)}
    if groups:
        power, group = card.powers[0], groups[0]
        options: dict[str, Any] = {"part": "plan", "effect": SMALL, "plan": group.pairs}
        caption = (
            f"{group.label}: minimum detectable effects by the number of pairs. Each attribute has the line "
            "of its hardest level."
        )
        figure = draw_figure(power, labels=labels, **options)
        blocks[POWER] = _save(figure, folder / "plan", alt(power, labels, **options), caption)
    return blocks


def _save(figure: Figure, path: Path, alt: str, caption: str) -> str:

    save_variants(figure, path)
    return drawn_block(figure, path.name, alt, caption)


def _style() -> str:

    return f"{(QUARTO / 'fallback.css').read_text(encoding='utf-8').rstrip()}\n{drawing_styles()}"


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
