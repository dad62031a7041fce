"""What the commands about ratings read: judgments, items, and where results go."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text, did_you_mean, listed

from .loading import read_pairs, truth_file


@dataclass(frozen=True)
class Judged:
    """Judgments with the items that they are about, and the files they were read from with their rows.

    ``study`` is None where no study is named; ``truth`` are true values that lie beside simulated judgments.
    ``changed`` says that columns of the files were renamed or rows selected.
    """

    judgments: pd.DataFrame
    items: pd.DataFrame | None
    files: tuple[tuple[Path, int], ...]
    study: ItemStudy | None = None
    truth: pd.DataFrame | None = None
    changed: bool = False

    def of_dimensions(self, wanted: Sequence[str] | None) -> pd.DataFrame:
        """The judgments of some dimensions; InputError for one that is not there."""
        if not wanted:
            return self.judgments
        names = as_text(self.judgments["dimension"])
        known = [str(name) for name in names.unique()]
        for name in wanted:
            if name not in known:
                raise InputError(
                    f"--dimension {name}: the judgments have no such dimension{did_you_mean(name, known)}; "
                    f"they have {listed(known)}."
                )
        return self.judgments[names.isin(list(wanted)).to_numpy(dtype=bool)]

    def described(self) -> list[dict[str, Any]]:
        """Name each file with its checksum and rows."""
        from conjury.analysis.pipeline.results_folder import describe_file, told_apart

        made = [describe_file(file, rows, "", rows, "judgments") for file, rows in self.files]
        return told_apart(made, [file for file, _ in self.files])

    @property
    def models(self) -> list[str]:
        """Ids of the models, in order of appearance."""
        model = as_text(self.judgments["judge_kind"]) == "model"
        return [str(name) for name in as_text(self.judgments["judge_id"])[model].unique()]

    @property
    def kept(self) -> dict[str, pd.DataFrame]:
        """What a results folder keeps, by name."""
        return {"judgments": self.judgments} | ({} if self.items is None else {"items": self.items})

    def source(self) -> dict[str, Any]:
        """What a manifest says of data: files, whether simulated, notes."""
        simulated, real = _origins(self.judgments)
        notes = list(self.judgments.attrs.get("notes", []))
        if simulated:
            notes.insert(
                0,
                "These judgments are simulated: they say nothing about the people and models that they are "
                "named after, and nothing about printed numbers that stand beside them.",
            )
        return {
            "simulated": bool(simulated),
            "real_judges": real if simulated else [],
            "data": self.described(),
            "notes": notes,
        }


def read_judged(
    data: Sequence[Path],
    *,
    study: ItemStudy | None = None,
    items: Path | None = None,
    renames: Sequence[str] | None = None,
    where: Sequence[str] | None = None,
) -> Judged:
    """Read judgments of one or several files, the items beside them, and true values where they lie there."""
    from conjury.inference.readers.judgments import load_judgments, stack_judgments
    from conjury.inference.tables.files import read_table

    twice = next((file for at, file in enumerate(data) if file in data[:at]), None)
    if twice is not None:
        raise InputError(f"{twice} is named twice; name each file once.")
    options: dict[str, Mapping[str, str]] = {
        "renames": read_pairs("--rename", renames),
        "where": read_pairs("--where", where),
    }
    tables = {str(file): load_judgments(file, study=study, **options) for file in data}
    judgments = stack_judgments(tables)
    judgments.attrs["notes"] = [note for table in tables.values() for note in table.attrs.get("notes", [])]
    truths = [read_table(truth_file(file)) for file in data if truth_file(file).is_file()]
    return Judged(
        judgments,
        _items(data, study, items),
        tuple((file, len(table)) for file, table in zip(data, tables.values(), strict=True)),
        study,
        pd.concat(truths, ignore_index=True).drop_duplicates() if truths else None,
        changed=bool(renames or where),
    )


def read_results(results: Path) -> Judged:
    """Take the judgments that a results folder rests on."""
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.inference.tables.files import read_table

    folder = ResultsFolder(results)
    judgments = folder.held("judgments")
    if judgments is None:
        raise InputError(
            f"{results} holds no judgments; name a file of them, or the folder of `conjury fit` with "
            "--results."
        )
    truth = results / "tables" / "truth.parquet"
    return Judged(judgments, folder.held("items"), (), truth=read_table(truth) if truth.is_file() else None)


def items_file(data: Path) -> Path:
    """Where the items of simulated judgments lie: NAME.items.parquet beside NAME.parquet."""
    return _beside(data, "items")


def labels_file(data: Path) -> Path:
    """Where the gold labels of simulated judgments lie: NAME.labels.parquet beside NAME.parquet."""
    return _beside(data, "labels")


def _beside(data: Path, what: str) -> Path:
    return data.with_name(re.sub(r"(\.parquet|\.csv|\.csv\.gz)$", rf".{what}\1", data.name, flags=re.I))


def _items(data: Sequence[Path], study: ItemStudy | None, given: Path | None) -> pd.DataFrame | None:
    """Items from the file that is named, else from beside the judgments, else from the study."""
    from conjury.inference.tables.files import read_table

    if given is not None:
        return read_table(given, "items")
    beside = [items_file(file) for file in data if items_file(file).is_file()]
    if beside:
        return pd.concat([read_table(file, "items") for file in beside]).drop_duplicates("item_id")
    return read_table(study.folder / study.items, "items") if study is not None else None


def _origins(judgments: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Judges whose judgments are simulated, and those who made their own."""
    from conjury.inference.readers.prepare import is_simulated, judge_of

    made, judge = is_simulated(judgments), judge_of(judgments)
    return judge[made].unique().tolist(), judge[~made].unique().tolist()
