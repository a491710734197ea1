"""What the kernel killed for want of memory is on the page and in `evictd status`."""

from evictd.render.status.headline import headline
from evictd.render.status.kernel_killed import kernel_killed_text
from evictd.render.status.remedy.remedies import remedies
from evictd.render.status.unguarded import unguarded_remedy
from tests.daemon.status import status_of
from tests.render.shown_nodes import calm, page
from tests.render.snapshots import incident_snapshot


def test_a_node_on_which_the_kernel_kills_is_not_called_calm() -> None:
    """World 43 has no threshold for memory: the headline was green while the kernel killed one pod four times."""
    snapshot = incident_snapshot("43-no-memory-threshold", 130)
    status = status_of(snapshot, snapshot.at)
    killed = kernel_killed_text(status)
    assert killed == (
        "the kernel killed 4 processes of default/api for want of memory of the node, for which evictd has no threshold, "
        "the last 16s ago"
    )
    found = headline(status)
    assert (found.level, found.text) == ("hard", f"T{killed[1:]}.")
    assert remedies(status) == list(unguarded_remedy(status))
    assert "give memory a threshold" in page(snapshot, 0)


def test_beside_a_threshold_that_is_met_the_kills_have_a_line_of_their_own() -> None:
    """No pod used any memory, because the kernel killed one after another; that was not said."""
    snapshot = incident_snapshot("07-kernel-memory", 400)
    status = status_of(snapshot, snapshot.at)
    killed = kernel_killed_text(status)
    assert killed.startswith("the kernel killed ")
    assert killed not in headline(status).text
    assert f"T{killed[1:]}." in page(snapshot, 0)


def test_without_a_kill_within_the_hour_nothing_is_said() -> None:
    status = status_of(calm(), calm().at)
    assert status["kernelKills"] == []
    assert kernel_killed_text(status) == ""
