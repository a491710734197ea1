"""Looks whether the container runtime of a configuration answers on this machine, for `check`.

Without one evictd tests thresholds and can choose no pod. That is expected on a machine that is no node, so a missing socket is a
note; a socket that does not answer is a warning.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evictd.config.lint_model import Lint, LintFinding
from evictd.config.settings import Settings
from evictd.errors import EvictdError, file_fault
from evictd.observe.node_capacity import below

NO_SOCKET = "there is no such socket here, so a daemon could not read imagefs and containerfs"
"""What a missing runtime means for the signals of disks, for `check` and `explain`."""
_TIMEOUT_SECONDS = 5


def runtime_findings(
    settings: Settings, root: Path, *, timeout_seconds: int = _TIMEOUT_SECONDS
) -> Iterator[LintFinding]:
    """Yield a finding for each endpoint below `root` that does not answer."""
    kubelet = settings.kubelet
    endpoints = {
        kubelet.image_endpoint: "imageServiceEndpoint",
        kubelet.container_runtime_endpoint: "containerRuntimeEndpoint",
    }
    for endpoint, name in reversed(endpoints.items()):
        found = _finding(below(root, Path(endpoint.removeprefix("unix://"))), timeout_seconds)
        if found is not None:
            yield replace(found, message=f"{name} {endpoint}: {found.message}")


def _finding(path: Path, timeout_seconds: int) -> LintFinding | None:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return LintFinding(
            lint=Lint.RUNTIME_MISSING,
            message=f"{NO_SOCKET} (their amounts are a guess) and evicts no pod",
            remedy="start the runtime or name its socket, or check on the node",
        )
    except OSError as error:
        return _unavailable(file_fault(error))
    from evictd.clients.cri.client import CriClient  # noqa: PLC0415 - brings the gRPC library along

    try:
        with CriClient(str(path), timeout_seconds=timeout_seconds) as client:
            client.version()
    except EvictdError as error:
        return _unavailable(str(error))
    return None


def _unavailable(fault: str) -> LintFinding:
    return LintFinding(
        lint=Lint.RUNTIME_UNAVAILABLE,
        message=f"does not answer ({fault})",
        remedy="check as root, and look whether the runtime runs",
    )
