"""What a part of the host took where memory was short."""

from evictd.render.simulation.worlds.host_growth import host_growth_texts
from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.loop import Run, play
from evictd.world.model import HostUse
from tests.playbook import config
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
