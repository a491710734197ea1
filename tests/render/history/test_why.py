"""Sentences about one pod."""

from collections.abc import Callable
from dataclasses import replace

from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.observation import Observation
from evictd.core.model.signal import Resource
from evictd.core.model.state import State
from evictd.daemon.telemetry.statusz.status_page import snapshot_view
from evictd.render.deciding import PlaceThen
from evictd.render.history.document import why_document
from evictd.render.history.history import EventKind, HistoryEvent, history
from evictd.render.history.pod.all_refused import AllRefused
from evictd.render.history.pod.why import OwnIncident, PodWhy, why_lines
from evictd.render.node_view import explanation_document
from evictd.render.status.remedy_texts import host_path_remedy
from tests.daemon.status import status_of
from tests.daemon.world import CONFIG, GI, HOG, NOW, STATIC, observe, pod, snapshot, uses
from tests.render.recorded_journal import journal
from tests.render.shown_nodes import blocked, play
from tests.stories import check_golden


def ask(pod: str, available: int = 4 * GI) -> PodWhy:
    seen = snapshot(available)
    explained = explanation_document(snapshot_view(seen), rows=None)
    events = tuple(event for event in history(journal()) if event.pod == pod)
    return PodWhy(pod=pod, events=events, explained=explained, status=status_of(seen, NOW))


def text(why: PodWhy) -> str:
    return "\n".join(why_lines(why))


def test_a_pod_near_a_limit_of_its_own_says_when_it_reaches_that() -> None:
    known = ask("default/web")
    row = {"pod": "default/web", "of": "emptyDir wal", "usage": 2012 << 20, "limit": 2 * GI, "secondsToLimit": 40.0}
    near = replace(known, status={**(known.status or {}), "ownLimits": [row, {**row, "pod": "default/hog"}]})
    said = text(near)
    assert "(emptyDir wal) and reaches it in about 40s at the present rate: a pod that exceeds its own limit is" in said
    assert "default/hog holds" not in said


def test_a_protected_pod_stays_for_good() -> None:
    """A limit of local storage and a lower priority were said to end that; a static pod goes for neither."""
    said = text(ask("default/etcd"))
    assert said == (
        "it stays: it is never evicted (static pod), also over its own limit of local storage\n"
        "to have it end: change its manifest, or remove that from this node"
    )


def test_a_protected_pod_for_which_no_other_one_goes_says_so() -> None:
    """Below a hard threshold, 1.3s before memory was gone, only that it is never evicted was said."""
    seen = blocked()
    explained = explanation_document(snapshot_view(seen), rows=None)
    said = text(PodWhy(pod="default/etcd", explained=explained, status=status_of(seen, seen.at)))
    assert "memory.available: no pod is evicted: ProtectedCulprit: default/etcd holds the most of all pods" in said
    assert "At 0 the kernel's OOM killer kills processes" in said
    assert "\nnow: free memory outside pods" in said


def test_a_critical_pod_is_not_evicted_over_its_own_limit() -> None:
    """It was said to go for a local-storage limit, which counts for no protected pod."""
    critical = pod("critical", priority=2_000_000_000)
    found = why_of(observe(4 * GI, pods=(HOG, critical)), "default/critical")
    assert text(found) == (
        "it stays: it is never evicted (critical priority), also over its own limit of local storage\n"
        "only a pod of a lower priority, which takes its place, may be evicted"
    )


def test_a_victim_is_being_evicted_and_its_events_are_shown() -> None:
    said = text(ask("default/hog", GI // 2))
    assert "it is being evicted for memory.available" in said
    assert "evict default/hog (grace period 1s) for memory.available" in said
    assert "\n  Evicted default/hog (6Gi): it requests none and uses 6Gi; default/web, the next, " in said


def test_a_pod_of_a_node_whose_pods_are_unknown_may_be_active() -> None:
    """It was called not active by a daemon that could not see any pod."""
    why = ask("default/nothing")
    assert why.status is not None
    said = text(replace(why, explained={"queues": []}, status={**why.status, "pods": None}))
    assert (
        "whether default/nothing is active is unknown: evictd cannot see the pods, because the container runtime"
        in said
    )
    assert "is not an active pod" not in said


def test_an_unknown_pod_is_unknown() -> None:
    why = ask("default/nothing")
    assert not why.known
    assert "is not an active pod" in text(why)


def test_without_a_daemon_the_journal_is_all() -> None:
    why = PodWhy(pod="default/hog", events=tuple(history(journal())))
    assert "no daemon answers" in text(why)
    assert why_document(why, [])["daemonAnswered"] is False


def test_without_a_daemon_an_unknown_pod_is_said_to_be_unknown() -> None:
    """A mistyped name was answered by "only the journal is known" alone."""
    evicted = tuple(each for each in history(journal()) if each.kind is EventKind.EVICTED)
    unknown = "no daemon answers, and the journal has no event of default/hgo; it has "
    assert text(PodWhy(pod="default/hgo", evicted=evicted)).startswith(unknown + "evictions of default/hog\n")
    many = tuple(replace(evicted[0], pod=f"default/{number}") for number in range(5))
    assert text(PodWhy(pod="default/hgo", evicted=many)).startswith(
        unknown + "evictions of default/4, default/3, default/2 and 2 more\n"
    )
    assert text(PodWhy(pod="default/hgo")).startswith(unknown + "no eviction\n")


SIDE = pod("side", priority=-10)


def passed_over() -> PodWhy:
    """Memory is short, and the pod of the lowest priority holds a hundredth of what is missing."""
    return why_of_side(observe(int(1.5 * GI), pods=(HOG, SIDE)))


def no_pod_would_go() -> PodWhy:
    """The only pod that may be evicted uses almost nothing."""
    return why_of_side(observe(GI // 2, pods=(STATIC, SIDE)))


def why_of_side(seen: Observation) -> PodWhy:
    """The pod `side` uses almost nothing."""
    return why_of(replace(seen, pod_stats={**seen.pod_stats, SIDE.uid: uses(SIDE, GI // 100)}), "default/side")


def why_of(seen: Observation, name: str) -> PodWhy:
    held = replace(snapshot(4 * GI), observation=seen)
    held = replace(held, state=(step := synchronize(State(), seen, CONFIG, NOW)).state, findings=step.findings)
    explained = explanation_document(snapshot_view(held), rows=None)
    return PodWhy(pod=name, explained=explained, status=status_of(held, NOW))


def test_a_pod_that_another_one_makes_unnecessary_is_said_to_stay() -> None:
    said = text(passed_over())
    assert "default/hog goes instead" in said
    assert "already below its soft threshold 2Gi; besides, default/hog would have to go first, or be skipped" in said


def test_a_journal_without_pods_was_read_nevertheless() -> None:
    """Beside a daemon without a container runtime its journal was named as read, and then as not read."""
    unknown = replace(ask("default/nothing"), events=(), journal_read=True)
    assert "the journal has no event of it" in text(unknown)
    assert "no journal was read" in text(replace(unknown, journal_read=False))


def remembered(what: str) -> PodWhy:
    """The daemon answers a user who may not read the journal."""
    seen = play([6 * GI, GI // 2, 6 * GI], gone_at=2)
    explained = explanation_document(snapshot_view(seen), rows=None)
    status = status_of(seen, seen.at)
    return PodWhy(pod=what, explained=explained, status=status, unreadable="/var/lib/evictd: Permission denied")


def replaced() -> PodWhy:
    """Its owner created it anew after an eviction."""
    found = ask("default/web")
    (event,) = (each for each in history(journal()) if each.kind is EventKind.EVICTED)
    assert found.explained is not None
    rows = [{**row, "owner": "ReplicaSet/web"} for row in found.explained["queues"][0]["rows"]]
    queue = {**found.explained["queues"][0], "rows": rows}
    gone = (replace(event, pod="default/web-old", owner="ReplicaSet/web"),)
    return replace(found, explained={**found.explained, "queues": [queue]}, evicted=gone)


ANSWERS: dict[str, Callable[[], PodWhy]] = {
    "it stays": lambda: ask("default/web"),
    "it would be first": lambda: ask("default/hog"),
    "it is protected": lambda: ask("default/etcd"),
    "it is being evicted": lambda: ask("default/hog", GI // 2),
    "it is passed over": passed_over,
    "no pod would go": no_pod_would_go,
    "it replaces another one": replaced,
    "it is unknown": lambda: ask("default/nothing"),
    "no daemon answers": lambda: PodWhy(pod="default/hog", events=tuple(history(journal()))),
    "the journal cannot be read, and it stays": lambda: remembered("default/web"),
    "the journal cannot be read, and it was evicted": lambda: remembered("default/hog"),
    "the journal cannot be read, and it is unknown": lambda: remembered("default/nothing"),
}


def test_each_kind_of_answer_is_as_in_the_golden_file() -> None:
    check_golden("why.txt", "\n".join(f"== {name} ==\n{text(make())}\n" for name, make in ANSWERS.items()))


def test_of_many_events_the_last_are_shown() -> None:
    """331 lines were printed of a pod that its budget kept, and later ten times the same two."""
    event = HistoryEvent(at="2026-01-01T00:00:00Z", kind=EventKind.KERNEL, pod="a/x", text="killed")
    lines = list(why_lines(PodWhy(pod="a/x", events=(event,) * 331)))
    assert lines[0] == "311 earlier events of it: `evictd history --pod a/x`"
    assert sum("killed" in line for line in lines) == 20
    refused = replace(event, kind=EventKind.REFUSED, text="refused")
    first, *_ = why_lines(PodWhy(pod="a/x", events=(refused,) * 331))
    assert first == "2026-01-01T00:00:00Z: refused, and 330 times more until 00:00:00"


def test_a_pod_that_no_eviction_concerned_is_told_the_last_reason_for_none() -> None:
    """Of a pod whose page cache held the threshold met nothing was said (world 36)."""
    stop = HistoryEvent(at="2026-01-01T00:01:09Z", kind=EventKind.NO_ACTION, text="only page cache holds it met")
    known = PodWhy(pod="default/reader", pods=frozenset({"default/reader"}), no_action=stop)
    assert list(why_lines(known))[1:] == ["2026-01-01T00:01:09Z: only page cache holds it met"]
    placed = list(why_lines(replace(known, last_place=("it is at place 1",))))
    assert placed[1:3] == ["2026-01-01T00:01:09Z: only page cache holds it met", "it is at place 1"], (
        "the place came first"
    )
    assert not any("page cache" in line for line in why_lines(replace(known, pods=frozenset())))
    behind = "at 5 evictions of other pods default/reader was behind the first 20"
    assert next(why_lines(replace(known, unrecorded=behind))) == behind


def test_the_pause_after_the_last_eviction_of_another_pod_is_told() -> None:
    """A pod was not evicted, because evictions paused: only its places at the evictions before were written."""
    place = PlaceThen(
        victim="default/web-1", signal="memory.available", number=2, pods=7, why="it stays", dry_run=False
    )
    stop = HistoryEvent(at="2026-01-01T00:01:09Z", kind=EventKind.NO_ACTION, text="evictions pause")
    known = PodWhy(pod="default/web-2", passed=(("2026-01-01T00:01:00Z", place),), no_action=stop)
    own = replace(known, events=(stop,))
    assert sum(stop.text in line for line in why_lines(own)) == 1, "an event of this pod was written twice (world 42)"
    protected = replace(known, passed=(("2026-01-01T00:01:00Z", replace(place, number=0)),))
    assert "; this pod was not ranked" in next(why_lines(protected)), "a place was given to one that is never evicted"
    behind = replace(known, passed=(("2026-01-01T00:01:00Z", replace(place, first=("default/web-1", "a/x"))),))
    first = "  to be evicted: default/web-1, a/x would have had to go first, or be skipped"
    assert first in list(why_lines(behind)), "of a journal only its place was said, and not what would evict it"
    assert not any("to be evicted" in line for line in why_lines(known))
    later = replace(behind, passed=(*behind.passed, ("2026-01-01T00:01:05Z", place)))
    assert first not in list(why_lines(later)), "the pods before it had gone, and it was passed over all the same"
    assert "2026-01-01T00:01:09Z: evictions pause" in list(why_lines(known))
    same_second = replace(known, no_action=replace(stop, at="2026-01-01T00:01:00Z"))
    assert "2026-01-01T00:01:00Z: evictions pause" in list(why_lines(same_second))
    assert not any("pause" in line for line in why_lines(replace(same_second, superseded=True)))
    earlier = replace(known, no_action=replace(stop, at="2026-01-01T00:00:09Z"))
    assert not any("pause" in line for line in why_lines(earlier))


def test_a_pod_that_is_told_why_none_was_evicted_is_told_what_to_do() -> None:
    """Of the static pod that filled memory, and of pods that the kernel killed for the host, no remedy was said (15, 08)."""
    evidence = {"reason": "ProtectedCulprit"}
    stop = HistoryEvent(
        at="2026-01-01T00:01:09Z",
        kind=EventKind.NO_ACTION,
        pod="a/x",
        text="evictions pause",
        signal="memory.available",
        evidence=evidence,
    )
    own = PodWhy(pod="a/x", events=(stop,), no_action=stop, asked=False)
    remedy = "now: limit a/x or move it to another node (if it is static: change its manifest)"
    assert remedy in list(why_lines(own))
    of_incident = list(why_lines(replace(own, left_to_do="lower the threshold")))
    assert "now: lower the threshold" in of_incident
    assert remedy not in of_incident
    place = PlaceThen(victim="a/y", signal="memory.available", number=2, pods=3, dry_run=False, why="why")
    passed = PodWhy(pod="a/z", passed=(("2026-01-01T00:01:00Z", place),), no_action=stop)
    assert remedy in list(why_lines(passed))
    assert remedy not in list(why_lines(replace(passed, no_action=replace(stop, at="2026-01-01T00:00:09Z"))))
    evicted = HistoryEvent(at="2026-01-01T00:02:00Z", kind=EventKind.EVICTED, pod="a/x", text="evict a/x")
    assert remedy not in list(why_lines(replace(own, events=(stop, evicted)))), "its incident says what to do"
    assert remedy not in list(why_lines(replace(own, causes=(host_path_remedy(["a/x"], Resource.INODES),)))), (
        "its volume is to be looked at"
    )


def test_events_of_the_pod_and_evictions_of_others_are_in_the_order_of_time() -> None:
    """Kills of 07:03 stood before evictions of 07:02, and the pause of 07:02 after both (world 07)."""
    place = PlaceThen(victim="a/y", signal="memory.available", number=2, pods=3, dry_run=False, why="why")
    kill = HistoryEvent(at="2026-01-01T00:03:00Z", kind=EventKind.KERNEL, pod="a/x", text="killed")
    pause = HistoryEvent(at="2026-01-01T00:02:00Z", kind=EventKind.NO_ACTION, text="paused")
    why = PodWhy(pod="a/x", events=(kill,), passed=(("2026-01-01T00:01:00Z", place),), no_action=pause)
    times = [line[:20] for line in why_lines(why) if line.startswith("2026")]
    assert times == ["2026-01-01T00:01:00Z", pause.at, kill.at]
    same = replace(why, passed=((kill.at, place),), no_action=None)
    ranked, killed = (line for line in why_lines(same) if line.startswith("2026"))
    assert "a/y was evicted" in ranked, "in one second it was ranked before it went (world 22)"
    assert "killed" in killed


def test_an_eviction_of_its_owner_is_told_once_with_its_place_at_it() -> None:
    """The eviction of the first of two pods stood before and after that of the second one (world 44)."""
    at, owner = "2026-01-01T00:01:00Z", "ReplicaSet/web"
    place = PlaceThen(victim="a/y", signal="memory.available", number=2, pods=3, dry_run=False, why="why")
    first = HistoryEvent(at=at, kind=EventKind.EVICTED, pod="a/y", owner=owner, text="evict a/y")
    own = HistoryEvent(at="2026-01-01T00:02:00Z", kind=EventKind.EVICTED, pod="a/x", owner=owner, text="evict a/x")
    why = PodWhy(pod="a/x", events=(own,), evicted=(first, own), passed=((at, place),))
    (told,) = (line for line in why_lines(why) if "a/y" in line)
    assert told.endswith("this pod was at place 2 of 3; ReplicaSet/web owns both")
    assert "evict a/y; ReplicaSet/web owns this pod and a/x" in text(replace(why, passed=()))


def test_what_to_do_about_its_growth_is_said_while_the_pod_is_there() -> None:
    place = PlaceThen(victim="a/y", signal="memory.available", number=2, pods=3, dry_run=False, why="why")
    known = PodWhy(pod="a/x", passed=(("2026-01-01T00:01:00Z", place),), growing="limit a/x")
    assert "now: limit a/x" in list(why_lines(known))
    daemon = PodWhy(pod="a/x", explained={"queues": []}, status={"leaving": [], "pods": 1}, growing="limit a/x")
    assert "now: limit a/x" not in list(why_lines(daemon)), "the daemon does not have it"
    assert "now: limit a/x" not in list(why_lines(replace(known, causes=(host_path_remedy(["a/x"], Resource.INODES),))))


def test_refusals_of_all_are_the_last_state_and_not_the_reason_before_them() -> None:
    """A culprit was named that grew no more, of a pod for which a budget refused its eviction 107 times since (world 42)."""
    place = PlaceThen(victim="a/y", signal="memory.available", number=2, pods=3, dry_run=False, why="why")
    stop = HistoryEvent(at="2026-01-01T00:01:09Z", kind=EventKind.NO_ACTION, pod="a/x", text="a/x grew more")
    refused = AllRefused(since="2026-01-01T00:01:10Z", at="2026-01-01T00:21:00Z", pods=("a/x", "a/z"))
    passed = (("2026-01-01T00:01:00Z", place),)
    known = PodWhy(pod="a/z", passed=passed, no_action=stop, superseded=True, refused=refused, asked=False)
    assert list(why_lines(known))[2:4] == [
        "2026-01-01T00:21:00Z: disruption budgets have refused each eviction since 00:01:10: of a/x, a/z",
        "now: look at the disruption budgets (`kubectl get pdb --all-namespaces`): a/x, a/z may not go",
    ]
    assert "now: limit a/x" in list(why_lines(replace(known, left_to_do="limit a/x")))
    alone = replace(known, refused=replace(refused, pods=("a/z",)))
    assert "disruption budgets have" not in text(alone), "its own refusals are listed"
    assert "refused" not in text(replace(known, passed=(), pod="a/other"))


def test_a_pod_whose_last_eviction_was_refused_is_told_why_no_other_one_went() -> None:
    """Three pods were refused for 36 minutes, and of none of them it was said what to do."""
    refused = HistoryEvent(at="2026-01-01T00:01:00Z", kind=EventKind.REFUSED, pod="a/x", text="refused")
    held = HistoryEvent(
        at="2026-01-01T00:01:01Z", kind=EventKind.NO_ACTION, text="skipped for now", evidence={"reason": "HeldBack"}
    )
    known = PodWhy(pod="a/x", events=(refused,), no_action=held, asked=False)
    remedy = (
        "look at the disruption budgets (`kubectl get pdb --all-namespaces`) and at the owners that recreate their pods"
    )
    assert list(why_lines(known))[1:3] == [f"{held.at}: skipped for now (HeldBack)", f"now: {remedy}"]
    assert "now: " not in text(replace(known, no_action=replace(held, at="2026-01-01T00:00:59Z"))), (
        "it was refused later"
    )
    assert "now: " not in text(replace(known, superseded=True))


def test_a_pod_that_nothing_concerned_is_told_of_the_kills_of_others() -> None:
    """Of a pod on a node whose kernel killed its neighbours nothing of the shortage was said (world 43)."""
    grew = "default/hog grew most before the kernel killed processes of default/api"
    why = PodWhy(
        pod="default/dhcp", pods=frozenset({"default/dhcp"}), kills=(grew, "now: set a threshold"), asked=False
    )
    assert tuple(why_lines(why))[1:] == (grew, "now: set a threshold")
    assert grew not in text(replace(why, pods=frozenset())), "a pod that was never there"
    assert grew not in text(replace(why, causes=("it grew most",))), "it was told its own"


def test_of_a_pod_without_an_event_it_is_said_which_kills_no_journal_has() -> None:
    """Of a pod that was OOMKilled on cgroup v1 it said no more than that no eviction concerned it."""
    why = PodWhy(pod="a/x", pods=frozenset({"a/x"}), asked=False)
    assert text(why).endswith("; kills by the kernel at a pod's own limit, and on cgroup v1 all, are only in `dmesg`")
    assert "dmesg" not in text(replace(why, kills=("a/y grew most before the kernel killed its processes",)))


def test_what_to_do_about_kills_by_the_kernel_is_said_in_one_line() -> None:
    """Two lines began with `now`, or none did, where the journal had evictions beside the kills."""
    kill = HistoryEvent(at="2026-01-01T00:03:00Z", kind=EventKind.KERNEL, pod="a/x", text="killed")
    killed = PodWhy(pod="a/x", events=(kill,), kill_remedies=("limit a/y",), higher_threshold=("raise it",))
    now = [line for line in why_lines(killed) if line.startswith("now: ")]
    assert now == ["now: limit a/y; raise it"]
    growing = replace(killed, growing="end a/z")
    assert "\nnow: end a/z; raise it\n" in text(growing)
    refused = AllRefused(since=kill.at, at=kill.at, pods=("a/x",))
    budget = replace(killed, refused=refused, left_to_do="look")
    assert [line for line in why_lines(budget) if line.startswith("now: ")] == ["now: look"]


def test_an_evicted_pod_that_the_kernel_killed_has_one_line_on_what_to_do() -> None:
    evicted = HistoryEvent(at="2026-01-01T00:03:00Z", kind=EventKind.EVICTED, pod="a/x", text="evict a/x")
    why = PodWhy(pod="a/x", events=(evicted,), kill_remedies=("limit a/x",), higher_threshold=("raise it",))
    told = replace(why, incident=OwnIncident(short="it went", avoidance=("would have avoided it: less",)))
    assert "in short: it went\nnow: limit a/x; raise it\nwould have avoided it: less" in text(told)
    with_now = replace(told, incident=replace(told.incident, now="relieved"))
    assert "in short: it went\nnow: relieved; raise it\nwould have avoided it: less" in text(with_now)


def test_the_condition_that_outlasts_a_pod_is_dated() -> None:
    """Of a pod that had left, the condition that was still reported was not told apart from the shortage."""
    known = ask("default/hog")
    gone = replace(known, explained={**(known.explained or {}), "queues": []})
    row = {"type": "MemoryPressure", "status": "True", "since": None, "until": None, "staysSeconds": 267.9, "why": ""}
    said = text(replace(gone, status={**(known.status or {}), "leaving": [], "conditions": [row]}))
    assert "it is not active on this node now\nMemoryPressure stays for at least 4m28s" in said


def test_a_pod_that_no_record_has_is_said_to_be_possible() -> None:
    """Of a pod that ran, but was in no cycle of the journal, only another pod's name was proposed."""
    said = text(PodWhy(pod="batch/report-1", pods=frozenset({"batch/report"}), asked=False, journal_read=True))
    assert said == (
        "the journal has no event of batch/report-1 (did you mean batch/report?); it has no eviction\n"
        "evictd records only cycles in which it decides something: a pod that ran in none of them has no record"
    )
