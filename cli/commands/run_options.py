"""Options that the commands about runs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

StudyName = Annotated[str, typer.Argument(help="Name of a study that ships, or the path of a study.yaml.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder of the run; by default runs/STUDY.")]
PriceTable = Annotated[Path | None, typer.Option(help="Table of prices in place of the one that ships.")]
Rule = Annotated[str, typer.Option(help="How answers are parsed: default, strict, lenient, token.")]
