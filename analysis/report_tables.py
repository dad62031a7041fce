"""Tables of a report that are not plain estimates, each laid out in the one table style."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .display import NO_BREAK, Bounds, estimates_table, number, styled_table, whole
from .figures.labels import Labels, display_order, series_labels, words
from .figures.published import PRINTED, SOURCE_NAMES

if TYPE_CHECKING:
    from great_tables import GT


def interaction_table(
    frame: pd.DataFrame,
    labels: Labels,
    *,
    name: str,
    bounds: Bounds,
    feature: str = "slur",
    by: str = "identity",
) -> GT:
    """Lay differences in effects out: levels of ``feature`` as groups, levels of ``by`` as rows."""
    shown = frame[(frame["feature"].astype("string") == feature) & frame["estimate"].notna()]
    renamed = shown.assign(
        feature=shown["level"].astype("string").map(lambda level: labels.level(feature, level)),
        level=shown[by].astype("string").map(lambda level: labels.level(by, level)),
    )
    return estimates_table(renamed, Verbatim(), name=name, bounds=bounds)


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


def engines_summary_table(summary: pd.DataFrame) -> GT:
    """Show the time and the largest disagreement of each engine."""
    shown = pd.DataFrame(
        {
            "Engine": summary["engine"].astype(str),
            "Available": ["yes" if found else "no" for found in summary["available"]],
            "Seconds": summary["seconds"].map(number),
            "Estimates (absolute)": summary["max_abs_difference_estimate"].map(scientific),
            "Standard errors (relative)": summary["max_rel_difference_std_error"].map(scientific),
            "Note": summary["note"].astype("string").fillna("") if "note" in summary else "",
        }
    )
    return styled_table(shown, name="engines-summary")


def engines_table(engines: pd.DataFrame, labels: Labels) -> GT:
    """Set each engine's estimates, with standard errors in parentheses, side by side."""
    names = [
        column.removeprefix("estimate_")
        for column in map(str, engines.columns)
        if column.startswith("estimate_")
    ]
    shown = pd.DataFrame(
        {
            "Attribute": [labels.feature(feature) for feature in engines["feature"]],
            "Level": [labels.level(f, v) for f, v in zip(engines["feature"], engines["level"], strict=True)],
        }
    )
    for engine in names:
        pairs = zip(engines[f"estimate_{engine}"], engines[f"std_error_{engine}"], strict=True)
        shown[engine] = [
            f"{number(value, 6)} ({number(error, 6)})" if number(error) else number(value, 6)
            for value, error in pairs
        ]
    return styled_table(shown, name="engines", groups="Attribute")


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


def scientific(value: float) -> str:
    """Show a small difference as a power of ten; an empty string where it is missing."""
    return "" if pd.isna(value) else f"{value:.1e}"


def _named(item: Mapping[str, Any]) -> str:
    variant = f" ({item['variant']})" if item.get("variant") else ""
    return f"{item.get('name', '')}{variant}"


def _fingerprint(item: Mapping[str, Any]) -> str:
    parts = [str(item.get("file") or ""), f"{whole(item.get('rows'))} rows" if item.get("rows") else ""]
    parts.append(f"SHA-256 {str(item['sha256'])[:16]}" if item.get("sha256") else "")
    return ", ".join(filter(None, parts))


def _spread(long: pd.DataFrame, index: list[str], columns: str, values: str) -> pd.DataFrame:
    """Spread a long table of strings, keeping both orders as first seen."""
    order = list(dict.fromkeys(long[columns]))
    wide = long.pivot_table(index=index, columns=columns, values=values, aggfunc="first", sort=False)
    return wide[order].reset_index()
