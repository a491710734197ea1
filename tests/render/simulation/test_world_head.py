"""Checks what is said of a world before its timeline."""

from dataclasses import replace

from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.simulation.worlds.world_head import head_texts
from evictd.world.behaviours import Burst, Grow, LeakAndRelease, Stops, TakeRest, Usage
from evictd.world.model import ApiServer, Disk, HostUse, NodeSpec, Outage
from tests.world.worlds import GI, MI, hog, holder, quiet, world


def test_the_head_names_the_node_and_what_its_pods_take_those_that_grow_first() -> None:
    """A world began with its first decision: neither the node's size nor the pods were said."""
    texts = head_texts(
        world(*quiet(3), holder("database", GI, priority=7), hog()), "A hog takes\n  memory. It goes on. And on."
    )
    held = "default/hog takes 50Mi of memory more a second; default/quiet-0 and 2 like it hold 100Mi of memory each"
    assert texts == [
        "A hog takes memory.",
        "Node: 4Gi of memory; 5 pods; played for 5m0s.",
        f"{held}; default/database (priority 7) holds 1Gi of memory.",
    ]


def test_sizes_of_disks_and_process_ids_are_said_where_something_takes_of_them() -> None:
    node = NodeSpec(memory=GI, swap=GI, nodefs=Disk(capacity=2 * GI, inodes=1000), imagefs=Disk(capacity=GI))
    disks = head_texts(world(holder("a", MI, Usage.VOLUME), node=node), "")
    assert disks[0].startswith("Node: 1Gi of memory, 1Gi of swap, a disk of 2Gi, a disk of images of 1Gi; 1 pod; ")
    inodes = head_texts(world(holder("a", 10, Usage.VOLUME_INODES), node=NodeSpec(memory=GI, nodefs=node.nodefs)), "")
    assert "a disk of 2Gi with 1000 inodes" in inodes[0]
    assert "32768 process IDs" in head_texts(world(hog(of=Usage.PROCESSES)), "")[0]


def test_each_behaviour_is_written_and_a_host_that_grows_is_named() -> None:
    of = Usage.MEMORY
    every = (
        Grow(of=of, rate=MI, bound=3 * MI),
        LeakAndRelease(of=of, rate=MI, peak=9 * MI),
        Burst(of=of, amount=MI, start=0, duration=SECOND),
        TakeRest(rate=MI, leave=2 * MI),
    )
    grows = HostUse(name="logs", behaviours=(Grow(of=Usage.HOST_PATH, rate=MI),))
    still = HostUse(name="system", behaviours=holder("x", MI).behaviours)
    texts = head_texts(world(holder("a", MI), host=(still, grows)), "")
    assert texts[-1] == "On the host: logs takes 1Mi of files on the host more a second."
    (_, pods) = head_texts(world(hog(*every)), "")
    assert pods.endswith(
        "takes 1Mi of memory more a second, up to 3Mi and takes 1Mi of memory more a second, and gives it back at 9Mi and "
        "takes 1Mi of memory for 1s and takes 1Mi of memory more a second, until 2Mi are left."
    )


def test_other_pods_are_counted_and_later_ones_have_their_time() -> None:
    pods = [holder(f"p{number}", number * MI) for number in range(1, 6)]
    assert head_texts(world(*pods), "")[1].endswith("default/p3 holds 3Mi of memory; 2 more.")
    assert head_texts(world(), "") == ["Node: 4Gi of memory; 0 pods; played for 5m0s."]
    late = replace(hog(name="idle"), behaviours=(Stops(after=None),), start=MINUTE)
    assert head_texts(world(late), "")[1] == "default/idle (from 1m0s on) takes nothing."


def test_the_outages_of_the_api_server_are_said() -> None:
    """A world with one was printed as any other: nothing said why a soft eviction did not come."""
    outages = (Outage(start=0, duration=45 * MINUTE), Outage(start=50 * MINUTE, duration=MINUTE, status=500))
    assert head_texts(world(hog(), api_server=ApiServer(outages=outages)), "")[-1] == (
        "The API server cannot be reached from 0s to 45m0s, and answers with status 500 from 50m0s to 51m0s."
    )
