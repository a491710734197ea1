"""What a part of the host took where memory was short."""

from dataclasses import replace

from evictd.core.units.duration import SECOND
from evictd.render.simulation.worlds.host_growth import host_filled, host_filled_texts, host_growth_texts
from evictd.render.simulation.worlds.world_outcome import outcome_text
from evictd.world.account import account_of
from evictd.world.behaviours import Burst, Grow, Hold, Usage
from evictd.world.loop import Run, play
from evictd.world.model import HostUse, WorldPod
from tests.playbook import config, pod
from tests.world.worlds import HARD, hog, holder, world

MI = 1 << 20


def run_of(*behaviours: Hold | Grow, culprit: bool = False) -> Run:
    """A run of five minutes with three pods, one of them a hog if asked, beside a daemon of the host."""
    pods = [*(holder(f"p{number}", 300 * MI) for number in range(3)), *([hog()] if culprit else [])]
    daemon = HostUse(name="containerd", behaviours=behaviours, oom_score_adj=-999)
    return play(world(*pods, host=(daemon,)), config(hard=HARD))


def test_a_growing_process_of_the_host_is_named_where_pods_went_for_it() -> None:
    """Six pods were evicted one after another, and nothing said what filled the memory."""
    run = run_of(Grow(of=Usage.MEMORY, rate=10 * MI))
    assert [*host_growth_texts(run)] == ["containerd, outside pods, took 2.93Gi of memory; evictions do not end it."]


def test_it_is_named_where_no_pod_can_be_evicted_and_takes_no_more_than_there_is() -> None:
    """A node without pods was said to be short, and not why."""
    slab = HostUse(name="slab", behaviours=(Grow(of=Usage.MEMORY, rate=20 * MI),), oom_score_adj=-1000)
    run = play(world(host=(slab,)), config(hard=HARD))
    assert [*host_growth_texts(run)] == ["slab, outside pods, took 4Gi of memory; evictions do not end it."]


def test_it_is_not_named_where_a_pod_is_the_cause_or_it_takes_no_more() -> None:
    assert not [*host_growth_texts(run_of(Grow(of=Usage.MEMORY, rate=10 * MI), culprit=True))]
    assert not [*host_growth_texts(run_of(Hold(of=Usage.MEMORY, amount=3000 * MI)))]
    assert not [*host_growth_texts(run_of(Grow(of=Usage.MEMORY, rate=1)))]


def test_a_burst_of_the_host_is_the_cause_and_not_a_pod_that_grows_slowly_beside_it() -> None:
    """A sidecar that took 10Ki a second was called the cause, and a burst of the host of 3Gi was not named."""
    burst = Burst(of=Usage.MEMORY, amount=4000 * MI, start=120 * SECOND, duration=170 * SECOND, rate=40 * MI)
    slow = WorldPod(pod=pod("sidecar", priority=2_000_000_000), behaviours=(Grow(of=Usage.MEMORY, rate=10 << 10),))
    host = (HostUse(name="apt", behaviours=(burst,), oom_score_adj=-999),)
    run = play(world(slow, holder("p0", 900 * MI), host=host), config(hard=HARD))
    assert host_filled(run)
    (said,) = host_filled_texts(run)
    assert said.startswith("apt, outside pods, is the cause: it took ")
    told = outcome_text(run, account_of(run))
    assert said in told
    assert not any("sidecar, the cause" in each for each in told)
    marked = replace(run, world=replace(run.world, pods=tuple(replace(each, culprit=True) for each in run.world.pods)))
    assert not host_filled(marked), "the file says which pod is the cause"
    assert not host_filled(run_of(Hold(of=Usage.MEMORY, amount=300 * MI), culprit=True))
