"""The manifests of `deploy/` as objects: read from their files, and rendered by kustomize or Helm where there is one."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from evictd.commands.check import check
from evictd.config.file import load
from evictd.config.lint_model import Severity
from evictd.core.model.signal import MEMORY_SIGNALS
from tests.trees import MOUNTINFO, Tree, plant, v2

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "chart" / "evictd"
OVERLAYS = ("beside-kubelet", "instead-of-kubelet-eviction", "dry-run")
USER = "system:serviceaccount:evictd:evictd"

Json = dict[str, Any]

NODES = (512, 1024, 2048, 65536)
"""Memory of the nodes, in MiB, that a default has to fit."""


def memory_faults(configuration: Path, folder: Path, mebibytes: int) -> list[str]:
    """Return the errors about memory of `evictd check` on a node of this size of which 300 MiB are in use."""
    proc: Tree = {"meminfo": f"MemTotal: {mebibytes << 10} kB\n", "self": {"mountinfo": MOUNTINFO}}
    root = plant(folder, {"proc": proc, "sys": {"fs": {"cgroup": v2(anon=300 << 20)}}})
    found = check(load(configuration), root).findings
    return [each.message for each in found if each.severity is Severity.ERROR and each.signal in MEMORY_SIGNALS]


def documents(path: Path) -> list[Json]:
    """The objects of one file."""
    return [item for item in yaml.safe_load_all(path.read_text()) if item]


def base() -> list[Json]:
    """The objects of the base, as its kustomization lists them."""
    (kustomization,) = documents(DEPLOY / "base" / "kustomization.yaml")
    return [item for name in kustomization["resources"] for item in documents(DEPLOY / "base" / name)]


def cleanup() -> list[Json]:
    """The objects of the removal."""
    (kustomization,) = documents(DEPLOY / "cleanup" / "kustomization.yaml")
    return [item for name in kustomization["resources"] for item in documents(DEPLOY / "cleanup" / name)]


def kustomized(folder: Path) -> list[Json] | None:
    """What kustomize makes of a folder; `None` where there is neither `kustomize` nor `kubectl`."""
    if shutil.which("kubectl"):
        command = ["kubectl", "kustomize", str(folder)]
    elif shutil.which("kustomize"):
        command = ["kustomize", "build", str(folder)]
    else:
        return None
    made = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return [item for item in yaml.safe_load_all(made.stdout) if item]
