"""Checks what is said of a pod that goes for a soft threshold instead of a hard one."""

import io
from dataclasses import replace

from evictd.codec.decision import encode_decision
from evictd.core.model.decision import EvictPod
from evictd.core.units.duration import MINUTE
from evictd.render.console import make_console
from evictd.render.replay.changed_kind import changed_kinds
from evictd.render.replay.printed import print_replayed
from evictd.render.replay.replayed import Replayed
from tests.daemon.world import GI, step
from tests.render.replay.test_replayed import entry


def test_a_pod_that_goes_for_a_soft_threshold_is_no_change_of_the_reason_alone() -> None:
    """A budget can refuse the soft eviction, and the difference was only counted, among those of the reason."""
    evicts = step(GI // 2)
    (eviction,) = (each for each in evicts.decisions if isinstance(each, EvictPod))
    hard = eviction.because.threshold
    assert hard is not None
    soft = replace(eviction, because=replace(eviction.because, threshold=replace(hard, grace_period=MINUTE)))
    then, now, damaged = encode_decision(eviction), encode_decision(soft), {"kind": "EvictPod"}
    said = f"default/hog for {hard} (hard) -> {hard} (soft, 1m0s)"
    assert list(changed_kinds([then, damaged], [now])) == [said]
    assert not list(changed_kinds([then], [then]))
    higher = replace(soft, message="m", because=replace(soft.because, limit=soft.because.available))
    decisions = tuple(higher if each is eviction else each for each in evicts.decisions)
    out = io.StringIO()
    one = Replayed(entry=entry(evicts), step=replace(evicts, decisions=decisions))
    print_replayed([one], make_console(out, 160), other=True)
    assert f"  differs: {said}" in out.getvalue().splitlines()
    assert out.getvalue().splitlines()[-1] == "1 entry, 1 would have been decided differently"
