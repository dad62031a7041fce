"""Two systems, a judge of all answers and labels of a few: width and coverage next to cje-eval and ppi_py.

Prints a page and writes it to results/SYSTEMS.md. Answers are simulated: 1,000 prompts, of which some have
labels of both systems' answers; the judge favours the second system. ppi_py gets the difference of each
prompt; cje-eval calibrates and pairs by itself. Both are called as their documentation does, in an
environment of their own:

    uv venv build/systems && uv pip install --python build/systems cje-eval==0.9.3 ppi-python==0.2.3
    .venv/bin/python benchmarks/systems.py --peers build/systems/bin/python
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from measure import listed, machine, page, publish, versions
from measure import table as markdown
from scipy.special import expit

from conjury.analysis.raters.systems import compare_systems

PROMPTS = 1_000
SHIFT, FAVOUR = 0.25, 0.3  # of the second system, among people and by the judge
JUDGES: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "bent": lambda z, rng: expit(3 * z + 2.5),
    "straight": lambda z, rng: expit(1.3 * z - 0.3),
    "five grades": lambda z, rng: np.round(1 + 4 * expit(3 * z + 2.5)) / 5,
    "useless": lambda z, rng: rng.random(len(z)),
    "reversed": lambda z, rng: 1 - expit(3 * z + 2.5),
}
LABELLED = (20, 50, 100, 200)
BY_COMMAND = "benchmarks/systems.py"
PEERS = Path(__file__).with_name("systems_of_peers.py")
NAMES = {
    "ours": "compare-systems",
    "raw": "without the map",
    "people": "people alone",
    "cje": "cje-eval",
    "ppi": "ppi_py",
}
QUANTITIES = ("level", "difference")


def draw(kind: str, labelled: int, number: int, answers: int = 1) -> pd.DataFrame:
    """One row per answer: prompt, system, what people say of it, the judge's score, whether it has a "
    "label."""
    rng = np.random.default_rng([number, labelled])
    common, chosen = 0.8 * rng.normal(size=PROMPTS), rng.choice(PROMPTS, labelled, replace=False)
    parts = []
    for place, system in enumerate("AB"):
        prompt = np.repeat(np.arange(PROMPTS), answers)
        z = common[prompt] + 0.6 * rng.normal(size=len(prompt)) + SHIFT * place
        score = JUDGES[kind](z + 0.35 * rng.normal(size=len(z)) + FAVOUR * place, rng)
        row = {"prompt": prompt, "system": system, "people": expit(1.3 * z - 0.3), "score": score}
        parts.append(pd.DataFrame({**row, "has_label": np.isin(prompt, chosen)}))
    return pd.concat(parts, ignore_index=True)


def truth() -> dict[str, float]:
    """Mean of the first system and difference, by Gauss-Hermite quadrature over quality."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    levels = [
        float((weights * expit(1.3 * (nodes + SHIFT * place) - 0.3)).sum() / weights.sum())
        for place in (0, 1)
    ]
    return {"level": levels[0], "difference": levels[1] - levels[0]}


def ours(answers: pd.DataFrame, number: int) -> Iterator[tuple[str, str, float, float]]:
    """Limits of the level of A and of B minus A: by default, without the map, by labels alone."""
    shown = answers.assign(people=answers["people"].where(answers["has_label"])).drop(columns="has_label")
    for name, calibration in (("ours", True), ("raw", False)):
        result = compare_systems(
            shown, "score", "people", id="prompt", scale="interval", seed=number, calibration=calibration
        )
        rows = result.frame.set_index("name")
        places = {"level": "corrected_mean[A]", "difference": "difference"}
        if name == "ours":
            alone = {"level": "people_only_mean[A]", "difference": "people_difference"}
            yield from (("people", what, *rows.loc[at, ["lower", "upper"]]) for what, at in alone.items())
        for what, at in places.items():
            if at in rows.index:
                yield (name, what, *rows.loc[at, ["lower", "upper"]])


def of_peers(python: Path, drawn: list[pd.DataFrame]) -> Iterator[tuple[str, str, float, float]]:
    """The same by the peers, in their environment."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "draws.csv"
        pd.concat(drawn, keys=range(len(drawn)), names=["draw"]).reset_index("draw").to_csv(file, index=False)
        ended = subprocess.run([python, PEERS, file], capture_output=True, text=True, check=True)
    yield from (tuple(row) for row in json.loads(ended.stdout))


def measure(
    kind: str, labelled: int, draws: int, peers: Path | None, peer_draws: int, answers: int
) -> pd.DataFrame:
    """Mean width and coverage of each method and quantity."""
    known, drawn = truth(), [draw(kind, labelled, number, answers) for number in range(draws)]
    limits = [row for number, table in enumerate(drawn) for row in ours(table, number)]
    if peers is not None and answers == 1:
        limits += of_peers(peers, drawn[:peer_draws])
    frame = pd.DataFrame(limits, columns=["method", "what", "lower", "upper"])
    at = frame["what"].map(known)
    frame = frame.assign(
        width=frame["upper"] - frame["lower"], covers=frame["lower"].le(at) & frame["upper"].ge(at)
    )
    return (
        frame.groupby(["what", "method"])[["width", "covers"]]
        .mean()
        .assign(n=frame.groupby(["what", "method"]).size())
    )


def main() -> None:
    """Measure every cell and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--peer-draws", type=int, default=60)
    parser.add_argument("--judges", nargs="*", default=list(JUDGES))
    arguments = parser.parse_args()
    rows: list[list[str]] = []
    for kind in arguments.judges:
        for labelled in LABELLED:
            for answers in (1, 5) if labelled == 50 else (1,):
                cell = measure(
                    kind, labelled, arguments.draws, arguments.peers, arguments.peer_draws, answers
                )
                for what in QUANTITIES:
                    texts = []
                    for name in NAMES:
                        has_row = (what, name) in cell.index
                        width, covers = (
                            cell.loc[(what, name), ["width", "covers"]] if has_row else (np.nan, np.nan)
                        )
                        texts.append(f"{width:.3f} ({covers:.3f})" if has_row else "-")
                    of = "" if answers == 1 else f", {answers} answers a prompt"
                    rows.append([f"{kind}{of}", str(labelled), what, *texts])
                print(*rows[-2:], sep="\n", flush=True)
    head = ["judge", "labelled prompts", "of", *NAMES.values()]
    n_peers = arguments.peer_draws if arguments.peers else 0
    facts = {
        "Machine": machine(),
        "Versions": listed(versions(("conjury", "numpy", "scipy"))),
        "Draws": f"{arguments.draws}, {n_peers} of the peers; coverage has a Monte Carlo error of 0.011 and "
        "0.03",
        "Numbers": "mean width of the 95% interval, and its coverage in brackets",
    }
    text = page("Two systems, a biased judge and a few labels", facts, markdown(head, rows), by=BY_COMMAND)
    publish("SYSTEMS", text)


if __name__ == "__main__":
    main()
