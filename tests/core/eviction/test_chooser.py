"""Which pods may not go, and in which order the laws are asked (policy Standard)."""

from dataclasses import replace

import pytest

from evictd.core.eviction.choice.chooser import Skip, in_rank_order, is_whole, why_no_pod
from evictd.core.eviction.laws.stalls import stall_is_elsewhere
from evictd.core.model.finding import NoAction, NoActionReason, PodSkipped, ProtectedPodSkipped, SkipReason
from evictd.core.model.holdings import Effect
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Signal
from evictd.core.model.state import Backoff, BudgetRefusal, OwnerBackoff, State
from evictd.core.units.duration import SECOND
from tests.playbook import NO_COLLECTING, Playbook, config, empty_dir, pod, usage
from tests.shortages import row, shortage

HARD = config(hard={"memory.available": "1Gi"})
SHORT = "500Mi of 16Gi"


def test_a_recreated_hog_is_evicted_again_under_a_hard_threshold() -> None:
    """An owner's back-off would cost its neighbours, one every two seconds."""
    hog, web = pod("hog-2", owner="ReplicaSet/hog", memory="64Mi"), pod("web", memory="1Gi")
    book = Playbook(HARD, pods=[hog, web], usage=[usage(hog, memory="12Gi"), usage(web, memory="900Mi")])
    level = OwnerBackoff(level=3, evicted_at=0, until=300 * SECOND)
    book.state = State(backoff=Backoff(owners={"default/ReplicaSet/hog": level}))
    book.at("2s", memory=SHORT).conditions("MemoryPressure").evicts("hog-2")


def test_a_soft_threshold_skips_it_only_for_a_pod_that_holds_as_much() -> None:
    hog, web = pod("hog-2", owner="ReplicaSet/hog", memory="64Mi"), pod("web", memory="64Mi")
    level = OwnerBackoff(level=3, evicted_at=0, until=300 * SECOND)
    for size, victim in (("900Mi", "hog-2"), ("3Gi", "web")):
        uses = [usage(hog, memory="3Gi"), usage(web, memory=size)]
        book = Playbook(config(soft={"memory.available": ("1Gi", "1s")}), pods=[hog, web], usage=uses)
        book.state = State(backoff=Backoff(owners={"default/ReplicaSet/hog": level}))
        book.at("2s", memory=SHORT).conditions("MemoryPressure").does_nothing()
        book.at("4s", memory=SHORT).evicts(victim)


def test_a_pod_that_is_not_measured_does_not_end_a_pause_until_it_is() -> None:
    """The last two gave back too little. Whether the others hold what is missing is known only when all are measured."""
    small, new = pod("small"), pod("new")
    both = {"small": usage(small, memory="250Mi"), "new": usage(new, memory="300Mi")}
    book = Playbook(HARD, pods=[small, new], usage=[both["small"]])
    freed, missing = 100 << 20, 524 << 20
    tried = Effect(uid="gone", chosen_at=0, held=freed, missing=missing, available_before=0, freed=freed, until=0)
    book.state = State(effects={Signal.MEMORY_AVAILABLE: (tried, replace(tried, uid="gone too"))})
    book.at("1s", memory=SHORT).conditions("MemoryPressure").does_nothing()
    book.stays_silent(NoActionReason.EVICTIONS_DO_NOT_HELP)
    book.usage = both
    book.at("2s", memory=SHORT).evicts("new")


def test_each_pod_that_a_pause_passes_over_is_named() -> None:
    """Only the one that comes first was, and of a pod behind it nothing said why one of higher priority went."""
    first, guarded, behind, again = (pod(name, priority=int(name == "again")) for name in ("a", "b", "c", "again"))
    again = replace(again, owner="ReplicaSet/web")
    sizes = {"a": "300Mi", "b": "290Mi", "c": "280Mi", "again": "1030Mi"}
    pods = [first, guarded, behind, again]
    book = Playbook(HARD, pods=pods, usage=[usage(each, memory=sizes[each.name]) for each in pods])
    tried = Effect(
        uid="gone", owner="default/ReplicaSet/web", chosen_at=0, held=2 << 30, missing=1 << 30, freed=1 << 29, until=0
    )
    refusal = BudgetRefusal(first_at=0, last_at=0, until=60 * SECOND, held_until=60 * SECOND)
    book.state = State(
        effects={Signal.MEMORY_AVAILABLE: (tried, replace(tried, uid="gone too"))},
        backoff=Backoff(
            budgets={guarded.uid: refusal},
            owners={"default/ReplicaSet/web": OwnerBackoff(level=0, evicted_at=0, until=0)},
        ),
    )
    book.at("1s", memory="4Mi of 16Gi").conditions("MemoryPressure").evicts("again")
    told = {each.pod.name: each.reason for each in book.findings(PodSkipped)}
    assert told == {"a": SkipReason.EVICTIONS_PAUSED, "b": SkipReason.BUDGET, "c": SkipReason.EVICTIONS_PAUSED}


def test_an_eviction_says_how_old_the_usage_of_a_pod_is_that_was_not_measured() -> None:
    """`it uses 4.69Gi` was said of a pod that held 5.5Gi by then (world 24)."""
    hog, web = pod("hog", memory="64Mi"), pod("web", memory="2Gi")
    book = Playbook(HARD, pods=[hog, web], usage=[usage(hog, memory="12Gi"), usage(web, memory="1Gi")])
    book.at("0s", memory="3Gi of 16Gi").conditions().does_nothing()
    book.usage = {"web": usage(web, memory="1Gi")}
    book.at("20s", memory=SHORT).conditions("MemoryPressure").evicts("hog")
    assert book.eviction().because.usage_age == 20 * SECOND
    book = Playbook(HARD, pods=[hog, web], usage=[usage(hog, memory="12Gi"), usage(web, memory="1Gi")])
    book.at("0s", memory=SHORT).conditions("MemoryPressure").evicts("hog")
    assert book.eviction().because.usage_age is None


def test_a_static_pod_that_grows_costs_no_pod_within_its_request() -> None:
    """The shortage of the moment is small; the growth is not."""
    static, web = pod("static", source=PodSource.STATIC), pod("web", memory="1Gi")
    book = Playbook(HARD, pods=[static, web], usage=[usage(static, memory="5Gi"), usage(web, memory="597Mi")])
    book.at("0s", memory="1500Mi of 8Gi").conditions().does_nothing()
    book.usage["static"] = usage(static, memory="5720Mi")
    book.at("10s", memory="900Mi of 8Gi").conditions("MemoryPressure").does_nothing()
    book.stays_silent(NoActionReason.PROTECTED_CULPRIT)


def test_a_static_pod_that_was_measured_first_at_the_crossing_costs_no_neighbour_that_grew_before() -> None:
    """Volumes are walked from a crossing on. The neighbour wrote all that it holds before it, and that explains little."""
    static, web = pod("static", source=PodSource.STATIC), pod("web", storage="100Mi")
    uses = [usage(static, logs="1Mi"), usage(web, logs="1Mi")]
    book = Playbook(config(hard={"nodefs.available": "3Gi"}, **NO_COLLECTING), pods=[static, web], usage=[uses[1]])
    book.at("0s", nodefs="3400Mi of 4Gi").conditions().does_nothing()
    book.usage = {"static": usage(static, logs="400Mi"), "web": usage(web, logs="60Mi")}
    book.at("3s", nodefs="3060Mi of 4Gi", nodefs_rate=150 << 20).conditions("DiskPressure").does_nothing()
    book.stays_silent(NoActionReason.PROTECTED_CULPRIT)


def test_a_culprit_that_a_budget_guards_is_asked_for_again_and_no_other_pod_goes() -> None:
    hog, web = pod("hog", memory="64Mi"), pod("web", memory="1Gi")
    settings = config(soft={"memory.available": ("1Gi", "1s")})
    book = Playbook(settings, pods=[hog, web], usage=[usage(hog, memory="5Gi"), usage(web, memory="100Mi")])
    refused = BudgetRefusal(first_at=0, last_at=0, until=5 * SECOND, held_until=60 * SECOND)
    book.state = State(backoff=Backoff(budgets={"hog": refused}))
    book.at("1s", memory=SHORT).conditions("MemoryPressure").does_nothing()
    book.at("3s", memory=SHORT).does_nothing()
    assert [f.why for f in book.findings(NoAction)] == [NoActionReason.PROTECTED_CULPRIT]
    book.at("6s", memory=SHORT).evicts("hog")


def test_a_pod_whose_image_is_pulled_neither_goes_nor_spares_the_others_for_what_no_pod_holds() -> None:
    """The cgroup of all pods holds the page cache of removed pods as well."""
    hog, web = pod("hog", memory="64Mi"), pod("web", memory="1Gi")
    pulling = pod("pulling", phase="Pending")
    book = Playbook(HARD, pods=[hog, web, pulling], usage=[usage(hog, memory="700Mi"), usage(web, memory="900Mi")])
    book.at("0s", memory="3Gi of 16Gi", allocatable="9Gi of 16Gi").conditions().does_nothing()
    book.at("10s", memory=SHORT, allocatable="9Gi of 16Gi").conditions("MemoryPressure").evicts("hog")


def test_a_pod_that_is_not_measured_now_counts_as_measured_a_moment_ago() -> None:
    hog, web = pod("hog", memory="64Mi"), pod("web", memory="64Mi")
    book = Playbook(HARD, pods=[hog, web], usage=[usage(hog, memory="12Gi"), usage(web, memory="65Mi")])
    book.at("0s", memory="3Gi of 16Gi").conditions().does_nothing()
    del book.usage["hog"]
    book.at("10s", memory=SHORT).conditions("MemoryPressure").evicts("hog")


def test_a_pod_that_grew_since_it_was_measured_costs_no_pod_within_its_request() -> None:
    """What grows belongs to no measured pod, and may be that of a pod that was small when it was measured last."""
    hog, web = pod("hog", memory="64Mi"), pod("web", memory="2Gi")
    book = Playbook(HARD, pods=[hog, web], usage=[usage(hog, memory="32Mi"), usage(web, memory="1Gi")])
    book.at("0s", memory="9Gi of 16Gi").conditions().does_nothing()
    del book.usage["hog"]
    book.at("10s", memory="900Mi of 16Gi").conditions("MemoryPressure").does_nothing()
    book.stays_silent(NoActionReason.UNMEASURED_CULPRIT)


@pytest.mark.parametrize(("cgroup", "goes"), [("12Gi of 16Gi", True), ("4Gi of 16Gi", False)])
def test_a_pod_that_was_not_read_spares_no_other_for_growth_that_is_not_in_the_pods_cgroup(
    cgroup: str, goes: bool
) -> None:
    """The host grew by 8 GiB. What pods hold together was read, and so it is known whether it was the unread pod."""
    hog, unread = pod("hog", memory="64Mi"), pod("unread", memory="2Gi")
    book = Playbook(HARD, pods=[hog, unread], usage=[usage(hog, memory="3Gi"), usage(unread, memory="1Gi")])
    book.at("0s", memory="9Gi of 16Gi", allocatable="12Gi of 16Gi").conditions().does_nothing()
    del book.usage["unread"]
    book.at("10s", memory="900Mi of 16Gi", allocatable=cgroup).conditions("MemoryPressure")
    if goes:
        book.evicts("hog")
    else:
        book.does_nothing()
        book.stays_silent(NoActionReason.UNMEASURED_CULPRIT)


def test_what_a_pod_has_in_swap_gives_back_no_memory() -> None:
    swapped, hog = pod("swapped"), pod("hog", priority=1)
    uses = [usage(swapped, memory="10Mi", swap="4Gi"), usage(hog, memory="3Gi")]
    book = Playbook(HARD, pods=[swapped, hog], usage=uses)
    book.at("0s", memory=SHORT).conditions("MemoryPressure").evicts("hog")
    assert [(f.pod.name, f.reason) for f in book.findings(PodSkipped)] == [("swapped", SkipReason.UNNECESSARY)]


def test_no_pod_goes_for_a_stall_that_no_pod_has() -> None:
    """In a stall that the host makes every pod stalls a little."""
    little = [row(name, 1)._replace(stall=400) for name in "ab"]
    stalled = shortage({}, signal="pods.memory.full.avg10", available=6000)
    assert stall_is_elsewhere(little, stalled, {})
    assert not stall_is_elsewhere([*little, row("c", 1)._replace(stall=2000)], stalled, {})
    assert not stall_is_elsewhere([row("a", 1)], stalled, {}), "none was read"
    some = shortage({}, signal="pods.memory.some.avg10", available=6000)
    assert not stall_is_elsewhere([row("a", 1)._replace(stall=1000)], some, {})
    assert not stall_is_elsewhere(little, shortage({}), {})


def test_a_pod_is_whole_when_all_its_volumes_on_disk_were_measured() -> None:
    of = pod("a", volumes=[empty_dir("disk"), empty_dir("memory", medium="Memory")])
    assert is_whole(pod("b"), None)
    assert not is_whole(of, None)
    assert not is_whole(of, usage(of, volumes={}))
    assert is_whole(of, usage(of, volumes={"disk": "1"}))
    assert not is_whole(of, replace(usage(of, volumes={"disk": "1"}), volumes=()))


A = pod("a")


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        (SkipReason.BUDGET, NoActionReason.HELD_BACK),
        (SkipReason.NOT_MEASURED, NoActionReason.NO_POD_MEASURED),
        (SkipReason.STALLS_LITTLE, NoActionReason.NOTHING_HELPS),
        (SkipReason.IN_FLIGHT, NoActionReason.NOTHING_EVICTABLE),
    ],
)
def test_the_first_reason_that_any_pod_has(reason: SkipReason, why: NoActionReason) -> None:
    skips: list[Skip] = [
        ProtectedPodSkipped(pod=A),
        PodSkipped(pod=A, reason=SkipReason.IN_FLIGHT),
        PodSkipped(pod=A, reason=reason),
    ]
    assert why_no_pod(skips) is why
    assert why_no_pod(skips[:1]) is NoActionReason.NOTHING_EVICTABLE


def test_findings_come_in_the_order_of_the_ranking() -> None:
    skips = {name: ProtectedPodSkipped(pod=pod(name)) for name in "ab"}
    assert [each.pod.name for each in in_rank_order([row("b", 1), row("c", 1), row("a", 1)], skips)] == ["b", "a"]
