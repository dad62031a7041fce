"""The command ``conjury example``: small made-up files to try the other commands on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from ..printing import console

R_FOLDER, R_FILES = "conjury-R", ("fit.R", "estimators.R")


def example(
    name: Annotated[str | None, typer.Argument(help="Which example; without a name they are listed.")] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder that the files are written to.")] = Path(),
) -> None:
    """Write small example files: ratings, exports of Qualtrics, raw completions, choices for R."""
    import yaml

    from conjury.inference.errors import InputError, listed
    from conjury.inference.tables.files import EXAMPLES

    known = yaml.safe_load((EXAMPLES / "examples.yaml").read_text(encoding="utf-8"))
    if name is None:
        for each, words in known.items():
            console.print(f"{each}: {words['about']}")
        console.print("Write the files of one of them with `conjury example NAME`.")
        return
    if name not in known:
        raise InputError(f"There is no example {name!r}; the examples are {listed(list(known))}.")
    files = _files(name)
    for target in files:
        if (out / target).exists():
            raise InputError(
                f"{out / target} exists and is not overwritten; move it, or name a folder with --out."
            )
    for target, source in files.items():
        (out / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, out / target)
    console.print(f"{', '.join(str(out / target) for target in files)}: {known[name]['about']}.")
    console.print(f"Next: {known[name]['next']}")


def _files(name: str) -> dict[Path, Path]:
    """Return where each file of an example goes, and where it comes from."""
    from conjury.inference.tables.files import EXAMPLES, R_SOURCES

    files = {Path(source.name): source for source in sorted((EXAMPLES / name).iterdir())}
    if name == "r":
        files |= {Path(R_FOLDER) / each: R_SOURCES / each for each in R_FILES}
    return files
