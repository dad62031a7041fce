"""Tables of a report that are not plain estimates, each laid out in the one table style."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...audit.moderation import PRINTED, compare_moderation
from ...figures.conjoint.published import SOURCE_NAMES
from ...figures.labels import Labels, display_order, series_labels, words
from ..data import figure_kind
from ..tables import NO_BREAK, Bounds, batches, estimates_table, number, styled_table, whole
from .people import people_tables

if TYPE_CHECKING:
    from great_tables import GT

    from ..data import Interaction, ReportData


def lay_out(report: ReportData, name: str, interval: str = "normal") -> list[GT]:
    """Lay a table of the folder out in the one table style; many judges are shared between tables."""
    if name == "answers":
        return [answers_table(report.named(report.table(name)))]
    if name == "published":
        both = compare_moderation(report.table(name), report.beside_print())
        return [published_table(report.named(both), Labels(report.labels))]
    if name == "recovery":
        titles = {str(item.get("name")): report.title(item) for item in report.manifest.get("analyses") or []}
        return [recovery_table(report.named(report.table(name)), titles)]
    frame, labels, kind = report.estimates(name), Labels(report.labels), figure_kind(report.analysis(name))
    if kind == "people":
        return people_tables(report, name)
    if kind == "interaction":
        found = report.interaction(name)
        frame = by_level(found, labels)
        labels = Verbatim()
    made = []
    for position, batch in enumerate(batches(frame), start=1):
        own = name if position == 1 else f"{name}-{position}"
        if kind == "frequencies":
            made.append(frequencies_table(batch, labels, name=own))
        else:
            made.append(
                estimates_table(batch, labels, name=own, bounds=_bounds(report, name, batch, interval))
            )
    return made


def _bounds(report: ReportData, name: str, frame: pd.DataFrame, interval: str) -> Bounds:
    bootstrap = report.bounds(name, "bootstrap") or "bootstrap interval"
    if interval == "bootstrap":
        return Bounds(bootstrap, bootstrap=True)
    booted = "boot_lower" in frame and frame["boot_lower"].notna().any()
    return Bounds(report.bounds(name) or "interval", beside=bootstrap if booted else "")


def by_level(found: Interaction, labels: Labels) -> pd.DataFrame:
    """Name differences for a table: levels of the feature as groups, levels of the groups as rows."""
    shown = found.frame[
        (found.frame["feature"].astype("string") == found.feature) & found.frame["estimate"].notna()
    ]
    levels = {
        column: shown[column].astype("string").map(lambda value, owner=owner: labels.level(owner, value))
        for column, owner in (("level", found.feature), (found.by, found.by))
    }
    return shown.assign(feature=levels["level"], level=levels[found.by])


class Verbatim(Labels):
    """Labels for names that are already words."""

    def feature(self, feature: object) -> str:
        """Return the name itself."""
        return str(feature)

    def level(self, feature: object, level: object) -> str:
        """Return the name itself."""
        return str(level)


def frequencies_table(frame: pd.DataFrame, labels: Labels, *, name: str = "frequencies") -> GT:
    """Lay the frequencies of levels out, judges as columns."""
    judges = series_labels(frame).replace("", "n")
    shown = pd.DataFrame(
        {
            "Attribute": [labels.feature(feature) for feature in frame["feature"]],
            "Level": [labels.level(f, v) for f, v in zip(frame["feature"], frame["level"], strict=True)],
            "judge": judges,
            "n": frame["estimate"].map(whole),
        }
    )
    return styled_table(_spread(shown, ["Attribute", "Level"], "judge", "n"), name=name, groups="Attribute")


def answers_table(frame: pd.DataFrame) -> GT:
    """Count answers by judge, prompt and status, with the share that held a choice."""
    statuses = display_order(frame["status"])
    keyed = frame.assign(**{name: frame[name].astype("string").fillna("") for name in ("judge", "prompt")})
    counts = keyed.assign(status=frame["status"].astype(str)).pivot_table(
        index=["judge", "prompt"], columns="status", values="n", aggfunc="sum", fill_value=0, sort=False
    )
    total = counts.sum(axis=1)
    answered = counts["ok"] / total if "ok" in counts else 0 * total
    shown = counts[statuses].map(whole).rename(columns={name: words(name) for name in statuses})
    shown["Answered"] = [f"{number(100 * share, 2)}%" for share in answered]
    return styled_table(
        shown.reset_index().rename(columns={"judge": "Judge", "prompt": "Prompt"}), name="answers", left=2
    )


def published_table(both: pd.DataFrame, labels: Labels) -> GT:
    """Set printed estimates beside ours, with the difference in percentage points."""
    points = 100 * both["difference"].to_numpy(float)
    shown = pd.DataFrame(
        {
            "Judge": both["judge"].astype(str),
            "Level": [labels.both(f, v) for f, v in zip(both["feature"], both["level"], strict=True)],
            "source": [SOURCE_NAMES.get(name, words(name)) for name in both["source"]],
            "text": np.where(
                both["source"] == PRINTED,
                both["estimate"].map(number),
                [
                    f"{number(value)} ({number(gap, 2)})"
                    for value, gap in zip(both["estimate"], points, strict=True)
                ],
            ),
        }
    )
    note = "In parentheses: ours minus printed, in percentage points."
    wide = _spread(shown, ["Judge", "Level"], "source", "text")
    return styled_table(wide, name="published", groups="Judge", note=note)


def recovery_table(found: pd.DataFrame, titles: Mapping[str, str]) -> GT:
    """Show how many intervals hold the true value, and the errors, by analysis, judge and prompt."""
    shown = pd.DataFrame(
        {
            "analysis": [titles.get(name, words(name)) for name in found["analysis"].astype(str)],
            "Judge": found["judge"].astype(str).str.replace(" ", NO_BREAK),
            "Prompt": found["prompt"].astype("string").fillna("").str.replace(" ", NO_BREAK),
            "Estimates": found["n_levels"].map(whole),
            "In normal intervals": found["in_normal"].map(_percent),
            "In bootstrap intervals": found["in_bootstrap"].map(_percent),
            "Mean error": found["mean_abs_error"].map(lambda value: number(value, 4)),
            "Largest error": found["max_abs_error"].map(lambda value: number(value, 4)),
        }
    )
    empty = [name for name in ("Prompt", "In bootstrap intervals") if (shown[name] == "").all()]
    left = 1 + ("Prompt" not in empty)
    return styled_table(shown.drop(columns=empty), name="recovery", groups="analysis", left=left)


def _percent(share: float) -> str:
    return "" if pd.isna(share) else f"{number(100 * share, 1)}%"


VERSIONS = "Data files, software and the command that was run."


def versions_table(manifest: Mapping[str, Any]) -> GT:
    """List data files with checksums, software with versions, and the command."""
    rows = [("Data", _named(item), _fingerprint(item)) for item in manifest.get("data") or []]
    software = {"conjury": manifest.get("conjury"), "commit": manifest.get("commit")}
    software |= {"Python": manifest.get("python"), **(manifest.get("packages") or {})}
    software |= {f"R: {name}": version for name, version in (manifest.get("r") or {}).items()}
    rows += [("Software", name, str(version)) for name, version in software.items() if version]
    run = {"command": manifest.get("command"), "finished": manifest.get("created")}
    rows += [("Run", name, str(value)) for name, value in run.items() if value]
    return styled_table(
        pd.DataFrame(rows, columns=["part", "Item", "Value"]), name="versions", groups="part", left=2
    )


def _named(item: Mapping[str, Any]) -> str:
    variant = f" ({item['variant']})" if item.get("variant") else ""
    return f"{item.get('name', '')}{variant}"


def _fingerprint(item: Mapping[str, Any]) -> str:
    file = str(item.get("file") or "")
    named = f"{file} in {item['folder']}" if item.get("folder") else file
    parts = [named, f"{whole(item.get('rows'))} rows" if item.get("rows") else ""]
    parts.append(f"SHA-256 {str(item['sha256'])[:16]}" if item.get("sha256") else "")
    return ", ".join(filter(None, parts))


def _spread(long: pd.DataFrame, index: list[str], columns: str, values: str) -> pd.DataFrame:
    """Spread a long table of strings, keeping both orders as first seen."""
    order = list(dict.fromkeys(long[columns]))
    wide = long.pivot_table(index=index, columns=columns, values=values, aggfunc="first", sort=False)
    return wide[order].reset_index()
