"""A wheel of the package, built from the tracked files alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tracked_files() -> list[str]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def build_wheel(folders: pytest.TempPathFactory) -> Path:
    """Build a wheel from the tracked files alone."""
    uv = shutil.which("uv", path=f"{os.environ['PATH']}{os.pathsep}{ROOT / '.uv' / 'bin'}")
    if uv is None:
        pytest.skip("uv is not on the PATH")
    source, out = folders.mktemp("source"), folders.mktemp("wheel")
    for name in tracked_files():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    built = subprocess.run(
        [uv, "build", "--quiet", "--wheel", "--python", sys.executable, "--out-dir", str(out), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = out.glob("*.whl")
    return wheel
