"""The manifests of `deploy/` as objects: read from their files, and rendered by kustomize or Helm where there is one."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "chart" / "evictd"
OVERLAYS = ("beside-kubelet", "instead-of-kubelet-eviction", "dry-run")
USER = "system:serviceaccount:evictd:evictd"

Json = dict[str, Any]


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
