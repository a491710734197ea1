"""Why no other pod goes in the place of one that may not go."""

from dataclasses import replace

from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Resource, Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.quantity import of_bytes, of_count, parse_quantity
from evictd.render import sentences
from evictd.render.culprit import culprit_parts
from evictd.render.stop_reason import no_action_text

CONFIG = EvictionConfig()
CULPRIT = Pod(name="c", namespace="n", uid="c")
MEMORY = Threshold(signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(quantity=parse_quantity("500Mi")))


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
    found = replace(culprit_finding(0, 0), needed=of_count(616), reachable=of_count(79))
    many = "".join(culprit_parts(found, CULPRIT, Resource.PIDS))
    assert many.endswith(
        "; 616 processes are needed. The others that may be evicted hold 79 processes together, so evicting them would not "
        "help"
    )
    one = "".join(culprit_parts(replace(found, needed=of_count(1), reachable=of_count(0)), CULPRIT, Resource.PIDS))
    assert one.endswith("; 1 process is needed, and no pod that may be evicted holds any")


def test_before_a_threshold_is_met_nothing_is_said_to_be_missing() -> None:
    text = "; 4Ki is needed if growth goes on while other pods end (40 s or more each). The"
    assert text in "".join(culprit_parts(culprit_finding(4096, 2048, 1), CULPRIT, Resource.MEMORY))
