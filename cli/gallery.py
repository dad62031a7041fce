"""``conjury render --page``: a contact sheet of vignettes, to be looked at before anyone is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd

    from conjury.inference.study.models import Study
    from conjury.inference.vignettes.jobs.drawing_jobs import Renderer

MOST = 400  # profiles that a page shows without being slow
PANEL = "A page to look at"


@dataclass(frozen=True)
class PageOptions:
    """A selection of profiles on one page, in place of all pictures."""

    page: Annotated[
        bool,
        typer.Option(
            "--page",
            help="Show a selection on one page (gallery.html, gallery.png), with all levels about equally "
            "often, and draw no other picture.",
            rich_help_panel=PANEL,
        ),
    ] = False
    n: Annotated[
        int, typer.Option(min=1, max=MOST, help="Number of profiles on the page.", rich_help_panel=PANEL)
    ] = 40
    seed: Annotated[int, typer.Option(min=0, help="Seed of the selection.", rich_help_panel=PANEL)] = 1


def draw_gallery(
    study: Study, profiles: pd.DataFrame, renderers: Sequence[Renderer], folder: Path, options: PageOptions
) -> None:
    """Write vignettes with all levels about equally often as a page and as one picture."""
    from conjury.inference.tables.writing import atomic_write
    from conjury.inference.vignettes.contact_sheet import (
        choose_profiles,
        draw_profiles,
        gallery_page,
        gallery_sheet,
    )
    from conjury.inference.vignettes.typesetting import Typesetter

    from .automation import record
    from .printing import console, show_count

    sample = choose_profiles(study, profiles, options.n, options.seed)
    with show_count("Drawing", len(sample) * len(renderers)) as watch:
        vignettes = draw_profiles(study, sample, renderers, watch)
    job = renderers[0].job
    facts = {"Layout": f"{job.layout}, {job.theme}", "Seed": str(options.seed)}
    page, sheet = folder / "gallery.html", folder / "gallery.png"
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(page) as file:
        file.write(gallery_page(study, vignettes, facts).encode())
    with atomic_write(sheet) as file:
        gallery_sheet(vignettes, Typesetter(renderers[0].fonts), study.title).save(
            file, "png", compress_level=4
        )
    record(profiles={"shown": len(vignettes), "all": len(profiles)})
    console.print(f"{len(vignettes):,} of {len(profiles):,} profiles of {study.title}")
    console.print(f"  {page}   to look through, by level")
    console.print(f"  {sheet}    the same as one picture")
