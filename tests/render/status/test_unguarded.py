"""Memory without a threshold is said to be so, before the kernel kills and after it."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from evictd.render.status.headline import headline
from evictd.render.status.remedy.remedies import to_do
from evictd.render.status.unguarded import (
    NO_THRESHOLDS,
    ends_soon,
    guards_memory,
    unguarded_entry,
    unguarded_remedy,
    unguarded_text,
)
from evictd.render.status.view import status_view
from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.loop import play
from evictd.world.model import Disk, HostUse, NodeSpec, WorldPod
from tests.daemon.status import status_of
from tests.playbook import config, pod
from tests.render.shown_nodes import calm, page
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.world.worlds import GI, MI, holder, quiet, world


def at(seconds: float) -> dict[str, Any]:
    """The status of a node whose file has thresholds for disks alone, while one pod fills memory (world 43)."""
    snapshot = incident_snapshot("43-no-memory-threshold", seconds)
    return status_of(snapshot, snapshot.at)


def test_the_headline_says_when_nothing_is_left_of_memory_without_a_threshold() -> None:
    """The page said in green that the node is calm, 4 s before the kernel killed a pod (world 43)."""
    status = at(80)
    text = (
        "memory.available reaches 0 in 4.4s at the present rate (220Mi of 6Gi left) and has no threshold, so evictd evicts no "
        "pod then, and the kernel's OOM killer kills processes; of 2.44Gi that filled memory in the last 50s, pods took 2.44Gi "
        "(all of it default/hog); nothing else grew"
    )
    assert unguarded_text(status) == text
    assert (headline(status).level, headline(status).text) == ("hard", f"{text}.")
    assert to_do(status) == (
        "end, move or limit default/hog, which took most of it; then give memory a threshold (`evictionHard: "
        "{memory.available: 500Mi}`; default/api would be evicted first by what pods use and request), or the kernel chooses "
        "what ends"
    )


def test_after_a_kill_the_largest_pod_is_named_beside_it() -> None:
    status = at(300)
    assert not ends_soon(status)
    assert headline(status).text.startswith("The kernel killed 6 processes of default/api")
    assert unguarded_text(status) == (
        "memory has no threshold, so evictd does not act when it runs short (320Mi of 6Gi left; default/hog uses the most, "
        "4.3Gi)"
    )
    snapshot = incident_snapshot("43-no-memory-threshold", 300)
    assert "default/hog uses the most, 4.3Gi" in page(snapshot, 0)


def test_the_page_draws_memory_without_a_threshold_where_the_kernel_killed_or_it_runs_short() -> None:
    """It drew the disks alone, beside a headline about memory (world 43)."""
    for seconds in (80, 500):
        text = page(incident_snapshot("43-no-memory-threshold", seconds), 0)
        (signals, others) = text.partition('<h2 id="signals"')[2].split('<h2 id="others"')
        assert signals.count("<h3>memory.available</h3>") == signals.count("<h3>") == 1
        assert "of 6Gi" in signals
        assert "<polyline" in signals
        assert '<li class="met">no threshold</li>' in signals
        assert "<h3>nodefs.available</h3>" in others
    assert "<h3>memory.available</h3>" not in page(incident_snapshot("43-no-memory-threshold", 5), 0)
    assert unguarded_entry(status_of(calm(), calm().at)) is None


def test_while_much_is_left_nothing_is_said() -> None:
    """Beside a kubelet, or for disks alone, a file may have no threshold for memory on purpose; `evictd check` names it."""
    status = at(5)
    assert "memory" not in headline(status).text
    assert (unguarded_text(status), unguarded_remedy(status)) == ("", ())
    status["unguardedMemory"] |= {"available": 1 << 30}
    assert unguarded_text(status).startswith(
        "memory has no threshold, so evictd does not act when it runs short (1Gi of 6Gi"
    )


@pytest.mark.parametrize("status", [{"signals": [], "unguardedMemory": None}])
def test_nothing_is_said_where_it_is_not_known(status: dict[str, Any]) -> None:
    assert (unguarded_text(status), ends_soon(status)) == ("", False)


def test_a_node_whose_memory_has_a_threshold_says_nothing() -> None:
    status = status_of(calm(), calm().at)
    assert guards_memory(status)
    assert (status["unguardedMemory"], unguarded_text(status), unguarded_remedy(status)) == (None, "", ())


def test_memory_that_cannot_be_read_has_a_threshold() -> None:
    """After a kill the page said that memory has no threshold, and advised to set one that the file has."""
    status, kills = status_of(calm(), calm().at), at(300)["kernelKills"]
    unread = {"signal": "memory.available", "observed": False, "absent": False, "thresholds": []}
    blind = {**status, "signals": [unread], "kernelKills": kills}
    assert (guards_memory(blind), unguarded_remedy(blind)) == (True, ())
    assert not guards_memory({**blind, "signals": [{**unread, "signal": "nodefs.available"}]})


def test_without_any_threshold_the_page_and_the_terminal_say_so() -> None:
    """The table was empty, and the page called the node calm; the warning stood in the log alone."""
    status = {**status_of(calm(), calm().at), "signals": []}
    assert headline(status).text == f"N{NO_THRESHOLDS[1:]}."
    console = Console(width=200, file=StringIO())
    console.print(status_view(status, width=200))
    assert isinstance(console.file, StringIO)
    assert NO_THRESHOLDS in console.file.getvalue()


def test_where_the_host_takes_memory_no_pod_is_named() -> None:
    """The largest pod was to be ended, which held 10Mi, while a host process took 40Mi a second."""
    taker = HostUse(name="hog", behaviours=(Grow(of=Usage.MEMORY, rate=40 * MI),))
    run = play(world(*quiet(2, "10Mi"), host=(taker,)), config(hard={"nodefs.available": "1Gi"}))
    snapshot = snapshot_at(run, 60)
    status = status_of(snapshot, snapshot.at)
    assert unguarded_text(status).endswith(
        "kills processes; of 1.17Gi that filled memory in the last 30s, pods took 0; 1.17Gi belong to no pod"
    )
    assert "quiet" not in headline(status).text
    assert to_do(status).startswith("free memory outside pods (`systemd-cgtop -m` shows host services")
    assert "end, move or limit" not in to_do(status)


def test_the_reason_of_the_first_pod_names_its_signal_beside_a_headline_of_another_one() -> None:
    """`Why that pod is first: uses 6Gi` was of the disk, and stood below a headline about memory that names the same pod."""
    behaviours = (Grow(of=Usage.MEMORY, rate=40 * MI), Hold(of=Usage.LAYER, amount=6 * GI))
    first = WorldPod(pod=pod("hog"), behaviours=behaviours)
    node = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=10 * GI))
    of = world(first, holder("web", 2 * GI, Usage.LAYER), node=node)
    text = page(snapshot_at(play(of, config(hard={"nodefs.available": "1Gi"})), 60), 0)
    assert "all of it default/hog" in text
    assert "Why that pod is first for nodefs.available: uses 6Gi, default/web only 2Gi; both request none." in text


def test_where_the_growth_is_not_known_no_pod_is_named() -> None:
    status = at(80)
    status["unguardedMemory"] |= {"growth": None}
    assert unguarded_text(status).endswith("kills processes")
    assert to_do(status).startswith("give memory a threshold")


def test_the_largest_pod_is_named_where_it_uses_most_of_the_memory_in_use() -> None:
    status = at(300)
    status["unguardedMemory"] |= {"largest": {"pod": "default/hog", "usage": 1 << 30}}
    assert "uses the most" not in unguarded_text(status)
    status["unguardedMemory"] |= {"largest": None}
    assert "uses the most" not in unguarded_text(status)
