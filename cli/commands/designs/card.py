"""The card of a conjoint design, on the terminal and in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conjury.analysis.conjoint.power.design_card_page import write_card
from conjury.analysis.conjoint.power.design_card_text import CardText
from conjury.inference.collecting.jobs import expected_costs
from conjury.inference.collecting.prices import read_prices
from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.design.run_design import DrawnDesign
from conjury.inference.errors import listed
from conjury.inference.study.models import Study

from ...automation import record
from ...printing import console, print_table, show_steps, wide_console
from ...wishes import details

FIRST = 3  # warnings of the first screen


def write_design_card(study: Study, design: DrawnDesign, folder: Path) -> CardText:
    """Write the card of a design next to its tables, record it, and return it in words."""
    prices = read_prices()
    with show_steps(2) as step:
        step("Estimating costs")
        costs = expected_costs(study, design, prices)
        step("Checking the design")
        card_text, numbers = write_card(study, design, costs, prices.currency, folder)
    record(card=numbers, warnings=card_text.warnings, notes=card_text.notes)
    return card_text


def _print(card_text: CardText) -> None:
    console = wide_console()
    for text in card_text.opening:
        console.print(text)
    with details():
        for table in card_text.tables:
            console.print()
            print_table(table)
    _print_list("Warnings", card_text.warnings)
    with details():
        _print_list("Notes", card_text.notes)
    console.print(f"\n{card_text.finding}")


def _print_list(heading: str, texts: Sequence[str]) -> None:
    if not texts:
        return
    console = wide_console()
    console.print(f"\n{heading}", style="bold")
    for text in texts[:FIRST]:
        console.print(f"- {text}")
    with details():
        for text in texts[FIRST:]:
            console.print(f"- {text}")


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
    _print(write_design_card(study, design, folder.path / "design"))
