"""Why no pod is evicted, as a sentence and in parts."""

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
from evictd.core.units.quantity import of_bytes, parse_quantity
from evictd.render import sentences
from evictd.render.stop_reason import no_action_text, stop_reason

CONFIG = EvictionConfig()
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
