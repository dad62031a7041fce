"""The command ``conjury gallery``: a contact sheet of vignettes, to be looked at before anyone is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import StudyName, grouped
from .rendering import Look

if TYPE_CHECKING:
    import pandas as pd

    from conjury.inference.study.models import Study

MOST = 400  # profiles that a page shows without being slow


@grouped
def gallery(
    study: StudyName,
    look: Look,
    n: Annotated[int, typer.Option(min=1, max=MOST, help="Number of profiles to show.")] = 40,
    cues: Annotated[
        list[str] | None,
        typer.Option(
            help="Identity cues: both (the default), name, face or none; several are shown next "
            "to each other."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the page and the picture; by default runs/STUDY.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the selection of profiles.")] = 1,
) -> None:
    """Show a selection of drawn profiles on one page.

    Vignettes with all levels about equally often, as a page and as one picture.
    """
    from conjury.inference.study import load_study
    from conjury.inference.tables.writing import atomic_write
    from conjury.inference.vignettes.contact_sheet import (
        choose_profiles,
        draw_profiles,
        gallery_page,
        gallery_sheet,
    )
    from conjury.inference.vignettes.jobs.drawing_jobs import open_job
    from conjury.inference.vignettes.typesetting import Typesetter

    from .automation import record
    from .printing import console, show_count
    from .rendering import check_cues, study_job

    loaded_study = load_study(study)
    cue_names = check_cues(cues)
    folder = Path("runs") / loaded_study.name if out is None else out
    profiles, posts_seed = _profiles(loaded_study, folder)
    renderers = [open_job(study_job(loaded_study, name, look, posts_seed)) for name in cue_names]
    sample = choose_profiles(loaded_study, profiles, n, seed)
    with show_count("Drawing", len(sample) * len(renderers)) as watch:
        vignettes = draw_profiles(loaded_study, sample, renderers, watch)
    job = renderers[0].job
    facts = {"Layout": f"{job.layout}, {job.theme}", "Seed": str(seed)}
    page, sheet = folder / "gallery.html", folder / "gallery.png"
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(page) as file:
        file.write(gallery_page(loaded_study, vignettes, facts).encode())
    with atomic_write(sheet) as file:
        gallery_sheet(vignettes, Typesetter(renderers[0].fonts), loaded_study.title).save(
            file, "png", compress_level=4
        )
    record(profiles={"shown": len(vignettes), "all": len(profiles)})
    console.print(f"{len(vignettes):,} of {len(profiles):,} profiles of {loaded_study.title}")
    console.print(f"  {page}   to look through, by level")
    console.print(f"  {sheet}    the same as one picture")


def _profiles(study: Study, folder: Path) -> tuple[pd.DataFrame, int]:
    """Return the profiles of a run's design, or all that the study can have, and the seed of their posts."""
    from conjury.inference.collecting.run_folder import RunFolder
    from conjury.inference.design.profiles import enumerate_profiles

    from .rendering import check_posts

    design, profiles = RunFolder(folder).design, enumerate_profiles(study)
    if design is None:
        return profiles, study.collect.seed
    profile_ids = sorted(set(design.profiles["profile_id"]))
    profiles = profiles[profiles["profile_id"].isin(profile_ids)]
    check_posts(study, profiles, profile_ids, design, folder)
    return profiles, int(design.drawn["seed"])
