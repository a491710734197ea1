"""Where a departure begins."""

import pytest

from evictd.act.cluster.departure import SENDING, SETTLED, Departure, Stage, first_stage
from evictd.core.decision import Because, EvictionReason, EvictPod, PodCondition
from evictd.core.pod import Pod
from evictd.core.termination import Way

TARGET = PodCondition(type="DisruptionTarget", status="True", reason="R", message="m")


def decision(condition: PodCondition | None) -> EvictPod:
    because = Because(reason=EvictionReason.PRESSURE)
    pod = Pod(name="a", namespace="default", uid="u")
    return EvictPod(pod=pod, grace_period_seconds=1, message="m", because=because, condition=condition)


@pytest.mark.parametrize(
    ("way", "condition", "stage"),
    [
        (Way.EVICTION_API, TARGET, Stage.ASKING),
        (Way.DELETE, TARGET, Stage.MARKING),
        (Way.DELETE, None, Stage.DELETING),
        (Way.STATUS, TARGET, Stage.STOPPING),
    ],
)
def test_the_first_stage(way: Way, condition: PodCondition | None, stage: Stage) -> None:
    """A local-storage eviction has no condition to set, so it is deleted at once."""
    assert first_stage(way, decision(condition)) is stage


def test_skipping_to_delete() -> None:
    """Whatever was waited for is over."""
    departure = Departure(
        decision=decision(TARGET), hard=True, stage=Stage.ASKING, begun_at=0, stop_due=False, not_before=99
    )
    departure.skip_to_delete()
    assert (departure.stage, departure.not_before, departure.uid) == (Stage.MARKING, 0, "u")


def test_every_stage_is_one_thing() -> None:
    """No stage both sends and is settled."""
    assert not SENDING & SETTLED
