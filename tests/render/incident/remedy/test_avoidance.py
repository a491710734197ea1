"""Checks what is proposed against an eviction, and what is said to be of no use."""

from dataclasses import replace

import pytest

from evictd.commands.inputs.source import own_config
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import EvictPod
from evictd.core.model.resources import MEMORY
from evictd.core.model.signal import Signal
from evictd.core.units.quantity import of_bytes
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.needed import verdict_text
from evictd.render.incident.record.incident import CONTAINER_LOGS, Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.view import row_text
from evictd.world.loop import play
from evictd.world.model import World, WorldPod
from tests.render.recorded_incident import incident as recorded_incident
from tests.render.recorded_incident import judged
from tests.stories import GI
from tools.incidents import incident_files, play_incident

AGAIN = "before the node was short, and again after each restart in which it takes as much"
MORE = "if it has to hold more: a request of that, which places it where that is free, on a larger node or beside fewer pods"
SUM = "(6Gi that it held, less 1.5Gi that was missing, and 0.5% for rounding)"


def incident() -> Incident:
    """The recorded incident, with a pod as the cause: the journal has no reading before it by which a pod grew."""
    return replace(recorded_incident(), host_filled=False)


def with_request(pod: str | None) -> Incident:
    """The incident whose decision, made again with a request of what the pod used, takes this pod."""
    return replace(incident(), with_request=pod)


def test_a_limit_avoids_it_and_a_soft_threshold_or_a_request_with_which_another_pod_goes_does_not() -> None:
    """Of three pods alike the request was said to have avoided it, with which the second one goes."""
    (limit,) = avoidance(with_request("default/web")).by
    request, _ = avoidance(with_request("default/web")).not_by
    assert limit == (
        f"if it grew, a limit of at most 4.48Gi of memory: the kernel would have ended it there, {AGAIN} {SUM}; {MORE}"
    )
    assert request == "a request of 6Gi of memory (it had none): default/web (5Gi) would have gone in its place then"
    (threshold,) = avoidance(incident()).not_by
    assert threshold == (
        "a soft threshold (it was 2Gi) with a grace period of 1m30s: at 85.3Mi a second it would have to be 11Gi, more than all "
        "of the 8Gi that there are"
    )


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        (
            "default/hog-old",
            "it would have gone all the same, because the end of the other pods above their requests would not have been enough",
        ),
        ("", "evictd would have ended no pod at that moment; which one it would have ended later is not known"),
    ],
)
def test_a_request_is_judged_by_the_decision_made_again(pod: str, said: str) -> None:
    """`default/database` of 9 MiB was said to go in the place of a pod that alone held what was missing.

    Of no pod it was said that the node would have stayed short: the pod went 54 s later, and the node was relieved.
    """
    found = avoidance(with_request(pod))
    assert f"a request of 6Gi of memory (it had none): {said}" in found.not_by
    assert not any(each.startswith("a request") for each in (*avoidance(incident()).by, *avoidance(incident()).not_by))


def test_of_a_sudden_fall_the_bound_of_what_a_soft_threshold_gains_is_said() -> None:
    points = ((-33.0, 4 * GI), (-30.0, GI), (-20.0, GI - GI // 16), (0.0, GI - GI // 16))
    sudden = replace(incident(), points=points, soft=9 * GI // 4, levels=(("soft", 2 * GI),), available=GI - GI // 16)
    assert avoidance(sudden).not_by[0] == (
        "a soft threshold of up to 4.25Gi (it was 2.25Gi) with a grace period of 1m30s: it would have been met at most 3.0s "
        "earlier, so fast it fell"
    )


def test_a_soft_threshold_for_a_slow_fall_evicts_earlier() -> None:
    """What was configured was named as it counts, without the memory that no process can allocate (world 42)."""
    slow = replace(incident(), points=((-30.0, GI), (0.0, GI // 2)), soft=9 * GI // 4)
    assert avoidance(slow).not_by[0] == (
        "a soft threshold of 3.25Gi (it was 2.25Gi) with a grace period of 1m30s: at 17.1Mi a second it would have been met "
        "120 s earlier, and a pod would have gone all the same, 30 s earlier, with a grace period of its own"
    )


def test_a_mean_rate_beside_a_steeper_one_of_the_eviction_says_of_when_it_is() -> None:
    """The report had `1Gi a second` and `197Mi a second`, unexplained (world 01)."""
    found = incident()
    because = {**found.event.evidence["because"], "fillRate": GI}
    found = replace(found, event=replace(found.event, evidence={**found.event.evidence, "because": because}))
    assert (
        "at 85.3Mi a second, the mean of the minute before (1Gi a second just before the "
        "eviction), it would have to be" in avoidance(found).not_by[0]
    )


def test_a_soft_threshold_above_the_whole_capacity_is_no_half_of_it() -> None:
    small = replace(incident(), capacity=2 * GI)
    assert avoidance(small).not_by[0].endswith("it would have to be 11Gi, more than all of the 2Gi that there are")


def test_the_rate_is_that_since_a_reclaim() -> None:
    """68.7Mi were proposed, 148Ki a second, for a disk that filled at 2 MiB/s after a reclaim."""
    points = (
        (-80.0, 2 * GI),
        (-50.0, GI),
        (-40.0, 4 * GI),
        (-25.0, 3 * GI),
        (-15.0, 2 * GI),
        (-5.0, GI),
        (0.0, GI // 2),
    )
    assert replace(incident(), points=points).rate == round(7 * GI / 2 / 40)


def test_a_limit_does_not_count_what_the_pod_has_in_swap() -> None:
    """The usage counts swap, which no memory limit bounds: one of 4.48Gi would not have been reached with 4Gi in memory."""
    limit, *_ = avoidance(replace(incident(), swapped=2 * GI, swap=True)).by
    assert limit.startswith(
        "if it grew, a limit of at most 2.49Gi of memory: the kernel would have moved more of it to swap, and ended it when that "
        "was full, "
        "before the node was short"
    )
    assert "(4Gi that it held outside swap, less 1.5Gi that was missing" in limit


def test_a_request_that_only_sends_a_small_pod_first_is_said_to_be_too_little() -> None:
    """`default/web` was said to go first, and nothing of this pod that goes after it."""
    found = with_request("default/web")
    rows = [replace(row, usage=GI, request=0) if row.pod == "default/web" else row for row in found.ranking]
    limit, *_ = avoidance(replace(found, ranking=tuple(rows))).by
    assert limit.startswith("if it grew, a limit of at most")
    assert avoidance(replace(found, ranking=tuple(rows))).not_by[0] == (
        "a request of 6Gi of memory (it had none): default/web (1Gi) would have gone first then, and that is too little"
    )


def test_a_request_is_no_advice_where_the_pods_before_it_hold_too_little() -> None:
    """`batch/report` of 21 MiB ranks first, and the pod that leaks goes all the same."""
    found = incident()
    side = IncidentRow(
        number=1, pod="default/side", usage=1, request=0, priority=-10, protected=False, chosen=False,
        skipped="Unnecessary",
    )  # fmt: skip
    found = replace(found, ranking=(side, *(replace(row, number=row.number + 1) for row in found.ranking)))
    assert [each.partition(":")[0] for each in avoidance(found).by] == [
        "if it grew, a limit of at most 4.48Gi of memory"
    ]
    assert not any("request" in each for each in avoidance(found).not_by), "of one that was not decided again"
    assert "(passed over: its end would free too little, or not for long)" in row_text(side, found)


def test_a_request_that_costs_a_pod_of_higher_priority_is_no_advice() -> None:
    """A request for a job was proposed, with which a database of priority 1000 would have gone in its place."""
    found = with_request("default/web")
    rows = tuple(replace(row, priority=1000) if row.pod == "default/web" else row for row in found.ranking)
    request = "a request of 6Gi of memory (it had none): default/web (5Gi) would have gone in its place then"
    assert f"{request}, whose priority 1000 is higher" in avoidance(replace(found, ranking=rows)).not_by


def test_a_request_with_which_the_pod_that_grew_goes_avoids_the_eviction_of_this_one() -> None:
    """The one request that kept a pod that did not grow was written as of no use, because the grower has a higher priority."""
    found = judged(Need.ANOTHER_POD, Grower(pod="default/web", rate=20 << 20))
    rows = tuple(
        replace(row, priority=1000, request=8 * GI) if row.pod == "default/web" else row for row in found.ranking
    )
    said = avoidance(replace(found, ranking=rows))
    request = "a request of 6Gi of memory (it had none): default/web (5Gi) would have gone in its place then"
    assert f"{request}, whose priority 1000 is higher; it is the one that grew" in said.by
    assert not any(request in each for each in said.not_by)


def test_a_request_keeps_no_pod_that_grows() -> None:
    """The node was said to stay short, where the pod went a second later (world 01)."""
    found = replace(judged(Need.NEEDED, Grower(pod="default/hog-old", rate=GI)), with_request="")
    later = "evictd would have ended no pod at that moment; had it grown on, it would have gone all the same later"
    assert f"a request of 6Gi of memory (it had none): {later}" in avoidance(found).not_by


def test_limits_of_several_pods_are_proposed_where_each_holds_less_than_is_missing() -> None:
    """Three pods grew to 300Mi each, 372Mi were missing, and nothing was said to avoid it (world 42)."""
    rate = 3 << 20
    found = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=rate), Grower(pod="default/web", rate=rate))
    rows = tuple(replace(row, usage=GI if row.chosen else row.usage) for row in found.ranking)
    small = avoidance(replace(found, ranking=rows))
    assert small.by[0].startswith("limits of memory of at most 764Mi of default/hog-old, 3.73Gi of default/web: ")
    assert not any("for this pod alone" in each for each in small.not_by)
    tiny = tuple(replace(row, usage=GI // 2) for row in found.ranking)
    assert not any("limit" in each for each in avoidance(replace(found, ranking=tiny)).by), "too little together"


def test_a_limit_of_one_of_several_pods_that_grew_is_no_remedy() -> None:
    """Five pods with a limit of the 2.73Gi that were proposed lost three of them all the same (world 30)."""
    rate = 3 << 20
    found = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=rate), Grower(pod="default/web", rate=rate))
    assert avoidance(found).by[0] == (
        "limits of memory of at most 5.16Gi of default/hog-old, 4.3Gi of default/web: the kernel would have ended each there, "
        "before the node was short"
    )
    assert avoidance(found).not_by[0] == (
        "a limit of 4.48Gi of memory for this pod alone: default/web grew as well, and it leaves no room for more of that "
        "growth; a lower limit does"
    )
    beside = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=rate), Grower(pod="", rate=rate))
    assert not any("limit" in each for each in avoidance(beside).by)
    unmeasured = avoidance(replace(beside, measured=False))
    assert unmeasured.by[0].startswith("a limit of at most 4.48Gi"), "what it took belongs to no measured pod"


def test_a_limit_of_one_of_several_pods_that_fill_a_disk_is_no_remedy() -> None:
    """A limit of an upload alone was proposed, while a logger filled the same disk and went on."""
    rate = 3 << 20
    growers = (Grower(pod="default/hog-old", rate=rate), Grower(pod="default/web", rate=rate))
    found = replace(judged(Need.NEEDED, *growers), signal=Signal.NODEFS_AVAILABLE)
    avoided = avoidance(found)
    assert avoided.by[0].startswith("limits of ephemeral-storage of at most ")
    assert avoided.by[0].endswith(
        " of default/web: each would have been evicted for its own, before the node was so short that a pod had to go"
    )
    assert "of ephemeral-storage for this pod alone: default/web grew as well" in avoided.not_by[0]


def test_a_lower_threshold_is_proposed_too_where_no_growth_is_known_yet() -> None:
    """The first eviction for a threshold above the normal level proposed less use by the host alone (world 23)."""
    found = judged(Need.NO_POD_HELPS)
    unknown = replace(found, points=(), event=replace(found.event, filled=""))
    (by,) = avoidance(replace(unknown, of_owner=0)).by
    assert by.endswith("; or a lower threshold: what grew is not known yet")
    assert "lower threshold" not in avoidance(found).by[0]


def test_nothing_of_the_pod_is_proposed_where_no_pod_is_the_cause() -> None:
    """`a priority above 0` was proposed beside a kernel that took all: another pod would have gone in vain."""
    found = avoidance(judged(Need.NO_POD_HELPS, Grower(pod="", rate=9)))
    host = "less use outside pods: by processes of the host, or by the kernel itself"
    assert found.by == (f"{host}; or less use by protected pods",)
    instead = "a request, a limit or a priority of this pod that keeps it: default/web (5Gi) would have gone in its place then"
    assert found.not_by[0].startswith(instead)
    alone = judged(Need.NO_POD_HELPS)
    idle = tuple(row if row.chosen else replace(row, usage=0) for row in alone.ranking)
    assert "in its place" not in avoidance(replace(alone, ranking=idle)).not_by[0], "no pod that holds nothing goes"
    alone = replace(alone, ranking=tuple(row for row in alone.ranking if row.chosen))
    assert avoidance(alone).not_by[0].endswith("of this pod: what is missing is not its own")
    still = judged(Need.NO_POD_HELPS)
    assert avoidance(replace(still, host_filled=True)).by == (host,)
    assert avoidance(still).by[0].startswith("less use outside pods"), "a full disk no longer grows, but was filled"
    calm = replace(still, points=((-60.0, GI // 2), (0.0, GI // 2)), event=replace(still.event, filled=""))
    assert calm.stands_still
    found = avoidance(calm)
    assert found.by == ("a lower threshold: nothing grew, and no pod holds what is missing",)


def test_the_pod_that_grew_is_named_and_no_limit_is_proposed_for_one_that_did_not() -> None:
    """A limit was proposed that would have killed a pod which had held the same for hours."""
    found = avoidance(judged(Need.ANOTHER_POD, Grower(pod="default/web", rate=20 << 20)))
    assert found.by[0] == "less growth of default/web: it took 20Mi a second in the minute before"
    assert not any("limit" in each for each in found.by)
    found = avoidance(judged(Need.NEEDED, Grower(pod="default/hog-old", rate=20 << 20)))
    assert found.by[0].startswith("a limit of at most 4.48Gi")


def test_a_protected_pod_that_grew_is_named_instead_of_the_host() -> None:
    """The logs of a static pod filled the disk, and hostPath volumes were proposed and no log rotation."""
    found = replace(judged(Need.NO_POD_HELPS, Grower(pod="default/etcd", rate=40 << 20)), grower_in=CONTAINER_LOGS)
    grew, rotation, *more = avoidance(found).by
    assert grew == "less growth of default/etcd, which is never evicted: it took 85.3Mi a second in the minute before"
    assert rotation.startswith("log rotation: containerLogMaxSize")
    assert not more
    assert len(avoidance(replace(found, grower_in="volumes")).by) == 1
    assert avoidance(replace(found, host_filled=True)).by[0].startswith("less use outside pods")


def test_a_priority_is_no_advice_where_the_pods_before_it_were_passed_over() -> None:
    """A priority above 100 was proposed to a fork bomb, beside pods of priority 0 that rank before it already."""
    found = replace(incident(), points=())  # nothing grows
    rows = tuple(
        replace(row, request=row.usage or 0) if row.chosen else replace(row, skipped="Unnecessary")
        for row in found.ranking
    )
    within = replace(found, ranking=tuple(replace(row, skipped="") for row in rows))
    assert any("a priority above" in each for each in avoidance(within).not_by)
    assert not any("a priority above" in each for each in avoidance(replace(found, ranking=rows)).not_by)


def test_a_priority_to_propose_is_above_that_of_the_pod_that_goes_instead() -> None:
    """`a priority above -10` was proposed beside a pod of priority -5: -9 changes nothing."""
    found = replace(incident(), points=())  # nothing grows
    rows = tuple(
        replace(row, request=row.usage or 0, priority=-10) if row.chosen else replace(row, priority=-5)
        for row in found.ranking
    )
    (said,) = (each for each in avoidance(replace(found, ranking=rows)).not_by if "a priority above" in each)
    assert said.startswith("a priority above -5: ")
    assert [each.moves for each in avoidance(replace(found, ranking=rows)).in_vain if each.text == said] == [True]
    assert "whose priority -5 is higher" in said, "it did not grow, and would go instead"


def test_a_priority_is_advice_for_a_pod_that_grew_little_beside_the_one_that_goes_then() -> None:
    """Of inodes and PIDs, the priority that played again kept the mail server and cost the build was not named."""
    mail, build = Grower(pod="default/hog-old", rate=10), Grower(pod="default/web", rate=30)
    found = replace(judged(Need.ANOTHER_POD, build), signal=Signal.NODEFS_INODES_FREE, host_filled=False)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod=mail.pod, growers=(build, mail), played=0)
    rows = tuple(replace(row, priority=10) if row.pod == build.pod else row for row in found.ranking)
    found = replace(found, ranking=rows, verdict=verdict)
    assert not any("a priority above" in each for each in avoidance(found).by)
    found = replace(found, verdict=replace(verdict, fewest=(build.pod,)))
    assert any(each.startswith("a priority above 10: default/web") for each in avoidance(found).by)


def test_an_owner_whose_pods_go_again_and_again_is_named() -> None:
    """Requests of what they use were proposed for a leak, and that is past any request."""
    assert avoidance(replace(judged(Need.NEEDED, Grower(pod="default/hog-old", rate=20 << 20)), of_owner=117)).by[
        0
    ] == ("ReplicaSet/hog mended or kept off this node: 117 of its pods were evicted here")
    grower = Grower(pod="default/web", rate=5 << 20)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(grower,), played=0)
    victims = replace(incident(), of_owner=3, verdict=verdict, successors=())
    assert not any("mended or kept off" in each for each in avoidance(victims).by), "another pod grew"
    unknown = avoidance(replace(incident(), host_filled=False, of_owner=3)).by
    assert not any("mended or kept off" in each for each in unknown), "it is not known what grew"
    host = replace(incident(), host_filled=True, of_owner=3)
    assert not any("mended or kept off" in each for each in avoidance(host).by), "the host grew"


@pytest.mark.parametrize(
    ("signal", "outside"),
    [
        (Signal.MEMORY_AVAILABLE, "by processes of the host, or by the kernel itself"),
        (
            Signal.NODEFS_AVAILABLE,
            "in hostPath volumes, by the host, by images and snapshots, or by deleted files that are open",
        ),
        (Signal.NODEFS_INODES_FREE, "by files in hostPath volumes or of the host"),
        (Signal.PID_AVAILABLE, "by processes of the host"),
    ],
)
def test_what_belongs_to_no_pod_is_answered_outside_pods(signal: Signal, outside: str) -> None:
    """Three pods went for a writer into a hostPath volume, and nothing was proposed but what would not have helped."""
    found = replace(incident(), signal=signal, host_filled=True)
    rows = tuple(replace(row, request=row.usage or 0) if row.chosen else row for row in found.ranking)
    assert avoidance(replace(found, ranking=rows)).by == (f"less use outside pods: {outside}",)


def test_a_pod_that_grew_within_its_request_is_not_to_blame() -> None:
    """Less growth was asked of a service within its request, and nothing of the batch job with twelve times its own."""
    found = judged(Need.ANOTHER_POD, Grower(pod="default/web", rate=20 << 20))
    rows = tuple(replace(row, request=8 * GI) if row.pod == "default/web" else row for row in found.ranking)
    points = ((-30.0, GI // 2 + (600 << 20)), (0.0, GI // 2))
    texts = avoidance(replace(found, ranking=rows, points=points)).by
    assert not any("default/web" in each and "growth" in each for each in texts)


def test_the_pod_that_grew_is_named_first_where_both_were_within_their_requests() -> None:
    """Only a priority of the pod that went was proposed, and nothing of the pod that filled the node."""
    found = judged(Need.ANOTHER_POD, Grower(pod="default/web", rate=20 << 20))
    within = replace(found, ranking=tuple(replace(row, request=8 * GI) for row in found.ranking))
    first, priority = avoidance(within).by
    assert first == "less growth of default/web, or less use by others: it was within its request"
    assert priority.startswith("a priority above 0: default/web")


def test_a_limit_is_proposed_to_a_pod_that_grew_within_its_request_as_well() -> None:
    """`less growth` of it was all that was proposed beside images that fill most of the disk (world 29)."""
    found = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=20 << 20))
    within = replace(found, ranking=tuple(replace(row, request=8 * GI) for row in found.ranking))
    first, limit = avoidance(within).by
    assert first == "less growth of default/hog-old, or less use by others: it was within its request"
    assert limit.startswith("a request and a limit of at most 4.48Gi of memory: the kernel would have ended it there")


def test_a_request_of_the_pod_that_grew_is_no_advice() -> None:
    """An innocent pod would have gone in its place, and this one seconds later."""
    found = avoidance(judged(Need.NEEDED, Grower(pod="default/hog-old", rate=20 << 20)))
    assert (
        "a request of 6Gi of memory (it had none): default/web (5Gi) would have gone in its place then; had this pod "
        "grown on, the node would have been short again"
    ) in found.not_by


def beside_growth(rate: int, *, request: int) -> Incident:
    """A pod of 6Gi that requested as much and did not grow, beside one that fills the node at this rate."""
    found = judged(Need.ANOTHER_POD, Grower(pod="default/web", rate=rate))
    rows = tuple(replace(row, request=request) if row.chosen else row for row in found.ranking)
    points = ((-30.0, GI // 2 + 30 * rate), (0.0, GI // 2))
    return replace(found, ranking=rows, points=points, with_request=found.event.pod)


def test_of_a_request_that_does_not_fit_the_node_only_the_scheduler_is_said_to_avoid_it() -> None:
    """A request of 3Gi was said to have avoided it; played with that, the pod of lower priority went all the same (world 31)."""
    found = beside_growth(20 << 20, request=GI)
    full = replace(found, ranking=tuple(row if row.chosen else replace(row, request=3 * GI) for row in found.ranking))
    assert not any(each.startswith("a request") for each in avoidance(full).by)
    (request,) = (each for each in avoidance(full).not_by if each.startswith("a request"))
    assert request.startswith("a request of 6Gi of memory (it had 1Gi): it would have gone all the same, because ")
    assert "; only the scheduler could have avoided that: the pods here would request " in request
    assert request.endswith(" of the 8Gi of the node, so not all of them would be placed on it")
    empty = replace(found, ranking=tuple(row if row.chosen else replace(row, request=0) for row in found.ranking))
    assert "only the scheduler" not in "".join(avoidance(empty).not_by)


def test_deleted_files_are_answered_with_neither_limit_nor_du() -> None:
    """A limit was proposed that does not count them."""
    found = replace(incident(), signal=Signal.NODEFS_AVAILABLE, deleted=6 * GI)
    assert avoidance(found).by[0] == (
        "no deleted files that are kept open: 6Gi of what it held, which no limit and no `du` counts"
    )


@pytest.mark.parametrize(
    ("signal", "by"),
    [
        (Signal.PID_AVAILABLE, "podPidsLimit of the kubelet of at most "),
        (Signal.NODEFS_INODES_FREE, "fewer files of default/hog-old, at most "),
    ],
)
def test_a_pod_that_grew_without_a_limit_that_counts_it(signal: Signal, by: str) -> None:
    """A priority was proposed against a fork bomb, with which a pod of 31 processes ranks first."""
    grown = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=500))
    (said,) = avoidance(replace(grown, signal=signal)).by
    assert said.startswith(by)


def test_a_minimum_reclaim_that_kept_the_threshold_met_is_named() -> None:
    left = 9 * GI // 4
    kept = avoidance(replace(incident(), available=left, min_reclaim=GI, points=((-30.0, left), (0.0, left))))
    assert len(kept.by) == 1
    assert kept.by[0].startswith("a smaller minimum reclaim: fewer pods would have gone")


def test_a_smaller_minimum_reclaim_avoids_nothing_where_the_threshold_is_met_seconds_later() -> None:
    """It was the only advice for a pod that filled the disk at 102 MiB/s, and without it the same pod went 10 s later."""
    found = avoidance(replace(incident(), available=9 * GI // 4, min_reclaim=GI))
    assert any(each.startswith("if it grew, a limit of at most") for each in found.by)
    assert not any("minimum reclaim" in each for each in found.by)
    assert (
        "a smaller minimum reclaim: at 85.3Mi a second the threshold itself would have been met 3.0s later"
        in found.not_by
    )


def test_a_pod_of_the_same_owner_in_its_place_is_no_advice() -> None:
    """A request in the template of both was proposed."""
    found = replace(with_request("default/web"), siblings=frozenset({"default/web"}))
    request = (
        "a request of 6Gi of memory (it had none): default/web of the same owner would have gone in its place then"
    )
    alone = "; computed from the pods of this node alone: those of ReplicaSet/hog elsewhere would have that request too"
    assert request in avoidance(found).not_by
    assert (
        "a request of what they use in all pods of ReplicaSet/hog: the pods here would request 11Gi of the 8Gi of the node, so "
        "not all of them would be placed on it" + alone in avoidance(found).by
    )


def test_of_requests_that_fit_on_the_node_nothing_is_said_where_it_is_not_known_what_goes() -> None:
    """They were said to avoid nothing: played again with them, the pod that grew went first, and all of the owner stayed."""
    found = replace(with_request("default/web"), siblings=frozenset({"default/web"}), capacity=16 * GI)
    every = "a request of what they use in all pods of ReplicaSet/hog"
    assert not any(each.startswith(every) for each in (*avoidance(found).by, *avoidance(found).not_by))


def test_a_fall_that_ended_proposes_no_soft_threshold() -> None:
    """1.1Gi was proposed at the rate of a leak that had stood still for a minute behind a disruption budget."""
    points = ((-85.0, GI), (-75.0, GI // 2), (-60.0, GI // 2), (-25.0, GI // 2), (-5.0, GI // 2), (0.0, GI // 2))
    still = replace(incident(), points=points)
    assert still.rate == 0
    assert not any(each.startswith("a soft threshold") for each in avoidance(still).not_by)


def test_logs_are_answered_with_rotation_and_a_limit() -> None:
    """A limit of disk was said to be of no use, and one of memory proposed: either spares the node."""
    found = replace(incident(), signal=Signal.NODEFS_AVAILABLE, most_in=CONTAINER_LOGS)
    said = avoidance(found)
    assert said.by[0].startswith("log rotation: containerLogMaxSize times containerLogMaxFiles")
    limit = (
        "if it grew, a limit of at most 4.48Gi of ephemeral-storage: it would have been evicted for that, before the node was so "
        "short "
        f"that a pod had to go {SUM}"
    )
    assert said.by[1] == limit
    assert not any("rotation" in each for each in avoidance(replace(found, most_in="volumes")).by)
    grown = replace(judged(Need.NEEDED, Grower(pod="default/hog-old", rate=100 << 20)), signal=found.signal)
    rotation, limit = avoidance(replace(grown, most_in=CONTAINER_LOGS)).by
    assert rotation.endswith(
        "it checks every 10 s (containerLogMonitorInterval), so at 85.3Mi a second each file may hold 853Mi more"
    )
    assert limit.startswith("a limit of at most 3.65Gi"), "what grows until the limit is checked"
    fast = replace(judged(Need.NEEDED, Grower(pod="default/hog-old", rate=GI)), signal=found.signal)
    fast = replace(fast, points=((-30.0, 30 * GI), (0.0, GI // 2)))
    assert not any("a limit of" in each for each in avoidance(fast).by)


def test_rotation_alone_is_no_remedy_while_a_host_path_volume_grows() -> None:
    """Logs bounded to 250Mi kept the pod for minutes only, and the limit was rejected for the same reason."""
    growers = (Grower(pod="", rate=60 << 20), Grower(pod="default/hog-old", rate=20 << 20))
    found = replace(judged(Need.NEEDED, *growers), signal=Signal.NODEFS_AVAILABLE, most_in=CONTAINER_LOGS)
    assert any(each.startswith("log rotation: ") for each in avoidance(found).by)
    found = replace(found, host_filled=True)
    alone = next(each for each in avoidance(found).not_by if each.startswith("log rotation alone: "))
    assert alone.endswith(
        "what belongs to no pod grew as well, and more of that growth would have made the node short later"
    )
    assert not any("rotation" in each for each in avoidance(found).by)


def test_a_pod_that_filled_memory_before_it_stood_still_is_answered_with_a_limit() -> None:
    """A pod had leaked until a disruption budget had delayed its eviction for a minute: no limit was proposed."""
    still = judged(Need.NEEDED)
    still = replace(still, ranking=tuple(row for row in still.ranking if not row.protected))
    assert not any("a limit of" in each for each in avoidance(replace(still, main_grower="")).by)
    leaked = replace(still, main_grower="default/hog-old", pods_filled=True)
    assert avoidance(leaked).by[0].startswith("a limit of at most 4.48Gi of memory")


def test_a_disruption_budget_is_said_to_have_delayed_the_eviction_only() -> None:
    refusal = HistoryEvent(at="", kind=EventKind.REFUSED, uid=incident().event.uid, text="")
    said = avoidance(replace(incident(), before=(refusal, refusal))).not_by
    assert "a disruption budget: it refused the eviction 2 times, which only delayed it" in said


def test_a_budget_that_kept_the_pod_that_ranks_first_is_named() -> None:
    """A leak with a budget of 0 cost five pods in its place, and the budget was no remedy; with 1 only the leak went."""
    found = replace(incident(), available=0)
    rows = tuple(row if row.chosen else replace(row, skipped="Budget", usage=4 * GI) for row in found.ranking)
    kept = next(row.pod for row in rows if row.skipped)
    said = f"a disruption budget that lets {kept} go, which ranks before this pod: "
    assert sum(each.startswith(said) for each in avoidance(replace(found, ranking=rows)).by) == 1
    assert not any("budget" in each for each in avoidance(found).by)
    little = tuple(replace(row, usage=1) if row.skipped else row for row in rows)
    assert not any("budget" in each for each in avoidance(replace(found, ranking=little)).by), "its end is not enough"


def test_a_pod_that_grows_on_is_ended_at_its_limit_again() -> None:
    grown = avoidance(judged(Need.NEEDED, Grower(pod="default/hog-old", rate=20 << 20)))
    assert grown.by[0].endswith(f"{AGAIN} {SUM}; {MORE}")


def test_a_limit_of_a_pod_with_files_in_memory_means_kills_until_the_files_are_gone() -> None:
    """It was said that the pod "could have held no more"; the kernel kills, and the files stay (world of a tmpfs)."""
    leak = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=20 << 20))
    assert avoidance(replace(leak, in_memory=True)).by[0] == (
        "a limit of at most 4.48Gi of memory: the kernel would have killed its processes there, and again after each restart "
        "while files in its emptyDir in memory hold so much; a sizeLimit of that emptyDir below it lets the writes fail instead "
        f"{SUM}"
    )


@pytest.mark.parametrize(
    ("name", "pod", "limit"),
    [
        ("21-swapped-hog", "default/leak", 5.47),
        ("26-control-plain-leak", "default/controller", 5.47),
        ("32-control-fast-leak", "default/leak", 5.47),
        ("39-resize-not-granted", "default/hog", 5.0),
    ],
)
def test_no_pod_is_evicted_with_the_limit_of_the_report(name: str, pod: str, limit: float) -> None:
    """Played with the limit that the report of the world proposes."""
    (path,) = (each for each in incident_files() if each.stem == name)
    file = play_incident(path, (Policy.STANDARD,)).file
    assert set(evicted(file.world, own_config(file))) == {pod}
    pods = tuple(with_limit(each, round(limit * GI)) if each.pod.full_name == pod else each for each in file.world.pods)
    assert evicted(replace(file.world, pods=pods), own_config(file)) == []


def test_a_smaller_minimum_reclaim_makes_it_fewer_evictions_and_not_none() -> None:
    (path,) = (each for each in incident_files() if each.stem == "22-minimum-reclaim")
    file = play_incident(path, (Policy.STANDARD,)).file
    config = own_config(file)
    without = replace(config, thresholds=tuple(replace(each, min_reclaim=None) for each in config.thresholds))
    assert 0 < len(evicted(file.world, without)) < len(evicted(file.world, config))


def with_limit(pod: WorldPod, limit: int) -> WorldPod:
    """The pod with a memory limit of its first container."""
    first, *others = pod.pod.containers
    limits = {**first.limits, MEMORY: of_bytes(limit)}
    return replace(pod, pod=replace(pod.pod, containers=(replace(first, limits=limits), *others)))


def evicted(world: World, config: EvictionConfig) -> list[str]:
    """Return the pods that are evicted in a world, in order."""
    decisions = (each for cycle in play(world, config).cycles for each in cycle.step.decisions)
    return [each.pod.full_name for each in decisions if isinstance(each, EvictPod)]


def test_a_limit_below_the_request_needs_a_lower_request_as_well() -> None:
    """A limit of 5Gi was proposed beside a resize to 6Gi: the API server takes no limit below a request."""
    limit, *_ = avoidance(replace(incident(), asked=12 * GI)).by
    assert limit.startswith("if it grew, a request and a limit of at most 4.48Gi of memory: ")


def test_a_pod_that_was_within_its_request_would_not_have_gone_for_an_earlier_threshold() -> None:
    """A pod of 300Mi that grew by 4.3Mi a second from nothing was said to have gone a minute earlier (world 42)."""
    slow = replace(incident(), points=((-30.0, GI), (0.0, GI // 2)))
    rows = tuple(replace(row, request=4 * GI) if row.chosen else row for row in slow.ranking)
    leak = Grower(pod=slow.event.pod, rate=GI // 10)
    judged = EvictionVerdict(need=Need.NEEDED, pod=slow.event.pod, growers=(leak,), played=1)
    (text,) = (each for each in avoidance(replace(slow, ranking=rows, verdict=judged)).not_by if "soft" in each)
    assert text.endswith("120 s earlier, when this pod was still within its request")


def test_a_soft_threshold_would_have_taken_the_pod_that_went_just_before() -> None:
    """The pod was said to go then, and another one would have gone again (world 07)."""
    slow = replace(incident(), points=((-30.0, GI), (0.0, GI // 2)))
    other = replace(slow.event, pod="default/first", uid="uid-first", at="2026-01-01T00:00:18Z")
    assert avoidance(replace(slow, before=(other,))).not_by[0] == (
        "a soft threshold of 3Gi (it was 2Gi) with a grace period of 1m30s: it would have been met before default/first was "
        "evicted, and that pod would have gone then"
    )
    went = "and a pod would have gone all the same, 30 s earlier, with a grace period of its own"
    assert avoidance(replace(slow, before=(replace(other, evidence={}),))).not_by[0].endswith(went), "another signal"
    long_ago = replace(other, at="2025-12-31T23:59:00Z")
    assert avoidance(replace(slow, before=(long_ago,))).not_by[0].endswith(went)


def test_the_limit_of_a_pod_that_was_not_measured_counts_what_came_back() -> None:
    """A limit was reckoned from 4.69Gi of an earlier reading, of a pod whose end gave back 5.5Gi (world 24)."""
    no_pod = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", played=0)
    found = replace(incident(), measured=False, verdict=no_pod)
    rows = tuple(replace(row, usage=3 * GI, request=0) if row.chosen else row for row in found.ranking)
    found = replace(found, ranking=rows)
    assert "(5.5Gi that it held, less 1.5Gi that was missing, and 0.5% for rounding)" in " ".join(avoidance(found).by)
    measured = replace(found, measured=True)
    assert "(3Gi that it held, less 1.5Gi that was missing, and 0.5% for rounding)" in " ".join(avoidance(measured).by)


def test_where_no_limit_is_enough_all_that_grew_has_to_grow_less() -> None:
    """Two pods and what belongs to no pod filled a disk, and no line said what would have avoided it."""
    growers = tuple(Grower(pod=each, rate=3 << 20) for each in ("default/web", "default/hog-old", ""))
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=growers, played=0)
    (text,) = avoidance(replace(incident(), host_filled=False, verdict=verdict)).by
    assert text.startswith("less growth of all that grew: default/web, default/hog-old, what belongs to no pod, ")


def test_pods_that_grow_beside_the_host_are_named_with_it() -> None:
    """Two leaks beside a slower one of the host were told as "less use outside pods" and "its end was not needed"."""
    growers = (Grower(pod="default/hog-old", rate=36 << 20), Grower(pod="", rate=20 << 20))
    found = replace(judged(Need.NO_POD_HELPS, *growers), clear=None, known_for=20.0)
    assert avoidance(found).by[0].startswith("less growth of all that grew: default/hog-old, what belongs to no pod, ")
    assert verdict_text(found) == (
        "the end of a pod was needed: default/hog-old, what belongs to no pod filled it, and if that goes on, the node "
        "is short again"
    )


def test_a_limit_leaves_room_for_what_others_take_in_a_minute() -> None:
    """A limit of 8.47Gi was met again after 24 s, in which a slow leak of the host had taken what it left."""
    growers = (Grower(pod="default/hog-old", rate=300 << 20), Grower(pod="", rate=10 << 20))
    (limit,) = (each for each in avoidance(judged(Need.NEEDED, *growers)).by if "limit" in each)
    assert limit.startswith("a limit of at most 3.89Gi of memory: ")
    assert "less 1.5Gi that was missing, and 600Mi that others take in a minute, and 0.5% for rounding)" in limit
