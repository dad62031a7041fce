"""``make test-mutants``: records, draws, tries and counts; see docs/project/mutants.md."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import shlex
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from mutants import scores
from mutants.choosing import SECONDS, Chooser
from mutants.places import Places
from mutants.recording import Store, record
from mutants.sampling import (
    LAYERS,
    Mutant,
    all_mutants,
    is_change,
    module_of,
    packages,
    python_files,
    room_of,
    sample,
    shown,
    texts,
)
from mutants.trying import Trial, Verdicts, has_lost_its_test, try_all

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "mutants"
HERE = ROOT / "tests" / "mutants"
PAGE = ROOT / "docs" / "project" / "mutants.md"
PACKAGES = ("conjury",)
CHANGED, CHANGED_SECONDS = 100, 600
NOT_HERE = ("browser", "postgres", "r", "cregg", "shared")  # need programs that are not the same everywhere
# Loaded once, before processes are forked; nothing of conjury, which each process imports for itself.
WARM = (
    "numpy", "pandas", "scipy.stats", "scipy.optimize", "statsmodels.api", "sklearn.metrics",
    "matplotlib.figure", "matplotlib.backends.backend_agg", "pyarrow.parquet", "formulaic",
    "yaml", "jinja2", "pydantic", "typer", "rich.table", "httpx", "aiohttp", "bs4", "great_tables",
    "narwhals", "hypothesis", "_hypothesis_pytestplugin", "xdist.plugin", "pytest_timeout", "sqlalchemy",
    "starlette.applications", "uvicorn", "markdown_it", "ibis", "duckdb", "PIL.Image", "numba", "pytensor",
)  # fmt: skip


def options(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make test-mutants MUTANTS_ARGS=", description=__doc__)
    parser.add_argument(
        "--changed", action="store_true", help="only mutants on lines changed since the main branch"
    )
    parser.add_argument("--mutants", type=int, default=scores.SAMPLE, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", default="", help="only these, separated by commas: analysis/numerics,cli")
    parser.add_argument("--processes", type=int, default=min(os.cpu_count() or 1, 8))
    parser.add_argument(
        "--minutes", type=float, default=180.0, help="start no mutant later; run again to go on"
    )
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="of tests by recorded durations, for each mutant"
    )
    parser.add_argument(
        "--again", default="", help="try again those with these verdicts: survived,not reached"
    )
    parser.add_argument(
        "--tests", default="tests", help="only test files whose path begins so, separated by commas"
    )
    parser.add_argument("--only", default="", help="only mutants of files whose path begins so")
    parser.add_argument(
        "--whole", action="store_true", help="run all tests of a mutant; list those that no mutant needs"
    )
    return parser.parse_args(argv)


def pytest_options(root: Path) -> list[str]:
    """What pytest is told: the default and the long lane, less tests of partners that need other programs."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    given = shlex.split(settings["tool"]["pytest"]["ini_options"]["addopts"])
    default = given[given.index("-m") + 1].replace("not long and ", "")
    lane = " and ".join([default, *(f"not {marker}" for marker in NOT_HERE)])
    return ["-q", "-p", "no:cacheprovider", "--no-header", "--tb=short", "-m", lane]


def warm() -> None:
    """Load libraries that processes then need not load again."""
    for name in WARM:
        with contextlib.suppress(ImportError):
            import_module(name)


def git(*arguments: str) -> str:
    told = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout if told.returncode == 0 else ""


def changed_lines() -> dict[str, set[int]]:
    """Lines of the layers' files that differ from where the branch began, by file."""
    bases = (git("merge-base", "HEAD", name).strip() for name in ("origin/main", "main", "HEAD"))
    base = next(filter(None, bases), "HEAD")
    lines: dict[str, set[int]] = {}
    file = ""
    for line in git("diff", "--unified=0", "--no-color", base, "--", *LAYERS).splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ b/")
        elif line.startswith("@@ ") and file.endswith(".py"):
            start, _, number = line.split("+")[1].split(" ")[0].partition(",")
            lines.setdefault(file, set()).update(range(int(start), int(start) + int(number or 1)))
    return lines


def drawn(given: argparse.Namespace) -> list[Mutant]:
    """The mutants to try, in the order of the draw."""
    candidates = BUILT / "candidates"
    if given.changed:
        lines = {file: within for file, within in changed_lines().items() if (ROOT / file).is_file()}
        near = [m for m in all_mutants(ROOT, candidates, given.seed, lines) if m.line in lines[m.file]]
        return [m for m in near[: 2 * CHANGED] if is_change(*texts(ROOT, m))][:CHANGED]
    rooms = set(filter(None, given.rooms.split(",")))
    files = [
        file
        for file in python_files(ROOT)
        if file.startswith(given.only) and (not rooms or room_of(file) in rooms)
    ]
    return sample(ROOT, all_mutants(ROOT, candidates, given.seed, files), given.mutants)


def trials(mutants: list[Mutant], chooser: Chooser, *, whole: bool) -> Iterator[Trial]:
    folders = packages(ROOT)
    for mutant in mutants:
        before, after = texts(ROOT, mutant)
        text, becomes = shown(before, after, mutant)
        chosen = chooser.choose(mutant.file, mutant.line, mutant.end)
        told = {
            "room": mutant.room,
            "line": mutant.line,
            "operator": mutant.operator,
            "text": text,
            "becomes": becomes,
            "tests": len(chosen.tests),
            "reaching": chosen.reaching,
            "cut": chosen.cut,
        }
        module = module_of(mutant.file, folders)
        path = ROOT / mutant.file
        tests, seconds = chosen.tests, chosen.seconds
        yield Trial(mutant.id, mutant.file, path, module, after, tests, seconds, told, whole)


def main() -> int:
    given = options()
    began = time.monotonic()
    until = began + (CHANGED_SECONDS if given.changed else 60 * given.minutes)
    os.chdir(ROOT)
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False  # or each process would compile all modules
    mutants = drawn(given)
    print(f"{len(mutants)} mutants in {len({m.file for m in mutants})} files", flush=True)
    verdicts = Verdicts(BUILT / "verdicts.jsonl")
    again = set(filter(None, given.again.split(",")))
    known = {
        name: "not run" if has_lost_its_test(ROOT, told) else told["verdict"]
        for name, told in verdicts.known.items()
    }
    waiting = [m for m in mutants if known.get(m.id, "not run") in {*again, "not run"}]
    waiting.sort(key=lambda mutant: mutant.id not in known)  # what was tried before comes first
    warm()
    store = Store(ROOT, BUILT / "map")
    below = tuple(given.tests.split(","))
    paths = (p.relative_to(ROOT).as_posix() for p in (ROOT / "tests").rglob("test_*.py"))
    tests = sorted(path for path in paths if path.startswith(below))
    files = to_record(store, tests, mutants if waiting else [], changed=given.changed)
    latest = began + CHANGED_SECONDS / 2 if given.changed else float("inf")
    record(store, files, PACKAGES, pytest_options(ROOT), given.processes, latest)
    sources = {file: (ROOT / file).read_text(encoding="utf-8") for file in python_files(ROOT)}
    chooser = Chooser(store, tests, Places(sources), given.seconds)
    gc.collect()
    gc.disable()  # processes are short
    gc.freeze()  # or each process would copy what is never freed
    try:
        try_all(
            ROOT,
            trials(waiting, chooser, whole=given.whole),
            verdicts,
            total=len(waiting),
            options=pytest_options(ROOT),
            processes=given.processes,
            until=until,
            say=lambda line: print(f"\r{line}\x1b[K", end="", flush=True),
        )
    finally:
        print()
    assert not any(name.partition(".")[0] == "conjury" for name in sys.modules)
    print(f"{(time.monotonic() - began) / 60:.1f} minutes")
    is_whole = given.mutants == scores.SAMPLE and not (given.changed or given.rooms or given.only)
    report(mutants, verdicts, whole=is_whole)
    if given.whole:
        known_here = (verdicts.known[m.id] for m in mutants if m.id in verdicts.known)
        print(scores.unneeded(known_here))
    return 0


def to_record(store: Store, tests: list[str], mutants: list[Mutant], *, changed: bool) -> list[str]:
    """Test files to record: all that are not current; for a change those near it that have changed."""
    if not mutants:
        return []
    if not changed:
        return [file for file in tests if not store.is_current(file)]
    near = tuple({"tests/" + "/".join(m.file.split("/")[:2]) for m in mutants})
    return [file for file in tests if file.startswith(near) and not store.is_current(file, code=False)]


def report(mutants: list[Mutant], verdicts: Verdicts, *, whole: bool) -> None:
    """Print the scores and the survivors; write them where half of the whole sample has a verdict."""
    known_here = (verdicts.known[m.id] for m in mutants if m.id in verdicts.known)
    told = [verdict for verdict in known_here if not has_lost_its_test(ROOT, verdict)]
    known = scores.equivalents(HERE / "equivalent.csv")
    rows = scores.counted(told, known)
    survivors = [
        t
        for t in sorted(told, key=lambda t: (t["file"], t["line"]))
        if t["verdict"] in ("survived", "not reached") and (t["file"], t["text"], t["becomes"]) not in known
    ]
    scores.write_csv(BUILT / "survivors.csv", scores.SURVIVORS, survivors)
    for t in survivors[:CHANGED]:
        print(f"{t['file']}:{t['line']}: {t['verdict']}\n    - {t['text']}\n    + {t['becomes']}")
    print(scores.table(rows))
    verdict = dict(Counter(t["verdict"] for t in told))
    print(f"{len(told)} of {len(mutants)} mutants have a verdict: {verdict}")
    if whole and len(told) >= len(mutants) / 2:
        scores.write_csv(HERE / "scores.csv", scores.COLUMNS, rows)
        table = scores.read_csv(HERE / "scores.csv")
        PAGE.write_text(scores.with_table(PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")
        print(f"written: {HERE / 'scores.csv'} and {PAGE}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on from here")
