"""Answers of people to a study that `conjury export` wrote, read by `conjury import`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from conjury.inference.errors import counted

from ...automation import record

console = Console(highlight=False, markup=False, soft_wrap=True)


def import_fielded(path: Path, out: Path | None, program: str, study: str, run: Path | None) -> None:
    """Read answers, write choices or judgments and respondents, and print what was read."""
    from conjury.inference.collecting.past_runs import run_folder
    from conjury.inference.panel.elsewhere.back import check_program, read_elsewhere
    from conjury.inference.panel.plan import make_plan
    from conjury.inference.study.load import load_any_study
    from conjury.inference.tables.files import write_table

    known = load_any_study(study)
    check_program(program, run_folder(known, run).path)
    plan = make_plan(known, out=run)
    read = read_elsewhere(path, program, plan)
    pair = plan.design is not None
    out = out or Path("choices.parquet" if pair else "judgments.parquet")
    stem, dot, ending = out.name.partition(".")
    beside = out.with_name(f"{stem}_respondents{dot}{ending}")
    write_table(read.answers, out, private=True)
    write_table(read.respondents, beside, private=True)
    people = int(read.respondents["judge_id"].nunique())
    rows = {str(out): len(read.answers), str(beside): len(read.respondents)}
    record(rows=rows, people=people, notes=list(read.notes))
    what = "rows of choices" if pair else "judgments"
    console.print(
        f"{len(read.answers):,} {what} in {out}: {people:,} {'person' if people == 1 else 'people'}"
    )
    console.print(f"{counted(len(read.respondents), 'respondent')} in {beside}")
    for note in read.notes:
        console.print(f"  {note}")
