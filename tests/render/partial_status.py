"""Makes documents of `/statusz` of which a test needs a few fields only."""

from typing import Any

from evictd.render.status.older_daemon import completed


def status_with(**fields: Any) -> dict[str, Any]:
    """A document with these fields; the others are as of a calm node."""
    return completed({"signals": (), "leaving": (), "decisions": (), **fields})


def entry_with(**fields: Any) -> dict[str, Any]:
    """The entry of a signal with these fields; the others are as of a signal of which nothing more is known."""
    (entry,) = status_with(signals=[{"thresholds": (), **fields}])["signals"]
    assert isinstance(entry, dict)
    return entry
