"""Whether the node is short now, by the daemon or by the end of the journal."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.model.signal import Signal
from evictd.render.incident.record.aftermath import MetAfter
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.now import now_text
from evictd.render.incident.remedy.read_now import last_left_text, read_now, short_text
from tests.daemon.status import status_of
from tests.daemon.world import GI, NOW, snapshot
from tests.render.recorded_incident import incident


def short(*, dry_run: bool = False) -> Incident:
    """The recorded incident, whose journal ends while the threshold is met."""
    return replace(incident(dry_run=dry_run), clear_text="", still_met=True, met=MetAfter(still=0.0), points=())


def status(available: int) -> dict[str, Any]:
    return status_of(snapshot(available), NOW)


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_node_that_the_daemon_reads_as_relieved_is_not_called_short(dry_run: bool) -> None:
    """`the node is still short` was said for the whole transition period, with 143Mi left over a threshold of 60Mi."""
    found = read_now(short(dry_run=dry_run), status(4 * GI))
    assert now_text(found).startswith("no threshold of memory.available is met")
    assert "still short" not in now_text(found)


def test_a_node_that_the_daemon_reads_as_short_is_called_so() -> None:
    assert now_text(read_now(short(), status(0))).startswith("the node is still short")
    relieved = read_now(replace(short(), still_met=False, met=MetAfter()), status(0))
    assert now_text(relieved).startswith("a threshold of memory.available is met")


def test_without_a_reading_of_the_daemon_the_end_of_the_journal_is_dated() -> None:
    found = short()
    assert read_now(found, {"signals": []}) is found
    assert read_now(replace(found, signal=Signal.PID_AVAILABLE), status(GI)).answered is False
    assert read_now(replace(found, signal=None), status(GI)).answered is False
    assert now_text(found).startswith("the node was short at the journal's last record, 00:0")
    left = replace(found, points=((0.0, GI), (60.0, 0)))
    assert short_text(left).endswith("last reading, 00:01:30, with nothing of memory.available left")
    assert last_left_text(left) == "nothing of memory.available was left at the journal's last reading, 00:01:30"
    assert now_text(left).count("00:01:30") == 1
