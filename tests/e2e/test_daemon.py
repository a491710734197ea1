"""Restarts, escalation, reload and a full disk, which the kubelet's suite does not test."""

import contextlib
import fcntl
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evictd.observe.pods.oom_score import containers_root
from evictd_testnode.cgroups import group
from evictd_testnode.disks import DiskRecipe
from evictd_testnode.pods import RunningPod, VolumeRecipe
from tests.conftest import NodeFactory
from tests.daemon.test_oom_scores import may_lower, put, score
from tests.e2e.story import DISK, OBEDIENT, REST, STUBBORN, Story, writes

pytestmark = [pytest.mark.root, pytest.mark.containerd]

DATA = (VolumeRecipe(name="data"),)
SECOND = 10**9


def test_a_restart_in_the_middle_of_a_soft_grace_does_not_begin_it_anew(make_node: NodeFactory) -> None:
    """Killed half-way through the grace period, and started again: the pod goes when it would have gone."""
    node = make_node(node_disk=DISK)
    soft = {
        "evictionHard": {"memory.available": "1Mi"},
        "evictionSoft": {"nodefs.available": "45Mi"},
        "evictionSoftGracePeriod": {"nodefs.available": "8s"},
    }
    with Story(node, soft) as story:
        story.pod("innocent")
        story.pod("writer", writes("/data", 50, pause=0.01), volumes=DATA)
        story.until_condition("DiskPressure")
        story.until(lambda: bool(story.remembered()["thresholdsFirstObservedAt"]), "it is kept")
        met_at = story.remembered()["thresholdsFirstObservedAt"][0][1]
        story.until(lambda: story.boot_clock() - met_at > 4 * SECOND, "half of the grace is over")
        story.kill()
        story.start()
        story.until_evicted("writer")
        (eviction,) = story.evictions()
        restarted_at = next(each["now"] for each in story.decisions("ReportConditions") if each["now"] > met_at)
        assert met_at + 8 * SECOND <= eviction["now"] < restarted_at + 8 * SECOND
        story.until_calm("DiskPressure")
        story.verify(evicted=["writer"], innocent=["innocent"], starved="ephemeral-storage")


def test_a_hard_threshold_shortens_the_grace_of_a_victim_that_ignores_sigterm(make_node: NodeFactory) -> None:
    """Soft then hard: the victim has 60 s and ignores SIGTERM; no other pod is evicted for that."""
    node = make_node(node_disk=DISK)
    config = {
        "evictionHard": {"nodefs.available": "25Mi"},
        "evictionSoft": {"nodefs.available": "55Mi"},
        "evictionSoftGracePeriod": {"nodefs.available": "1s"},
        "evictionMaxPodGracePeriod": 60,
    }
    with Story(node, config) as story:
        story.pod("innocent")
        goes_on = "while [ ! -e /data/go ]; do sleep 0.05; done; " + writes("/data", 35, pause=0.15, how=STUBBORN)
        fills = f"{STUBBORN}dd if=/dev/zero of=/data/part bs=1M count={story.leaves(45)} 2>/dev/null; {goes_on}"
        stubborn = story.pod("stubborn", fills, volumes=DATA, grace=60)
        story.until(lambda: bool(story.evictions()), "the soft threshold acts")
        assert story.evictions()[0]["gracePeriodSeconds"] == 60
        (stubborn.volumes["data"] / "go").touch()
        story.until_evicted("stubborn")
        (shortening,) = (decision for decision in story.decisions("EvictPod") if decision["shortens"])
        assert shortening["gracePeriodSeconds"] == 1
        story.until_calm("DiskPressure")
        story.verify(evicted=["stubborn"], innocent=["innocent"], starved="ephemeral-storage")


def test_a_victim_in_flight_survives_a_restart(make_node: NodeFactory) -> None:
    """Killed during the victim's grace period: the next process completes the eviction and evicts no other pod."""
    node = make_node(node_disk=DISK)
    config = {
        "evictionHard": {"memory.available": "1Mi"},
        "evictionSoft": {"nodefs.available": "55Mi"},
        "evictionSoftGracePeriod": {"nodefs.available": "0.5s"},
        "evictionMaxPodGracePeriod": 15,
    }
    with Story(node, config) as story:
        story.pod("innocent")
        story.pod("stubborn", writes("/data", 40, pause=0.01, how=STUBBORN), volumes=DATA, grace=60)
        story.until(lambda: bool(story.evictions()), "the soft threshold acts")
        story.until(lambda: "default/stubborn" in story.victims_remembered(), "the victim is remembered")
        story.kill()
        assert story.runs("stubborn")
        story.start()
        story.until(lambda: not story.runs("stubborn"), "it is stopped after all")
        story.until_calm("DiskPressure")
        story.verify(evicted=["stubborn"], innocent=["innocent"])


def test_a_reload_is_validated_logged_and_takes_effect_at_once(make_node: NodeFactory) -> None:
    """A threshold that is met is raised by SIGHUP; a bad file before that changes nothing."""
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.available": "5Mi"}}) as story:
        story.pod("innocent", requests={"ephemeral-storage": "5Mi"})
        story.pod("writer", writes("/data", 50, pause=0.01), volumes=DATA)
        story.until(lambda: story.free_bytes() < 45 << 20, "the writer has written")
        story.configure({"evictionHard": {"nodefs.available": "a lot"}})
        story.reload()
        story.until(lambda: "nothing is changed" in story.log(), "the bad file is refused")
        assert story.evicted() == []
        story.configure({"evictionHard": {"nodefs.available": "60Mi"}})
        story.reload()
        story.until(lambda: "configuration changes" in story.log(), "the difference is told")
        story.until_evicted("writer")
        story.until_calm("DiskPressure")
        story.verify(evicted=["writer"], innocent=["innocent"], starved="ephemeral-storage")


def test_a_state_directory_that_is_full_does_not_stop_an_eviction(make_node: NodeFactory) -> None:
    """State and journal lie on the very disk that is full to the last byte."""
    node = make_node(node_disk=DiskRecipe(size_bytes=48 << 20), image_disk=DiskRecipe(size_bytes=48 << 20))
    state = node.node_folder / "evictd"
    state.mkdir()
    with Story(node, {"evictionHard": {"nodefs.available": "1Mi"}}, {"stateDirectory": str(state)}) as story:
        story.pod("innocent")
        story.pod("flood", f"{OBEDIENT}dd if=/dev/zero of=/data/f bs=1M 2>/dev/null; {REST}", volumes=DATA)
        story.until(lambda: not story.runs("flood"), "the flood is stopped")
        story.until(lambda: "pod is gone" in story.log(), "evictd knows")
        assert story.running() == {"innocent"}


def test_a_damaged_state_is_set_aside_and_the_daemon_starts_fresh(make_node: NodeFactory) -> None:
    """One warning, and everything works."""
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.available": "40Mi"}}) as story:
        story.kill()
        (story.state / "state.json").write_text('{"kind": "EvictdState"')
        story.start()
        story.until(lambda: "set aside" in story.log(), "it is logged")
        assert (story.state / "state.json.set-aside").exists()
        story.pod("writer", writes("/data", 80), volumes=DATA)
        story.until_evicted("writer")


def test_the_end_of_a_victims_log_is_recorded(make_node: NodeFactory) -> None:
    """The tail of its log and its usage stand beside the decision."""
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.available": "40Mi"}}) as story:
        story.pod("writer", "echo I will fill your disk; " + writes("/data", 80), volumes=DATA)
        story.until_evicted("writer")
        # The entry of the eviction: where the disk fills faster than thought, another one shortens its grace.
        entry = next(e for e in story.journal() if any(d["kind"] == "EvictPod" for d in e["decisions"]))
        (words,) = entry["extra"]["lastWords"].values()
        assert "I will fill your disk" in words["logs"]["main"]
        assert words["usage"]["ephemeralStorageUsedBytes"] > 10 << 20
        assert json.dumps(entry["observation"])
        verify_parquet(story)


def verify_parquet(story: Story) -> None:
    """The journal of this node as Parquet has the eviction as a row, with its evidence."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra `fleet` is not installed")
    command = [sys.executable, "-m", "evictd", "history", "--directory", str(story.state), "--output", "parquet"]
    written = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout
    rows = parquet.read_table(io.BytesIO(written)).to_pylist()
    (row,) = [row for row in rows if row["kind"] == "Evicted"]
    assert row["pod"] == "default/writer"
    assert json.loads(row["evidence"])["because"]["signal"] == "nodefs.available"


def test_oom_scores_are_corrected_if_configured_and_only_logged_in_a_dry_run(make_node: NodeFactory) -> None:
    """Scores are raised; one that this process may not lower is reported once."""
    node = make_node()
    config = {"oomScoreAdj": "Enforce", "dryRun": True}
    with Story(node, {"evictionHard": {"memory.available": "1Mi"}}, config) as story:
        story.pod("lowered")
        put(pid_of(story, "lowered"), 500)
        amounts = {"cpu": "100m", "memory": "64Mi"}
        story.pod("guaranteed", requests=amounts, limits=amounts)
        story.until(lambda: "would set oom_score_adj" in story.log(), "it says what it would do")
        assert score(pid_of(story, "lowered")) == 500
        story.configure(evictd={"dryRun": False})
        story.reload()
        story.until(lambda: score(pid_of(story, "lowered")) == 1000, "the score is raised")
        story.pod("later")
        put(pid_of(story, "later"), 500)
        story.pod("last")
        story.until(lambda: score(pid_of(story, "later")) == 1000, "a container that came later is put right too")
        assert story.log().count("lowering it needs CAP_SYS_RESOURCE") == (0 if may_lower() else 1)
        assert (score(pid_of(story, "guaranteed")) == -997) is may_lower()


def pid_of(story: Story, name: str) -> int:
    """The first process of a pod's container."""
    pod = story.pods[name]
    group = containers_root(Path("/sys/fs/cgroup")) / pod.cgroup_parent.lstrip("/") / pod.container_id
    return int((group / "cgroup.procs").read_text().split()[0])


@pytest.mark.parametrize("reader", ["stopped", "gone", "full disk"])
def test_an_eviction_waits_for_no_reader_of_the_log(make_node: NodeFactory, reader: str) -> None:
    """30 s of pressure went by without an eviction while the loop wrote its log itself; or the daemon ended."""
    node = make_node(node_disk=DISK)
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    os.write(write, b"x" * 4096)
    if reader == "gone":
        os.close(read)
    log_fd = os.open("/dev/full", os.O_WRONLY) if reader == "full disk" else write
    with Story(node, {"evictionHard": {"nodefs.available": "40Mi"}}, log_fd=log_fd) as story:
        story.pod("innocent")
        story.pod("writer", writes("/data", 80), volumes=DATA)
        story.until_evicted("writer")
        story.verify(evicted=["writer"], innocent=["innocent"], starved="ephemeral-storage")
    for fd in {write, log_fd} | ({read} if reader != "gone" else set()):
        os.close(fd)


def test_it_only_reports_standalone_where_the_pods_are_an_api_servers(make_node: NodeFactory) -> None:
    """docs/faults.md, 9: a kubelet with an API server manages them; a reload with the option allows evictions."""
    node = make_node(node_disk=DISK)
    refused = {"allowApiPodsStandalone": False}
    with Story(node, {"evictionHard": {"nodefs.available": "40Mi"}}, refused) as story:
        story.pod("hog", writes("/data", story.leaves(30), pause=0), volumes=DATA)
        story.until_condition("DiskPressure")
        story.until(lambda: "ApiPodsStandalone" in story.log(), "the log says why nothing is done")
        story.until(lambda: "allowApiPodsStandalone: true" in story.log(), "it says what would change that")
        assert (story.evictions(), story.decisions("ReclaimNode"), story.running()) == ([], [], {"hog"})
        story.configure(evictd={"allowApiPodsStandalone": True})
        story.reload()
        story.until_evicted("hog")


def move_processes(pod: RunningPod, name: str) -> None:
    """Move a container's processes into a cgroup of another name beside its own, in the trees that count tasks and memory."""
    for own in {group(controller, f"{pod.cgroup_parent}/{pod.container_id}") for controller in ("memory", "pids")}:
        other = own.with_name(name)
        other.mkdir()
        while pids := (own / "cgroup.procs").read_text().split():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):  # it has ended in the meantime
                    (other / "cgroup.procs").write_text(pid)


def pids_of_container(pod: RunningPod) -> list[str]:
    """The processes that `move_processes` has moved."""
    procs = group("pids", f"{pod.cgroup_parent}/{pod.container_id}").with_name(f"docker-{pod.container_id}.scope")
    return (procs / "cgroup.procs").read_text().split() if procs.exists() else []


def test_volumes_stay_while_a_container_runs_in_a_cgroup_of_another_name(make_node: NodeFactory) -> None:
    """docs/faults.md, 12: "no such cgroup" counted as dead, and the emptyDirs of a running pod were deleted."""
    node = make_node(node_disk=DISK)
    config = {
        "evictionHard": {"memory.available": "1Mi"},
        "evictionSoft": {"nodefs.available": "55Mi"},
        "evictionSoftGracePeriod": {"nodefs.available": "0.5s"},
        "evictionMaxPodGracePeriod": 6,
    }
    with Story(node, config) as story:
        story.pod("innocent")
        renamed = story.pod(
            "renamed",
            "trap '' TERM; while [ ! -e /data/go ]; do sleep 0.05; done; " + writes("/data", 45, how=STUBBORN, pause=0),
            volumes=DATA,
            grace=60,
        )
        move_processes(renamed, f"docker-{renamed.container_id}.scope")
        folder = renamed.volumes["data"]
        (folder / "go").touch()
        story.until(lambda: bool(story.evictions()), "the soft threshold acts")
        held = 0
        while story.runs("renamed"):
            here = (folder / "f0").exists()
            # The runtime reports the end of a container a moment after the processes have ended.
            assert here or not pids_of_container(renamed), "a volume of a running container was emptied"
            held += here
        assert held, "it ran for a part of its grace period"
        story.until_calm("DiskPressure")
        story.verify(evicted=["renamed"], innocent=["innocent"])
