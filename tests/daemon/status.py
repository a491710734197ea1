"""The document of `/statusz` of a snapshot."""

from typing import Any

from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.statusz.status_page import snapshot_view, status_document


def status_of(snapshot: Snapshot, now: int) -> dict[str, Any]:
    """Make the document as the daemon does."""
    return status_document(snapshot_view(snapshot), snapshot, now, reload_fault="")
