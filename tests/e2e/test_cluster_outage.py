"""Long outages of the API server or of evictd: what the API shows meanwhile, and how it is corrected."""

import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from evictd.act.cluster.conditions import VALID, holds_until
from evictd.clients.kube.nodes import Condition
from evictd.core.units.duration import SECOND
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import VolumeRecipe
from tests.e2e.cluster_story import ClusterStory, WitnessServer, Write, a_cluster
from tests.e2e.story import writes

pytestmark = [pytest.mark.root, pytest.mark.containerd]

DATA = (VolumeRecipe(name="data"),)
HARD = {"evictionHard": {"nodefs.available": "40Mi"}, "evictionPressureTransitionPeriod": "1s"}
OWN = "EvictdDiskPressure"
TAINT = "evictd.io/disk-pressure:NoSchedule"
CYCLE_MILLISECONDS = 100
MANY_CYCLES = 40
MOST_REQUESTS = 30
"""Of both queues together; 15 where nothing is slow: lease, node, condition, taint, two requests for each pod, and the events."""


def waits_for(path: str, then: str) -> str:
    """Begin when the file is there."""
    return f"while [ ! -e {path} ]; do sleep 0.05; done; {then}"


def go(story: ClusterStory, name: str) -> None:
    """Let a pod begin that waits for its file."""
    (story.pods[name].volumes["data"] / "go").touch()


def requests_of_queues(api: WitnessServer, since: float) -> list[str]:
    """What was sent about the node and about pods; lists and watches are another thread's.

    Counted, not timed: a busy machine delays what was sent at intervals. A queue sends at most five in a second: that is shown
    by `tests/act/cluster/test_request_queue.py`.
    """
    return [each.what for each in api.requests() if each.at >= since and each.attributes.verb not in {"list", "watch"}]


def is_evicted(write: Write) -> bool:
    """Whether it is the event of an eviction."""
    return bool(write.line.body["reason"] == "Evicted")


def test_a_long_outage_is_made_good_in_order_and_without_a_storm(small: DisposableNode, tmp_path: Path) -> None:
    """Two pods are evicted during the outage; then node, taint, pods and events are written, each once."""
    config = {**HARD, "evictionPressureTransitionPeriod": "10m", "nodeStatusReportFrequency": "5m"}
    with (
        a_cluster(small, tmp_path) as api,
        ClusterStory(small, api, config, housekeepingInterval=f"{CYCLE_MILLISECONDS}ms") as story,
    ):
        story.until_reported()
        for name in ("first", "second"):
            story.pod(name, waits_for("/data/go", writes("/data", 60, pause=0.01)), volumes=DATA)
        story.pod("innocent", requests={"ephemeral-storage": "5Mi"})
        api.down()
        down_at, heard = story.boot_clock(), len(api.requests())
        went: list[str] = []
        for name in ("first", "second"):
            go(story, name)
            story.until_evicted(*went, name)
            went.append(name)
            # What the kubelet would give back once the server has told it of the deletion.
            for file in story.pods[name].volumes["data"].iterdir():
                file.unlink()
        cycles = MANY_CYCLES * CYCLE_MILLISECONDS * SECOND // 1000
        story.until(lambda: story.boot_clock() - down_at > cycles, "many cycles have passed")
        assert len(api.requests()) == heard
        up_at = time.monotonic()
        api.up()
        story.until(lambda: not api.pod("first") and not api.pod("second"), "the pods' objects are deleted")
        story.until(lambda: len(api.events("Evicted")) == 2, "the events arrive")
        # Conditions and taints have a queue of their own, which may be later; a write is noted after it was done.
        story.until(lambda: len([w for w in api.writes("create events") if is_evicted(w)]) == 2, "the events are noted")
        story.until(lambda: api.taints() == {TAINT} and bool(api.writes("patch nodes")), "the node is tainted")
        assert story.running() == {"innocent"}

        late = [w for w in api.writes() if w.line.at >= up_at]
        nodes = [w for w in late if w.what.startswith("patch nodes")]
        assert [w.what for w in nodes] == ["patch nodes/status", "patch nodes"]
        assert nodes[0].sets(OWN)
        # Of the other queue: how a pod is deleted depends on the lease that is read in the first one, events on nothing.
        events = [w for w in late if w.what == "create events"]
        assert [(w.what, w.name) for w in late if w not in nodes and w not in events] == [
            ("patch pods/status", "first"),
            ("delete pods", "first"),
            ("patch pods/status", "second"),
            ("delete pods", "second"),
        ]
        about = [(w.line.body["reason"], w.line.body["regarding"].get("uid")) for w in events]
        assert len(about) == len(set(about))
        assert about.count(("Evicted", story.uid("first"))) == 1
        assert about.count(("Evicted", story.uid("second"))) == 1
        sent = requests_of_queues(api, up_at)
        assert len(sent) <= MOST_REQUESTS, sent
        assert len([each for each in api.requests() if each.at >= up_at and each.attributes.verb == "list"]) <= 1

        story.configure({"evictionPressureTransitionPeriod": "1s"})
        story.reload()
        story.until_settled()
        assert story.evicted() == ["first", "second"]


def test_a_restart_during_an_outage_knows_priorities_and_requests(small: DisposableNode, tmp_path: Path) -> None:
    """docs/faults.md, 9: the runtime alone knows neither, and the pod that uses most was evicted, whatever its priority."""
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, HARD) as story:
        story.until_reported()
        known, left = story.state / "pods.json", story.leaves(42)
        story.pod("calico-node", writes("/data", 14, pause=0.01), volumes=DATA, priority=2_000_001_000)
        story.pod("important", writes("/data", 12, pause=0.01), volumes=DATA, priority=1_000_000)
        story.pod(
            "within", writes("/data", 9, pause=0.01), volumes=DATA, requests={"ephemeral-storage": "20Mi"}, priority=0
        )
        story.pod("over", writes("/data", 7, pause=0.01), volumes=DATA, priority=0)
        story.until(lambda: story.leaves(0) <= left, "all have written")
        story.until(
            lambda: known.exists() and all(pod.uid in known.read_text() for pod in story.pods.values()),
            "the pods are kept",
        )
        story.kill()
        api.down()
        story.ballast(37)
        story.start()
        story.until_evicted("over")
        assert story.running() == {"calico-node", "important", "within"}
        api.up()
        story.until(lambda: not api.pod("over"), "the pod's object is deleted")
        assert story.evicted() == ["over"]


# --- a crash ----------------------------------------------------------------------------------------------------------


def until_under_pressure(api: WitnessServer, story: ClusterStory) -> None:
    """Fill the disk with a file of no pod, and wait until all of it is on record, in the API as in the state file."""
    story.until_reported()
    story.ballast(30)
    story.until_condition("DiskPressure")
    story.until(lambda: api.taints() == {TAINT}, "the node is tainted")
    story.until(lambda: "DiskPressure" in (story.state / "state.json").read_text(), "the state is kept")


def claims(api: WitnessServer) -> tuple[datetime, datetime]:
    """The time of the condition's last renewal, and the end of its validity from its message."""
    row = api.reported()[OWN]
    _, _, until = row["message"].partition("valid until ")
    return datetime.fromisoformat(row["lastHeartbeatTime"]), datetime.fromisoformat(until.partition(" ")[0])


def known_stale(api: WitnessServer, at: datetime) -> tuple[str, ...]:
    """Which conditions a reader of the node's object recognises as stale at this time."""
    rows = [
        Condition(type=row["type"], status=row["status"], message=row["message"])
        for row in api.node()["status"]["conditions"]
    ]
    wall = int(at.timestamp()) * SECOND
    return tuple(row.type for row in rows if 0 < holds_until(row) < wall)


def test_a_crash_leaves_a_condition_whose_message_has_the_end_of_its_validity(
    small: DisposableNode, tmp_path: Path
) -> None:
    """After SIGKILL condition and taint stay, and the message alone shows until when they are valid."""
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, HARD) as story:
        until_under_pressure(api, story)
        story.kill()
        left = api.reported()[OWN]
        renewed, until = claims(api)
        assert (left["status"], left["reason"]) == ("True", "EvictdHasDiskPressure")
        assert "reported by evictd" in left["message"]
        assert until - renewed == timedelta(seconds=VALID // SECOND)
        assert known_stale(api, until) == ()
        assert known_stale(api, until + timedelta(seconds=1)) == (OWN,)
        assert api.taints() == {TAINT}


def test_a_restart_takes_over_what_a_crash_left_and_clears_it_in_its_time(
    small: DisposableNode, tmp_path: Path
) -> None:
    """The pressure ended while evictd was down: the condition stays without a transition, then ends with its taint."""
    config = {**HARD, "evictionPressureTransitionPeriod": "15s"}  # a start may take some seconds on a busy machine
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, config) as story:
        until_under_pressure(api, story)
        since = api.reported()[OWN]["lastTransitionTime"]
        story.kill()
        killed_at, before = time.monotonic(), len(api.writes())
        story.ballast(30).unlink()
        story.start()
        story.until(lambda: any(w.sets(OWN) for w in api.writes()[before:]), "it reports")
        assert api.reported()[OWN]["lastTransitionTime"] == since
        story.until_settled()
        assert api.said_of(OWN, since=before) == ["True", "False"]
        cleared = next(w for w in api.writes()[before:] if w.status_of(OWN) == "False")
        # Of 15: the last reading that was written before the crash may be some cycles old.
        assert cleared.line.at - killed_at >= 10
        assert api.reported()[OWN]["reason"] == "EvictdHasNoDiskPressure"
        assert known_stale(api, datetime.now().astimezone() + timedelta(days=1)) == ()


def test_a_start_that_remembers_nothing_clears_what_a_crash_left(small: DisposableNode, tmp_path: Path) -> None:
    """As after a reboot of the node: the state is of another boot, the condition and the taint are in the API."""
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, HARD) as story:
        until_under_pressure(api, story)
        story.kill()
        before = len(api.writes())
        story.ballast(30).unlink()
        (story.state / "state.json").unlink()
        story.start()
        story.until_settled()
        assert api.said_of(OWN, since=before) == ["False"]
        assert api.reported()[OWN]["reason"] == "EvictdHasNoDiskPressure"


def test_a_start_under_pressure_reports_before_it_kills(small: DisposableNode, tmp_path: Path) -> None:
    """Whether a kubelet is there has still to be found out: the report comes first all the same."""
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, HARD) as story:
        story.kill()
        story.pod("innocent", requests={"ephemeral-storage": "5Mi"})
        story.pod("writer", writes("/data", story.leaves(28), pause=0.01), volumes=DATA)
        story.until(lambda: story.free_bytes() < 35 << 20, "the disk is full")
        story.start()
        story.until_evicted("writer")
        story.until_settled("writer")
        reported = next(w for w in api.writes("patch nodes/status") if w.sets(OWN))
        story.verify_order("writer", reported)
        assert story.evicted() == ["writer"]
