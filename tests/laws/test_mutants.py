"""Each old fault of the core that FAULTS.md lists makes a law fail: the laws bite.

A fault is brought back in memory, by replacing one function where the core calls it, and the law or story that its repair was
written with must then fail, by an assertion of its own. `FAULTS.md` names the tests of all points, also of those that lie
outside the core. The share of arbitrary faults that the tests notice is measured by `make mutate`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from evictd.codec.scenario import Scenario
from evictd.core.eviction import assess, rank, reclaim, standard, synchronize
from evictd.core.eviction.accounts import collecting, freshness, holdings, leaving, ledger
from evictd.core.eviction.accounts.freshness import MEASUREMENT_TIMEOUT
from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.assess import NothingKnown
from evictd.core.eviction.choice import choose, chooser
from evictd.core.eviction.choice.chooser import StandardChooser
from evictd.core.eviction.laws import effect, need
from evictd.core.eviction.laws.shortage import Shortage
from evictd.core.eviction.refusals import backoff
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.finding import NoAction, NoActionReason, PodSkipped, SkipReason
from evictd.core.model.signal import Filesystem, Resource, Signal
from evictd.world.behaviours import Usage
from tests.core.eviction import test_backoff as of_backoff
from tests.core.eviction import test_choose as of_choose
from tests.core.eviction import test_chooser as of_chooser
from tests.core.eviction import test_effect as of_effect
from tests.core.eviction import test_freshness as of_freshness
from tests.core.eviction import test_holdings as of_holdings
from tests.core.eviction import test_leaving as of_leaving
from tests.core.eviction import test_ledger as of_ledger
from tests.core.eviction import test_need as of_need
from tests.core.eviction import test_standard as stories
from tests.core.eviction import test_synchronize as of_synchronize
from tests.laws import test_fairness as fairness
from tests.laws import test_ignorance as ignorance
from tests.laws import test_progress as progress
from tests.laws.generated import Moment, by_the_core, configs, scenarios
from tests.laws.test_model_check import walk
from tests.world import test_culprit_and_grace as of_grace
from tests.world import test_hidden_release as of_hidden_release
from tests.world import test_leak_of_priority as of_priority
from tests.world import test_returning_pod as of_returning
from tests.world import test_unread_hog as of_unread
from tests.world import test_used_up as of_used_up

TESTS = Path(__file__).parents[1]
Faulty = Callable[[Any], Any]
"""Takes the function or table as it is, and gives the faulty one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An old fault: its number in FAULTS.md, where it is brought back, and a law or story that must fail."""

    point: int
    what: str
    place: Any
    """A module or a class."""
    name: str
    faulty: Faulty
    law: Callable[[], Any]
    also: tuple[tuple[Any, str, Faulty], ...] = ()
    """What has to be replaced besides, so that the fault reaches the decision."""

    def __str__(self) -> str:
        return f"{self.point}: {self.what}"


def over_generated_nodes(check: Callable[[Moment], None]) -> Callable[[], None]:
    """A law over generated nodes, without the search for the smallest of them that breaks it."""

    @settings(phases=[Phase.generate], database=None, derandomize=True, deadline=None, max_examples=500)
    @given(scenarios(), configs())
    def law(scenario: Scenario, config: EvictionConfig) -> None:
        for moment in by_the_core(scenario, config):
            check(moment)

    return law


def over_generated_worlds() -> None:
    """The law of progress, in the same way."""
    law = progress.test_what_the_evictable_pods_can_relieve_is_relieved_within_a_bound
    generated = given(progress.worlds())(law.hypothesis.inner_test)  # type: ignore[attr-defined]
    settings(phases=[Phase.generate], database=None, derandomize=True, deadline=None, max_examples=500)(generated)()


def blind_to_a(moment: Moment) -> None:
    """The law of ignorance for the pod `a`."""
    ignorance.check_ignorance(moment, "a", (Resource.MEMORY,), absent=False)


# --- what makes a fault -----------------------------------------------------------------------------------------------


def always(value: object) -> Faulty:
    """One answer to all."""
    return lambda _: lambda *_, **__: value


def then(change: Callable[..., Any]) -> Faulty:
    """The right answer, and then `change(answer, *arguments)`."""
    return lambda right: lambda *arguments, **named: change(right(*arguments, **named), *arguments)


def first(change: Callable[..., tuple[Any, ...]]) -> Faulty:
    """The right function of other arguments."""
    return lambda right: lambda *arguments: right(*change(*arguments))


def beforehand(change: Callable[[Any], Any]) -> Faulty:
    """The state of a cycle is changed before a method runs."""

    def faulty(right: Any) -> Any:
        def method(cycle: Any, *arguments: Any, **named: Any) -> Any:
            cycle.state = change(cycle)
            return right(cycle, *arguments, **named)

        return method

    return faulty


def passes(reason: SkipReason) -> Faulty:
    """Pods are not skipped for a reason."""

    def skipped_for_it(skip: object) -> bool:
        return isinstance(skip, PodSkipped) and skip.reason is reason

    return then(lambda skips, *_: {uid: skip for uid, skip in skips.items() if not skipped_for_it(skip)})


FIRST_GOES = (
    (chooser, "needed", lambda _: lambda candidates, _shortage: (candidates[0], ())),
    (chooser, "blamed", always(value=None)),
)
"""The laws Need and Blame rely on candidates that were measured and hold something."""


def as_refused(skips: Mapping[str, Any]) -> dict[str, Any]:
    """As if each pod that may not go now stayed because a budget refused its eviction."""
    refused = SkipReason.BUDGET
    return {uid: replace(each, reason=refused) if isinstance(each, PodSkipped) else each for uid, each in skips.items()}


def without_siblings(known: Any, *rest: Any) -> tuple[Any, ...]:
    owners = {name: replace(owner, siblings=frozenset()) for name, owner in known.owners.items()}
    return (replace(known, owners=owners), *rest)


def nothing_without_a_layout(found: Any, state: Any, observation: Any, *_: Any) -> Any:
    if observation.filesystems.dedicated_image_fs is None:
        return NothingKnown(state=state, findings=(NoAction(why=NoActionReason.LAYOUT_UNKNOWN),))
    return found


def without_overdue_ones_that_are_gone(cycle: Any) -> Any:
    gone, now = cycle.observation.outcomes.cleaned_up, cycle.draft.now
    kept = (v for v in cycle.state.in_flight if not (v.uid in gone and v.is_overdue(now)))
    return replace(cycle.state, in_flight=tuple(kept))


def victims_that(choose_some: Callable[[Any, Any], bool]) -> Faulty:
    """Only some victims are shortened."""
    return first(lambda cycle, threshold, victims: (cycle, threshold, [v for v in victims if choose_some(cycle, v)]))


def as_if_none_was_leaving(right: Any) -> Any:
    return lambda rows, threshold, seen, state, config, **more: right(
        rows, threshold, seen, replace(state, in_flight=()), config, **more
    )


def only_what_was_read(found: Any, *_: Any) -> Any:
    return replace(found, state=replace(found.state, last_seen=found.observations))


def recreated_without_far_over(victim: Any, short: Shortage) -> Shortage:
    """The shortage, in which a pod of twice its request is not created again."""
    return replace(short, recreated=short.recreated - {victim.uid}) if short.is_far_over(victim) else short


def unread_is_over(found: Any, tested: Any, thresholds: Any, observations: Mapping[Signal, Any], *_: Any) -> Any:
    del tested, thresholds
    return tuple(each for each in found if each.signal in observations)


def since_the_last_collection(found: int, _threshold: Any, state: Any, device: Filesystem, *_: Any) -> int:
    collection = state.collections.get(device)
    return found if collection is None else max(found, collection.begun)


CYCLE = standard._Cycle
only_the_first_due = then(
    lambda found, *_: found if isinstance(found, NothingKnown) else replace(found, due=found.due[:1])
)
forgets_what_has_ended = then(
    lambda found, *_: {device: each for device, each in found.items() if each.ended_at is None}
)

FAULTS = [
    Fault(
        point=1,
        what="only the first threshold due is looked at",
        place=standard,
        name="assess",
        faulty=only_the_first_due,
        law=progress.test_a_protected_culprit_of_memory_does_not_keep_the_disk_from_being_relieved,
    ),
    Fault(
        point=1,
        what="only the first threshold due is looked at (law: progress)",
        place=standard,
        name="assess",
        faulty=only_the_first_due,
        law=over_generated_worlds,
    ),
    Fault(
        point=2,
        what="endless collecting (law: thrift, in a small world)",
        place=collecting,
        name="follow_collections",
        faulty=forgets_what_has_ended,
        law=lambda: walk("hard, single, 11s, refusals", 4),
    ),
    Fault(
        point=2,
        what="endless collecting",
        place=collecting,
        name="follow_collections",
        faulty=forgets_what_has_ended,
        law=progress.test_a_dead_container_every_few_seconds_does_not_replace_an_eviction,
    ),
    Fault(
        point=3,
        what="an overdue soft victim keeps its grace",
        place=CYCLE,
        name="_shorten",
        faulty=victims_that(lambda cycle, victim: victim.is_leaving(cycle.draft.now)),
        law=stories.test_an_overdue_soft_victim_is_shortened_before_another_pod_is_chosen,
    ),
    Fault(
        point=4,
        what="a dry run made live has reported its conditions",
        place=synchronize,
        name="_after_dry_run",
        faulty=then(lambda found, state, _: replace(found, reported=state.reported)),
        law=stories.test_a_dry_run_made_live_reports_conditions_and_waits_for_no_collectors,
    ),
    Fault(
        point=5,
        what="a pod is chosen for a resource for which none is measured",
        place=StandardChooser,
        name="_skips",
        faulty=passes(SkipReason.NOT_MEASURED),
        law=lambda: progress.test_no_pod_is_chosen_while_none_that_may_go_is_measured(None),
        also=FIRST_GOES,
    ),
    Fault(
        point=5,
        what="a pod that is not measured goes (law: ignorance)",
        place=StandardChooser,
        name="_skips",
        faulty=passes(SkipReason.NOT_MEASURED),
        law=over_generated_nodes(blind_to_a),
        also=FIRST_GOES,
    ),
    Fault(
        point=7,
        what="the back-off of an owner spares siblings",
        place=backoff,
        name="_skipped",
        faulty=lambda right: lambda known, *rest, **more: right(*without_siblings(known, *rest), **more),
        law=of_backoff.test_siblings_of_a_victim_are_no_recreations,
    ),
    Fault(
        point=8,
        what="measurements count whatever their age, or absent",
        place=freshness,
        name="_since",
        faulty=always(-MEASUREMENT_TIMEOUT),
        law=lambda: of_freshness.test_what_was_measured_before_the_crossing_is_waited_for(None),
    ),
    Fault(
        point=9,
        what="pods of an API server go standalone",
        place=synchronize,
        name="may_only_report",
        faulty=always(value=False),
        law=lambda: of_synchronize.test_nothing_is_collected_and_no_pod_goes_but_conditions_are_reported(
            Policy.STANDARD
        ),
    ),
    Fault(
        point=15,
        what="an unknown layout holds up memory and PIDs",
        place=standard,
        name="assess",
        faulty=then(nothing_without_a_layout),
        law=stories.test_an_unknown_layout_holds_up_only_the_disks,
    ),
    Fault(
        point=17,
        what="a victim in flight that is protected since is withheld",
        place=CYCLE,
        name="_shorten",
        faulty=victims_that(lambda cycle, victim: victim.uid not in cycle.draft.config.protected_pods),
        law=stories.test_a_victim_in_flight_that_is_protected_since_is_shortened_all_the_same,
    ),
    Fault(
        point=18,
        what="only the first threshold due may shorten",
        place=CYCLE,
        name="_shorten",
        faulty=victims_that(lambda cycle, _: cycle.assessment.due[0].hard),
        law=stories.test_a_hard_threshold_of_any_resource_shortens_the_grace_of_a_soft_victim,
    ),
    Fault(
        point=19,
        what="what a victim owes to other supplies is not waited for",
        place=standard,
        name="amounts_owed",
        faulty=then(
            lambda owed, victims, supply, *_: {
                victim.uid: owed[victim.uid] if victim.cause is supply else 0 for victim in victims
            }
        ),
        law=stories.test_what_a_victim_for_memory_owes_to_the_disk_is_waited_for,
    ),
    Fault(
        point=20,
        what="a victim that will not die counts as reachable",
        place=choose,
        name="protected_culprit",
        faulty=as_if_none_was_leaving,
        law=stories.test_a_victim_that_does_not_die_does_not_cost_the_others,
    ),
    Fault(
        point=21,
        what="collectors at work are forgotten by an eviction",
        place=CYCLE,
        name="_add_victim",
        faulty=beforehand(lambda cycle: replace(cycle.state, collections={})),
        law=stories.test_a_hung_collection_keeps_its_deadline_whatever_else_is_evicted,
    ),
    Fault(
        point=21,
        what="a collection under way is begun again",
        place=standard,
        name="is_lost",
        faulty=always(value=True),
        law=progress.test_two_thresholds_of_one_device_begin_one_collection,
    ),
    Fault(
        point=22,
        what="a collection on one filesystem counts for all",
        place=standard,
        name="device_of",
        faulty=always(Filesystem.NODEFS),
        also=((reclaim, "device_of", always(Filesystem.NODEFS)),),
        law=progress.test_a_new_episode_and_another_device_are_collected_anew,
    ),
    Fault(
        point=23,
        what="a dry run made live waits for collectors that were never begun",
        place=synchronize,
        name="_after_dry_run",
        faulty=then(lambda found, state, _: replace(found, collections=state.collections)),
        law=stories.test_a_dry_run_made_live_reports_conditions_and_waits_for_no_collectors,
    ),
    Fault(
        point=24,
        what="a frozen number counts as new",
        place=standard,
        name="assess",
        faulty=then(only_what_was_read),
        law=stories.test_a_frozen_number_is_not_new_after_a_cycle_without_one,
    ),
    Fault(
        point=24,
        what="a victim that is not measured owes nothing",
        place=CYCLE,
        name="_holds_up",
        faulty=lambda _: lambda cycle, victim, due: victim.cause is supply_of(due.signal, cycle.layout),
        law=stories.test_bytes_of_a_victim_whose_disk_usage_is_not_known_are_waited_for,
    ),
    Fault(
        point=25,
        what="a pod whose memory is unread uses 0 bytes",
        place=choose,
        name="rank",
        faulty=lambda right: (
            lambda *arguments, **more: tuple(row._replace(usage=row.usage or 0) for row in right(*arguments, **more))
        ),
        law=progress.test_a_pod_whose_memory_is_unread_does_not_make_another_the_protected_culprit,
    ),
    Fault(
        point=26,
        what="an overdue victim first seen gone now is not counted",
        place=CYCLE,
        name="follow",
        faulty=beforehand(without_overdue_ones_that_are_gone),
        law=stories.test_an_overdue_victim_seen_gone_when_the_collection_ends_counts,
    ),
    Fault(
        point=27,
        what="a reload does not change what is remembered of thresholds",
        place=assess,
        name="_after_reload",
        faulty=lambda _: lambda state, *_: state,
        law=stories.test_a_reload_that_takes_the_minimum_reclaim_away_costs_no_pod,
    ),
    Fault(
        point=27,
        what="a reload to no thresholds leaves the conditions",
        place=synchronize,
        name="_is_at_rest",
        faulty=always(value=True),
        law=stories.test_a_reload_to_no_thresholds_lets_the_conditions_go,
    ),
    Fault(
        point=28,
        what="an unread signal is over",
        place=assess,
        name="_met",
        faulty=then(unread_is_over),
        law=stories.test_a_signal_that_is_unread_keeps_its_timer_and_its_condition,
    ),
    Fault(
        point=29,
        what="a pod that uses nothing goes",
        place=StandardChooser,
        name="_skips",
        faulty=passes(SkipReason.USES_NOTHING),
        law=stories.test_a_pod_measured_to_use_nothing_is_never_a_victim,
        also=FIRST_GOES,
    ),
    Fault(
        point=30,
        what="pods go for a filesystem that cannot be written",
        place=standard,
        name="is_read_only",
        faulty=always(value=False),
        law=lambda: progress.test_no_pod_goes_for_a_filesystem_that_cannot_be_written("nodefs.available"),
    ),
    Fault(
        point=35,
        what="what a pod that was deleted by force leaves is not collected",
        place=standard,
        name="without_tried",
        faulty=then(lambda _, collections, __: collections),
        law=of_leaving.test_what_a_pod_deleted_by_force_has_left_is_collected_before_another_goes,
    ),
    Fault(
        point=36,
        what="only the volumes of a pod that was deleted by force are awaited",
        place=leaving,
        name="_may_release",
        faulty=lambda right: lambda pod, *arguments, **named: pod.has_volumes and right(pod, *arguments, **named),
        law=of_leaving.test_a_layer_that_its_runtime_removes_is_waited_for_a_second,
    ),
    Fault(
        point=37,
        what="the growth of the pod that goes counts as going on",
        place=Shortage,
        name="with_growth",
        faulty=lambda right: lambda short, evictions, **_: right(short, evictions),
        law=partial(of_need.test_the_growth_of_the_pods_that_go_ends_with_them, {"job": 100}, "job"),
    ),
    Fault(
        point=38,
        what="a victim is gone although its kubelet keeps its volumes",
        place=ledger,
        name="with_volumes",
        faulty=then(lambda _, victim, *__: victim),
        law=lambda: of_leaving.test_a_victim_whose_volumes_its_kubelet_keeps_is_waited_for_as_the_kubelet_waits(0, 30),
    ),
    Fault(
        point=39,
        what="what other pods take while a victim gives back counts as growth that belongs to no pod",
        place=holdings,
        name="_given_back",
        faulty=first(lambda state, pods, _, *rest: (state, pods, 0, *rest)),
        law=of_hidden_release.test_no_small_pod_goes_while_others_take_what_a_victim_gave_back,
    ),
    Fault(
        point=40,
        what="a pod that its owner has just created again goes again before the leak",
        place=Shortage,
        name="is_far_over",
        faulty=always(value=True),
        law=partial(of_priority.test_a_pod_whose_owner_creates_it_again_goes_once_and_then_the_leak, 0),
    ),
    Fault(
        point=41,
        what="a pod of twice its request that is created again goes before the leak as if its end lasted",
        place=need,
        name="_leak_instead",
        faulty=first(lambda victim, rows, short: (victim, rows, recreated_without_far_over(victim, short))),
        law=of_returning.test_a_leak_goes_before_a_pod_of_twice_its_request_that_returns,
    ),
    Fault(
        point=42,
        what="a pod slightly over its request goes again and again beside growth that no eviction ends",
        place=effect,
        name="elsewhere_grows",
        faulty=always(value=False),
        law=partial(
            of_effect.test_a_pod_slightly_over_its_request_does_not_return_beside_growth_elsewhere, 110, 60, may=False
        ),
    ),
    Fault(
        point=43,
        what="a victim that was not read when it was chosen owes nothing",
        place=standard,
        name="victim_of",
        faulty=lambda right: lambda *given, **named: right(*given, **{**named, "holdings": {}}),
        law=of_ledger.test_a_victim_that_was_not_measured_in_this_reading_owes_what_it_was_measured_to_use_before,
    ),
    Fault(
        point=44,
        what="each collection renews the wait for measurements, also one after a victim for another supply",
        place=freshness,
        name="_since",
        faulty=then(since_the_last_collection),
        law=partial(
            of_returning.test_a_pod_that_returns_and_goes_for_memory_does_not_keep_a_full_disk_from_being_relieved,
            Usage.LAYER,
        ),
    ),
    Fault(
        point=45,
        what="growth of the host counts as that of a pod that was not read, although the pods' cgroup did not grow",
        place=StandardChooser,
        name="_at_most_in_pods",
        faulty=then(lambda _, __, grown: grown),
        law=partial(
            of_chooser.test_a_pod_that_was_not_read_spares_no_other_for_growth_that_is_not_in_the_pods_cgroup,
            "12Gi of 16Gi",
            goes=True,
        ),
    ),
    Fault(
        point=46,
        what="what took the last of a supply seems to have ended a minute later",
        place=holdings,
        name="_as_while_growing",
        faulty=lambda right: lambda before, *_: before,
        law=partial(
            of_holdings.test_growth_stands_while_nothing_is_left_to_be_taken,
            "nodefs.available",
            of_holdings.filled_disk,
        ),
    ),
    Fault(
        point=47,
        what="the only pod that is not measured keeps for a minute what the rest of the pods' cgroup was",
        place=holdings,
        name="_read_as_rest",
        faulty=always(value=[]),
        law=of_unread.test_the_only_pod_that_is_not_measured_goes_for_what_it_takes_within_its_request,
    ),
    Fault(
        point=48,
        what="page cache that has taken all memory seems to have ended a minute later",
        place=holdings,
        name="_as_while_growing",
        faulty=lambda right: (
            lambda before, supply, *rest: before if supply is Signal.MEMORY_AVAILABLE else right(before, supply, *rest)
        ),
        law=of_used_up.test_no_quiet_pod_goes_while_the_page_cache_of_a_static_pod_is_all_of_the_memory,
    ),
    Fault(
        point=49,
        what="a pod of twice its request that returns is evicted again and again although it gives back nothing",
        place=effect,
        name="_holds_it_again",
        faulty=lambda right: (
            lambda row, last, *rest, **more: right(
                row, [replace(each, freed=each.missing) for each in last], *rest, **more
            )
        ),
        law=of_returning.test_a_pod_that_gave_back_nothing_is_not_evicted_each_time_it_returns,
    ),
    Fault(
        point=50,
        what="only a pod that makes half of all growth is a leak, and none of several replicas is",
        place=need,
        name="_leaks",
        faulty=then(lambda found, _, short: [row for row in found if short.mostly_grows(row.uid)]),
        law=partial(
            of_priority.test_pods_over_their_requests_stay_where_several_pods_of_higher_priority_leak,
            3,
            *of_priority.OF_MEMORY,
        ),
    ),
    Fault(
        point=51,
        what="a soft threshold evicts a pod while the hard one evicts none because of a protected culprit",
        place=standard,
        name="is_refused_at_hard",
        faulty=always(value=False),
        law=partial(of_grace.test_no_pod_goes_at_the_end_of_a_grace_period_while_the_hard_threshold_evicts_none, 0, []),
    ),
    Fault(
        point=52,
        what="a culprit that a budget refused before is evicted again while it ends",
        place=StandardChooser,
        name="_asked_again",
        faulty=lambda right: lambda self, rows, skips, victim: right(self, rows, as_refused(skips), victim),
        law=of_choose.test_a_culprit_that_a_budget_refused_before_is_not_chosen_again_while_it_ends,
    ),
]
NEVER_THERE = [
    Fault(
        point=0,
        what="bytes that are due are not waited for (law: thrift, in a small world)",
        place=standard,
        name="RULES",
        faulty=lambda rules: tuple(rule for rule in rules if rule is not CYCLE.owed),
        law=lambda: walk("hard, single, 5s, refusals", 8),
    ),
    Fault(
        point=0,
        what="requests do not count (law: fairness)",
        place=rank,
        name="_memory_request",
        faulty=always(value=0),
        law=over_generated_nodes(fairness.check_fairness),
    ),
    Fault(
        point=0,
        what="time that was not seen counts (law: thrift, in a small world)",
        place=synchronize,
        name="make_up_for_absence",
        faulty=then(lambda _, state, *__: state),
        law=lambda: walk("hard, single, 11s, absences", 4),
    ),
    Fault(
        point=0,
        what="a finding gives another reason (law: fairness)",
        place=chooser,
        name="needed",
        faulty=then(
            lambda found, *_: (found[0], tuple(replace(each, reason=SkipReason.IN_FLIGHT) for each in found[1]))
        ),
        law=over_generated_nodes(fairness.check_fairness),
    ),
]
"""Faults that FAULTS.md does not have, to show that these laws are not true of everything."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", [*FAULTS, *NEVER_THERE], ids=str)
def test_an_old_fault_makes_its_law_fail(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = fault.faulty(getattr(fault.place, fault.name))
    monkeypatch.setattr(fault.place, fault.name, faulty)
    for place, name, other in fault.also:
        monkeypatch.setattr(place, name, other(getattr(place, name)))
    with pytest.raises(AssertionError) as failure:
        fault.law()
    assert Path(failure.traceback[-1].path).is_relative_to(TESTS), "the law's own failure, and no exception of the core"
