"""Each rule about the outcome of incidents is needed: without it an incident or a story ends worse.

A rule is taken away in memory, by replacing the function where it is used. An incident of config/incidents must then no longer
end as its file expects, or a story of `tests/core/eviction` must fail. `docs/laws.md` lists the rules.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from evictd.commands.inputs.source import own_config
from evictd.core.eviction import standard
from evictd.core.eviction.accounts import holdings, ledger
from evictd.core.eviction.choice import choose, chooser, shorten
from evictd.core.eviction.choice.chooser import StandardChooser
from evictd.core.eviction.laws import need
from evictd.core.eviction.rank import NOTHING_REMEMBERED
from evictd.core.eviction.refusals import backoff
from evictd.core.model.config import Policy
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.resources import Volume, VolumeKind
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world import file as world_file
from evictd.world.account import account_of
from evictd.world.behaviours import Burst, Grow, Hold, Stalls, Stops, Usage
from evictd.world.expectation import unmet
from evictd.world.loop import play
from evictd.world.model import Disk, HostUse, NodeSpec, WorldPod
from tests.core.eviction import test_chooser as of_chooser
from tests.core.eviction import test_collecting as of_collecting
from tests.core.eviction import test_leaving as of_leaving
from tests.core.eviction import test_prudence as of_prudence
from tests.core.eviction.test_stalls import thrashing
from tests.playbook import config, pod
from tests.world import test_leak_of_priority as of_priority
from tests.world.worlds import GI, MI, ends, evicted, holder, quiet, world
from tools.incidents import FOLDER, read_incident

Place = tuple[Any, str]
"""A module or class and the name in it."""
Replacement = Callable[[Any], Any]
"""Takes the right function and returns the faulty one."""


def returns(answer: object) -> Replacement:
    """Return a fault that gives one answer to all."""
    return lambda _: lambda *_, **__: answer


def as_if_soft(right: Any) -> Any:
    """Return the back-off without regard to a hard threshold."""
    return lambda *arguments, **named: right(*arguments, **named | {"hard": False})


def as_given(_: Any) -> Any:
    """Return a rule that takes no back-off back."""
    return lambda _self, _rows, backed_off: backed_off


def first_candidate(_: Any) -> Any:
    """Return a rule that takes the first pod of the ranking."""
    return lambda candidates, _shortage: (candidates[0], ())


def remembers_nothing(right: Any) -> Any:
    """Return the ranking without what pods were measured to hold before."""
    return lambda *arguments, **named: right(*arguments, **named | {"holdings": NOTHING_REMEMBERED})


def only_this_reading(right: Any) -> Any:
    """Return the holdings of the pods that were measured in this reading."""
    return lambda observation, measure, _before, now: right(observation, measure, SupplyHoldings(), now)


def each_alone(right: Any) -> Any:
    """Return what is owed of each victim as if no other had ended."""

    def owed(victims: Any, supply: Any, available: Any, now: int) -> Any:
        return {uid: each for victim in victims for uid, each in right((victim,), supply, available, now).items()}

    return owed


def incident(name: str, policy: Policy = Policy.STANDARD) -> Callable[[], None]:
    """Return a check that an incident ends under a policy as its file expects."""

    def check() -> None:
        file = read_incident(FOLDER / f"{name}.yaml")
        assert file.expect is not None
        assert not file.expect.fails
        run = play(file.world, own_config(file, policy))
        assert unmet(file.expect, run, account_of(run)) == ()

    return check


def a_threshold_never_clear() -> None:
    """Check that three pods go in ten minutes for a threshold that is met from the beginning, although six would clear it."""
    held = HostUse(name="system", behaviours=(Hold(of=Usage.MEMORY, amount=2400 * MI),))
    run = play(world(*quiet(8, "250Mi"), memory=8 * GI, host=(held,)), config(hard={"memory.available": "5Gi"}))
    assert len(evicted(run)) == 3


def two_victims_that_end_together() -> None:
    """Check that no third pod goes: two exceed limits of their own and end a second apart, their bytes are free 3 s later."""
    data = (Volume(name="data", kind=VolumeKind.EMPTY_DIR),)
    takes = Burst(of=Usage.VOLUME, amount=11 * GI, start=2 * MINUTE, duration=10 * MINUTE, rate=11 * GI)
    at_once, slow = (
        WorldPod(pod=pod(name, storage="1Gi", storage_limit="10Gi", volumes=data), behaviours=(takes, *more))
        for name, more in (("at-once", ()), ("slow", (Stops(after=None),)))
    )
    others = (holder(f"db-{i}", 7 * GI, Usage.VOLUME, storage="20Gi", volumes=data) for i in range(2))
    disk = Disk(capacity=100 * GI, used=64 * GI)
    node = NodeSpec(memory=8 * GI, nodefs=disk, release_delay=3 * SECOND, layers_period=SECOND // 10)
    run = play(world(at_once, slow, *others, node=node), config(hard={"nodefs.available": "20%"}))
    assert evicted(run) == ["at-once", "slow"]


def a_stall_of_the_host() -> None:
    """Check that no pod goes for a stall that the host makes, although each stalls a little too."""
    host = HostUse(name="backup", behaviours=(Stalls(memory=40.0, start=MINUTE),))
    little = Stalls(memory=4.0, start=MINUTE)
    pods = [replace(each, behaviours=(*each.behaviours, little)) for each in quiet(8)]
    run = play(world(*pods, host=(host,)), thrashing(Signal.NODE_MEMORY_FULL_10))
    assert any(each.step.state.thresholds_met for each in run.cycles)
    assert evicted(run) == []


def little_is_missing_while_large_pods_leave() -> None:
    """Check that one of three pods with 600 s to leave is shortened for a few MiB: its end is enough."""
    old = [replace(holder(f"old-{i}", GI // 2, memory="1Gi", grace=600), deleted_at=MINUTE) for i in range(3)]
    old = [replace(each, behaviours=(*each.behaviours, Stops(after=None))) for each in old]
    new = WorldPod(pod=pod("new", memory="2Gi"), behaviours=(Grow(of=Usage.MEMORY, rate=10 * MI, bound=2200 * MI),))
    run = play(world(*old, new), config(hard={"memory.available": "500Mi"}))
    assert [name for name, _ in ends(run)] == ["default/old-0"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A rule that is taken away, and what shows it."""

    what: str
    places: Mapping[Place, Replacement]
    shown_by: Callable[[], None]

    def __str__(self) -> str:
        return self.what


FAULTS = [
    Fault(
        what="the back-off of owners under hard thresholds",
        places={(backoff, "_skipped"): as_if_soft, (StandardChooser, "_never_smaller"): as_given},
        shown_by=of_chooser.test_a_recreated_hog_is_evicted_again_under_a_hard_threshold,
    ),
    Fault(
        what="no Need", places={(chooser, "needed"): first_candidate}, shown_by=incident("17-daemon-sets-a-little-over")
    ),
    Fault(
        what="priority before proportion: pods over their requests that only delay the leak",
        places={(need, "_leak_instead"): returns(None)},
        shown_by=partial(
            of_priority.test_pods_over_their_requests_stay_where_a_leak_of_higher_priority_follows,
            *of_priority.OF_MEMORY,
        ),
    ),
    Fault(what="no Blame", places={(chooser, "blamed"): returns(None)}, shown_by=incident("15-static-culprit")),
    Fault(what="no Prudence", places={(chooser, "never_clear"): returns(None)}, shown_by=a_threshold_never_clear),
    Fault(
        what="no Effect",
        places={(chooser, "pause_of"): returns(None), (standard, "pause_of"): returns(None)},
        shown_by=incident("07-kernel-memory"),
    ),
    Fault(
        what="no memory of readings",
        places={(choose, "rank"): remembers_nothing, (holdings, "_measured_pods"): only_this_reading},
        shown_by=incident("24-unmeasured-hog"),
    ),
    Fault(
        what="leaving pods do not count",
        places={(standard, "follow_leaving"): returns(())},
        shown_by=of_leaving.test_a_soft_threshold_waits_for_what_a_pod_that_leaves_gives_back,
    ),
    Fault(
        what="priority before proportion: a fork bomb of high priority",
        places={(chooser, "needed"): first_candidate},
        shown_by=incident("20-fork-bomb"),
    ),
    Fault(
        what="priority before proportion: inodes",
        places={(chooser, "needed"): first_candidate},
        shown_by=incident("10-inodes-of-high-priority"),
    ),
    Fault(
        what="what is in swap counts as memory that comes back",
        places={(chooser, "needed"): first_candidate},
        shown_by=of_chooser.test_what_a_pod_has_in_swap_gives_back_no_memory,
    ),
    Fault(
        what="what a budget guards is no culprit",
        places={(chooser, "blamed"): returns(None)},
        shown_by=incident("25-budget-of-zero"),
    ),
    Fault(
        what="files of the host: evictions go on although they do not help",
        places={(chooser, "pause_of"): returns(None), (standard, "pause_of"): returns(None)},
        shown_by=incident("02-host-path-writer"),
    ),
    Fault(
        what="a device is collected once for all its supplies",
        places={(standard, "may_collect_again"): returns(False)},
        shown_by=of_collecting.test_a_device_is_collected_for_bytes_although_it_was_collected_for_inodes,
    ),
    Fault(
        what="a device is collected once however long it is short",
        places={(standard, "may_collect_again"): returns(False)},
        shown_by=of_collecting.test_a_device_that_stays_short_is_collected_again_after_ten_minutes,
    ),
    Fault(
        what="no back-off for limits of a pod's own",
        places={(standard, "skipped_pods"): returns({})},
        shown_by=of_collecting.test_a_pod_over_its_own_limit_that_its_owner_creates_again_waits_longer_and_longer,
    ),
    Fault(
        what="what a resize asked for protects, although it was not granted",
        places={(world_file, "with_allocated"): lambda _: lambda containers, _statuses: containers},
        shown_by=incident("39-resize-not-granted", Policy.KUBELET),  # Standard takes the pod that grows all the same
    ),
    Fault(
        what="bytes of one victim are counted as another's",
        places={(module, "amounts_owed"): each_alone for module in (ledger, holdings, standard)},
        shown_by=two_victims_that_end_together,
    ),
    Fault(
        what="bytes of a victim that left the ledger are counted as another's",
        places={(ledger, "_after_others"): lambda _: lambda victim, *_: victim},
        shown_by=two_victims_that_end_together,
    ),
    Fault(
        what="a stall that the host makes costs every pod",
        places={(chooser, "stall_is_elsewhere"): returns(False)},
        shown_by=a_stall_of_the_host,
    ),
    Fault(
        what="every pod that leaves is shortened, however little is missing",
        places={(shorten, "worth_shortening"): lambda _: lambda victims, *_: list(victims)},
        shown_by=little_is_missing_while_large_pods_leave,
    ),
    Fault(
        what="no limit of evictions",
        places={(chooser, "over_limit"): returns(None)},
        shown_by=of_prudence.test_a_limit_holds_for_all_evictions_of_a_node_also_under_a_hard_threshold,
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_without_a_rule_the_outcome_is_worse(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    fault.shown_by()
    for (place, name), replacement in fault.places.items():
        monkeypatch.setattr(place, name, replacement(getattr(place, name)))
    with pytest.raises(AssertionError):
        fault.shown_by()
