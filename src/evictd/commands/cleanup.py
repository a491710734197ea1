"""`evictd cleanup`: removes what an evictd that no longer runs has left on node objects.

Conditions and taints outlive the evictd that wrote them where it could not take them back: it was killed, its rights were removed
first, or its stop handed over to a next one that never came. This command is the last step of removing evictd (docs/cluster.md),
and repairs nodes where that step was forgotten. A running evictd writes its conditions and taints again.
"""

import argparse
import os
import random
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from evictd.act.cluster.removal import Removal, removal
from evictd.clients.kube.backoff import RetryBackoff
from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.daemon_sets import DaemonSetClient
from evictd.clients.kube.nodes import NodeClient, NodeList, NodeObject
from evictd.clients.kube.service_account import IN_CLUSTER
from evictd.clients.kube.transport import Transport
from evictd.core.model.problem import shown
from evictd.errors import ApiRefusedError, ApiUnavailableError, ExitCode, InputError
from evictd.render.text import clean

TRIES = 7
"""Attempts at a request that the API server does not answer or that conflicts with another writer; half a minute in all."""
CONFLICT = 409

_T = TypeVar("_T")
Sleep = Callable[[float], object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--node", metavar="NAME", help="clean the object of one node")
    which.add_argument("--all", action="store_true", help="clean the objects of all nodes")
    parser.add_argument(
        "--expired",
        action="store_true",
        help="remove only what is no longer valid; the entries of a running evictd stay",
    )
    parser.add_argument(
        "--daemon-set",
        metavar="NAMESPACE/NAME",
        help="first delete this DaemonSet and wait until its pods have ended, as evictd's removal needs it",
    )
    parser.add_argument(
        "--timeout",
        type=int,
        default=120,
        metavar="SECONDS",
        help="how long to wait for its pods (default %(default)s)",
    )
    parser.add_argument(
        "--kubeconfig",
        metavar="PATH",
        help="path of a kubeconfig, or in-cluster (default: in-cluster inside a pod, else $KUBECONFIG or ~/.kube/config)",
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Clean what was asked for; `NO` where a node could not be cleaned, or the DaemonSet's pods did not end."""
    transport = Transport(Credentials(args.kubeconfig or default_kubeconfig(os.environ)))
    try:
        return NodeCleanup(transport, threading.Event().wait, expired=args.expired).run(
            args.node, daemon_set=args.daemon_set, timeout=args.timeout
        )
    finally:
        transport.close()


def default_kubeconfig(environ: Mapping[str, str]) -> str:
    """Return where the credential is, as `kubectl` finds it; in a pod its service account."""
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return IN_CLUSTER
    return environ.get("KUBECONFIG") or str(Path(environ.get("HOME", "/root")) / ".kube/config")


class NodeCleanup:
    """Removes evictd's conditions and taints from node objects, and prints what was removed."""

    def __init__(self, transport: Transport, sleep: Sleep, *, expired: bool) -> None:
        self._transport = transport
        self._sleep = sleep
        self._expired = expired

    def run(self, node: str | None, *, daemon_set: str | None = None, timeout: int = 0) -> ExitCode:
        """Clean one node, or all for `None`; `daemon_set` is deleted first."""
        ended = daemon_set is None or self._delete(daemon_set, timeout)
        nodes = [self._persist(NodeClient(self._transport, node).get)] if node else self._persist(self._every)
        done = [self._clean(each) for each in nodes]
        sys.stdout.write(f"{len(done)} nodes, {sum(done)} clean\n")
        return ExitCode.DONE if ended and all(done) else ExitCode.NO

    def _every(self) -> Iterable[NodeObject]:
        return tuple(NodeList(self._transport).all())

    def _delete(self, daemon_set: str, timeout: int) -> bool:
        namespace, slash, name = daemon_set.partition("/")
        if not (namespace and slash and name):
            raise InputError(f"--daemon-set {shown(daemon_set)}: NAMESPACE/NAME is expected")
        client = DaemonSetClient(self._transport, namespace, name)
        self._persist(client.delete)
        for _ in range(timeout):
            if not self._persist(client.exists):
                sys.stdout.write(f"DaemonSet {clean(daemon_set)} is gone\n")
                return True
            self._sleep(1)
        sys.stderr.write(f"evictd: the pods of DaemonSet {clean(daemon_set)} have not ended within {timeout} s\n")
        return False

    def _clean(self, node: NodeObject) -> bool:
        """Remove what is there; whether nothing is left."""
        client = NodeClient(self._transport, node.name)
        gone: list[str] = []
        try:
            for _ in range(TRIES):
                plan = self._plan(node)
                if not plan.names:
                    break
                node = self._persist(partial(_step, client, node, plan))
                gone += [name for name in plan.names if name not in gone]
        except ApiRefusedError as error:
            sys.stderr.write(f"evictd: {clean(node.name)}: {clean(str(error))}\n")
            return False
        if gone:
            sys.stdout.write(f"{clean(node.name)}: removed {', '.join(gone)}\n")
        return not self._plan(node).names

    def _plan(self, node: NodeObject) -> Removal:
        # Validity is judged by the API server's clock, as nodes' clocks differ.
        return removal(node, node.date or 0, expired=self._expired)

    def _persist(self, request: Callable[[], _T]) -> _T:
        """Repeat a request that the server does not answer."""
        backoff = RetryBackoff(random.random)
        for _ in range(TRIES - 1):
            try:
                return request()
            except ApiUnavailableError as error:
                self._sleep(backoff.next(error.retry_after_seconds) / 1e9)
        return request()


def _step(client: NodeClient, node: NodeObject, plan: Removal) -> NodeObject:
    """Send the first request of a plan; return the node as it is then, read again where another writer was faster."""
    if plan.withdrawn or plan.removed:
        return client.patch_conditions(plan.withdrawn, remove=plan.removed)
    try:
        return client.replace_taints(node, plan.taints or ())
    except ApiRefusedError as error:
        if error.status != CONFLICT:
            raise
        return client.get()
