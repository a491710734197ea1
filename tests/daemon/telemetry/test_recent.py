"""The last decisions: what was refused is not shown as an eviction."""

from dataclasses import replace

from evictd.codec.times import parse_time
from evictd.core.eviction.refusals.backoff import Refusal
from evictd.core.model.decision import EvictPod, ReclaimNode, ReportConditions
from evictd.core.model.observation import (
    EvictionAnswer,
    EvictionAnswerKind,
    Reclaim,
    ReclaimOutcome,
    signal_observations,
)
from evictd.core.model.signal import Filesystem
from evictd.core.model.state import Victim
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.telemetry.recent import REMEMBERED, RecentDecisions, folded_refusals
from evictd.render.attribution import Filled
from tests.daemon.world import DISK, GI, HOG, step
from tests.playbook import node

WALL = parse_time("2026-11-22T10:02:00Z")
EVICT = next(each for each in step(GI // 2).decisions if isinstance(each, EvictPod))


def refusal(detail: str) -> Refusal:
    answer = EvictionAnswer(uid=HOG.uid, kind=EvictionAnswerKind.REFUSED, detail=detail)
    return Refusal(Victim(uid=HOG.uid, full_name=HOG.full_name), answer)


def texts(recent: RecentDecisions) -> list[str]:
    return [each.text for each in recent.all()]


def test_a_refused_eviction_is_one_line_with_who_how_often_and_since_when() -> None:
    recent = RecentDecisions()
    recent.add(ReportConditions(conditions=()), "report", WALL)
    for number in range(4):
        recent.add(EVICT, "evict default/hog", WALL + number * MINUTE)
        budget = "Cannot evict pod. The disruption budget web needs 1 healthy pods and has 1 currently"
        recent.refused(refusal(budget), WALL + number * MINUTE)
    assert texts(recent) == ["report", "default/hog stays, refused by budget web, 4 times since 10:02"]
    recent.add(EVICT, "evict default/hog", WALL + MINUTE)
    assert texts(recent)[-1] == "evict default/hog"


def test_another_refusal_has_the_servers_words() -> None:
    recent = RecentDecisions()
    recent.refused(refusal("admission webhook denied the request"), WALL)
    assert texts(recent) == ["default/hog stays, refused by the API server: admission webhook denied the request"]


def test_refusals_of_many_pods_leave_the_evictions_in_the_list() -> None:
    """Ten lines of refusals stood in the eight lines of `status`, and the eviction before them in none."""
    recent = RecentDecisions()
    recent.add(EVICT, "evict default/hog", WALL)
    for number in range(2 * REMEMBERED):
        refused = refusal("")
        recent.refused(
            refused._replace(victim=replace(refused.victim, uid=str(number), full_name=f"web-{number}")), WALL
        )
    assert texts(recent)[0] == "evict default/hog"
    assert len(texts(recent)) == REMEMBERED
    *_, one, other, alone = recent.all()
    assert alone.refusals is not None
    alone = replace(alone, refusals=replace(alone.refusals, by="budget web"))
    folded = [each.text for each in folded_refusals((recent.all()[0], one, other, alone))]
    both = "web-97, web-98 stay, refused by the API server, 2 times since 10:02"
    assert folded == ["evict default/hog", both, "web-99 stays, refused by budget web"]


def test_the_list_is_bounded() -> None:
    recent = RecentDecisions()
    for number in range(REMEMBERED + 5):
        recent.add(ReportConditions(conditions=()), str(number), WALL)
    assert (len(texts(recent)), texts(recent)[0]) == (REMEMBERED, "5")


def test_a_reclaim_has_the_signal_that_it_is_for() -> None:
    recent = RecentDecisions()
    recent.add(ReclaimNode(actions=(Reclaim.IMAGES,), threshold=DISK), "remove images", WALL)
    assert [each.signal for each in recent.all()] == ["nodefs.available"]


def test_a_reclaim_gets_what_its_collectors_freed() -> None:
    recent = RecentDecisions()
    for device in (Filesystem.NODEFS, Filesystem.IMAGEFS):
        recent.add(ReclaimNode(actions=(Reclaim.IMAGES,), threshold=DISK, device=device), "remove images", WALL)
    recent.add(EVICT, "evict default/hog", WALL)
    of_images = ReclaimOutcome(action=Reclaim.IMAGES, freed_bytes=3, removed=2, device=Filesystem.NODEFS)
    recent.reclaimed([of_images, replace(of_images, action=Reclaim.CONTAINERS)], WALL + 1)
    recent.reclaimed([replace(of_images, device=Filesystem.IMAGEFS)], WALL)
    assert [(each.freed, each.removed) for each in recent.all()] == [(6, 4), (None, 0), (None, 0)], (
        "it has begun in the cycle in which that ended"
    )


def test_an_eviction_gets_its_reason_once() -> None:
    recent = RecentDecisions()
    assert not recent.explain(HOG.uid, "because", Filled())
    recent.add(EVICT, "evict default/hog", WALL)
    assert recent.explain(HOG.uid, "because", Filled("Of 1Gi ...", HOG.full_name))
    assert not recent.explain(HOG.uid, "later, with other numbers", Filled("Of 2Gi ..."))
    assert [(each.why, each.filled, each.took_most) for each in recent.all()] == [("because", "Of 1Gi ...", True)]


def test_a_pod_did_not_take_most_because_the_sentence_has_its_name() -> None:
    """The sentence of the core was read for it: another wording would have left the advice for the owner out."""
    recent = RecentDecisions()
    recent.add(EVICT, "evict default/hog", WALL)
    recent.explain(HOG.uid, "because", Filled(f"Of 1Gi ... (most of it {HOG.full_name}, 1Gi)", "default/web"))
    assert not recent.all()[0].took_most


def test_an_eviction_keeps_the_first_time_at_which_its_pod_was_seen_to_have_ended() -> None:
    recent = RecentDecisions()
    recent.add(EVICT, "evict default/hog", WALL)
    for wall in (5, 6):
        recent.ended({HOG.uid}, wall)
    recent.ended((), 7)
    assert [each.ended for each in recent.all()] == [5]


def test_what_is_left_is_added_for_a_minute_after_the_end_of_a_pod() -> None:
    recent = RecentDecisions()
    recent.add(EVICT, "evict default/hog", WALL)
    recent.ended({HOG.uid}, WALL)
    found = []
    for seconds in (0, 1, 60, 61):
        seen = signal_observations(node(memory=f"{seconds + 1}Gi of 80Gi"))
        recent.measured(seen, WALL + seconds * SECOND)
        found += [(each.left, each.left_after) for each in recent.all()]
    assert found == [(None, 0), (2 << 30, SECOND), (61 << 30, 60 * SECOND), (61 << 30, 60 * SECOND)]


def test_what_is_left_is_not_added_after_the_next_eviction_for_the_signal() -> None:
    """`5.98Gi were left 17s after that` stood there, and memory had been short again 8 s after that (world 01)."""
    recent = RecentDecisions()
    recent.add(EVICT, "evict default/hog", WALL)
    recent.ended({HOG.uid}, WALL)
    recent.measured(signal_observations(node(memory="6Gi of 80Gi")), WALL + 4 * SECOND)
    recent.add(replace(EVICT, pod=replace(EVICT.pod, uid="next")), "evict default/next", WALL + 8 * SECOND)
    for seconds, memory in ((8, "1Gi of 80Gi"), (12, "6Gi of 80Gi")):
        recent.measured(signal_observations(node(memory=memory)), WALL + seconds * SECOND)
    assert [(each.left, each.left_after) for each in recent.all()] == [(6 << 30, 4 * SECOND), (None, 0)]


def test_the_evictions_of_one_owner_are_counted_until_ten_minutes_pass_without_one() -> None:
    recent = RecentDecisions()

    def owned(uid: str, owner: str) -> EvictPod:
        return replace(EVICT, pod=replace(EVICT.pod, uid=uid, owner=owner))

    leak, begun = "DaemonSet/leak", WALL
    for uid, owner, wall in (("a", leak, begun), ("b", "", begun), ("c", leak, begun + MINUTE), ("c", leak, begun + 1)):
        recent.add(owned(uid, owner), "evict", wall)
    recent.add(owned("d", leak), "would evict", begun + MINUTE, dry_run=True)
    assert [each.of_owner for each in recent.all()] == [1, 0, 2, 2, 1]
    assert {each.of_owner_since for each in recent.all() if each.owner and not each.dry_run} == {begun}
    recent.add(owned("e", leak), "evict", begun + 12 * MINUTE)
    assert recent.all()[-1].of_owner == 1
