"""Checks what is said of a calm node."""

import io
from dataclasses import replace

from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.observation import Observation
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.core.units.duration import MINUTE
from evictd.core.units.quantity import of_bytes
from evictd.render.console import make_console
from evictd.render.simulation.worlds.outlook import (
    freed_by_kill,
    outlook_documents,
    outlook_text,
    outlooks,
    played_on_document,
    played_on_text,
    print_outlooks,
    with_played_on,
)  # fmt: skip
from evictd.simulation import SimulatedCycle, Turn
from evictd.world.next_eviction import PlayedOn
from tests.playbook import config, node, pod, usage

CONFIG = config(hard={"memory.available": "1Gi"})
HOG = pod("hog", memory="1Gi")


def cycles(*available: str, of: Pod = HOG) -> list[SimulatedCycle]:
    """A reading each minute."""
    found = []
    for number, each in enumerate(available):
        observation = Observation(
            node=node(memory=f"{each} of 8Gi"), pods=(of,), pod_stats={of.uid: usage(of, memory="3Gi")}
        )
        step = synchronize(State(), observation, CONFIG, number * MINUTE)
        found.append(SimulatedCycle(at=number * MINUTE, turns=(Turn(observation=observation, step=step),)))
    return found


def test_the_time_to_the_threshold_is_that_of_the_rate_over_all_readings() -> None:
    (outlook,) = outlooks(cycles("5Gi", "4Gi", "3Gi"), CONFIG)
    assert outlook_text(outlook) == (
        "memory.available<1Gi: 3Gi left, crossed in 2m0s at the present rate of 17.1Mi/s; by what the pods use now, next is "
        "default/hog, exceeds its request by 2Gi"
    )
    assert outlook_documents([outlook])[0]["next"] == "default/hog"


def test_one_reading_has_no_rate_and_a_node_that_empties_never_crosses() -> None:
    assert "the rate is not known from one reading" in outlook_text(outlooks(cycles("5Gi"), CONFIG)[0])
    assert "it does not come nearer" in outlook_text(outlooks(cycles("4Gi", "5Gi"), CONFIG)[0])


def test_a_signal_that_has_stopped_falling_does_not_come_nearer() -> None:
    """`--grow` ends after its amount; the average from the first reading on still crossed the threshold."""
    (outlook,) = outlooks(cycles("5Gi", "3Gi", "2Gi", "2Gi", "2Gi", "2Gi"), CONFIG)
    assert outlook.time_left is None
    assert (
        "2Gi left, and it does not come nearer: a reading at 2m0s was within 1Gi of its threshold; next"
        in outlook_text(outlook)
    )
    out = io.StringIO()
    print_outlooks([outlook], make_console(out, 200))
    assert "2Gi left (a reading at 2m0s was within 1Gi of its threshold); next is default/hog" in out.getvalue()


def test_a_signal_that_falls_at_the_end_and_has_risen_again_before_has_its_rate() -> None:
    """It wrote that no threshold comes nearer, while a heap grew by 30Mi/s and was collected again and again (world 35)."""
    saw = ["4Gi", "3Gi", "2Gi", "5Gi"] * 4 + ["4Gi"]
    (outlook,) = outlooks(cycles(*saw), CONFIG)
    text = "it falls by 17.1Mi/s at the end, after it rose; a reading at 2m0s was within 1Gi of"
    assert f"4Gi left, and it does not come nearer: {text}" in outlook_text(outlook)
    out = io.StringIO()
    print_outlooks([outlook], make_console(out, 300), lead="")
    assert (
        "over the last quarter of the time, as a whole, no threshold came nearer; next pod for each" in out.getvalue()
    )
    assert f"4Gi left ({text} its threshold); next is default/hog" in out.getvalue()
    assert outlooks(cycles("5Gi", "4Gi", "5Gi", "5Gi", "5Gi", "5119Mi"), CONFIG)[0].falls is None, "a little"


def test_a_limit_that_is_lower_than_configured_is_named() -> None:
    """`<1Gi: 1.24Gi left … within 344Mi` is 244Mi by these numbers: the distance is to the limit of 924Mi."""
    (outlook,) = outlooks(cycles("5Gi", "3Gi", "2Gi", "2Gi", "2Gi", "2Gi"), CONFIG)
    lower = replace(outlook, finding=replace(outlook.finding, limit=of_bytes(924 << 20)))
    assert outlook_text(lower).startswith("memory.available<1Gi: 2Gi left, limit 924Mi, and it does not come nearer")


def test_a_threshold_that_was_met_earlier_has_no_distance() -> None:
    static = replace(HOG, source=PodSource.STATIC)
    (outlook,) = outlooks(cycles("5Gi", "500Mi", "3Gi", "3Gi", "3Gi", "3Gi", of=static), CONFIG)
    assert outlook.nearest is None


def test_thresholds_that_do_not_come_nearer_share_a_line() -> None:
    full = outlooks(cycles("5Gi", "5Gi"), CONFIG)
    out = io.StringIO()
    print_outlooks([*full, *full], make_console(out, 200))
    assert out.getvalue().splitlines()[1:] == [
        "no pod is evicted; at the end no threshold comes nearer; next pod for each",
        "  memory.available<1Gi: 5Gi left, memory.available<1Gi: 5Gi left; next is default/hog, exceeds its request by 2Gi",
    ]


def test_a_world_that_is_played_on_has_its_first_eviction() -> None:
    assert played_on_text(PlayedOn(until=9 * MINUTE)) == "played on until 9m0s, no pod is evicted"
    found = PlayedOn(until=9 * MINUTE, at=7 * MINUTE, pod="default/hog")
    assert played_on_text(found) == "played on, default/hog is evicted first, at 7m0s"
    stays = replace(found, stays=("default/api",))
    assert played_on_text(stays).endswith("first, at 7m0s; what takes more and more goes on: default/api")
    assert played_on_document(found) == {
        "until": "9m0s", "evicted": "default/hog", "at": "7m0s", "crossed": {}, "killed": None, "killedAt": None,
        "ranOut": {},
        "text": played_on_text(found),
    }  # fmt: skip
    assert played_on_document(None) is None


def test_what_comes_after_evictions_is_said() -> None:
    """An outlook was given only of a world in which no pod went."""
    crossed = {Signal.PID_AVAILABLE: 8 * MINUTE, Signal.MEMORY_AVAILABLE: 7 * MINUTE}
    found = PlayedOn(
        until=9 * MINUTE, at=7 * MINUTE, pod="default/hog", again=True, crossed=crossed, short=Signal.MEMORY_AVAILABLE
    )
    assert (
        played_on_text(found) == "played on, memory.available is short again and default/hog is evicted next, at 7m0s"
    )
    soft = replace(found, at=8 * MINUTE)
    assert "on, memory.available is short again at 7m0s and default/hog is evicted next, at 8m0s" in played_on_text(
        soft
    )
    full = PlayedOn(until=9 * MINUTE, ran_out={Signal.NODEFS_AVAILABLE: 7 * MINUTE})
    assert (
        played_on_text(full) == "played on until 9m0s, no pod is evicted; nothing is left of nodefs.available at 7m0s"
    )
    kill = PlayedOn(until=9 * MINUTE, again=True, killed="default/hog", killed_at=8 * MINUTE)
    assert played_on_text(kill) == (
        "played on until 9m0s, no pod is evicted; the kernel kills default/hog for want of memory at 8m0s"
    )
    both = replace(soft, killed="default/db", killed_at=6 * MINUTE)
    assert played_on_text(both) == (
        "played on, the kernel kills default/db for want of memory at 6m0s, memory.available is short again at 7m0s and "
        "default/hog is evicted next, at 8m0s"
    )
    out = io.StringIO()
    print_outlooks([], make_console(out, 200), kill, lead="")
    assert out.getvalue().splitlines()[1:] == ["if it goes on like this", f"  {played_on_text(kill)}"]


def test_no_rate_is_continued_beyond_what_was_played_on() -> None:
    """A growth that ends at its bound was said to cross the threshold in 1h38m, at the rate of the time played on."""
    (outlook,) = outlooks(cycles("5Gi", "4Gi", "3Gi"), CONFIG)
    (after,) = with_played_on([outlook], PlayedOn(until=12 * MINUTE), 2 * MINUTE)
    assert (after.time_left, after.nears, after.rate) == (None, True, outlook.rate)
    assert "3Gi left, not met in the 10m0s played on; by what the pods use now, next is" in outlook_text(after)
    out = io.StringIO()
    print_outlooks([after], make_console(out, 200), lead="")
    assert out.getvalue().splitlines()[1] == "if it goes on like this"
    crossed = {Signal.MEMORY_AVAILABLE: 5 * MINUTE}
    (met,) = with_played_on([outlook], PlayedOn(until=12 * MINUTE, crossed=crossed), 2 * MINUTE)
    assert "crossed in 3m0s, played on" in outlook_text(met)


def test_where_no_pod_may_go_that_is_said() -> None:
    static = replace(HOG, source=PodSource.STATIC)
    assert "; no pod would go" in outlook_text(outlooks(cycles("5Gi", of=static), CONFIG)[0])


def test_a_node_that_is_short_has_no_outlook() -> None:
    assert outlooks(cycles("500Mi"), CONFIG) == ()
    assert outlooks([], CONFIG) == ()


def test_after_a_kill_by_the_kernel_no_time_is_known() -> None:
    """The kill raised what is available, so a leak that goes on was said not to come nearer."""
    (outlook,) = outlooks(cycles("5Gi", "2Gi", "5Gi"), CONFIG)
    killed = freed_by_kill(outlook, cycles("5Gi", "2Gi", "5Gi"), CONFIG)
    assert "5Gi left, the kernel killed, so no time is known; a reading at 1m0s was within 1Gi" in outlook_text(killed)
    out = io.StringIO()
    print_outlooks([killed], make_console(out, 200), lead="")
    assert (
        out.getvalue().splitlines()[1]
        == "which pod would go for each threshold (the kernel killed, so no time is known)"
    )


def test_after_a_kill_the_pod_is_named_that_was_next_where_the_threshold_was_near() -> None:
    """At the last reading the killed pod has begun again, with little, so another one was named for the threshold."""
    small = pod("small", memory="1Gi")
    seen = [*cycles("5Gi", "2Gi"), cycles("5Gi", "2Gi", "5Gi", of=small)[2]]
    (outlook,) = outlooks(seen, CONFIG)
    assert "next is default/small" in outlook_text(outlook)
    killed = freed_by_kill(outlook, seen, CONFIG)
    assert outlook_text(killed).endswith("; next at 1m0s was default/hog, exceeds its request by 2Gi")
    only_one = freed_by_kill(replace(outlook, nearest=None), seen, CONFIG)
    assert "next is default/small" in outlook_text(only_one)
