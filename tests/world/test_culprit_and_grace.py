"""A soft threshold does not evict a pod while the hard one of its signal, which is met, evicts none because of a culprit."""

import pytest

from evictd.core.model.pod import PodSource
from evictd.core.units.duration import SECOND
from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.loop import Run, play
from evictd.world.model import HostUse, WorldPod
from tests.playbook import config, pod
from tests.world.worlds import MI, evicted, holder, world


@pytest.mark.parametrize(("start", "gone"), [(0, []), (60, ["worker"])], ids=["hard first", "soft first"])
def test_no_pod_goes_at_the_end_of_a_grace_period_while_the_hard_threshold_evicts_none(
    start: int, gone: list[str]
) -> None:
    """The hard threshold evicted no pod in the place of a static one; 10 s later the soft one evicted a small pod, in vain."""
    assert evicted(_beside_a_static_pod(start)) == gone


def _beside_a_static_pod(start: int) -> Run:
    grows = Grow(of=Usage.MEMORY, rate=14 * MI, start=start * SECOND)
    registry = pod("registry", memory="200Mi", source=PodSource.STATIC)
    others = (
        WorldPod(pod=registry, behaviours=(Hold(of=Usage.MEMORY, amount=1500 * MI), grows)),
        holder("web", 500 * MI, memory="1000Mi", priority=100),
        holder("api", 600 * MI, memory="1000Mi", priority=100),
        holder("worker", 300 * MI, memory="200Mi"),
    )
    settings = config(
        hard={"memory.available": "500Mi"}, soft={"memory.available": ("1Gi", "50s")}, max_pod_grace_period_seconds=20
    )
    kernel = HostUse(name="kernel", behaviours=(Hold(of=Usage.MEMORY, amount=1279 * MI),))
    return play(world(*others, host=(kernel,), memory=5120 * MI, duration=60 * SECOND), settings)
