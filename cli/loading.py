"""Choices and studies as the commands take them: files, their variants, and what is noted about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.columns import did_you_mean
from conjury.inference.errors import InputError
from conjury.inference.study import Study, load_study


@dataclass(frozen=True)
class Variants:
    """A study with its choices by variant, the files they were read from, and the rows of those files."""

    study: Study
    choices: dict[str, pd.DataFrame]
    files: dict[str, Path]
    rows: dict[str, int]

    def described(self) -> list[dict[str, Any]]:
        """Name each file with its checksum and rows."""
        from conjury.analysis.store import describe_file

        return [
            describe_file(file, self.rows[name], name, len(self.choices[name]))
            for name, file in self.files.items()
        ]

    def require(self, option: str, columns: Iterable[str]) -> None:
        """Refuse columns of an option that any of the files lacks."""
        for name, choices in self.choices.items():
            stray = next((column for column in columns if column not in choices), None)
            if stray is not None:
                hint = did_you_mean(stray, choices.columns)
                raise InputError(
                    f"{option} {stray}: {self.files[name]} has no column {stray!r}{hint}; correct the name."
                )

    def notes(self) -> list[str]:
        """What was assumed in reading, and that choices are simulated, where they are."""
        assumed = [note for choices in self.choices.values() for note in choices.attrs.get("notes", [])]
        return list(dict.fromkeys(simulated_note(self.choices.values()) + assumed))


def load_variants(
    study: str,
    data: Path,
    variants: Sequence[str] | None,
    levels: Path | None,
    renames: Sequence[str] | None,
    judge: str | None,
    prompt: str | None,
) -> Variants:
    """Read the main choices and any further variants of them."""
    from conjury.inference.prepare import load_choices, name_or_select

    known = load_study(study)
    files = {"": data} | {name: Path(file) for name, file in _pairs("--variant", variants).items()}
    for name in files:
        if not re.fullmatch(r"\w*", name):
            raise InputError(f"--variant {name!r} is no name for files; use letters, digits and underscores.")
    columns = _pairs("--rename", renames)
    choices, rows = {}, {}
    for name, file in files.items():
        read = load_choices(known, file, levels=levels, renames=columns)
        choices[name], rows[name] = name_or_select(read, judge, prompt), len(read)
    return Variants(known, choices, files, rows)


def describe_study(study: Study) -> dict[str, Any]:
    """Name a study and its parts in words, as manifests do."""
    labels = {
        "features": study.feature_labels,
        "levels": study.level_labels,
        "judges": study.judge_labels,
        "prompts": study.prompt_labels,
    }
    return {
        "study": study.name,
        "study_argument": study.argument,
        "title": study.title,
        "refusal": study.refusal,
        "labels": labels,
    }


def truth_file(choices: Path) -> Path:
    """Where the true values of simulated choices lie: NAME.truth.parquet beside NAME.parquet."""
    return choices.with_name(re.sub(r"(\.parquet|\.csv|\.csv\.gz)$", r".truth\1", choices.name, flags=re.I))


def simulated_note(tables: Iterable[pd.DataFrame]) -> list[str]:
    """Say that choices are simulated, where any are."""
    from conjury.inference.prepare import is_simulated

    marked = [is_simulated(choices) for choices in tables]
    count, rows = sum(int(flags.sum()) for flags in marked), sum(map(len, marked))
    if not count:
        return []
    which = (
        "These choices are simulated" if count == rows else f"Of these choices {count:,} rows are simulated"
    )
    return [
        f"{which}: they say nothing about the people and models that they are named after, and they are not "
        "compared with printed numbers."
    ]


def _pairs(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise InputError(f"{option} {text!r} is no pair; write NAME=VALUE.")
        if name in pairs:
            raise InputError(f"{option} names {name!r} twice; name it once.")
        pairs[name] = value
    return pairs
