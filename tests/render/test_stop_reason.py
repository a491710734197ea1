"""Why no pod is evicted, as a sentence and in parts."""

from dataclasses import replace

import pytest

from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import (
    NoAction,
    NoActionReason,
)
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes, of_count, parse_quantity
from evictd.render import sentences
from evictd.render.stop_reason import no_action_text, stop_reason

CONFIG = EvictionConfig()
CULPRIT = Pod(name="c", namespace="n", uid="c")
MEMORY = Threshold(signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(quantity=parse_quantity("500Mi")))
SOFT = Threshold(signal=Signal.NODEFS_AVAILABLE, value=ThresholdValue(fraction=0.1), grace_period=90 * SECOND)


@pytest.mark.parametrize("why", NoActionReason)
def test_every_silence_has_its_sentence(why: NoActionReason) -> None:
    culprit = Pod(name="c", namespace="n", uid="c", source=PodSource.STATIC)
    finding = NoAction(why=why, threshold=MEMORY, pod=culprit, needed=of_bytes(2048), reachable=of_bytes(1024))
    text = sentences.finding_text(finding, CONFIG)
    assert text
    assert "\n" not in text
    if why is NoActionReason.PROTECTED_CULPRIT:
        assert text.startswith(
            "memory.available: ProtectedCulprit: n/c holds or grows more and may not go; 2Ki is needed. The others that may "
            "be evicted hold 1Ki together, so evicting them would not help"
        )


def test_an_unknown_layout_is_said_to_hold_up_only_the_disks() -> None:
    """Memory and PIDs are acted on in the same cycle; "the cycle waits for it" was not true."""
    text = no_action_text(NoAction(why=NoActionReason.LAYOUT_UNKNOWN))
    assert text == (
        "it is not known which disks hold images and pods; thresholds on disks wait for it, under policy Kubelet all "
        "thresholds"
    )


@pytest.mark.parametrize("why", NoActionReason)
def test_the_parts_are_the_sentence(why: NoActionReason) -> None:
    """The headline took the text up to the first semicolon, and a pod's name or a detail could hold one."""
    culprit = Pod(name="c", namespace="n", uid="c", source=PodSource.STATIC)
    finding = NoAction(
        why=why, threshold=MEMORY, pod=culprit, needed=of_bytes(2048), reachable=of_bytes(1024), detail="a; b"
    )
    reason = stop_reason(finding)
    assert str(reason) == no_action_text(finding)
    assert reason.first
    assert why.value not in reason.first
    assert reason.rest[:2] in {"", "; ", " ("}
    assert reason.name in {"", why.value}


def test_what_came_back_and_is_missing_again_is_said_to_be() -> None:
    """`200Mi is missing, and the last two evictions gave back 500Mi` did not say why evictions pause (world 08)."""
    paused = NoAction(
        why=NoActionReason.EVICTIONS_DO_NOT_HELP, threshold=MEMORY, needed=of_bytes(1024), reachable=of_bytes(2048)
    )
    assert stop_reason(paused).first == "the last two evictions gave back 2Ki, and 1Ki is missing again"


def culprit_finding(needed: int, reachable: int, missing: int | None = None, detail: str = "") -> NoAction:
    """A protected pod `n/c` is the cause of a shortage of memory; amounts in bytes."""
    return NoAction(
        why=NoActionReason.PROTECTED_CULPRIT,
        threshold=MEMORY,
        pod=CULPRIT,
        needed=of_bytes(needed),
        reachable=of_bytes(reachable),
        missing=None if missing is None else of_bytes(missing),
        detail=detail,
    )


def test_a_culprit_that_is_waited_for_although_others_would_do() -> None:
    """The others hold what is needed, so to say that they do not would contradict the numbers beside it."""
    text = sentences.finding_text(culprit_finding(1024, 2048), CONFIG)
    assert text.endswith(
        "n/c holds or grows more and may not go, and no pod within its request goes in its place yet; 1Ki is needed. The "
        "others that may be evicted hold 2Ki together"
    )


def test_a_culprit_has_what_its_growth_adds_and_why_it_may_not_go() -> None:
    finding = culprit_finding(4096, 2048, 1024, "grows more than all of them and is a static pod")
    assert no_action_text(finding) == (
        "ProtectedCulprit: n/c grows more than all pods that may be evicted and is a static pod; 1Ki is missing now, "
        "4Ki if growth goes on while other pods end (40 s or more each). The others that may be evicted hold 2Ki "
        "together, so evicting them would not help"
    )
    stalls = replace(finding, needed=None, reachable=None, detail="stalls and is a static pod")
    assert no_action_text(stalls) == (
        "ProtectedCulprit: n/c stalls and is a static pod; no other pod goes in its place"
    )


def test_processes_are_counted_as_such() -> None:
    """It said "616 is needed"."""
    pids = replace(MEMORY, signal=Signal.PID_AVAILABLE)
    found = replace(culprit_finding(0, 0), threshold=pids, needed=of_count(616), reachable=of_count(79))
    many = no_action_text(found)
    assert many.endswith(
        "; 616 processes are needed. The others that may be evicted hold 79 processes together, so evicting them would not "
        "help"
    )
    one = no_action_text(replace(found, needed=of_count(1), reachable=of_count(0)))
    assert one.endswith("; 1 process is needed, and no pod that may be evicted holds any")


def test_before_a_threshold_is_met_nothing_is_said_to_be_missing() -> None:
    text = "; 4Ki is needed if growth goes on while other pods end (40 s or more each). The"
    assert text in no_action_text(culprit_finding(4096, 2048, 1))
