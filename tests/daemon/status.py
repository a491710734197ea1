"""The document of `/statusz` of a snapshot."""

from typing import Any

from evictd.core.model.config import EvictionMethod
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.status_page import snapshot_view, status_document


def status_of(snapshot: Snapshot, now: int, termination: EvictionMethod = EvictionMethod.AUTO) -> dict[str, Any]:
    """Make the document as the daemon does, with this `cluster.podTermination`."""
    return status_document(snapshot_view(snapshot), snapshot, now, termination=termination)
