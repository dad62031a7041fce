"""Choices and studies as the commands take them: files, their variants, and what is noted about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.study.models import Study, load_study
from conjury.inference.study.restrictions import advice
from conjury.inference.tables.columns import did_you_mean, listed


@dataclass(frozen=True)
class Source:
    """A file of choices: its variant, its rows, and how many of them are used."""

    variant: str
    file: Path
    rows: int
    used: int


@dataclass(frozen=True)
class Variants:
    """A study with its choices by variant and the files they were read from."""

    study: Study
    choices: dict[str, pd.DataFrame]
    sources: tuple[Source, ...]

    @property
    def files(self) -> list[Path]:
        """Every file that was read."""
        return [source.file for source in self.sources]

    def described(self) -> list[dict[str, Any]]:
        """Name each file with its checksum and rows."""
        from conjury.analysis.pipeline.results_folder import describe_file, told_apart

        made = [describe_file(one.file, one.rows, one.variant, one.used) for one in self.sources]
        return told_apart(made, [one.file for one in self.sources])

    def about(self, outcome: str | None) -> Variants:
        """The same choices with analyses about another outcome: the probability of being chosen."""
        from conjury.inference.readers.prepare import with_outcome
        from conjury.inference.tables.schema import PROBABILITY

        if outcome is None or outcome == self.study.outcome:
            return self
        if outcome != PROBABILITY:
            raise InputError(f"--outcome {outcome}: write {self.study.outcome} or {PROBABILITY}.")
        if all(choices[PROBABILITY].isna().all() for choices in self.choices.values()):
            raise InputError(
                f"--outcome {PROBABILITY}: {' and '.join(map(str, self.files))} hold no probability; "
                "collect answers with log-probabilities, or leave --outcome out."
            )
        return replace(self, study=with_outcome(self.study, outcome))

    def require(self, option: str, columns: Iterable[str]) -> None:
        """Refuse columns of an option that any variant lacks."""
        for name, choices in self.choices.items():
            stray = next((column for column in columns if column not in choices), None)
            if stray is not None:
                hint = did_you_mean(stray, choices.columns)
                files = " and ".join(str(made.file) for made in self.sources if made.variant == name)
                raise InputError(
                    f"{option} {stray}: {files} has no column {stray!r}{hint}; correct the name."
                )

    def notes(self) -> list[str]:
        """What was assumed in reading, what restrictions ask of formulas, and that choices are simulated."""
        assumed = [note for choices in self.choices.values() for note in choices.attrs.get("notes", [])]
        return list(dict.fromkeys(simulated_note(self.choices.values()) + assumed + advice(self.study)))


def load_variants(
    study: str,
    data: Sequence[Path],
    variants: Sequence[str] | None,
    levels: Path | None,
    renames: Sequence[str] | None,
    judge: str | None,
    prompt: str | None,
) -> Variants:
    """Read the main choices, stacked where they lie in several files, and any further variants of them."""
    known = load_study(study)
    named = {name: [Path(file)] for name, file in read_pairs("--variant", variants).items()}
    choices, sources = {}, []
    for name, files in ({"": list(data)} | named).items():
        if not re.fullmatch(r"\w*", name):
            raise InputError(f"--variant {name!r} is no name for files; use letters, digits and underscores.")
        choices[name], read = _read(
            known, name, files, levels, read_pairs("--rename", renames), judge, prompt
        )
        sources += read
    return Variants(known, choices, tuple(sources))


def _read(
    study: Study,
    variant: str,
    files: Sequence[Path],
    levels: Path | None,
    renames: dict[str, str],
    judge: str | None,
    prompt: str | None,
) -> tuple[pd.DataFrame, list[Source]]:
    """Read the files of one variant and keep what is asked for; say how much of each file that is."""
    from conjury.inference.readers.prepare import load_choices, name_or_select
    from conjury.inference.readers.stacking import stack_choices

    twice = next((file for at, file in enumerate(files) if file in files[:at]), None)
    if twice is not None:
        raise InputError(f"--data names {twice} twice; name each file once.")
    tables = {str(file): load_choices(study, file, levels=levels, renames=renames) for file in files}
    kept = name_or_select(stack_choices(study, tables), judge, prompt)
    ends = np.cumsum([len(table) for table in tables.values()])
    used = np.diff(np.searchsorted(kept.index, ends), prepend=0)
    counted = zip(files, tables.values(), used, strict=True)
    return kept, [Source(variant, file, len(table), int(n)) for file, table, n in counted]


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


def origins(tables: Iterable[pd.DataFrame]) -> dict[str, Any]:
    """Say whether any choices are simulated, and which judges made choices of their own."""
    from conjury.inference.readers.prepare import judges_by_origin

    found = [judges_by_origin(choices) for choices in tables]
    real = dict.fromkeys(name for _, own in found for name in own)
    return {"simulated": any(made for made, _ in found), "real_judges": list(real)}


def simulated_note(tables: Iterable[pd.DataFrame]) -> list[str]:
    """Say whose choices are simulated, where any are."""
    from conjury.inference.readers.prepare import is_simulated, judges_by_origin

    held = list(tables)
    judges = list(dict.fromkeys(name for choices in held for name in judges_by_origin(choices)[0]))
    count, rows = sum(int(is_simulated(choices).sum()) for choices in held), sum(map(len, held))
    if not count:
        return []
    which = (
        "These choices are simulated"
        if count == rows
        else f"{count:,} rows of {listed(judges)} are simulated"
    )
    return [
        f"{which}: they say nothing about the people and models that they are named after, and they are not "
        "compared with printed numbers."
    ]


def read_pairs(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """Read NAME=VALUE options, each name once."""
    pairs: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise InputError(f"{option} {text!r} is no pair; write NAME=VALUE.")
        if name in pairs:
            raise InputError(f"{option} names {name!r} twice; name it once.")
        pairs[name] = value
    return pairs
