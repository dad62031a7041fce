"""Ten million profiles by 100,000 respondents, from Parquet: seconds and peak memory of each fit.

The choices are simulated once, by the moderation study's panel, into build/bench/size.parquet.
Each fit runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

RESPONDENTS, TASKS, CHUNK = 100_000, 50, 5_000
FILE = Path(__file__).resolve().parents[1] / "build" / "bench" / "size.parquet"
FORMULA = "chosen ~ slur + identity + topic + reply + curse + engagement"
FITS = {
    "one-way": ["judge_id"],
    "three-way": ["judge_id", "text", "user"],
}


def write_choices(file: Path, respondents: int) -> None:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from conjury.inference.design.profiles import enumerate_profiles
    from conjury.inference.simulation import simulate
    from conjury.inference.study import load_study

    study = load_study("moderation")
    design = study.design.model_copy(update={"tasks": TASKS, "repeat_first": False})
    study = study.model_copy(update={"design": design})
    profiles = enumerate_profiles(study)
    file.parent.mkdir(parents=True, exist_ok=True)
    draft, writer = file.with_suffix(".draft"), None
    columns = ["judge_id", "pair_id", "text", "user", "chosen", *FORMULA.partition("~")[2].split(" + ")]
    columns = [name.strip() for name in columns]
    for number in range(respondents // CHUNK):
        made = simulate(
            study, number, respondents=CHUNK, judges=["human"], profiles=profiles, truth=False
        ).choices
        for name in ("judge_id", "pair_id"):
            made[name] = pd.Series(f"{number:02d}_", index=made.index).str.cat(made[name].astype("str"))
        table = pa.Table.from_pandas(made[columns], preserve_index=False)
        writer = writer or pq.ParquetWriter(draft, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()
    draft.replace(file)


def measure(file: Path, name: str) -> dict[str, float]:
    """Fit once in this process, reading the file included."""
    from conjury.analysis.conjoint import amce

    start = time.perf_counter()
    fit = amce(file, FORMULA, id=FITS[name])
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    return {"rows": fit.provenance.n_rows, "seconds": round(seconds, 2), "peak_gb": round(peak, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--respondents", type=int, default=RESPONDENTS)
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--fit", choices=FITS)
    given = parser.parse_args()
    if given.fit:
        print(json.dumps(measure(given.file, given.fit)))
        return
    if not given.file.is_file():
        print(f"simulating {given.respondents:,} respondents with {TASKS} tasks each")
        write_choices(given.file, given.respondents)
    for name in FITS:
        command = [sys.executable, __file__, "--file", str(given.file), "--fit", name]
        print(name, subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


if __name__ == "__main__":
    main()
