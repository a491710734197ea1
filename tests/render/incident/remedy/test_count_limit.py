"""Numbers for what no limit of a pod counts: processes and inodes."""

from dataclasses import replace

from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.history.history import EventKind
from evictd.render.incident.record.earlier import Earlier
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.count_limit import inodes_text, pids_limit_text
from tests.render.recorded_incident import incident


def row(number: int, pod: str, usage: int | None, *, chosen: bool = False) -> IncidentRow:
    return IncidentRow(
        number=number, pod=pod, usage=usage, request=0, priority=0, protected=False, chosen=chosen, skipped=""
    )


BOMB = Grower(pod="default/hog-old", rate=500)
VERDICT = EvictionVerdict(
    need=Need.NEEDED, pod="default/hog-old", fewest=("default/hog-old",), growers=(BOMB,), played=5 * MINUTE
)
FOUND = replace(
    incident(),
    signal=Signal.PID_AVAILABLE,
    levels=(("hard", 3276),),
    available=3275,
    ranking=(row(1, "default/hog-old", 29_245, chosen=True), row(2, "default/web", 31)),
    pods=2,
    before=(),
    verdict=VERDICT,
    host_filled=False,
)
LIMIT = "podPidsLimit of the kubelet"


def said(found: Incident) -> str:
    return pids_limit_text(found, "default/hog-old")


def test_a_number_is_more_than_others_need_and_leaves_the_threshold_clear() -> None:
    """It named the setting alone, and a reader had to find the number at night."""
    assert said(FOUND) == (
        f"{LIMIT} of at most 29244: with that many processes of it the threshold would have been clear; without that growth "
        "no pod uses more than 31, so 128 is enough for each, and 228 pods may reach that at once"
    )
    assert said(FOUND) in avoidance(FOUND).by


def test_of_two_that_grew_each_has_a_part() -> None:
    two = replace(VERDICT, growers=(BOMB, Grower(pod="default/web", rate=400)))
    ranking = (FOUND.ranking[0], row(2, "default/web", 1_000), row(3, "default/db", 40))
    text = said(replace(FOUND, verdict=two, ranking=ranking, pods=3))
    assert text.startswith(
        f"{LIMIT} of at most 15122: with that many processes of each of default/hog-old, default/web the"
    )


def test_what_the_pod_used_before_it_grew_counts() -> None:
    grown = replace(VERDICT, growers=(replace(BOMB, grown=28_745),))
    assert "no pod uses more than 500, so 2048 is enough for each" in said(replace(FOUND, verdict=grown))
    most = replace(VERDICT, growers=(replace(BOMB, grown=10),))
    assert said(replace(FOUND, verdict=most)).endswith("without that growth no pod uses more than 29235")
    none = (FOUND.ranking[0], row(2, "default/web", 29_244))
    assert said(replace(FOUND, ranking=none)).endswith("so no number fits all pods of this node")


def test_without_the_other_pods_it_says_where_to_look() -> None:
    assert "`pids.peak`" in said(replace(FOUND, pods=30))
    assert "does not have" in said(replace(FOUND, ranking=(row(1, "default/hog-old", None, chosen=True),)))


def test_a_later_eviction_names_the_first() -> None:
    """The room that earlier ends left gave a number with which these would have come all the same."""
    evidence = {"because": {"signal": Signal.PID_AVAILABLE.value}}
    first = replace(FOUND.event, uid="other", pod="default/first", owner="", evidence=evidence)
    assert first.kind is EventKind.EVICTED
    found = replace(FOUND, before=(first,))
    assert said(found) == f"{LIMIT}: `evictd incident default/first`, the first eviction for it, has the number"
    long_before = Earlier(event=replace(first, uid="long", pod="default/long-before"), missing=1)
    assert "`evictd incident default/long-before`" in said(replace(found, earlier=(long_before,)))


def test_a_pod_that_filled_the_pids_before_is_named() -> None:
    """A static pod had filled them and grew no more: no line said what would have avoided the end of the others."""
    ranking = (row(1, "default/hog-old", 41, chosen=True), replace(row(2, "default/static", 29_400), protected=True))
    still = replace(VERDICT, growers=())
    found = replace(
        FOUND, verdict=still, ranking=ranking, pods_filled=True, main_grower="default/static", host_filled=False
    )
    (by,) = avoidance(found).by
    assert by.startswith(f"fewer processes of default/static, which filled the PIDs before; {LIMIT} of at most 29399")
    assert avoidance(replace(found, main_grower="")).by == ()
    assert avoidance(replace(found, pods_filled=False)).by == ()


def test_inodes_have_a_number_where_the_pod_was_measured() -> None:
    found = replace(FOUND, signal=Signal.NODEFS_INODES_FREE)
    text = inodes_text(found, "default/hog-old")
    assert text == (
        "fewer files of default/hog-old, at most 29098 inodes (29245 that it held, less 1 that was missing, and 0.5% for "
        "rounding): no limit of a pod counts inodes"
    )
    assert text in avoidance(found).by
    assert "`df -i`" in inodes_text(found, "default/unknown")


def test_fewer_inodes_spare_the_first_pod_that_went() -> None:
    """It proposed 5.27M files, and two pods had already been evicted when there were 4.5M: a play evicted both again."""
    pod = "default/hog-old"
    event = replace(FOUND.event, pod="ci/build-0", uid="build", at="2025-12-31T23:00:30Z")
    first = Earlier(event=event, missing=25, grower=pod, now=pod, held={pod: 20_000})
    found = replace(FOUND, signal=Signal.NODEFS_INODES_FREE, earlier=(first,))
    assert inodes_text(found, pod).startswith(
        f"fewer files of {pod}, at most 19876 inodes (20000 that it held when ci/build-0 was evicted at "
    )


def test_the_number_of_inodes_is_said_at_the_eviction_of_another_pod_as_well() -> None:
    """The first pod that went for the growth of another one had only a rate."""
    event = replace(FOUND.event, pod="default/web")
    found = replace(FOUND, signal=Signal.NODEFS_INODES_FREE, event=event, verdict=replace(VERDICT, pod=event.pod))
    less, *_ = avoidance(found).by
    assert less.startswith("less growth of default/hog-old: it took 500 a second in the minute before; fewer files of ")
