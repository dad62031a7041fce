"""Hostile and damaged inputs: each command ends within seconds, with one sentence and exit code 2."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import cases
from fakes.studies import change_study

from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

SECONDS = 20
HUGE = 10**12
DEEP = "[" * 50_000 + "]" * 50_000
DEEP_YAML = "[" * 100_000 + "]" * 100_000  # which ends a process in libyaml
LAUGHS = "&l0 [x,x,x,x,x,x,x,x,x,x]" + "".join(
    f", &l{n} [{','.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 9)
)
MERGES = "m0: &m0 {a: 1}\n" + "\n".join(
    f"m{n}: &m{n} {{<<: [{','.join([f'*m{n - 1}'] * 9)}]}}" for n in range(1, 9)
)
DOUBLES = "{% set n = namespace(x='xxx') %}{% for i in range(27) %}{% set n.x = n.x ~ n.x %}{% endfor %}"
LOOPS = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
PRICES = "currency: USD\nper: 0\nmodels:\n" + "".join(
    f"- {{model: {name}, input: 1, output: 2, as_of: 2025-01-01}}\n"
    for name in ("gpt-4o", "gpt-4o-2024-08-06")
)
SIMULATE = "simulate moderation --out s.csv"
FIT = "fit moderation --draws 0 --out out --data"
CSV = "--out o.parquet --format csv --value rating"
STUDIO = "import m.json --format label-studio --out o.parquet"
RATINGS = "rater,item,rating\nann,a,1\nbob,a,2\nann,b,3\nbob,b,3\n"
Make = Callable[[], object]


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail where the command has not ended in time."""

    def late(*_: object) -> None:
        raise TimeoutError(f"no answer within {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study, its choices, and files of other kinds, to be spoiled."""
    folder = tmp_path_factory.mktemp("material")
    known = load_study("moderation")
    shutil.copytree(known.folder, folder / "study")
    made = simulate(known, 1, pairs=30, judges=["gpt4o"], prompts=["baseline"], truth=False).choices
    made.to_csv(folder / "choices.csv", index=False)
    pd.read_csv(folder / "choices.csv").to_parquet(folder / "choices.parquet")
    columns = {"judge_id": list("ab") * 4, "item_id": list("ppqqrrss"), "value": [1, 2] * 4}
    pd.DataFrame(columns).assign(judge_kind="human").to_csv(folder / "judgments.csv", index=False)
    items = {"item_id": ["i1"], "text": ["Some words to change here"], "language": ["en"], "span": [DEEP]}
    pd.DataFrame(items).to_csv(folder / "items.csv", index=False)
    return folder


def nothing() -> None:
    """Leave the material as it is."""


def text(name: str, content: str) -> Make:
    return lambda: Path(name).write_text(content, encoding="utf-8")


def study(change: Callable[[dict[str, Any]], object]) -> Make:
    """Change the content of the study file."""
    return lambda: change_study(Path("study"), change)


def replaced(old: str, new: str) -> Make:
    """Change the text of the study file, at its end where ``old`` is empty."""

    def write() -> None:
        path = Path("study/study.yaml")
        content = path.read_text(encoding="utf-8")
        path.write_text(content.replace(old, new, 1) if old else content + new, encoding="utf-8")

    return write


def line(added: str) -> Make:
    return replaced("", f"\n{added}\n")


def sized(levels: int = 0, attributes: int = 0) -> Make:
    """Give the first attribute so many levels, or the study so many more attributes."""

    def change(content: dict[str, Any]) -> None:
        many = [{"id": f"l{n}", "label": f"Level {n}"} for n in range(levels)]
        content["attributes"][0]["levels"] = many or content["attributes"][0]["levels"]
        two = [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]
        extra = [{"id": f"e{n}", "label": f"Extra {n}", "levels": two} for n in range(attributes)]
        content["attributes"] += extra
        content["analyses"] = []

    return study(change)


def probability(value: str) -> Make:
    return study(lambda content: content["attributes"][0]["levels"][0].update(probability=value))


def design(**sizes: int) -> Make:
    return study(lambda content: content["design"].update(sizes))


def prompt(template: str) -> Make:
    return lambda: [path.write_text(template) for path in Path("study/prompts").glob("*.j2")]


def metadata(key: bytes) -> Make:
    """Put deeply nested JSON into the metadata of the Parquet file."""
    return lambda: pq.write_table(
        pq.read_table("choices.parquet").replace_schema_metadata({key: DEEP.encode()}), "deep.parquet"
    )


def wide(columns: int, suffix: str = "csv") -> Make:
    def write() -> None:
        names = [f"c{n}" for n in range(columns)]
        if suffix == "parquet":
            pq.write_table(pa.table({name: [1] for name in names}), "wide.parquet")
        else:
            Path("wide.csv").write_text(f"{','.join(names)}\n" * 2, encoding="utf-8")

    return write


def label_studio(**fields: object) -> Make:
    """An export of one task that has other fields than it should have, or its annotation has."""
    result = {"from_name": "wit", "type": "rating", "value": {"rating": 4}}
    annotation = {"id": 1, "completed_by": 2, "result": [result]}
    task = {"id": 7, "data": {}, "annotations": [annotation]}
    own = {name: value for name, value in fields.items() if name in ("annotations", "data", "predictions")}
    return text("m.json", json.dumps([{**task, "annotations": [annotation | fields], **own}]))


def pipe() -> None:
    os.mkfifo("pipe.csv")


def results(content: str) -> Make:
    def write() -> None:
        Path("results").mkdir()
        Path("results/manifest.json").write_text(content)

    return write


COMMANDS = dict(cases(__file__, "commands"))
NESTED, LIMIT, ALIASES, REGULAR = "nested", "the limit is", "with aliases followed", "not a regular file"
LINES = {
    "merge keys that multiply": (MERGES, ALIASES),
    "aliases nested 150 deep": (
        "a0: &a0 []\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 150)),
        NESTED,
    ),
    "alias inside itself": ("x: &x [*x]", "an alias is inside"),
    "unhashable key": ("? [a, b]\n: c", "a key is a list"),
    "explicit tag of a time": ("x: !!timestamp noon", "not valid YAML"),
    "explicit tag of a truth value": ("x: !!bool maybe", "not valid YAML"),
    "integer of 900,000 digits": (f"x: {'9' * 900_000}", "900,000 digits"),
    "integer in hexadecimal": (f"x: 0x{'f' * 90_000}", "digits"),
    "half a surrogate pair": ('title2: "\\ud800"', "surrogate"),
    "study file of 2 MB": ("# " + "x" * 2**21, "1 MiB"),
}
PROMPTS = {
    "prompt with a loop in a loop": LOOPS,
    "prompt that doubles a text": DOUBLES,
    "prompt with a text times 1e9": "{{ 'x' * 10**9 }}",
    "prompt with a power of powers": "{{ (9 ** (9 ** 7)) % 7 }}",
}
# All commands read the study file by the same function, so that one of them, a cheap one, tries each file.
STUDY_FILES: dict[str, tuple[list[str], Make, str]] = {
    "explicit tag without a value": ([*COMMANDS], line("x: !!int ''"), "not valid YAML"),
    "deep study file": (["parse"], line(f"deep: {DEEP_YAML}"), NESTED),
    "aliases that multiply": (["fit"], replaced("settings: {", f"settings: {{laughs: [{LAUGHS}], "), ALIASES),
    "1e12 pairs": (["power"], design(pairs=HUGE), "at most 1,000,000"),
    "40 more attributes": (["render", "design", "simulate", "gallery"], sized(attributes=40), LIMIT),
    "3,000 levels": (["gallery"], sized(levels=3_000), "at most 1,000 entries"),
    "1e9 respondents": (["simulate"], design(respondents=10**9), "at most 100,000"),
    "1e9 tasks": (["simulate"], design(tasks=10**9), "at most 1,000"),
    **{name: (["design"], line(added), says) for name, (added, says) in LINES.items()},
    **{
        f"probability {value[:20]}": (["design"], probability(value), "probability")
        for value in ("1e400", "1e99999999999", f"{'9' * 400}/1")
    },
    **{name: (["collect"], prompt(text), "exceeds a limit") for name, text in PROMPTS.items()},
}
EXPORTS = dict(cases(__file__, "exports"))
TABLES = (
    f"{FIT} FILE",
    "agreement FILE --results out",
    "perturb FILE --out p.csv",
    f"import FILE {CSV}",
    "alt-test FILE --results out",
    "raters FILE --results out",
    "check moderation --results r --data FILE",
    "compare moderation --data FILE",
)
HEADERS = {
    "csv": "--value rating",
    "mturk": "",
    "lancers": "--value x=y",
    "qualtrics": "--ratings Q{item}_{dimension}",
}
LEVELS = f"{FIT} choices.csv --levels"
PACKED = f'WorkerId,Input.id,Answer.taskAnswers\nA,1,"{DEEP}"\n'
REPORT = "report conjoint --results results"
ROWS: list[tuple[str, Make, str]] = [
    *((f"{SIMULATE} {size} {HUGE}", nothing, LIMIT) for size in ("--pairs", "--respondents")),
    (f"{SIMULATE} --pairs 9 --samples {HUGE}", nothing, LIMIT),
    (f"simulate oogiri --out s.parquet --topics {HUGE}", nothing, LIMIT),
    (f"design moderation --out run --pairs {HUGE}", nothing, LIMIT),
    *(
        (f"{name} judgments.csv --results out --draws {HUGE}", nothing, LIMIT)
        for name in ("agreement", "alt-test", "raters")
    ),
    (f"fit moderation --data choices.csv --draws {HUGE}", nothing, LIMIT),
    (f"{COMMANDS['collect']} --prices p.yaml", text("p.yaml", PRICES), "per"),
    (
        "collect study --judge mine --out run --base-url http://127.0.0.1:9/v1\x01\x7f",
        nothing,
        "not the address of a server",
    ),
    (f"{LEVELS} deep.json", text("deep.json", DEEP), NESTED),
    (f"{LEVELS} digits.json", text("digits.json", f'{{"topic": [{"9" * 10**6}]}}'), "1,000,000 digits"),
    (f"{LEVELS} pipe.csv", pipe, "give at least two labels"),
    (f"{LEVELS} /dev/zero", nothing, "give at least two labels"),
    (f"import /dev/zero {CSV}", nothing, REGULAR),
    *((command.replace("FILE", "pipe.csv"), pipe, REGULAR) for command in TABLES),
    *((command.replace("FILE", "wide.csv"), wide(10**6), LIMIT) for command in TABLES[:4]),
    (f"{FIT} wide.parquet", wide(12_000, "parquet"), LIMIT),
    (f"{STUDIO}", text("m.json", DEEP), NESTED),
    *((STUDIO, label_studio(**fields), "belong") for fields in EXPORTS.values()),
    *(
        (f"import m.csv --format {form} --out o.parquet {more}", text("m.csv", ",,,\n,,,\n"), "header")
        for form, more in HEADERS.items()
    ),
    (
        "import m.csv --format mturk --item Input.id --out o.parquet",
        text("m.csv", PACKED),
        "is not valid JSON",
    ),
    ("perturb items.csv --kinds orthographic --span span --out p.csv", nothing, "[[start, end], ...]"),
    (REPORT, results(DEEP), NESTED),
    (REPORT, results("[]"), "should contain one mapping"),
    ("check-table t.html", text("t.html", "<table><tr><td>" * 20_000), "nested more than 100 deep"),
    ("check-table loop.csv", lambda: Path("loop.csv").symlink_to("loop.csv"), "a link that leads to no file"),
    ("convert loop.csv --out o.csv", lambda: Path("loop.csv").symlink_to("loop.csv"), "Symlink loop"),
    ("agreement judgments.csv --results results", results(DEEP), NESTED),
    (f"{FIT} deep.parquet", metadata(b"conjury"), NESTED),
    (f"{FIT} deep.parquet", metadata(b"pandas"), "damaged"),
]
CASES = [pytest.param(*row, id=f"{row[0][:70]}: {row[2]}") for row in ROWS] + [
    pytest.param(COMMANDS[command], make, told, id=f"{command}: {name}")
    for name, (commands, make, told) in STUDY_FILES.items()
    for command in commands
]


@pytest.mark.long
@pytest.mark.parametrize(("command", "make", "told"), CASES)
def test_hostile_input_ends_with_one_sentence(
    command: str, make: Make, told: str, material: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    shutil.copytree(material, tmp_path, dirs_exist_ok=True)
    make()
    with within(SECONDS):
        assert told in refused(command)


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("csv", RATINGS),
        ("mturk", "WorkerId,Input.id,Answer.wit\nA,1,2\nB,1,3\n"),
        ("qualtrics", "ResponseId,Q1_wit\nR_1,4\nR_2,2\n"),
    ],
)
def test_bare_carriage_returns_end_lines(form: str, content: str, ran: Callable[..., str]) -> None:
    Path("m.csv").write_bytes(content.replace("\n", "\r").encode())
    ran(f"import m.csv --format {form} --out o.csv {HEADERS[form]}")


def packed(name: str, first: bytes, mebibyte: bytes) -> None:
    """Write 2 GiB that are small on disk: one part after another is one text."""
    Path(name).write_bytes(gzip.compress(first) + 2048 * gzip.compress(mebibyte))


def sparse(name: str, first: bytes, size: int) -> None:
    Path(name).write_bytes(first)
    os.truncate(name, size)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "content", "command", "told"),
    [
        (packed, (b"", b"1,2,3,4\n" * 2**17), "agreement FILE.csv.gz --results out", "Parquet"),
        (packed, (b"a,b\n1,", b"x" * 2**20), "agreement FILE.csv.gz --results out", "Parquet"),
        (
            packed,
            (b"[", b"1," * 2**19),
            "import FILE.json.gz --format label-studio --out o.parquet",
            "256 MiB",
        ),
        (sparse, (b"a,b\n1,", 7 * 2**30), f"{FIT} FILE.csv", "Parquet"),
    ],
    ids=["rows of 2 GB", "one cell of 2 GB", "export of 2 GB", "field of 7 GB"],
)
def test_large_input_is_refused_in_little_memory(
    make: Callable[..., None], content: tuple[object, ...], command: str, told: str, tmp_path: Path
) -> None:
    words = command.split()
    (file,) = (word for word in words if word.startswith("FILE"))
    make(str(tmp_path / file), *content)
    done = subprocess.run(
        [sys.executable, "-c", "from conjury.cli.main import main; main()", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30)),
    )
    assert done.returncode == 2, done.stderr[-2000:]
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
