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

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from conjury.cli.main import main
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

SECONDS = 20
HUGE = str(10**12)
DEEP = "[" * 50_000 + "]" * 50_000
DEEP_YAML = "[" * 2_000 + "]" * 2_000
LAUGHS = "&l0 [x,x,x,x,x,x,x,x,x,x]" + "".join(
    f", &l{n} [{','.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 9)
)
MERGES = "m0: &m0 {a: 1}\n" + "\n".join(
    f"m{n}: &m{n} {{<<: [{','.join([f'*m{n - 1}'] * 9)}]}}" for n in range(1, 9)
)
DOUBLES = "{% set n = namespace(x='xxx') %}{% for i in range(27) %}{% set n.x = n.x ~ n.x %}{% endfor %}"
SIMULATE = ("simulate", "moderation", "--out", "s.csv")
FIT = ("fit", "moderation", "--draws", "0", "--out", "out", "--data")
CSV = ("--out", "o.parquet", "--format", "csv", "--value", "rating")
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
    (folder / "ratings.csv").write_text(RATINGS)
    pd.DataFrame(
        {"judge_id": ["a", "b"] * 4, "judge_kind": "human", "item_id": list("ppqqrrss"), "value": [1, 2] * 4}
    ).to_csv(folder / "judgments.csv", index=False)
    items = pd.DataFrame({"item_id": ["i1"], "text": ["Some words to change here"], "language": ["en"]})
    items.assign(span=DEEP).to_csv(folder / "items.csv", index=False)
    return folder


@pytest.fixture
def here(material: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(material, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def nothing() -> None:
    """Leave the material as it is."""


def text(name: str, content: str) -> Make:
    return lambda: Path(name).write_text(content, encoding="utf-8")


def study(change: Callable[[dict[str, object]], None]) -> Make:
    """Change the content of the study file."""

    def write() -> None:
        path = Path("study/study.yaml")
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")

    return write


def line(words: str) -> Make:
    """Add a line to the study file."""

    def write() -> None:
        with Path("study/study.yaml").open("a", encoding="utf-8") as file:
            file.write(f"\n{words}\n")

    return write


def settings(words: str) -> Make:
    """Add to the settings of the first model."""

    def write() -> None:
        path = Path("study/study.yaml")
        content = path.read_text(encoding="utf-8")
        path.write_text(content.replace("settings: {", f"settings: {{{words}, ", 1), encoding="utf-8")

    return write


def levels(count: int) -> Make:
    def change(content: dict[str, object]) -> None:
        content["attributes"][0]["levels"] = [  # type: ignore[index]
            {"id": f"l{n}", "label": f"Level {n}"} for n in range(count)
        ]
        content["analyses"] = []

    return study(change)


def attributes(count: int) -> Make:
    def change(content: dict[str, object]) -> None:
        two = [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]
        content["attributes"] += [  # type: ignore[operator]
            {"id": f"extra{n}", "label": f"Extra {n}", "levels": two} for n in range(count)
        ]
        content["analyses"] = []

    return study(change)


def probability(value: object) -> Make:
    return study(lambda content: content["attributes"][0]["levels"][0].update(probability=value))  # type: ignore[index]


def design(**sizes: int) -> Make:
    return study(lambda content: content["design"].update(sizes))  # type: ignore[attr-defined]


def prompt(template: str) -> Make:
    def write() -> None:
        for path in Path("study/prompts").glob("*.j2"):
            path.write_text(template, encoding="utf-8")

    return write


def metadata(key: bytes) -> Make:
    """Put deeply nested JSON into the metadata of the Parquet file."""

    def write() -> None:
        table = pq.read_table("choices.parquet")
        pq.write_table(table.replace_schema_metadata({key: DEEP.encode()}), "deep.parquet")

    return write


def wide(columns: int) -> Make:
    names = ",".join(f"c{n}" for n in range(columns))
    return text("wide.csv", f"{names}\n{names}\n")


def wide_parquet() -> None:
    pq.write_table(pa.table({f"c{n}": [1] for n in range(12_000)}), "wide.parquet")


def label_studio(**fields: object) -> Make:
    """An export of one task whose annotation has other fields than it should have."""
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


STUDY_COMMANDS = {
    "design": ("design", "study", "--out", "run"),
    "simulate": ("simulate", "study", "--out", "s.csv"),
    "power": ("power", "study"),
    "gallery": ("gallery", "study", "--out", "g.html"),
    "render": ("render", "study", "--out", "r"),
    "fit": ("fit", "study", "--data", "choices.csv", "--draws", "0", "--out", "out"),
    "collect": ("collect", "study", "--judge", "gpt4o", "--dry-run", "--out", "run"),
    "status": ("status", "study", "--out", "run"),
    "parse": ("parse", "study", "--out", "run"),
    "retry": ("retry", "study", "--status", "error", "--out", "run"),
    "diagnose": ("diagnose", "study", "--data", "choices.csv"),
    "compare": ("compare", "study", "--data", "choices.csv", "--engines", "native"),
}
NESTED, LIMIT = "nested", "the limit is"
Row = tuple[tuple[str, ...], Make, str]
ROWS: dict[str, Row] = {
    **{
        f"{name}: deep study file": (words, line(f"deep: {DEEP_YAML}"), NESTED)
        for name, words in STUDY_COMMANDS.items()
    },
    **{
        f"{name}: aliases that multiply": (
            STUDY_COMMANDS[name],
            settings(f"laughs: [{LAUGHS}]"),
            "with aliases followed",
        )
        for name in ("design", "fit", "collect")
    },
    **{
        f"{name}: 1e12 pairs": (STUDY_COMMANDS[name], design(pairs=10**12), "at most 1,000,000")
        for name in ("design", "simulate", "power", "gallery", "fit", "collect")
    },
    **{
        f"{name}: 40 more attributes": (STUDY_COMMANDS[name], attributes(40), LIMIT)
        for name in ("design", "simulate", "gallery", "render")
    },
    **{
        f"{name}: 3,000 levels": (STUDY_COMMANDS[name], levels(3_000), "at most 1,000 entries")
        for name in ("design", "simulate", "power", "gallery")
    },
    "merge keys that multiply": (
        STUDY_COMMANDS["design"],
        line(MERGES),
        "with aliases followed",
    ),
    "alias inside itself": (STUDY_COMMANDS["design"], line("x: &x [*x]"), "an alias is inside"),
    "unhashable key": (STUDY_COMMANDS["design"], line("? [a, b]\n: c"), "a key is a list"),
    "explicit tag without a value": (STUDY_COMMANDS["design"], line("x: !!int ''"), "not valid YAML"),
    "explicit tag of a time": (STUDY_COMMANDS["design"], line("x: !!timestamp noon"), "not valid YAML"),
    "explicit tag of a truth value": (STUDY_COMMANDS["design"], line("x: !!bool maybe"), "not valid YAML"),
    "integer of 900,000 digits": (STUDY_COMMANDS["design"], line(f"x: {'9' * 900_000}"), "900,000 digits"),
    "integer in hexadecimal": (STUDY_COMMANDS["design"], line(f"x: 0x{'f' * 90_000}"), "digits"),
    "half a surrogate pair": (STUDY_COMMANDS["design"], line('title2: "\\ud800"'), "surrogate"),
    "study file of 2 MB": (STUDY_COMMANDS["design"], line("# " + "x" * 2**21), "1 MiB"),
    "probability that overflows": (STUDY_COMMANDS["design"], probability("1e400"), "probability"),
    "probability as a huge power": (STUDY_COMMANDS["design"], probability("1e99999999999"), "probability"),
    "probability as a huge fraction": (
        STUDY_COMMANDS["design"],
        probability(f"{'9' * 400}/1"),
        "probability",
    ),
    "1e9 respondents": (STUDY_COMMANDS["simulate"], design(respondents=10**9), "at most 100,000"),
    "1e9 tasks": (STUDY_COMMANDS["simulate"], design(tasks=10**9), "at most 1,000"),
    "simulate --pairs 1e12": ((*SIMULATE, "--pairs", HUGE), nothing, LIMIT),
    "simulate --respondents 1e12": (
        (*SIMULATE, "--respondents", HUGE),
        nothing,
        LIMIT,
    ),
    "simulate --samples 1e12": (
        (*SIMULATE, "--pairs", "9", "--samples", HUGE),
        nothing,
        LIMIT,
    ),
    "simulate --topics 1e12": (
        ("simulate", "oogiri", "--out", "s.parquet", "--topics", HUGE),
        nothing,
        LIMIT,
    ),
    "design --pairs 1e12": (("design", "moderation", "--out", "run", "--pairs", HUGE), nothing, LIMIT),
    "agreement --draws 1e12": (
        ("agreement", "judgments.csv", "--results", "out", "--draws", HUGE),
        nothing,
        LIMIT,
    ),
    "alt-test --draws 1e12": (
        ("alt-test", "judgments.csv", "--results", "out", "--draws", HUGE),
        nothing,
        LIMIT,
    ),
    "raters --draws 1e12": (
        ("raters", "judgments.csv", "--results", "out", "--draws", HUGE),
        nothing,
        LIMIT,
    ),
    "fit --draws 1e12": (("fit", "moderation", "--data", "choices.csv", "--draws", HUGE), nothing, LIMIT),
    "prompt with a loop in a loop": (
        STUDY_COMMANDS["collect"],
        prompt("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"),
        "exceeds a limit",
    ),
    "prompt with a text times 1e9": (
        STUDY_COMMANDS["collect"],
        prompt("{{ 'x' * 10**9 }}"),
        "exceeds a limit",
    ),
    "prompt that doubles a text": (
        STUDY_COMMANDS["collect"],
        prompt(DOUBLES),
        "exceeds a limit",
    ),
    "prompt with a power of powers": (
        STUDY_COMMANDS["collect"],
        prompt("{{ (9 ** (9 ** 7)) % 7 }}"),
        "exceeds a limit",
    ),
    "price per 0 tokens": (
        (*STUDY_COMMANDS["collect"], "--prices", "p.yaml"),
        text(
            "p.yaml",
            "currency: USD\nper: 0\nmodels:\n"
            "- {model: gpt-4o, input: 1, output: 2, as_of: 2025-01-01}\n- "
            "{model: gpt-4o-2024-08-06, input: 1, output: 2, as_of: 2025-01-01}\n",
        ),
        "per",
    ),
    "control characters in an address": (
        (
            "collect",
            "study",
            "--judge",
            "mine",
            "--out",
            "run",
            "--base-url",
            "http://127.0.0.1:9/v1\x01\x7f",
        ),
        nothing,
        "no address of a server",
    ),
    "deep levels file": ((*FIT, "choices.csv", "--levels", "l.json"), text("l.json", DEEP), NESTED),
    "levels with a number of a million digits": (
        (*FIT, "choices.csv", "--levels", "l.json"),
        text("l.json", f'{{"topic": [{"9" * 10**6}]}}'),
        "1,000,000 digits",
    ),
    "levels from a pipe": (
        (*FIT, "choices.csv", "--levels", "pipe.csv"),
        pipe,
        "not a regular file",
    ),
    "deep metadata of levels": ((*FIT, "deep.parquet"), metadata(b"conjury"), NESTED),
    "deep metadata of pandas": ((*FIT, "deep.parquet"), metadata(b"pandas"), "damaged"),
    **{
        f"{words[0]}: a pipe": (words, pipe, "not a regular file")
        for words in (
            (*FIT, "pipe.csv"),
            ("agreement", "pipe.csv", "--results", "out"),
            ("alt-test", "pipe.csv", "--results", "out"),
            ("raters", "pipe.csv", "--results", "out"),
            ("diagnose", "moderation", "--data", "pipe.csv"),
            ("compare", "moderation", "--data", "pipe.csv"),
            ("perturb", "pipe.csv", "--out", "p.csv"),
            ("import", "pipe.csv", *CSV),
        )
    },
    **{
        f"{words[0]}: 1,000,000 columns": (words, wide(10**6), LIMIT)
        for words in (
            (*FIT, "wide.csv"),
            ("agreement", "wide.csv", "--results", "out"),
            ("perturb", "wide.csv", "--out", "p.csv"),
            ("import", "wide.csv", *CSV),
        )
    },
    "12,000 columns in Parquet": ((*FIT, "wide.parquet"), wide_parquet, LIMIT),
    "/dev/zero as an export": (("import", "/dev/zero", *CSV), nothing, "not a regular file"),
    "/dev/zero as levels": ((*FIT, "choices.csv", "--levels", "/dev/zero"), nothing, "not a regular file"),
    "deep Label Studio export": (
        ("import", "m.json", "--format", "label-studio", "--out", "o.parquet"),
        text("m.json", DEEP),
        NESTED,
    ),
    **{
        f"Label Studio: {name}": (
            ("import", "m.json", "--format", "label-studio", "--out", "o.parquet"),
            label_studio(**fields),
            "belong",
        )
        for name, fields in {
            "annotations are a text": {"annotations": "none"},
            "an annotation is a number": {"annotations": [3]},
            "data are a list": {"data": [1, 2]},
            "lead time in words": {"lead_time": "a minute"},
            "result is a number": {"result": 3},
            "a result is a text": {"result": ["wit"]},
            "a value is a list": {"result": [{"from_name": "wit", "type": "rating", "value": [4]}]},
            "time is a mapping": {"updated_at": {"at": 1}},
            "predictions are a number": {"predictions": 7},
        }.items()
    },
    **{
        f"{form}: a header of commas": (
            ("import", "m.csv", "--format", form, "--out", "o.parquet", *more),
            text("m.csv", ",,,\n,,,\n"),
            "header",
        )
        for form, more in {
            "csv": ("--value", "rating"),
            "mturk": (),
            "lancers": ("--value", "x=y"),
            "qualtrics": ("--ratings", "Q{item}_{dimension}"),
        }.items()
    },
    "deep answers packed by MTurk": (
        ("import", "m.csv", "--format", "mturk", "--item", "Input.id", "--out", "o.parquet"),
        text("m.csv", f'WorkerId,Input.id,Answer.taskAnswers\nA,1,"{DEEP}"\n'),
        "is no JSON",
    ),
    "deep span": (
        ("perturb", "items.csv", "--kinds", "orthographic", "--span", "span", "--out", "p.csv"),
        nothing,
        "write [[start, end], ...]",
    ),
    "deep manifest in report": (("report", "conjoint", "--results", "results"), results(DEEP), NESTED),
    "manifest that is a list": (
        ("report", "conjoint", "--results", "results"),
        results("[]"),
        "is no manifest",
    ),
    "deep manifest in agreement": (
        ("agreement", "judgments.csv", "--results", "results"),
        results(DEEP),
        NESTED,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_hostile_input_ends_with_one_sentence(
    name: str, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words, make, expected = ROWS[name]
    make()
    monkeypatch.setattr(sys, "argv", ["conjury", *words])
    with within(SECONDS), pytest.raises(SystemExit) as stopped:
        main()
    printed = capfd.readouterr().err
    assert stopped.value.code == 2
    assert printed.startswith("conjury: ")
    assert printed.count("\n") == 1
    assert expected in printed


@pytest.mark.parametrize("form", ["csv", "mturk", "qualtrics"])
def test_bare_carriage_returns_end_lines(
    form: str, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    exports = {
        "csv": (RATINGS, ("--value", "rating")),
        "mturk": ("WorkerId,Input.id,Answer.wit\nA,1,2\nB,1,3\n", ()),
        "qualtrics": ("ResponseId,Q1_wit\nR_1,4\nR_2,2\n", ("--ratings", "Q{item}_{dimension}")),
    }
    content, options = exports[form]
    Path("m.csv").write_bytes(content.replace("\n", "\r").encode())
    monkeypatch.setattr(
        sys, "argv", ["conjury", "import", "m.csv", "--format", form, "--out", "o.csv", *options]
    )
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code in (0, None), capfd.readouterr().err


def big(name: str) -> None:
    """Write a file that is harmless on disk and beyond the limits once it is unpacked or read."""
    if name == "gzip of 2 GB":
        with gzip.open("big.csv.gz", "wb", compresslevel=1) as file:
            for _ in range(2048):
                file.write(b"1,2,3,4\n" * 2**17)
    elif name == "gzip of one cell of 2 GB":
        with gzip.open("big.csv.gz", "wb", compresslevel=1) as file:
            file.write(b"a,b\n1,")
            for _ in range(2048):
                file.write(b"x" * 2**20)
    elif name == "field of 7 GB":
        with Path("big.csv").open("wb") as file:
            file.write(b"a,b\n1,")
            file.truncate(7 * 2**30)
    else:
        with gzip.open("big.json.gz", "wb", compresslevel=1) as file:
            file.write(b"[")
            for _ in range(2048):
                file.write(b"1," * 2**19)


LARGE = {
    "gzip of 2 GB": (("agreement", "big.csv.gz", "--results", "out"), "Parquet"),
    "gzip of one cell of 2 GB": (("agreement", "big.csv.gz", "--results", "out"), "Parquet"),
    "field of 7 GB": ((*FIT, "big.csv"), "Parquet"),
    "export of 2 GB": (
        ("import", "big.json.gz", "--format", "label-studio", "--out", "o.parquet"),
        "256 MiB",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", LARGE)
def test_large_input_is_refused_in_little_memory(name: str, tmp_path: Path) -> None:
    words, expected = LARGE[name]
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        big(name)
    finally:
        os.chdir(before)
    done = subprocess.run(
        [sys.executable, "-c", "from conjury.cli.main import main; main()", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30)),
    )
    assert done.returncode == 2, done.stderr[-2000:]
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1
