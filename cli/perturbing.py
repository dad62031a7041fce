"""The command ``conjury perturb``: perturbed copies of items, their labels, and a page of pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from conjury.inference.perturb import Perturbed

FIRST_ROWS = 10  # of the summary that is printed first
_SUFFIX = re.compile(r"(\.parquet|\.csv|\.csv\.gz)$", re.IGNORECASE)


def perturb(
    source: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|FILE", help="Study of items, or a table of items (.parquet, .csv, .csv.gz)."
        ),
    ],
    kinds: Annotated[
        str,
        typer.Option(
            help="orthographic, drift, preserving, dialect; or ortho, sem_drift, sem_pres, cultural."
        ),
    ] = "orthographic,drift,preserving,dialect",
    only: Annotated[
        str | None, typer.Option(help="Only lines with these gold labels, such as punchline.")
    ] = None,
    span: Annotated[
        str | None, typer.Option(help="Only the characters [[start, end], ...] in this column of items.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Gold labels, carried over to the copies; by default those of the study."),
    ] = None,
    language_column: Annotated[
        str, typer.Option(help="Column of items that contains en or es.")
    ] = "language",
    rate: Annotated[
        list[str] | None,
        typer.Option(help="Share of words in the span to change: 0.2, or drift=0.3; can be repeated."),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(min=0, max=1, help="Tolerance of the share, in addition to rounding to whole words."),
    ] = 0.05,
    dialect: Annotated[
        list[str] | None,
        typer.Option(help="Target dialect: en=uk (default) or en=us, es=latam (default) or es=spain."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same bytes.")] = 1,
    allow_noops: Annotated[bool, typer.Option("--allow-noops", help="Keep pairs without a change.")] = False,
    allow_unmet: Annotated[
        bool, typer.Option("--allow-unmet", help="Keep pairs that do not meet the rate.")
    ] = False,
    allow_misaligned: Annotated[
        bool,
        typer.Option(
            "--allow-misaligned", help="Use labels although their number differs from the number of lines."
        ),
    ] = False,
    without_originals: Annotated[
        bool, typer.Option("--without-originals", help="Write only the copies, without the originals.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File of the items; by default STUDY.perturbed.csv, or FILE.perturbed next to the table.",
        ),
    ] = None,
) -> None:
    """Create minimal pairs: altered copies of items.

    They differ from the items within a span, at a given rate.
    """
    from conjury.inference.perturb import perturb_items, sheet
    from conjury.inference.tables.files import read_table, write_table
    from conjury.inference.tables.writing import write_text

    from .options import read_pairs

    items, gold, default = _find(source)
    labels = labels or gold
    out = out or default
    if not _SUFFIX.search(out.name):
        raise InputError(f"--out {out}: tables are files that end in .parquet, .csv, .csv.gz; add an ending.")
    files = {"items": out} | {name: _companion(out, name) for name in ("labels", "refused")}
    for path in files.values():
        if path.resolve() in {items.resolve(), labels.resolve() if labels else None}:
            raise InputError(f"--out {out}: {path} would be overwritten; give another name.")
    kind_names = _split("--kinds", kinds)
    perturbation = perturb_items(
        read_table(items, "items"),
        kind_names,
        labels=read_table(labels, "labels") if labels else None,
        only=_split("--only", only) if only is not None else (),
        span_column=span,
        language_column=language_column,
        rates=_rates(rate, kind_names),
        tolerance=tolerance,
        seed=seed,
        dialects=read_pairs("--dialect", dialect),
        allow_noops=allow_noops,
        allow_unmet=allow_unmet,
        allow_misaligned=allow_misaligned,
        originals=not without_originals,
    )
    is_parquet = out.name.lower().endswith(".parquet")
    write_table(perturbation.items if is_parquet else _without_lines(perturbation.items), out)
    write_table(perturbation.refused, files["refused"])
    if perturbation.labels is not None:
        write_table(perturbation.labels, files["labels"])
    page = Path(_SUFFIX.sub("", str(out)) + ".html")
    write_text(page, sheet(perturbation, seed=seed))
    _print_summary(perturbation, files, page)


def _find(source: str) -> tuple[Path, Path | None, Path]:
    """The table of items, the study's gold labels, and the default file of copies."""
    path = Path(source)
    if _SUFFIX.search(source):
        return path, None, _companion(path, "perturbed")
    from conjury.inference.study import ItemStudy, load_any_study

    study = load_any_study(source)
    if not isinstance(study, ItemStudy):
        raise InputError(f"{source} is a conjoint, which has no items to perturb; name a study of items.")
    gold = None if study.gold is None else study.file(study.gold.file)
    default = Path(f"{study.name}.perturbed.csv")
    return study.file(study.items), gold if gold is not None and gold.exists() else None, default


def _companion(path: Path, role: str) -> Path:
    return path.with_name(_SUFFIX.sub(rf".{role}\1", path.name))


def _split(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f"{option} {text!r} has an empty name; give NAME,NAME.")
    return list(dict.fromkeys(names))


def _rates(options: Sequence[str] | None, kinds: Sequence[str]) -> dict[str, float]:
    """Read 0.2 as the rate of all kinds and drift=0.3 as that of one."""
    rates: dict[str, float] = {}
    for text in sorted(options or (), key=lambda text: "=" in text):
        name, equals, number = text.rpartition("=")
        try:
            rate = float(number)
        except ValueError:
            raise InputError(f"--rate {text!r} is not a share; give 0.2 or drift=0.2.") from None
        if equals and name not in kinds:
            raise InputError(f"--rate {text}: {name!r} is not in --kinds ({', '.join(kinds)}).")
        rates |= {name: rate} if equals else dict.fromkeys(kinds, rate)
    return rates


def _without_lines(items: pd.DataFrame) -> pd.DataFrame:
    """Items for a CSV: the text, with line breaks, in place of a list of lines."""
    if "lines" not in items:
        return items
    if "text" not in items:
        items = items.assign(text=items["lines"].str.join("\n"))
    return items.drop(columns="lines")


def _print_summary(perturbation: Perturbed, files: dict[str, Path], page: Path) -> None:
    from conjury.analysis.frames.word_table import WordTable

    from .automation import record
    from .printing import console, print_table
    from .wishes import leaves_out_details

    rows = {"items": len(perturbation.items), "refused": len(perturbation.refused)}
    rows |= {} if perturbation.labels is None else {"labels": len(perturbation.labels)}
    record(summary=perturbation.summary, rows=rows, notes=list(perturbation.notes), files=[page])
    cells = [
        (
            f"{row['condition']}, {row['language']}",
            f"{row['n_pairs']:,} of {row['n_items']:,}",
            f"{row['mean_rate']:.3f} of {row['rate']:g}" if row["n_pairs"] else f"none of {row['rate']:g}",
            f"{row['n_unmet'] + row['n_pairs'] - row['n_rate_met']:,}",
            f"{row['n_noops']:,}",
            f"{row['n_other']:,}",
        )
        for row in perturbation.summary.to_dict("records")
    ]
    head = ("Copies", "items", "mean rate", "rate not met", "no change", "no span")
    table = WordTable("", head, cells)
    print_table(table.first(FIRST_ROWS, f"by --all or in {page}") if leaves_out_details() else table)
    reasons = perturbation.refused.drop_duplicates(["base_item_id", "reason"])["reason"].value_counts()
    for reason, n in reasons.items():
        console.print(f"  Refused: {reason} ({n:,} items)")
    for note in perturbation.notes:
        console.print(f"  Note: {note}")
    console.print(f"{len(perturbation.items):,} items in {files['items']}")
    if perturbation.labels is not None:
        console.print(f"{len(perturbation.labels):,} labels in {files['labels']}")
    console.print(f"{len(perturbation.refused):,} refused pairs in {files['refused']}")
    console.print(f"Page of pairs: {page}")
