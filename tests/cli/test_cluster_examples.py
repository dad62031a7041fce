"""The container, the Slurm script and the manifest of docs/examples are linted, and their commands run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from conjury.inference.tables import read_table

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "cluster"
CONTAINER = Path(__file__).parents[2] / "Dockerfile"
SCRIPT, MANIFEST = (EXAMPLES / name for name in ("collect.sbatch", "rayjob.yaml"))
INSTRUCTIONS = ("ARG", "FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD")
REQUESTS = 24  # of 20 pairs, some of them repeated with positions swapped
IGNORED = 1 << 1  # the bit of SIGINT in the mask of ignored signals


def program(name: str) -> str:
    """A linter beside this Python or on the PATH."""
    path = shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if path is None:
        pytest.skip(f"{name} is not installed (dependency groups dev and deploy)")
    return path


def instructions() -> list[tuple[str, str]]:
    """Instructions of the container file, each with its arguments on one line."""
    text = re.sub(r"^#.*\n", "", CONTAINER.read_text(encoding="utf-8"), flags=re.MULTILINE).replace(
        "\\\n", " "
    )
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in text.splitlines()) if name]


def manifests() -> dict[str, list[dict[str, Any]]]:
    """Objects of the manifest by kind."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for one in yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8")):
        kinds.setdefault(one["kind"], []).append(one)
    return kinds


def templates() -> list[dict[str, Any]]:
    """Templates of the pods of the Ray cluster: of the head, then of the workers."""
    cluster = manifests()["RayJob"][0]["spec"]["rayClusterSpec"]
    return [
        cluster["headGroupSpec"]["template"],
        *(group["template"] for group in cluster["workerGroupSpecs"]),
    ]


@pytest.mark.parametrize(("linter", "file"), [("shellcheck", SCRIPT), ("hadolint", CONTAINER)])
def test_linters_find_nothing(linter, file):
    done = subprocess.run(
        [program(linter), str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_container_is_not_root_and_its_command_is_one_of_conjury():
    lines = instructions()
    assert {name for name, _ in lines} <= set(INSTRUCTIONS)
    assert [rest for name, rest in lines if name == "USER"] == ["1000"]
    assert [json.loads(rest) for name, rest in lines[-2:]] == [["conjury"], ["--help"]]


def test_the_manifest_has_what_its_kinds_require():
    objects = manifests()
    assert sorted(objects) == ["PersistentVolumeClaim", "RayJob"]
    claims = {one["metadata"]["name"] for one in objects["PersistentVolumeClaim"]}
    assert all(one["spec"]["resources"]["requests"]["storage"] for one in objects["PersistentVolumeClaim"])
    (job,) = objects["RayJob"]
    assert job["apiVersion"] == "ray.io/v1"
    assert {"entrypoint", "rayClusterSpec"} <= set(job["spec"])
    for group in job["spec"]["rayClusterSpec"]["workerGroupSpecs"]:
        assert {"groupName", "minReplicas", "maxReplicas", "replicas", "rayStartParams"} <= set(group)
    for template in templates():
        volumes = {one["name"]: one for one in template["spec"]["volumes"]}
        (container,) = template["spec"]["containers"]
        assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
        assert {
            one["persistentVolumeClaim"]["claimName"] for one in volumes.values() if "emptyDir" not in one
        } <= claims
        assert container["resources"]["requests"] == container["resources"]["limits"]
        assert template["spec"]["securityContext"]["runAsNonRoot"]


def test_the_pods_and_claims_follow_the_schemas_of_kubernetes():
    kubernetes = pytest.importorskip("kubernetes_validate", reason="dependency group deploy")
    pods = [
        {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "pod"}, "template": template}
        for template in templates()
    ]
    for one in [*pods, *manifests()["PersistentVolumeClaim"]]:
        kubernetes.validate(one, "1.31", strict=True)
    pods[0]["template"]["spec"]["containers"][0]["imag"] = "misspelt"
    with pytest.raises(kubernetes.ValidationError):
        kubernetes.validate(pods[0], "1.31", strict=True)


@pytest.fixture
def flats(tmp_path: Path, conjury: Callable[..., Any]) -> Path:
    """The folder of a study."""
    assert conjury("init minimal flats", cwd=tmp_path).code == 0
    return tmp_path / "flats"


def entry(place: Path) -> list[str]:
    """The command of the manifest, with a folder in place of its volumes."""
    text = manifests()["RayJob"][0]["spec"]["entrypoint"]
    for volume in ("data", "exchange", "weights"):
        text = text.replace(f"/srv/{volume}", str(place))
    return shlex.split(text)


def without(command: list[str], *options: str) -> list[str]:
    """A command without options and their values."""
    left = list(command)
    for option in options:
        at = left.index(option)
        del left[at : at + 2]
    return left


def test_the_command_of_the_manifest_plans_a_run_with_ray(flats, conjury):
    command = entry(flats.parent)
    assert command[:2] == ["conjury", "collect"]
    dry = conjury(*command[1:], "--dry-run", cwd=flats.parent)
    assert dry.code == 0
    assert json.loads(dry.out)["plan"]["backend"] == "ray"


@pytest.mark.long
def test_the_command_of_the_manifest_runs_twice_and_asks_nothing_twice(flats, conjury):
    place, command = flats.parent, entry(flats.parent)
    command = without(command, "--backend", "--model-weights", "--cluster-dir")
    simulated = [*command[1:], "--backend", "simulated", "--pairs", "20"]
    for answered in (REQUESTS, 0):  # what KubeRay does after a failure: the same command again
        ended = conjury(*simulated, cwd=place)
        assert ended.code == 0, ended.err
        assert json.loads(ended.out)["done"]["answered"] == answered
    assert len(read_table(place / "runs/flats/choices.parquet")) == 2 * REQUESTS


@pytest.mark.cluster
@pytest.mark.timeout(900)
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed (make test-cluster)")
def test_the_command_of_the_manifest_runs_on_ray_and_again_after_a_failure(flats):
    place, file = flats.parent, flats / "study.yaml"
    study = yaml.safe_load(file.read_text(encoding="utf-8"))
    (judge,) = (one for one in study["judges"] if one["id"] == "mini")
    judge["ask"]["engine"] = {"name": "rehearsal", "batch_size": 8}
    file.write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")
    program = [sys.executable, "-c", "from conjury.cli.main import main; main()"]
    for answered in (REQUESTS, 0):
        ended = subprocess.run(
            [*program, *entry(place)[1:], "--pairs", "20"],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert json.loads(ended.stdout)["done"]["answered"] == answered
    assert len(list(place.glob("*/mini/*/answers/*.parquet"))) == REQUESTS / 8
    choices = read_table(place / "runs/flats/choices.parquet")
    assert len(choices) == 2 * REQUESTS
    assert choices["origin"].eq("simulated").all()


@pytest.fixture
def cluster(tmp_path: Path) -> Callable[..., tuple[subprocess.CompletedProcess[str], list[str]]]:
    """Run the Slurm script where its programs are stand-ins; what they were called with comes back."""
    programs, calls = tmp_path / "programs", tmp_path / "calls"
    programs.mkdir()
    conjury = f'exec {shlex.quote(sys.executable)} -c "from conjury.cli.main import main; main()" "$@"'
    stand_ins = {
        "srun": 'while [[ $1 == --* ]]; do shift; done; exec "$@"',
        "scontrol": 'if [ "$1" = show ]; then printf "one\\ntwo\\n"; else echo "scontrol $*" >>"$CALLS"; fi',
        "ray": 'echo "ray $* $(sed -n "s/^SigIgn:[[:space:]]*//p" /proc/self/status)" >>"$CALLS"',
        "conjury": f'echo "conjury $*" >>"$CALLS"; if [ -n "$CODE" ]; then exit "$CODE"; fi; {conjury}',
    }
    for name, text in stand_ins.items():
        (programs / name).write_text(f"#!/usr/bin/env bash\n{text}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "[one-two]", "RAY_SECONDS": "0.3"}
    slurm |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "CALLS": str(calls)}
    slurm |= {"CONJURY_CLUSTER_DIR": "shared"}

    def run(*arguments: str, code: str = "", **environment: str) -> Any:
        calls.unlink(missing_ok=True)
        done = subprocess.run(
            ["bash", str(SCRIPT), *arguments],
            cwd=tmp_path,
            env={**os.environ, **slurm, "CODE": code, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done, calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []

    return run


@pytest.mark.parametrize(
    "code", [pytest.param(0, marks=pytest.mark.long), 1, pytest.param(2, marks=pytest.mark.long), 130]
)
def test_the_script_is_queued_again_only_where_the_run_was_interrupted(cluster, code):
    done, calls = cluster("study.yaml", "mini", "runs/mini", "--pairs", "20", code=str(code))
    assert done.returncode == code, done.stderr
    rays = sorted(call for call in calls if call.startswith("ray"))
    assert [ray.split(" --block")[0] for ray in rays] == [
        "ray start --address=one:6379",
        "ray start --head --port=6379",
    ]
    assert all(int(ray.split()[-1], 16) & IGNORED for ray in rays)  # the SIGINT is for the command alone
    route = "--backend ray --cluster-dir shared"
    asked = f"conjury collect study.yaml --judge mini {route} --out runs/mini --json --pairs 20"
    assert asked in calls
    assert ("scontrol requeue 7" in calls) == (code == 130)


def test_the_script_names_what_it_lacks(cluster):
    done, calls = cluster("study.yaml")
    assert done.returncode != 0
    assert "name the judge" in done.stderr
    assert calls == []
