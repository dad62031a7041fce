"""Answers of people to a study that `conjury export` wrote, read by `conjury import`."""

from __future__ import annotations

from pathlib import Path

from conjury.inference.errors import counted

from ...automation import record
from ...printing import console


def import_fielded(path: Path, out: Path | None, program: str, study: str, run: Path | None) -> None:
    """Read answers, write choices or judgments and respondents, and print what was read."""
    from conjury.inference.collecting.past_runs import run_folder
    from conjury.inference.panel.elsewhere.fielded_visits import check_program, read_elsewhere
    from conjury.inference.panel.plan import make_plan
    from conjury.inference.study.load import load_any_study
    from conjury.inference.tables.files import write_table

    loaded_study = load_any_study(study)
    check_program(program, run_folder(loaded_study, run).path)
    plan = make_plan(loaded_study, out=run)
    survey = read_elsewhere(path, program, plan)
    pair = plan.design is not None
    out = out or Path("choices.parquet" if pair else "judgments.parquet")
    stem, dot, ending = out.name.partition(".")
    beside = out.with_name(f"{stem}_respondents{dot}{ending}")
    write_table(survey.answers, out, private=True)
    write_table(survey.respondents, beside, private=True)
    people = int(survey.respondents["judge_id"].nunique())
    rows = {str(out): len(survey.answers), str(beside): len(survey.respondents)}
    record(rows=rows, people=people, notes=list(survey.notes))
    what = "rows of choices" if pair else "judgments"
    console.print(
        f"{len(survey.answers):,} {what} in {out}: {people:,} {'person' if people == 1 else 'people'}"
    )
    console.print(f"{counted(len(survey.respondents), 'respondent')} in {beside}")
    for note in survey.notes:
        console.print(f"  {note}")
