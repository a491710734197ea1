"""Each rule about the outcome of incidents is needed: without it an incident or a story ends worse.

A rule is taken away in memory, by replacing the function where it is used. An incident of config/incidents must then no longer
end as its file expects, or a story of `tests/core/eviction` must fail. `docs/laws.md` lists the rules.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from evictd.commands.source import own_config
from evictd.core.eviction import backoff, choose, chooser, holdings, standard
from evictd.core.eviction.chooser import StandardChooser
from evictd.core.eviction.rank import NOTHING_REMEMBERED
from evictd.core.model.config import Policy
from evictd.core.model.holdings import SupplyHoldings
from evictd.world.account import account_of
from evictd.world.behaviours import Hold, Usage
from evictd.world.expectation import unmet
from evictd.world.loop import play
from evictd.world.model import HostUse
from tests.core.eviction import test_chooser as of_chooser
from tests.core.eviction import test_collecting as of_collecting
from tests.core.eviction import test_leaving as of_leaving
from tests.core.eviction import test_prudence as of_prudence
from tests.playbook import config
from tests.world.worlds import GI, MI, evicted, quiet, world
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


def incident(name: str) -> Callable[[], None]:
    """Return a check that an incident ends under policy Standard as its file expects."""

    def check() -> None:
        file = read_incident(FOLDER / f"{name}.yaml")
        assert file.expect is not None
        assert not file.expect.fails
        run = play(file.world, own_config(file, Policy.STANDARD))
        assert unmet(file.expect, run, account_of(run)) == ()

    return check


def a_threshold_never_clear() -> None:
    """Check that three pods go in ten minutes for a threshold that is met from the beginning, although six would clear it."""
    held = HostUse(name="system", behaviours=(Hold(of=Usage.MEMORY, amount=2400 * MI),))
    run = play(world(*quiet(8, "250Mi"), memory=8 * GI, host=(held,)), config(hard={"memory.available": "5Gi"}))
    assert len(evicted(run)) == 3


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
