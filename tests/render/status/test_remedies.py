"""What a person can do: by the reason for no eviction, and by who took what is short."""

from typing import Any

import pytest

from evictd.core.model.signal import Resource
from evictd.render.status.headline import headline
from evictd.render.status.own_faults import FAULT_REMEDIES, OwnFaultKind
from evictd.render.status.remedy.remedies import grew_elsewhere, outside_pods, remedies, to_do
from evictd.render.status.remedy_texts import LOWER_THRESHOLD, REMEDIES, host_path_remedy
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.render.shown_nodes import approaching, blocked, calm, play, pressed, rehearsed
from tests.render.snapshots import incident_snapshot

OUTSIDE = "free memory outside pods (`systemd-cgtop -m` shows host services, `slabtop` the kernel)"


def stopped(reason: str, signal: str = "memory.available", **grown: int) -> list[str]:
    """What to do about a threshold that is due, for this reason; `grown` by kind of holder."""
    snapshot = blocked()
    status = status_of(snapshot, snapshot.at)
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    held: dict[str, Any] = dict(memory["attribution"])
    for kind in ("protected", "elsewhere"):
        held[kind] = {**held[kind], "grown": grown.get(kind, 0)}
    return remedies({**status, "signals": [{**memory, "signal": signal, "stopReason": reason, "attribution": held}]})


def test_a_protected_pod_comes_second_where_what_grew_belongs_to_no_pod() -> None:
    limit = "limit default/etcd or move it to another node (change its manifest)"
    assert stopped("ProtectedCulprit", protected=GI) == [limit]
    first, second = stopped("ProtectedCulprit", elsewhere=GI)
    assert first == f"{OUTSIDE}: what grew belongs to no pod"
    assert second == f"after that, {limit}: it holds the most, and did not grow", "it said that the pod took less"
    assert stopped("ProtectedCulprit", elsewhere=GI, protected=1)[1] == f"after that, {limit}: it took less"


def test_a_protected_pod_has_no_limit_of_pids_and_of_inodes() -> None:
    """It advised to limit a static pod that took all PIDs: no limit of a pod counts them."""
    move = "or move it to another node (change its manifest)"
    fewer = "let default/etcd start fewer processes and threads (podPidsLimit of the kubelet bounds each pod)"
    assert stopped("ProtectedCulprit", signal="pid.available", protected=GI) == [f"{fewer} {move}"]
    (inodes,) = stopped("ProtectedCulprit", signal="nodefs.inodesFree", protected=GI)
    assert inodes == f"let default/etcd keep fewer files {move}"


def test_a_static_pod_that_grew_is_not_to_be_ended_while_evictions_pause() -> None:
    """It advised to end a static pod, which the kubelet starts again."""
    short = blocked()
    status = status_of(short, short.at)
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    held = {**memory["attribution"], "grower": "default/etcd", "growerGrown": GI}
    held |= {kind: {**held[kind], "grown": grown} for kind, grown in (("protected", GI), ("elsewhere", 0))}
    paused = {**memory, "stopReason": "EvictionsDoNotHelp", "stopPod": "", "attribution": held}
    limit = "limit default/etcd or move it to another node (if it is static: change its manifest): it grew the most"
    assert remedies({**status, "signals": [paused]}) == [limit]


def test_a_pod_that_is_being_evicted_needs_no_limit() -> None:
    """It advised to limit "the protected pod" where the pod that holds the most was leaving."""
    snapshot = blocked()
    status = status_of(snapshot, snapshot.at)
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    assert memory["stopPod"] == "default/etcd"
    memory["attribution"] = None
    assert len(remedies(status)) == 1
    assert remedies({**status, "leaving": [{"pod": "default/etcd", "endsInSeconds": None}]}) == []
    row = {"pod": "default/etcd", "signal": "memory.available", "held": GI, "missing": GI, "endsInSeconds": None}
    assert remedies({**status, "leaving": [row]}) == []
    assert remedies({**status, "leaving": [{**row, "held": GI - 1}]}) == [OUTSIDE], (
        "no step was named beside `too little`"
    )
    memory["stopPod"] = ""
    of_protected = "limit the protected pod or move it to another node (if it is static: change its manifest)"
    assert remedies(status) == [of_protected], "it is unknown which pod that is"


@pytest.mark.parametrize("reason", ["NothingHelps", "EvictionsDoNotHelp", "NoActivePods"])
def test_where_no_eviction_helps_it_is_said_once_where_to_look(reason: str) -> None:
    assert stopped(reason, elsewhere=GI) == [OUTSIDE]


def test_what_evictd_waits_for_needs_nobody() -> None:
    assert stopped("WaitingForVictim") == []
    assert stopped("ReasonOfANewerDaemon") == []


def test_each_state_but_calm_has_a_next_step() -> None:
    states = {make.__name__: remedies(status_of(made := make(), made.at)) for make in (calm, pressed, rehearsed)}
    grew = f"{OUTSIDE}: what grew belongs to no pod"
    enable = (
        "to let evictd evict, set `dryRun: false` in its configuration file and reload it (`systemctl reload evictd`; with Helm "
        "in the values file, then upgrade): that can evict default/hog at once"
    )
    assert states == {"calm": [], "pressed": [grew], "rehearsed": [grew, enable]}


def test_a_dry_run_that_knows_no_pods_is_not_to_be_ended() -> None:
    """It advised to let evictd evict while no runtime listed the pods."""
    dry = rehearsed()
    status = {**status_of(dry, dry.at), "pods": None}
    assert not any("dryRun: false" in text for text in remedies(status))


def test_if_the_growth_has_ended_the_advice_names_the_pod_that_goes_then() -> None:
    """Advice was to end the pod that had grown, and another one was evicted three seconds later."""
    near = approaching()
    status = status_of(near, near.at)
    signals = [{**each, "nextIfItStops": {"pod": "default/small\x1b"}} for each in status["signals"]]
    (text,) = remedies({**status, "signals": signals})
    assert text.endswith(r"; if the growth has ended, end, move or limit default/small\x1b, which goes then")


def test_before_a_threshold_is_met_the_remedy_is_for_what_grows() -> None:
    """It advised to end one of the largest pods, where none grew and one was static."""
    near = approaching()
    status = status_of(near, near.at)
    keeps = "; `evictd why default/hog` says what would keep that pod"
    assert remedies(status) == [f"{OUTSIDE}: what grew belongs to no pod{keeps}"]
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]

    def first(growing: dict[str, Any] | None) -> str:
        (text,) = remedies({**status, "signals": [{**memory, "growing": growing}]})
        return text.removesuffix(keeps)

    grower = {"pod": "default/hog", "grown": GI, "protected": ""}
    growth = {"overSeconds": 60, "pods": [grower], "ofPods": GI, "elsewhere": GI}
    assert first(growth) == "end, move or limit default/hog, which grew the most"
    static = {**grower, "protected": "static pod"}
    assert first({**growth, "pods": [static]}).startswith("limit default/hog or move it to another node")
    unknown = f"end, move or limit one of the largest pods that may be evicted, or {OUTSIDE}"
    assert first(None) == first({**growth, "pods": [], "ofPods": 0, "elsewhere": None}) == unknown
    assert outside_pods({"signal": "nodefs.available"}).startswith("free disk space outside pods")


def test_pods_that_were_not_measured_may_hold_what_is_missing() -> None:
    """Where the readings of pods failed, the advice was to free memory outside pods, and a pod filled it."""
    near = approaching()
    status = status_of(near, near.at)
    (memory,) = [entry for entry in status["signals"] if entry["signal"] == "memory.available"]
    none = {"held": 0, "grown": 0, "pods": 0}
    held = {**memory["attribution"], "evictable": none, "protected": none, "unmeasured": {**none, "pods": 3}}
    entry = {**memory, "next": None, "stopReason": "NoPodMeasured", "growing": None, "attribution": held}
    blind = {**status, "signals": [entry]}
    assert remedies(blind)[0].startswith(
        "end, move or limit one of the largest pods that may be evicted, or free memory"
    )
    failed = [{"source": "runtime", "detail": "ListPodSandboxStats: UNAVAILABLE"}]
    assert remedies({**blind, "problems": failed}) == [REMEDIES["NoPodMeasured"]]


def test_a_node_without_pods_has_none_to_end() -> None:
    near = approaching()
    status = status_of(near, near.at)
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    unknown = {**memory, "growing": None, "beyondPods": None, "attribution": None, "next": None}
    assert remedies({**status, "pods": 0, "signals": [unknown]}) == [OUTSIDE]


def test_what_grew_outside_pods_is_said_once_while_a_hard_threshold_comes_near() -> None:
    soft = play([*(6 * GI - number * GI // 16 for number in range(60)), 2 * GI - 1, 2 * GI - GI // 16])
    assert remedies(status_of(soft, soft.at)) == [f"{OUTSIDE}: what grew belongs to no pod"]


def test_the_pod_that_grew_the_most_stays_named_once_a_soft_threshold_is_met() -> None:
    """It advised to free memory outside pods, beside `all of it default/hog; nothing else grew`."""
    soft = play([6 * GI - number * GI // 4 for number in range(18)], grow=GI // 4)
    status = status_of(soft, soft.at)
    keeps = "; `evictd why default/hog` says what would keep that pod"
    assert remedies(status) == [f"end, move or limit default/hog, which grew the most{keeps}"]
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    held = memory["attribution"]
    static = {**held, "evictable": held["protected"], "protected": held["evictable"], "grower": "default/etcd"}
    (text,) = remedies({**status, "signals": [{**memory, "attribution": static}]})
    assert text.startswith("limit default/etcd or move it to another node")


def test_a_leaving_pod_that_alone_grew_needs_no_step_and_nothing_is_said_twice() -> None:
    """It advised to move static pods, and twice to free memory outside pods, where only the leaving pod grew."""
    left = play([4 * GI - number * GI // 20 for number in range(50)], grow=GI // 20)
    status = status_of(left, left.at)
    assert {row["pod"] for row in status["leaving"]} == {"default/hog", "default/web"}
    (stuck,) = remedies(status)
    assert stuck.startswith("look why default/hog")
    status = {**status, "leaving": [{**row, "endsInSeconds": 1.0} for row in status["leaving"]]}
    assert remedies(status) == []
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    unknown = {**memory, "attribution": {**memory["attribution"], "grower": ""}}
    assert remedies({**status, "signals": [unknown]}) == [f"move static or critical pods, or {OUTSIDE}"]
    near = {**unknown, "stopReason": ""}
    assert remedies({**status, "signals": [near]}) == [OUTSIDE], "no pod is left that may be evicted"


def test_growth_of_pods_that_is_as_large_is_no_growth_elsewhere() -> None:
    share = {"grown": 5}
    none = {kind: {"grown": 0} for kind in ("evictable", "leaving", "unmeasured")}
    entry = {"attribution": {**none, "overNanoseconds": 1, "protected": share, "elsewhere": share}}
    assert not grew_elsewhere(entry)
    assert grew_elsewhere({"attribution": {**entry["attribution"], "elsewhere": {"grown": 6}}})
    assert not grew_elsewhere({"attribution": {**entry["attribution"], "overNanoseconds": None}})
    assert not grew_elsewhere({"attribution": None})


def test_the_remedy_of_a_fault_of_evictd_comes_first_and_an_unknown_fault_has_none() -> None:
    snapshot = pressed()
    status = status_of(snapshot, snapshot.at)
    found = to_do({**status, "faults": [OwnFaultKind.PODS.value, "of another version"]})
    assert found.startswith(FAULT_REMEDIES[OwnFaultKind.PODS])
    assert to_do({**status, "faults": ["of another version"]}) == "; ".join(remedies(status))
    assert to_do({**status, "faults": [OwnFaultKind.STUCK.value]}) == FAULT_REMEDIES[OwnFaultKind.STUCK]


def test_an_unread_node_without_a_problem_points_to_the_log() -> None:
    """It advised to restore readings that are named under Health, which named none."""
    snapshot = pressed()
    status = {**status_of(snapshot, snapshot.at), "faults": [OwnFaultKind.NODE.value]}
    assert status["problems"] == []
    assert to_do(status) == "look at evictd's log: no reading was reported as a problem"
    problem = {"source": "nodefs", "detail": "Input/output error"}
    assert to_do({**status, "problems": [problem]}) == FAULT_REMEDIES[OwnFaultKind.NODE]


def test_a_missing_root_directory_is_to_be_made_or_set() -> None:
    snapshot = calm()
    status = status_of(snapshot, snapshot.at)
    missing = {"source": "nodefs", "detail": "/var/lib/kubelet: No such file or directory"}
    assert remedies({**status, "problems": [missing]}) == [
        "without a kubelet, make rootDir or set it to a directory of the disk that pods fill"
    ]


def test_the_advice_is_that_of_the_incident() -> None:
    """Where nothing grows the page said to free memory outside pods, and `incident` to lower the threshold."""
    still = incident_snapshot("23-threshold-never-clear", 100)
    status = status_of(still, still.at)
    assert remedies(status) == [LOWER_THRESHOLD], (
        "all pods together held less than was missing: to move them does not help"
    )
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    near = {**memory, "available": memory["thresholds"][0]["limit"] - GI}
    assert remedies({**status, "signals": [near]}) == [REMEDIES["ThresholdNeverClear"]]
    written = incident_snapshot("02-host-path-writer", 373)
    first, second = remedies(status_of(written, written.at))
    assert first == host_path_remedy(["default/writer"], Resource.EPHEMERAL_STORAGE)
    assert second.startswith("free disk space outside pods")
    (disk,) = [e for e in status_of(written, written.at)["signals"] if e["signal"] == "nodefs.available"]
    assert disk["hostPathPods"] == ["default/writer"]
    assert disk["hostPathOwners"] == []
    owned = {**disk, "hostPathOwners": ["DaemonSet/writer"]}
    assert "first mend DaemonSet/writer, which" in remedies({**status_of(written, written.at), "signals": [owned]})[0]
    (memory,) = [e for e in status_of(still, still.at)["signals"] if e["signal"] == "memory.available"]
    assert memory["hostPathPods"] == []


def test_the_advice_before_a_disk_is_short_is_the_one_after_it() -> None:
    """It advised to end one of the largest pods until the threshold was met, though no pod grew."""
    before, after = (incident_snapshot("02-host-path-writer", seconds) for seconds in (300, 350))
    keeps = "; `evictd why default/web-0` says what would keep that pod"
    assert remedies(status_of(before, before.at)) == ["; ".join(remedies(status_of(after, after.at))) + keeps]
    leaked = incident_snapshot("05-orphaned-snapshots", 300)
    (outside,) = remedies(status_of(leaked, leaked.at))
    assert outside.startswith("free disk space outside pods")


def test_a_static_pod_that_was_killed_and_grew_again_stays_the_one_to_limit() -> None:
    """It advised to end the largest pods that may be evicted, beside a headline that named the static pod."""
    for seconds in (360, 400, 440):
        killed = incident_snapshot("15-static-culprit", seconds)
        (limit,) = remedies(status_of(killed, killed.at))
        assert limit == "limit default/static or move it to another node (change its manifest): it grew the most"


def test_a_pod_that_does_not_end_is_to_be_looked_at_first_and_no_static_pod_that_did_not_grow() -> None:
    """It advised to move static pods beside `pods took 0`, and nothing about the pod that had been ending for 44 minutes."""
    stuck = play([*[6 * GI] * 89, GI // 2], processes=17_000)
    late, memory, processes = remedies(status_of(stuck, stuck.at))
    assert late.startswith(
        "look why default/hog does not end: a process in uninterruptible sleep cannot be killed (state D in"
    )
    assert "the runtime does not stop it (`journalctl --unit containerd`, or crio)" in late
    assert memory == f"for memory.available: {OUTSIDE}: what grew belongs to no pod"
    assert processes.startswith("for pid.available: end processes outside pods")


def test_where_only_page_cache_holds_a_threshold_met_the_formula_is_named() -> None:
    """The headline named no page cache, and nothing was to do although MemoryPressure kept pods away."""
    for incident, seconds in (("36-file-reader", 400), ("37-control-thrashing-reader", 60)):
        cached = incident_snapshot(incident, seconds)
        status = status_of(cached, cached.at)
        assert "No pod would be evicted until tasks stall: MemAvailable is" in headline(status).text
        (text,) = remedies(status)
        assert text.startswith("set `memory.formula: MemAvailable`, which does not count page cache")
        assert next(each["status"] for each in status["conditions"] if each["type"] == "MemoryPressure") == "True"


def test_while_more_pods_may_have_to_go_there_is_something_to_do() -> None:
    """During a grace period, a collection, or the end of a pod that holds too little, the page named no step."""

    def texts(incident: str, *seconds: int) -> list[list[str]]:
        seen = [incident_snapshot(incident, each) for each in seconds]
        return [remedies(status_of(each, each.at)) for each in seen]

    some = "end, move or limit some of the pods"
    several = f"{some}: several grew (the most: default/web-10 by 150Mi), and none took most of it"
    grace, leaving = texts("44-limit-of-evictions", 360, 377)
    assert grace == [f"{several}; `evictd why default/web-0` says what would keep that pod"], "it named one of twenty"
    assert leaving == [f"{several}; `evictd why default/web-1` says what would keep that pod"]
    leaks = "default/leak-0 by 900Mi, default/leak-1 by 900Mi, default/leak-2 by 900Mi"
    keeps = "`evictd why default/leak-0` says what would keep that pod"
    (near,) = texts("30-control-many-hogs", 300)
    assert near == [f"{some}: several grew (the most: {leaks}), and none took most of it; {keeps}"]
    (collection,) = texts("40-images-fill-inodes", 330)
    keeps = "`evictd why default/app` says what would keep that pod"
    waits = "wait until evictd has removed the images that no pod uses (in 45s at most); if that is too little"
    assert collection == [f"{waits}, end, move or limit default/app, which grew the most; {keeps}"]


def test_the_protected_pod_that_the_headline_blames_is_the_one_to_limit_where_no_growth_is_known() -> None:
    near = approaching()
    status = status_of(near, near.at)
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    blamed = {"stopReason": "ProtectedCulprit", "stopPod": "default/etcd", "stopPodGuard": "static pod", "next": None}
    (text,) = remedies({**status, "signals": [{**memory, **blamed, "growing": None}]})
    assert text == "limit default/etcd or move it to another node (change its manifest)"


def test_below_a_hard_threshold_without_a_leaving_pod_there_is_something_to_do() -> None:
    """With nine seconds to 0 inodes, while evictd waited for a measurement, the page named no step."""
    for incident, seconds, pod in (("12-container-log", 465, "chatty"), ("09-inodes-of-a-volume", 239, "files")):
        waits = incident_snapshot(incident, seconds)
        status = status_of(waits, waits.at)
        keeps = f"`evictd why default/{pod}` says what would keep that pod"
        assert remedies(status) == [f"end, move or limit default/{pod}, which grew the most; {keeps}"]
        assert remedies({**status, "asked": [{"pod": "a/b", "refusals": 0, "refusedFirst": ""}]}) == []


def test_a_pod_that_grew_by_little_of_what_is_missing_is_no_advice() -> None:
    """It advised to end a pod of 50Mi, the successor of two whose evictions did not help, where 1.05Gi were missing."""
    outside = (
        "free disk space outside pods (hostPath directories, deleted files that are open: `lsof +L1`, snapshots that no "
        "image uses)"
    )
    for seconds in (60, 400):
        waits = incident_snapshot("13-pinned-deployment", seconds)
        assert remedies(status_of(waits, waits.at)) == [outside]
    goes = incident_snapshot("13-pinned-deployment", 612)
    status = status_of(goes, goes.at)
    assert remedies(status) == [f"{outside}; `evictd why default/pinned-2` says what would keep that pod"]
    for entry in status["signals"]:
        if entry.get("attribution"):
            entry["attribution"]["evictable"]["held"] = 5 * GI
    (text,) = remedies(status)
    assert text.startswith(f"end, move or limit one of the largest pods that may be evicted, or {outside}")


def test_no_pod_is_to_be_ended_where_more_was_taken_than_all_pods_hold() -> None:
    """`Depletion, move or limit one of the largest pods` was said while the host filled the disk (world 06)."""
    snapshot = incident_snapshot("06-collection-frees-nothing", 60)
    (text,) = remedies(status_of(snapshot, snapshot.at))
    assert text.startswith("free disk space outside pods")
    assert text.endswith(": what grew belongs to no pod; `evictd why default/web-0` says what would keep that pod")


def two_short(**memory: Any) -> dict[str, Any]:
    """A dry run in which a disk is short and a static pod filled it; `memory` of the entry of memory, which is near."""
    snapshot = approaching()
    status = status_of(snapshot, snapshot.at)
    (near,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    grown = {"pod": "default/etcd", "grown": GI, "filePages": 0, "withinRequest": False, "protected": "static pod"}
    near = {**near, "growing": {"overSeconds": 60, "pods": [grown], "ofPods": GI, "elsewhere": 0}, **memory}
    none = {"held": 0, "grown": 0, "pods": 0}
    held: dict[str, Any] = dict.fromkeys(("evictable", "leaving", "unmeasured", "elsewhere"), none)
    held |= {"signal": "nodefs.available", "overNanoseconds": 1, "protected": {"held": GI, "grown": GI, "pods": 1}}
    held |= {"grower": "default/etcd", "growerGrown": GI, "reclaimable": 0}
    soft = {**near["thresholds"][0], "met": True, "graceLeftSeconds": 0.0, "limit": near["available"] + GI // 2}
    short = {**near, "signal": "nodefs.available", "thresholds": [soft], "attribution": held, "growing": None}
    return {**status, "dryRun": True, "signals": [near, {**short, "lately": None}]}


LIMIT_STATIC = "limit default/etcd or move it to another node (change its manifest): it grew the most"
KEEPS = "; `evictd why default/hog` says what would keep that pod"


def test_the_same_advice_for_two_signals_is_given_once() -> None:
    """It stood twice: the kind of the static pod was known from the growth of one of them only."""
    texts = remedies(two_short())
    assert [each for each in texts if "etcd" in each] == [LIMIT_STATIC + KEEPS]


def test_different_advice_for_two_signals_names_each() -> None:
    """`end, move or limit a; end, move or limit b` did not say which of them was about the short disk."""
    grown = {"pod": "default/hog", "grown": GI, "filePages": 0, "withinRequest": False, "protected": ""}
    texts = remedies(two_short(growing={"overSeconds": 60, "pods": [grown], "ofPods": GI, "elsewhere": 0}))
    of_memory = "for memory.available: end, move or limit default/hog, which grew the most"
    generic = LIMIT_STATIC.replace("change", "if it is static: change")
    assert texts[1:] == [f"{of_memory}{KEEPS}", f"for nodefs.available: {generic}"]


def test_beside_a_short_signal_one_that_has_nearly_stopped_to_fall_needs_nothing() -> None:
    """For memory that fell by kibibytes, hours from its threshold, pods were to be ended beside a short disk."""
    texts = remedies(two_short(lately={"overSeconds": 10.0, "fillRate": 0}))
    assert not any("memory.available" in each for each in texts)


def test_a_dry_run_has_the_advice_about_the_cause_too() -> None:
    """Its only advice was to end the dry run, beside the line that named the pod which filled the disk."""
    status = two_short()
    assert [each for each in remedies({**status, "signals": status["signals"][1:]}) if "etcd" in each]
