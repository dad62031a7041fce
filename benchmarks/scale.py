"""AMCEs of tables from a million to a hundred million choices, in their files, next to other packages.

Simulates choices of respondents into partitioned Parquet below build/bench, estimates AMCEs with clusters of
respondents in fresh processes, and writes results/SCALE.md; `--rows 1e6` for one size, printed only. Peers
run up to the size that they finish within the limit. duckreg draws clusters: its standard errors are known
to 1/sqrt(2 B) of themselves with B draws, so the time of as many draws as 1% takes is projected. R's dbreg is
not measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measure import (
    SCRATCH,
    in_a_process,
    listed,
    machine,
    page,
    peak_memory,
    publish,
    seconds,
    table,
    versions,
)

SIZES = (1_000_000, 10_000_000, 100_000_000)
LEVELS = (2, 2, 3, 3, 3, 4, 4, 5, 5, 6)  # of ten attributes
TASKS = 100  # rows of a respondent, two per pair
PART = 5_000_000  # rows of a file
LIMIT = 600.0  # seconds of a process
DRAWS, DRAWS_OF_A_PERCENT = 10, 5_000  # of duckreg's bootstrap; 1 / sqrt(2 * 5,000) is 1%
PEERS = ("pyfixest", "statsmodels", "duckreg")
FEATURES = [f"a{number}" for number in range(len(LEVELS))]
FORMULA = f"chosen ~ {' + '.join(FEATURES)}"
TWO_WAYS = ["respondent", "text"]


@dataclass(frozen=True)
class Line:
    """Seconds, those of processors, and peak memory in GB of one contender, and a note on it."""

    rows: int
    contender: str
    seconds: float | None = None
    processors: float | None = None
    memory: float | None = None
    note: str = ""


def simulate(rows: int) -> Path:
    """Write forced choices of pairs, with a small effect of the first levels, once per size."""
    import duckdb

    folder = SCRATCH / f"scale-{rows}"
    if (folder / "_done").is_file():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    levels = ", ".join(
        f"'level ' || (hash(i * {2 * k + 3} + {k}) % {n}) AS {name}"
        for k, (name, n) in enumerate(zip(FEATURES, LEVELS, strict=True))
    )
    utility = " + ".join(f"0.3 * (hash(i * {2 * k + 3} + {k}) % {n} = 0)::INT" for k, n in enumerate(LEVELS))
    noise = "(hash(i + 1000003) % 100000) / 100000.0 + 0.3 * (hash(i // 100) % 7 = 0)::INT"
    engine = duckdb.connect()
    for number, first in enumerate(range(0, rows, PART)):
        last = min(first + PART, rows)
        engine.execute(
            f"""COPY (
              SELECT i // {TASKS} AS respondent, i // 2 AS pair, hash(i // 2) % 2000 AS text, {levels},
                     coalesce(u > lead(u) OVER (PARTITION BY i // 2 ORDER BY i),
                              u >= lag(u) OVER (PARTITION BY i // 2 ORDER BY i))::TINYINT AS chosen
              FROM (SELECT i, {utility} + {noise} AS u FROM range({first}, {last}) t(i))
            ) TO '{folder / f"part{number:03d}.parquet"}' (FORMAT parquet)"""
        )
    (folder / "_done").touch()
    return folder


def ours(folder: Path, ids: list[str]) -> dict[str, Any]:
    """Estimate from the folder, where it lies."""
    from conjury.analysis.conjoint import amce

    kept: list[Any] = []
    taken = costs(lambda: kept.append(amce(str(folder), FORMULA, id=ids)))
    errors = kept[0].frame["std_error"].dropna().tolist()
    return taken | {"how": kept[0].settings["computed_from"], "errors": errors}


def jackknife(folder: Path, ids: list[str]) -> dict[str, Any]:
    """Estimate from the folder with the jackknife over clusters."""
    from conjury.analysis.conjoint import amce

    kept: list[Any] = []
    taken = costs(lambda: kept.append(amce(str(folder), FORMULA, id=ids, vcov="CV3")))
    errors = kept[0].frame["std_error"].dropna().tolist()
    return taken | {"how": kept[0].settings["computed_from"], "errors": errors}


def costs(function: Callable[[], Any]) -> dict[str, Any]:
    """Seconds, those of processors, and peak memory in GB of this process."""
    before = time.process_time()
    taken = seconds(function)
    return {"seconds": taken, "processors": time.process_time() - before, "memory": peak_memory() / 1000}


def drawn(folder: Path, ids: list[str]) -> dict[str, Any]:
    """Draw respondents a thousand times, in the folder."""
    from conjury.analysis.conjoint import amce, bootstrap

    kept: list[Any] = []
    taken = costs(lambda: kept.append(bootstrap(amce, str(folder), FORMULA, unit=ids, draws=1000, seed=1)))
    errors = kept[0].frame["std_error"].dropna().tolist()
    return taken | {"how": kept[0].settings["computed_from"], "errors": errors}


def in_memory(folder: Path, ids: list[str]) -> dict[str, Any]:
    """Read all rows, then estimate."""
    import pandas as pd

    from conjury.analysis.conjoint import amce

    kept: list[Any] = []
    columns = [*FEATURES, "chosen", *ids]

    def run() -> None:
        frame = pd.read_parquet(folder, columns=columns)
        kept.append(amce(frame.astype(dict.fromkeys(FEATURES, "category")), FORMULA, id=ids))

    return costs(run) | {"errors": kept[0].frame["std_error"].dropna().tolist()}


def with_pyfixest(folder: Path, ids: list[str]) -> dict[str, Any]:
    """Ordinary least squares of pyfixest on the rows in memory."""
    import pandas as pd
    import pyfixest

    kept: list[Any] = []

    def run() -> None:
        frame = pd.read_parquet(folder, columns=[*FEATURES, "chosen", *ids])
        formula = f"chosen ~ {' + '.join(f'C({name})' for name in FEATURES)}"
        kept.append(pyfixest.feols(formula, frame, vcov={"CRV1": " + ".join(ids)}))

    return costs(run) | {"errors": kept[0].se().iloc[1:].tolist()}


def with_statsmodels(folder: Path, ids: list[str]) -> dict[str, Any]:
    """Ordinary least squares of statsmodels on the rows in memory."""
    import pandas as pd
    import statsmodels.formula.api as smf

    kept: list[Any] = []

    def run() -> None:
        frame = pd.read_parquet(folder, columns=[*FEATURES, "chosen", *ids])
        formula = f"chosen ~ {' + '.join(f'C({name})' for name in FEATURES)}"
        groups = {"groups": frame[ids[0]].to_numpy()}
        kept.append(smf.ols(formula, frame).fit(cov_type="cluster", cov_kwds=groups))

    return costs(run) | {"errors": kept[0].bse.iloc[1:].tolist()}


def with_duckreg(folder: Path, ids: list[str]) -> dict[str, Any]:
    """Ordinary least squares of duckreg in the files, with a bootstrap of clusters."""
    import ibis
    from duckreg import DuckRegression

    engine, kept = ibis.duckdb.connect(), list[Any]()

    def schema_of(query: str) -> Any:
        found = engine.con.sql(f"SELECT * FROM ({query}) LIMIT 0").to_arrow_table()
        return ibis.Schema.from_pyarrow(found.schema)

    engine._get_schema_using_query = schema_of  # that of Ibis 12.0 needs a method that DuckDB 2.0 has dropped
    dummies = {
        f"{name}_{level}": f"({name} = 'level {level}')::INT"
        for name, levels in zip(FEATURES, LEVELS, strict=True)
        for level in range(1, levels)
    }
    columns = ", ".join(f"{value} AS {name}" for name, value in dummies.items())
    view = f"SELECT chosen::DOUBLE AS chosen, {ids[0]}, {columns} FROM '{folder}/*.parquet'"
    engine.raw_sql(f"CREATE VIEW choices AS {view}")

    def run() -> None:
        formula, options = f"chosen ~ {' + '.join(dummies)}", {"seed": 1, "n_bootstraps": DRAWS}
        kept.append(DuckRegression(None, "choices", formula, ids[0], connection=engine, **options))
        kept[0].fit()

    taken = costs(run)
    hours = taken["seconds"] / DRAWS * DRAWS_OF_A_PERCENT / 3600
    errors = np.sqrt(np.diag(kept[0].vcov))[1:].tolist()
    how = f"{DRAWS} draws; errors known to 1% take {DRAWS_OF_A_PERCENT:,}, about {hours:.1f} hours"
    return taken | {"how": how, "errors": errors}


CONTENDERS = {
    "conjury, in the files": (ours, ["respondent"]),
    "conjury, in the files, crossed with 2,000 texts": (ours, TWO_WAYS),
    "conjury, in the files, 1,000 bootstrap draws": (drawn, ["respondent"]),
    "conjury, in the files, jackknife over respondents": (jackknife, ["respondent"]),
    "conjury, rows in memory": (in_memory, ["respondent"]),
    "pyfixest": (with_pyfixest, ["respondent"]),
    "statsmodels": (with_statsmodels, ["respondent"]),
    "duckreg": (with_duckreg, ["respondent"]),
}


def measure(rows: int, stopped: set[str]) -> list[Line]:
    """Measure every contender that the size before has not stopped."""
    folder, lines, errors = simulate(rows), [], []
    for number, (name, (_, ids)) in enumerate(CONTENDERS.items()):
        if name in stopped:
            lines.append(Line(rows, name, note="not tried: the size before stopped it"))
            continue
        try:
            found = in_a_process([__file__, "--fit", str(number), str(folder)], LIMIT)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            stopped.add(name)
            why = f"stopped after {LIMIT:.0f} s"
            if isinstance(error, RuntimeError):
                why = f"failed: {(str(error).strip().splitlines() or ['killed'])[-1][:100]}"
            lines.append(Line(rows, name, note=why))
            continue
        note = found.get("how", "")
        if number == 0:
            errors = found["errors"]
        elif ids == ["respondent"] and not note:
            apart = max(abs(one / other - 1) for one, other in zip(found["errors"], errors, strict=True))
            note = f"errors apart by {apart:.0e} of ours"
        measured = (found[key] for key in ("seconds", "processors", "memory"))
        lines.append(Line(rows, name, *measured, note))
    return lines


def markdown(described: str, lines: list[Line]) -> str:
    """Write the page of results."""
    head = ["choices", "by", "seconds", "seconds of processors", "peak memory, GB", ""]
    rows = [
        [
            f"{line.rows:,}",
            line.contender,
            "" if line.seconds is None else f"{line.seconds:.1f}",
            "" if line.processors is None else f"{line.processors:.1f}",
            "" if line.memory is None else f"{line.memory:.2f}",
            line.note,
        ]
        for line in lines
    ]
    facts = {
        "Data": f"simulated forced choices, {len(LEVELS)} attributes, {TASKS} rows per respondent, Parquet",
        "Machine": described,
        "Versions": listed(
            versions(("conjury", "duckdb", "ibis-framework", "pyfixest", "statsmodels", "duckreg"))
        ),
    }
    return page("AMCEs of large tables", facts, table(head, rows), by="python benchmarks/scale.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, help="one size, printed only")
    parser.add_argument("--fit", nargs=2, metavar=("NUMBER", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        fit, ids = list(CONTENDERS.values())[int(arguments.fit[0])]
        print(json.dumps(fit(Path(arguments.fit[1]), ids)))
        return
    described, stopped = machine(), set[str]()
    sizes = [int(arguments.rows)] if arguments.rows else SIZES
    lines = [line for rows in sizes for line in measure(rows, stopped)]
    publish("SCALE", markdown(described, lines), written=not arguments.rows)


if __name__ == "__main__":
    main()
