"""The first commands: ``doctor``, what is installed or missing, and ``example``, small made-up files."""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from ...automation import record
from ...options import not_a_file
from ...printing import console, print_table
from ...wishes import details


@dataclass(frozen=True)
class InstalledPart:
    """One thing to look for: its version or None, and the remedy where it is missing."""

    part: str
    found: str | None
    remedy: str


EXTRAS = {
    "nbclient": "pip install 'conjury[report]' (reports, printed tables)",
    "statsmodels": "pip install 'conjury[engines]' (engines statsmodels and linearmodels)",
    "pyreadstat": "pip install 'conjury[files]' (files of Excel, SPSS and Stata)",
    "pymc": "pip install 'conjury[bayes]' (Python 3.12 or newer)",
    "openai": "pip install 'conjury[openai]'",
    "starlette": "pip install 'conjury[panel]' (people in the browser)",
    "ibis-framework": "pip install 'conjury[database]' (tables beyond memory)",
    "typst": "pip install 'conjury[pdf]' (PDF without Quarto)",
    "fonttools": "pip install 'conjury[pictures]' (vignettes as pictures)",
    "av": "pip install 'conjury[media]' (clips)",
    "py3langid": "pip install 'conjury[languages]' (languages of items)",
    "faster-whisper": "pip install 'conjury[transcripts]' (transcripts of clips)",
    "inspect-ai": "pip install 'conjury[inspect]' (logs of Inspect)",
    "vllm": "pip install 'conjury[vllm]' (Linux with a GPU)",
    "ray": "pip install 'conjury[cluster]'",
}


def findings() -> list[InstalledPart]:
    """Show which of Python, R, its packages, Quarto and the optional packages are installed."""
    from conjury.analysis.pipeline.manifest import installed
    from conjury.analysis.r import PACKAGES, available, remedy, versions_by_rscript

    r = available()
    versions = {"R": r.r, **r.packages} if r.r else versions_by_rscript()
    return [
        InstalledPart("conjury", version("conjury"), ""),
        InstalledPart("Python", platform.python_version(), ""),
        InstalledPart("rpy2", r.rpy2, remedy("rpy2")),
        InstalledPart("R", versions.get("R"), remedy("R")),
        *(
            InstalledPart(f"R package {name}", versions.get(name), remedy(name))
            for name in (PACKAGES if versions else ())
        ),
        InstalledPart(
            "Quarto",
            _on_path("quarto"),
            "quarto.org/docs/download, or pip install 'conjury[quarto]' where GitHub can be "
            "reached; without it reports have a simpler layout",
        ),
        *(InstalledPart(name, installed(name), advice) for name, advice in EXTRAS.items()),
    ]


def doctor() -> None:
    """Print what is installed and how to get what is missing."""
    from conjury.analysis.frames.word_table import WordTable
    from conjury.inference.errors import counted

    parts = findings()
    record(parts={part.part: {"version": part.found, "remedy": part.remedy} for part in parts})
    rows = [(part.part, part.found or "missing", "" if part.found else part.remedy) for part in parts]
    missing = [row for row in rows if row[-1]]
    with details():
        print_table(WordTable("", ("Part", "Version", "If missing"), rows, words=range(3)))
        console.print()
    console.print(
        f"conjury {version('conjury')} on Python {platform.python_version()}: {len(rows) - len(missing)} of "
        f"{counted(len(rows), 'part')} are installed."
    )
    if missing:
        head = ("Missing", "How to get it")
        print_table(WordTable("", head, [(part, remedy) for part, _, remedy in missing], words=range(2)))


def _on_path(program: str) -> str | None:
    return "on the PATH" if shutil.which(program) else None


R_FOLDER = "conjury-R"
R_PARTS = ("DESCRIPTION", "NAMESPACE", "LICENSE", "R/*.R", "inst/**/*", "man/*.Rd", "vignettes/*.Rmd")


def example(
    name: Annotated[str | None, typer.Argument(help="Which example; without a name they are listed.")] = None,
    out: Annotated[Path, typer.Option("--out", callback=not_a_file, help="Folder for the files.")] = Path(),
) -> None:
    """Write small example files.

    Ratings, exports of Qualtrics, raw completions, choices for R.
    """
    import yaml

    from conjury.inference.errors import InputError, unknown_name
    from conjury.inference.tables.files import EXAMPLES

    examples = yaml.safe_load((EXAMPLES / "examples.yaml").read_text(encoding="utf-8"))
    if name is None:
        record(examples={each: words["about"] for each, words in examples.items()})
        for each, words in examples.items():
            console.print(f"{each}: {words['about']}")
        console.print("To write the files of one of them, use `conjury example NAME`.")
        return
    if name not in examples:
        raise unknown_name("example", name, examples)
    files = _files(name)
    for target in files:
        if (out / target).exists():
            raise InputError(
                f"{out / target} exists and is not overwritten; move it, or give another folder by --out."
            )
    for target, source in files.items():
        (out / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, out / target)
    record(files=[out / target for target in files], next=examples[name]["next"])
    targets = dict.fromkeys(str(out / target.parts[0]) for target in files)
    console.print(f"{', '.join(targets)}: {examples[name]['about']}.")
    console.print(f"Next: {examples[name]['next']}")


def _files(name: str) -> dict[Path, Path]:
    """Return where each file of an example goes, and where it comes from."""
    from conjury.inference.tables.files import EXAMPLES, QUARTO, R_PACKAGE

    files = {Path(source.name): source for source in sorted((EXAMPLES / name).iterdir())}
    if name == "r":
        parts = [path for part in R_PARTS for path in sorted(R_PACKAGE.glob(part)) if path.is_file()]
        files |= {Path(R_FOLDER) / path.relative_to(R_PACKAGE): path for path in parts}
    if name == "quarto":
        files |= {path.relative_to(QUARTO): path for path in sorted(QUARTO.glob("_extensions/*/*"))}
    return files
