"""What a report asks for: tables, figures and sentences from a results folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import ConjuryError, InputError

from .display import Bounds, batches, estimates_table, raw_block, whole
from .figures import beside_published, coefficient_alt, coefficient_plot
from .figures.labels import LabelKey, Labels, one_prompt, words
from .methods import code, describe_analysis, plain
from .report_figures import drawers
from .report_tables import (
    answers_table,
    engines_summary_table,
    engines_table,
    frequencies_table,
    interaction_table,
    published_table,
    recovery_table,
    versions_table,
)
from .sections import (
    bounds_name,
    captioned,
    interval_note,
    picture,
    published_section,
    raw_blocks,
    truth_section,
)

if TYPE_CHECKING:
    from great_tables import GT
    from matplotlib.figure import Figure

REFUSALS = {
    "missing": "An answer without a choice is a missing choice and leaves the estimates.",
    "not_chosen": "An answer without a choice counts as not chosen for both profiles of the pair.",
}
SIMULATED = (
    "**The choices are simulated:** they show what the software does and say nothing about the people and "
    "models that they are named after."
)


class Results:
    """A folder written by ``conjury fit`` or ``conjury compare``, as a report reads it.

    Parameters
    ----------
    path : str or Path
        The folder that holds ``manifest.json`` and ``tables/``.

    Raises
    ------
    InputError
        When there is no readable manifest in the folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().resolve()
        self.manifest: dict[str, Any] = _read_manifest(self.path)

    @cached_property
    def labels(self) -> dict[LabelKey, str]:
        """Labels of attributes and levels, from the manifest."""
        given = self.manifest.get("labels") or {}
        found: dict[LabelKey, str] = {
            str(name): str(text) for name, text in given.get("features", {}).items()
        }
        for feature, levels in given.get("levels", {}).items():
            found |= {(str(feature), str(level)): str(text) for level, text in levels.items()}
        return found

    def has(self, name: str) -> bool:
        """Whether the folder holds the table ``name``."""
        return any((self.path / "tables" / f"{name}{suffix}").is_file() for suffix in (".parquet", ".csv"))

    def table(self, name: str) -> pd.DataFrame:
        """Read a table, from Parquet where there is one, else from CSV.

        Raises
        ------
        InputError
            When the table is absent or cannot be read.
        """
        folder = self.path / "tables"
        try:
            if (folder / f"{name}.parquet").is_file():
                return pd.read_parquet(folder / f"{name}.parquet")
            return pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values=[""])
        except FileNotFoundError:
            held = sorted({path.stem for path in folder.glob("*.*")})
            raise InputError(
                f"{self.path} has no table {name!r}; it has: {', '.join(held) or 'none'}."
            ) from None
        except Exception as error:
            raise InputError(f"The table {name!r} in {folder} cannot be read: {error}") from error

    def estimates(self, name: str, *, every_prompt: bool = False) -> pd.DataFrame:
        """Estimates under the study's own join, with judges and prompts named in words."""
        frame = self.table(name)
        if "variant" in frame.columns:
            frame = frame[frame["variant"].fillna("").astype(str) == ""]
        frame = frame if every_prompt else one_prompt(frame)
        return self.named(frame)

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Name judges and prompts in words."""
        given = self.manifest.get("labels") or {}
        named = {
            column: frame[column]
            .astype("string")
            .fillna("")
            .map(lambda name, known=known: known.get(name, name))
            for column, known in (("judge", given.get("judges", {})), ("prompt", given.get("prompts", {})))
            if column in frame.columns
        }
        return frame.assign(**named).reset_index(drop=True)

    @property
    def simulated(self) -> bool:
        """Whether there are simulated choices behind the results."""
        return bool(self.manifest.get("simulated"))

    def analysis(self, name: str) -> dict[str, Any]:
        """What the manifest says about an analysis; empty where it says nothing."""
        analyses: list[dict[str, Any]] = self.manifest.get("analyses") or []
        return next((item for item in analyses if item.get("name") == name), {})

    def bounds(self, name: str, kind: str = "normal") -> str:
        """Name an interval of an analysis: ``95% normal interval``."""
        return bounds_name(self.analysis(name), kind)

    def lines(self, name: str) -> str:
        """Name the lines of a figure of an analysis: ``95% normal intervals``."""
        found = self.bounds(name)
        return found and f"{found}s"

    def build_figure(self, name: str, *, theme: str = "light") -> Figure:
        """Draw a table of estimates by its name, ``recovery``, ``published`` or ``engines_summary``."""
        return drawers(self, name)[0](theme)

    def alt(self, name: str) -> str:
        """Describe a figure in words, from its numbers."""
        return drawers(self, name)[1]()

    def figure(self, name: str) -> None:
        """Print a figure as Markdown, for a cell with ``output: asis`` inside a ``#fig-`` block.

        Both colour variants are written below the working directory; a figure that cannot be drawn
        becomes a sentence that says why.
        """
        self._print_or_explain(lambda: picture(name, self.build_figure(name), self.alt(name)))

    def interval_note(self, name: str) -> None:
        """Print which intervals a table of estimates holds and how far the two kinds lie apart."""
        self._print_or_explain(
            lambda: interval_note(self.analysis(name), self.estimates(name), Labels(self.labels))
        )

    def truth(self) -> None:
        """Print the comparison with true values, or a sentence where choices are real."""
        self._print_or_explain(lambda: truth_section(self))

    def published(self) -> None:
        """Print the comparison with printed numbers, or a sentence where there is none."""
        self._print_or_explain(lambda: published_section(self))

    def prompt_figures(self) -> None:
        """Print one captioned figure for each judge that answered under several prompts."""
        if not self.has("amce"):
            print(self._absent("amce"))
            return
        frame = self.estimates("amce", every_prompt=True)
        several = frame.groupby("judge", sort=False)["prompt"].nunique() > 1
        for position, judge in enumerate(several[several].index, start=1):
            self._print_or_explain(partial(self._prompt_figure, frame, str(judge), position))
        if not several.any():
            print("\nEvery judge answered under a single prompt.\n")

    def _prompt_figure(self, frame: pd.DataFrame, judge: str, position: int) -> str:
        shown = frame[frame["judge"] == judge]
        figure = coefficient_plot(shown, labels=self.labels, group="prompt", bounds=self.lines("amce"))
        alt = coefficient_alt(shown, labels=self.labels, group="prompt")
        caption = f"Effects on the choice under each prompt: {plain(judge)}."
        return captioned(f"fig-prompts-{position}", picture(f"prompts-{position}", figure, alt), caption)

    def gt(self, name: str, *, interval: str = "normal") -> None:
        """Print a table as a raw HTML block, for a cell with ``output: asis``.

        Parameters
        ----------
        name : str
            Any table of the folder; estimates are laid out by attribute.
        interval : {"normal", "bootstrap"}
            Which interval to show beside estimates.
        """
        self._print_or_explain(lambda: raw_blocks(self.great_tables(name, interval=interval)))

    def great_tables(self, name: str, *, interval: str = "normal") -> list[GT]:
        """Lay a table of the folder out in the one table style; many judges are shared between tables."""
        if name in ("answers", "published", "recovery", "engines_summary", "engines"):
            return [self._whole_table(name)]
        frame, labels = self.estimates(name), Labels(self.labels)
        made = []
        for position, batch in enumerate(batches(frame), start=1):
            own = name if position == 1 else f"{name}-{position}"
            if name == "frequencies":
                made.append(frequencies_table(batch, labels, name=own))
                continue
            bounds = self._table_bounds(name, batch, interval)
            lay_out = interaction_table if name == "amce_by_identity" else estimates_table
            made.append(lay_out(batch, labels, name=own, bounds=bounds))
        return made

    def _table_bounds(self, name: str, frame: pd.DataFrame, interval: str) -> Bounds:
        if interval == "bootstrap":
            return Bounds(("boot_lower", "boot_upper"), self.bounds(name, interval) or "bootstrap interval")
        booted = "boot_lower" in frame and frame["boot_lower"].notna().any()
        bootstrap = (self.bounds(name, "bootstrap") or "bootstrap interval") if booted else ""
        return Bounds(name=self.bounds(name) or "interval", bootstrap=bootstrap)

    def _whole_table(self, name: str) -> GT:
        labels = Labels(self.labels)
        if name == "answers":
            return answers_table(self.named(self.table("answers")))
        if name == "published":
            both = beside_published(self.table("published"), self.table("amce"))
            return published_table(self.named(both), labels)
        if name == "engines_summary":
            return engines_summary_table(self.table(name))
        if name == "recovery":
            titles = {
                str(item.get("name")): str(item.get("title") or words(item.get("name")))
                for item in self.manifest.get("analyses") or []
            }
            return recovery_table(self.named(self.table(name)), titles)
        return engines_table(self.table(name), labels)

    def methods(self) -> str:
        """Tell what was run, one paragraph an analysis, in Markdown."""
        analyses = self.manifest.get("analyses") or []
        if not analyses:
            return "The manifest lists no analysis."
        titles = [plain(item.get("title") or words(item.get("name", "Analysis"))) for item in analyses]
        told = zip(titles, map(describe_analysis, analyses), strict=True)
        return "\n\n".join(f"**{title}.** {text}" for title, text in told)

    def refusal_policy(self) -> str:
        """Say what an answer without a choice counts as."""
        policy = self.manifest.get("refusal")
        if policy is None:
            return "The manifest does not say what an answer without a choice counts as."
        return REFUSALS.get(str(policy), f"The study's rule for answers without a choice is {code(policy)}.")

    def notes(self) -> str:
        """List the notes that the analysis left, in Markdown."""
        notes = self.manifest.get("notes") or []
        return "\n".join(f"- {plain(note)}" for note in notes) or "The analysis left no notes."

    def data_and_versions(self) -> None:
        """Print the table of data files with their checksums, and of software with its versions."""
        print(raw_block(versions_table(self.manifest)))

    def opening(self) -> str:
        """Say which results these are, and whether their choices are simulated."""
        manifest = self.manifest
        title = plain(manifest.get("title") or manifest.get("study") or "untitled study")
        rows = sum(int(item.get("rows") or 0) for item in manifest.get("data") or [])
        counted = f" from {whole(rows)} rows of data" if rows else ""
        made = f", computed {plain(str(manifest['created'])[:10])}" if manifest.get("created") else ""
        version = f" with conjury {plain(manifest['conjury'])}" if manifest.get("conjury") else ""
        told = f"Study: **{title}**. Results{counted}{made}{version}."
        return f"{told} {SIMULATED}" if self.simulated else told

    def _print_or_explain(self, made: Callable[[], str]) -> None:
        try:
            print(made())
        except ConjuryError as error:
            print(f"\n*Not shown: {plain(str(error).replace(str(self.path), 'the results folder'))}*\n")

    def _absent(self, name: str) -> str:
        return f"\n*Not shown: these results have no table {code(name)}.*\n"


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no {path}; write a results folder with `conjury fit` first.") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is not readable as JSON ({error}); run `conjury fit` again.") from error
    if not isinstance(manifest, dict):
        raise InputError(f"{path} holds no mapping; run `conjury fit` again.")
    return manifest
