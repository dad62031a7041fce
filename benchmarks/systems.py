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
from conjury.analysis.raters.systems.label_gate import gate_systems, represented_by
from conjury.analysis.raters.systems.system_estimates import CalibratedRows, correct_contrast, people_alone
from conjury.analysis.raters.systems.system_rows import mix_weights, system_rows
from conjury.analysis.raters.validation.coding import CodedRows, Groups

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
CONTRASTS = {"level": np.array([1.0, 0.0]), "difference": np.array([-1.0, 1.0])}
ALPHA = 0.05
FEWEST, MOST = 0.93, 0.97  # coverage that is aimed at


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
    data = coded(answers)
    gates = gate_systems(data, answers["has_label"].to_numpy(), False, True)
    rows = system_rows(data, ["score"], represented_by(data, gates, None), mix_weights(data, {}), "draw")
    everywhere = np.ones(data.n, dtype=bool)
    asked = {"level": gates[0].has_level, "difference": all(gate.has_level for gate in gates)}
    calibrated = {name: CalibratedRows.of(rows, number, name == "ours") for name in ("ours", "raw")}
    for what, contrast in CONTRASTS.items():
        alone = people_alone(rows, contrast, everywhere, ALPHA)
        yield "people", what, alone.lower, alone.upper
        for name, scores in calibrated.items() if asked[what] else ():
            result = correct_contrast(scores, contrast, everywhere, ALPHA).result
            yield name, what, result.lower, result.upper


def coded(answers: pd.DataFrame) -> CodedRows:
    """The answers as `compare_systems` codes them, without the texts that most of its time goes into."""
    n = len(answers)
    score, people = (answers[name].to_numpy()[None] for name in ("score", "people"))
    has_label = answers["has_label"].to_numpy()[None]
    system = (answers["system"] == "B").to_numpy().astype(np.int64)
    return CodedRows(
        judges=np.zeros((1, n), dtype=np.int64),
        people=np.where(has_label, 0, -1),
        judged=score,
        rated=np.where(has_label, people, np.nan),
        classes=(),
        scale="interval",
        cluster=answers["prompt"].to_numpy(),
        groups=(Groups("system", system, ("A", "B")),),
        positive=None,
        people_names=("people",),
    )


def refuse_other_limits(answers: pd.DataFrame, number: int) -> None:
    """Stop where the command itself has other limits than those measured here."""
    labelled = answers.assign(people=answers["people"].where(answers["has_label"])).drop(columns="has_label")
    result = compare_systems(labelled, "score", "people", id="prompt", scale="interval", seed=number)
    rows = result.frame.set_index("name")
    places = {"level": "corrected_mean[A]", "difference": "difference"}
    for method, what, *limits in ours(answers, number):
        if method == "ours":
            np.testing.assert_allclose(limits, rows.loc[places[what], ["lower", "upper"]], rtol=1e-9)


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
    """Mean width, coverage and number of intervals of each method and quantity."""
    known, limits, drawn = truth(), [], []
    for number in range(draws):
        table = draw(kind, labelled, number, answers)
        if number == 0:
            refuse_other_limits(table, number)
        limits += list(ours(table, number))
        drawn += [table] if number < peer_draws and peers is not None and answers == 1 else []
    if drawn and peers is not None:
        limits += of_peers(peers, drawn)
    frame = pd.DataFrame(limits, columns=["method", "what", "lower", "upper"])
    at = frame["what"].map(known)
    frame = frame.assign(
        width=frame["upper"] - frame["lower"], covers=frame["lower"].le(at) & frame["upper"].ge(at)
    )
    groups = frame.groupby(["what", "method"])
    return groups[["width", "covers"]].mean().assign(n=groups.size())


def beyond(cell: pd.DataFrame, name: str) -> list[str]:
    """Coverage of the command outside of what is aimed at by more than chance, in sentences."""
    texts = []
    for what in CONTRASTS:
        covers, n = cell.loc[(what, "ours"), ["covers", "n"]]
        edge = FEWEST if covers < FEWEST else MOST
        error = np.sqrt(edge * (1 - edge) / n)
        if not FEWEST <= covers <= MOST:
            more = "more than" if abs(covers - edge) > 2 * error else "within"
            texts.append(
                f"{name}, {what}: {covers:.3f} in {n:.0f} draws, {more} two Monte Carlo errors from {edge}."
            )
    return texts


def main() -> None:
    """Measure every cell and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--draws-of-five", type=int, default=400, help="With five answers to each prompt.")
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--peer-draws", type=int, default=60)
    parser.add_argument("--judges", nargs="*", default=list(JUDGES))
    arguments = parser.parse_args()
    rows, failing = list[list[str]](), list[str]()
    for kind in arguments.judges:
        for labelled in LABELLED:
            for answers, draws in ((1, arguments.draws), (5, arguments.draws_of_five)):
                cell = measure(kind, labelled, draws, arguments.peers, arguments.peer_draws, answers)
                name = f"{kind}{', 5 answers a prompt' if answers > 1 else ''}"
                rows += [[name, str(labelled), what, *texts_of(cell, what)] for what in CONTRASTS]
                failing += beyond(cell, f"{name}, {labelled} labelled prompts")
                print(*rows[-2:], sep="\n", flush=True)
    head = ["judge", "labelled prompts", "of", *NAMES.values()]
    n_peers = arguments.peer_draws if arguments.peers else 0
    facts = {
        "Machine": machine(),
        "Versions": listed(versions(("conjury", "numpy", "scipy"))),
        "Draws": f"{arguments.draws}, {arguments.draws_of_five} of those with five answers, {n_peers} of the "
        f"peers; coverage of .95 has a Monte Carlo error of {np.sqrt(0.0475 / arguments.draws):.3f}, "
        f"{np.sqrt(0.0475 / arguments.draws_of_five):.3f} and {np.sqrt(0.0475 / max(n_peers, 1)):.3f}",
        "Numbers": "mean width of the 95% interval, and its coverage in brackets",
    }
    cells = f"coverage of compare-systems between {FEWEST} and {MOST}"
    end = (
        bulleted(f"Not all {len(rows)} rows have a {cells}:", failing) if failing else f"All have a {cells}."
    )
    text = page(
        "Two systems, a biased judge and a few labels",
        facts,
        f"{markdown(head, rows)}\n\n{end}",
        by=BY_COMMAND,
    )
    publish("SYSTEMS", text)


def texts_of(cell: pd.DataFrame, what: str) -> list[str]:
    """Width and coverage of each method, and how many draws had no interval."""
    draws = cell.loc[(what, "people"), "n"]
    texts = []
    for name in NAMES:
        if (what, name) not in cell.index:
            texts.append("-")
            continue
        width, covers, n = cell.loc[(what, name), ["width", "covers", "n"]]
        lacking = f", {draws - n:.0f} without" if name in ("ours", "raw") and n < draws else ""
        texts.append(f"{width:.3f} ({covers:.3f}{lacking})")
    return texts


def bulleted(head: str, lines: list[str]) -> str:
    """A list below a sentence."""
    return "\n".join([head, "", *(f"- {line}" for line in lines)])


if __name__ == "__main__":
    main()
