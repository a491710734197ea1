"""One reading, put together for `explain`."""

from dataclasses import replace

from evictd.commands.inputs.source import own_config
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import Policy
from evictd.core.model.finding import NoActionReason
from evictd.core.model.observation import Filesystems
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.render.node_view import NodeView, explanation_document, next_reasons, node_view
from tests.render.shown_nodes import page
from tests.render.snapshots import incident_snapshot
from tests.stories import played


def _explain(name: str, step: int, policy: Policy | None = None) -> NodeView:
    scenario, cycles = played(name, policy)
    turn = cycles[step].turns[0]
    return node_view(
        "x", own_config(scenario, policy), turn.observation, turn.step.state, turn.step.findings, now=cycles[step].at
    )


def test_signals_that_agree_share_a_queue() -> None:
    explained = _explain("disk-reclaim-suffices", 0)
    assert [queue.signals for queue in explained.queues] == [
        (Signal.NODEFS_AVAILABLE, Signal.IMAGEFS_AVAILABLE, Signal.CONTAINERFS_AVAILABLE)
    ]


def test_a_signal_without_a_reading_has_no_order() -> None:
    """`next for nodefs.available` stood beside `no reading` while no runtime said which disks hold images and pods."""
    scenario, cycles = played("ten-minutes")
    turn, config = cycles[0].turns[0], own_config(scenario)
    unknown = replace(turn.observation, filesystems=Filesystems(dedicated_image_fs=None, split_container_fs=None))
    step = synchronize(State(), unknown, config, cycles[0].at)
    found = node_view("x", config, unknown, step.state, step.findings, now=cycles[0].at)
    assert Signal.NODEFS_AVAILABLE in found.unobserved
    assert [queue.signals for queue in found.queues] == [(Signal.MEMORY_AVAILABLE,)]


def test_each_resource_has_its_own_order() -> None:
    explained = _explain("ten-minutes", 0)
    assert [queue.signals[0] for queue in explained.queues] == [Signal.MEMORY_AVAILABLE, Signal.NODEFS_AVAILABLE]
    assert explained.queues[1].rows[0].name == "crawler"


def test_a_victim_in_flight_is_left_out() -> None:
    explained = _explain("memory-with-priorities", 3)
    assert [row.name for row in explained.queues[0].rows] == ["shop", "cache", "dns"]


def test_missing_stats_rank_by_policy() -> None:
    assert _explain("missing-stats", 1, Policy.STANDARD).queues[0].rows[-1].name == "database"
    # Under Kubelet the database goes first, and is on its way already.
    assert [row.name for row in _explain("missing-stats", 1, Policy.KUBELET).queues[0].rows] == ["leak", "web"]


def test_a_protected_culprit_means_that_no_pod_would_go() -> None:
    """Under Standard, and only while the threshold is met."""
    calm, pressed = (_explain("protected-culprit", step).queues[0] for step in (0, 1))
    assert calm.victim is not None
    assert pressed.victim is None
    assert pressed.stop is not None
    assert pressed.stop.why is NoActionReason.PROTECTED_CULPRIT
    kubelet = _explain("protected-culprit", 2, Policy.KUBELET).queues[0]
    assert kubelet.stop is None


def test_the_only_pod_that_may_be_evicted_is_first_for_that_reason() -> None:
    """`Why that pod is first: 974Mi within its request` told nothing (world 13)."""
    alone = page(incident_snapshot("13-pinned-deployment", 618), 0)
    assert "Why that pod is first: it is the only pod that may be evicted." in alone
    assert "974Mi within its request" in alone, "its place in the order says what it uses"


def test_the_reason_of_the_next_pod_is_the_one_that_explain_gives() -> None:
    """It is written without the reasons of the pods behind it."""
    for name, step in (("ten-minutes", 0), ("memory-with-priorities", 0), ("memory-with-priorities", 3)):
        explained = _explain(name, step)
        queues = explanation_document(explained, rows=None)["queues"]
        assert {each.value: why for each, why in next_reasons(explained).items()} == {
            signal: queue["nextWhy"] for queue in queues for signal in queue["signals"]
        }
        assert any(next_reasons(explained).values())
