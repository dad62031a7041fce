"""What a run found, which targets it meets, and the page that says so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """Best seconds of one contender, and its largest difference from the package's numbers."""

    name: str
    call: str
    seconds: float
    difference: float


@dataclass(frozen=True)
class Run:
    """All that one run measured; seconds unless the name says otherwise."""

    machine: str
    versions: dict[str, str]
    data: str
    full: bool
    amce: list[Found]
    absent: dict[str, str]
    bootstrap_draws: int
    bootstrap: dict[str, float]
    rows_around_cregg: dict[str, float]
    rows_rounds: int
    peak_memory_mb: float
    import_seconds: dict[str, float]

    def seconds(self, name: str) -> float | None:
        """Seconds of one contender for the AMCEs; None if it is absent."""
        return next((found.seconds for found in self.amce if found.name == name), None)


@dataclass(frozen=True)
class Target:
    """A claim, what was measured, and whether it holds; None where it could not be measured."""

    claim: str
    measured: str
    met: bool | None


def targets(run: Run) -> list[Target]:
    """Check every target."""
    native = run.seconds("native") or float("nan")
    found = []
    for peer, least in (("cregg cj", 40.0), ("statsmodels", 1.0), ("linearmodels", 1.0), ("pyfixest", 1.0)):
        seconds = run.seconds(peer)
        claim = (
            f"AMCEs at least {least:.0f} times as fast as {peer}"
            if least > 1
            else f"AMCEs faster than {peer}"
        )
        if seconds is None:
            found.append(Target(claim, f"not measured: {run.absent[peer]}", None))
        else:
            found.append(Target(claim, f"{seconds / native:.1f} times", seconds / native > least))
    both = sum(run.bootstrap.values())
    claim = f"{run.bootstrap_draws:,} draws of both bootstraps within 0.7 s"
    found.append(Target(claim, f"{both:.2f} s", both <= 0.7))
    claim = "both bootstraps at least 2,000 times as fast as rows around cregg"
    if run.rows_around_cregg:
        ratio = sum(run.rows_around_cregg.values()) / both
        found.append(Target(claim, f"{ratio:,.0f} times", ratio >= 2000))
    else:
        found.append(Target(claim, f"not measured: {run.absent['cregg cj']}", None))
    memory = run.peak_memory_mb
    found.append(Target("peak memory under 600 MB", f"{memory:.0f} MB", memory < 600))
    taken = run.import_seconds["conjury.analysis"]
    found.append(Target("import conjury.analysis under 0.5 s", f"{taken:.3f} s", taken < 0.5))
    return found


def markdown(run: Run) -> str:
    """Write the page."""
    return "\n\n".join([_head(run), _amce(run), _bootstrap(run), _size(run), _targets(run)]) + "\n"


def _head(run: Run) -> str:
    listed = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    kind = "" if run.full else "\n\nA quick run on few data: the targets are meant for the full run."
    return (
        f"# Benchmarks\n\nWritten by `make bench`. Every time is the best of several in one run.{kind}\n\n"
        f"- Data: {run.data}\n- Machine: {run.machine}\n- Versions: {listed}"
    )


def _amce(run: Run) -> str:
    native = run.seconds("native") or float("nan")
    rows = [
        [
            found.name,
            f"`{found.call}`" if found.call != "in R" else "timed inside R",
            f"{found.seconds * 1e3:,.1f}",
            f"{found.seconds / native:,.1f}",
            f"{found.difference:.0e}" if found.name != "native" else "",
        ]
        for found in sorted(run.amce, key=lambda found: found.seconds)
    ]
    rows += [[name, reason, "", "", ""] for name, reason in run.absent.items()]
    head = ["contender", "call", "ms", "times native", "largest difference"]
    return f"## AMCEs with clustered errors\n\n{table(head, rows)}\n\n{AGREEMENT}"


AGREEMENT = (
    "Before anything is timed, estimates (absolutely) and standard errors (relatively, brought to the same "
    "small-sample correction) must agree with the native engine to 1e-8."
)


def _bootstrap(run: Run) -> str:
    ours = {**run.bootstrap, "both": sum(run.bootstrap.values())}
    theirs = {**run.rows_around_cregg, "both": sum(run.rows_around_cregg.values())}
    rows = [
        [
            name,
            f"{seconds:.2f}",
            f"{theirs[name]:,.0f}" if run.rows_around_cregg else "",
            f"{theirs[name] / seconds:,.0f}" if run.rows_around_cregg else "",
        ]
        for name, seconds in ours.items()
    ]
    head = ["estimates", "pairs, native, s", "rows, around cregg, s", "ratio"]
    scaled = (
        f"The time around cregg is that of a draw on every core, the best of {run.rows_rounds}, scaled. "
        "One draw of rows is checked to give the same estimates by weights."
    )
    scaled = scaled if run.rows_around_cregg else ""
    return f"## Bootstrap, {run.bootstrap_draws:,} draws\n\n{table(head, rows)}\n\n{scaled}".rstrip()


def _size(run: Run) -> str:
    rows = [
        ["peak memory of the AMCEs and both bootstraps in a fresh process", f"{run.peak_memory_mb:.0f} MB"]
    ]
    rows += [[f"`import {module}`", f"{taken:.3f} s"] for module, taken in run.import_seconds.items()]
    return f"## Size\n\n{table(['what', 'measured'], rows)}"


def _targets(run: Run) -> str:
    says = {True: "met", False: "**not met**", None: "not measured"}
    rows = [[target.claim, target.measured, says[target.met]] for target in targets(run)]
    return f"## Targets\n\n{table(['target', 'measured', ''], rows)}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Write a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
