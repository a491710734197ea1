"""Finds files that the configuration names but that this machine does not have, for `check`.

A warning, not an error: `check` also runs on another machine than the node, whose files it cannot see.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from evictd.clients.kube.service_account import IN_CLUSTER, SERVICE_ACCOUNT, service_account_files
from evictd.config.lint_model import Lint, LintFinding
from evictd.config.settings import Settings
from evictd.errors import file_fault
from evictd.observe.node_capacity import below


def unreadable_files(
    settings: Settings, root: Path, *, service_account: Path = SERVICE_ACCOUNT
) -> Iterator[LintFinding]:
    """Yield a finding for each named file below `root` that does not exist or that this user cannot read."""
    kubeconfig = settings.evictd.cluster.kubeconfig
    if kubeconfig == IN_CLUSTER:
        yield from _of_service_account(service_account)
    elif kubeconfig and (fault := _fault(below(root, Path(kubeconfig)), os.R_OK)):
        yield LintFinding(
            lint=Lint.FILE_UNREADABLE,
            message=f"cluster.kubeconfig: {kubeconfig}: {fault}, so `evictd run` would not start on this machine",
            remedy="name the kubeconfig of this node; if the file is for another node, check there",
        )
    for name, command in (("before", settings.evictd.hooks.before), ("after", settings.evictd.hooks.after)):
        if command and (fault := _fault(below(root, Path(command[0])), os.X_OK)):
            yield LintFinding(
                lint=Lint.FILE_UNREADABLE,
                message=f"hooks.{name}: {command[0]}: {fault}, so the hook fails here",
                remedy="install the program, or check on the node",
            )


def _of_service_account(folder: Path) -> Iterator[LintFinding]:
    for name in service_account_files(folder):
        if fault := _fault(Path(name), os.R_OK):
            yield LintFinding(
                lint=Lint.FILE_UNREADABLE,
                message=f"cluster.kubeconfig: {IN_CLUSTER}: {name}: {fault}, so `evictd run` would not start on this machine",
                remedy="outside a pod name a kubeconfig, such as /etc/kubernetes/kubelet.conf",
            )
            return


def _fault(path: Path, wanted: int) -> str:
    """Return why a file cannot be used; empty if it can."""
    try:
        if path.is_dir():
            return "is a directory"
        path.stat()
    except OSError as error:
        return file_fault(error)
    return "" if os.access(path, wanted) else "permission denied"
