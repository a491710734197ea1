"""The host grows, and pods grow beside it: the leaks go, and nothing goes for the host."""

from itertools import takewhile

from evictd.core.model.config import EvictionConfig
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.account import account_of
from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.kernel import OomKill
from evictd.world.lifecycle import PodEnd
from evictd.world.loop import Run, play
from evictd.world.model import HostUse, NodeSpec, World, WorldPod
from tests.playbook import config, pod
from tests.world.worlds import GI, MI, ends

SETTINGS: EvictionConfig = config(hard={"memory.available": "500Mi"})


def run(*, host: int, to: int, pods: int, request: str, duration: int, bound: int | None = None) -> Run:
    """Eight quiet pods and six over their requests, which grow by `pods` a second from the first minute on, as the host does."""
    behaviours = (Hold(of=Usage.MEMORY, amount=250 * MI), Grow(of=Usage.MEMORY, rate=pods, start=MINUTE, bound=bound))
    over = [WorldPod(pod=pod(f"over-{i}", memory=request), behaviours=behaviours) for i in range(6)]
    held = (Hold(of=Usage.MEMORY, amount=250 * MI),)
    quiet = [WorldPod(pod=pod(f"quiet-{i}", memory="300Mi"), behaviours=held) for i in range(8)]
    growth = HostUse(
        name="daemon", behaviours=(Grow(of=Usage.MEMORY, rate=host, start=MINUTE, bound=to),), oom_score_adj=-999
    )
    node = NodeSpec(memory=8 * GI, unusable_memory=64 * MI)
    return play(World(name="host", node=node, pods=(*over, *quiet), host=(growth,), duration=duration), SETTINGS)


def test_leaks_go_beside_a_host_that_grows_four_times_as_fast() -> None:
    """The kernel killed four of them while evictions were paused for the host's growth."""
    played = run(host=48 * MI, to=5 * GI, pods=2 * MI, request="100Mi", duration=8 * MINUTE)
    account = account_of(played)
    assert (account.oom_kills, account.innocents) == (0, 0)
    assert {name for name, _ in ends(played)} == {f"default/over-{i}" for i in range(6)}
    assert account.relieved_at is not None


def test_pods_over_their_requests_that_grow_a_little_stay_beside_a_host_that_grows() -> None:
    """Two within ten minutes, as without any growth of theirs."""
    played = run(host=10 * MI, to=8 * GI, pods=MI // 5, request="200Mi", duration=10 * MINUTE, bound=200 * MI)
    before_kills = takewhile(lambda each: not isinstance(each.event, OomKill), played.happened)
    assert sum(isinstance(each.event, PodEnd) for each in before_kills) == 2


def test_hogs_that_come_one_after_another_all_go_after_a_host_process_has_grown() -> None:
    """Seen in a virtual machine: the first two were evicted, and the kernel killed the others, as evictions had paused."""
    times = [(12 + 7 * number) * SECOND for number in range(10)]
    hogs = [
        WorldPod(pod=pod(f"hog-{number}"), start=start, behaviours=(Grow(of=Usage.MEMORY, rate=100 * MI),))
        for number, start in enumerate(times)
    ]
    web = WorldPod(pod=pod("web", memory="100Mi"), behaviours=(Hold(of=Usage.MEMORY, amount=60 * MI),))
    growth = HostUse(
        name="daemon", behaviours=(Grow(of=Usage.MEMORY, rate=62 * MI, bound=1250 * MI),), oom_score_adj=-999
    )
    world = World(name="hogs", node=NodeSpec(memory=2 * GI), pods=(web, *hogs), host=(growth,), duration=4 * MINUTE)
    played = play(world, config(hard={"memory.available": "100Mi"}))
    account = account_of(played)
    assert (account.oom_kills, account.innocents) == (0, 0)
    assert [name for name, _ in ends(played)] == [f"default/hog-{number}" for number in range(10)]
