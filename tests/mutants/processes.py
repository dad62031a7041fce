"""Jobs in forked processes with limits of time, some at a time; a job's result is JSON."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAUSE = 0.02
MEMORY = 12 * 2**30


@dataclass(frozen=True)
class Job:
    """Work to be done in a process of its own, in a folder that is removed afterwards."""

    key: str
    work: Callable[[Path], Any]
    cpu: int = 600  # seconds
    wall: float = 1200.0


@dataclass(frozen=True)
class Done:
    """How a job ended: with a result, too late, or with what it printed last."""

    key: str
    seconds: float
    result: Any = None
    late: bool = False
    printed: str = ""


@dataclass
class _Running:
    job: Job
    folder: Path
    began: float = field(default_factory=time.monotonic)
    late: bool = False


def run(jobs: Iterable[Job], processes: int) -> Iterator[Done]:
    """Run jobs and yield each as it ends; whatever interrupts the loop ends those that run."""
    waiting, running = iter(jobs), dict[int, _Running]()
    more = True
    try:
        while more or running:
            while more and len(running) < processes:
                job = next(waiting, None)
                if job is None:
                    more = False
                    break
                folder = Path(tempfile.mkdtemp(prefix="mutant-"))
                running[_fork(job, folder)] = _Running(job, folder)
            for pid in list(running):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    yield _done(running.pop(pid), pid, status)
                elif time.monotonic() - running[pid].began > running[pid].job.wall:
                    running[pid].late = True
                    _end(pid)
            time.sleep(PAUSE)
    finally:
        for pid, left in running.items():
            _end(pid)
            os.waitpid(pid, 0)
            shutil.rmtree(left.folder, ignore_errors=True)


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _done(left: _Running, pid: int, status: int) -> Done:
    _end(pid)  # what the tests started and left
    result, printed = left.folder / "result.json", left.folder / "printed.txt"
    code = os.waitstatus_to_exitcode(status)
    done = Done(
        left.job.key,
        time.monotonic() - left.began,
        json.loads(result.read_text(encoding="utf-8")) if result.exists() else None,
        left.late or code in (-signal.SIGXCPU, -signal.SIGKILL),
        printed.read_text(encoding="utf-8", errors="replace")[-2000:] if printed.exists() else "",
    )
    shutil.rmtree(left.folder, ignore_errors=True)
    return done


def _fork(job: Job, folder: Path) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        with contextlib.suppress(PermissionError):
            os.setpgid(pid, pid)
        return pid
    code = 1
    try:
        os.setsid() if os.getpgrp() != os.getpid() else None
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        printed = os.open(folder / "printed.txt", os.O_WRONLY | os.O_CREAT)
        for stream in (1, 2):
            os.dup2(printed, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        used = int(time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (used + job.cpu, used + job.cpu + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        temporary = folder / "tmp"
        temporary.mkdir()
        os.environ["TMPDIR"], tempfile.tempdir = str(temporary), None
        result = json.dumps(job.work(folder))
        (folder / "part.json").write_text(result, encoding="utf-8")
        (folder / "part.json").rename(folder / "result.json")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
