"""What is to do now about an incident that is not over."""

from dataclasses import replace

import pytest

from evictd.codec.times import parse_time, rfc3339
from evictd.core.model.signal import Resource, Signal
from evictd.core.units.duration import SECOND
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.record.aftermath import MetAfter
from evictd.render.incident.record.arrivals import NewPods
from evictd.render.incident.record.grows_on import GrowsOn
from evictd.render.incident.record.incident import CONTAINER_LOGS, Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.now import left_to_do, now_of_growing, now_text
from evictd.render.incident.summary import summary_text
from evictd.render.status.remedy_texts import host_path_remedy
from tests.render.recorded_incident import incident as recorded_incident
from tests.stories import GI


def incident(*, dry_run: bool = False) -> Incident:
    """The recorded incident without the state of the node, with which all that is to do begins; the daemon answered."""
    return replace(recorded_incident(dry_run=dry_run), clear_text="", answered=True)


def again(owner: str, *, count: int = 3, need: Need = Need.NEEDED) -> Incident:
    """The incident of a pod whose owner lost so many pods here."""
    found = replace(incident(), host_filled=False, of_owner=count)
    verdict = EvictionVerdict(need=need, pod=found.event.pod, played=0)
    return replace(found, event=replace(found.event, owner=owner), verdict=verdict)


def test_a_node_that_is_short_of_something_else_is_not_said_to_be_relieved() -> None:
    """It was of PIDs, while memory was full and the kernel killed."""
    found = replace(incident(), also_short="a threshold of pid.available is met", quiet=True)
    assert found.relieved
    assert now_text(found).startswith("a threshold of pid.available is met")


@pytest.mark.parametrize(
    ("owner", "first"),
    [
        (
            "DaemonSet/leak",
            "mend DaemonSet/leak (if its last change is the cause: `kubectl -n default rollout undo daemonset/leak`)",
        ),
        ("ReplicaSet/web-5d9", "mend what ReplicaSet/web-5d9 runs"),
        ("Job/import", "stop Job/import"),
    ],
)
def test_an_owner_whose_pods_go_again_and_again_is_to_be_mended(owner: str, first: str) -> None:
    """117 evictions of one DaemonSet were told, and nothing of what to do."""
    assert now_text(again(owner)) == f"{first}, or keep its pods off this node until it is mended"


def test_nothing_is_to_do_where_the_owner_is_not_the_cause_or_lost_few_pods() -> None:
    assert left_to_do(again("DaemonSet/leak", count=2)) == ""
    assert left_to_do(again("DaemonSet/leak", need=Need.NO_POD_HELPS)) == ""
    assert left_to_do(replace(again("DaemonSet/leak"), host_filled=True)) == ""
    assert left_to_do(replace(again("DaemonSet/leak"), verdict=None)) == ""
    victims = replace(again("ReplicaSet/api"), successors=(), running=frozenset())
    grower = Grower(pod="default/web", rate=5 << 20)
    verdict = EvictionVerdict(need=Need.NEEDED, pod=victims.event.pod, growers=(grower,), played=0)
    assert left_to_do(replace(victims, verdict=verdict)) == "", "another pod grew"


def test_a_pod_with_a_host_path_is_looked_at_where_the_disk_was_filled_outside_the_measured_pods() -> None:
    """The writer was told to be passed over, and "less use outside pods" was all that was proposed."""
    found = replace(incident(), signal=Signal.NODEFS_AVAILABLE, host_filled=True, suspects={"default/writer": ""})
    look = "measure the hostPath volumes of default/writer with `du -xsh`: if they fill the disk"
    assert now_text(found) == f"{look}, end the pod and delete the files in them"
    assert now_text(replace(found, still_met=True)).startswith(f"the node is still short: {look}")
    pause = "evictions pause until 01:20:00"
    assert now_text(replace(found, still_met=True, paused=pause)).endswith(f"delete the files in them; {pause}")
    assert left_to_do(replace(found, host_filled=False)) == ""
    inodes = replace(found, signal=Signal.NODEFS_INODES_FREE, suspects={"default/writer": "DaemonSet/writer"})
    assert now_text(inodes) == host_path_remedy(["default/writer"], Resource.INODES, ["DaemonSet/writer"])


def test_the_host_is_looked_at_while_what_belongs_to_no_pod_keeps_the_node_short() -> None:
    """Nothing was said of what to do where a daemon of the host filled memory."""
    found = replace(incident(), host_filled=True, pressed=True, still_met=True)
    assert now_text(found) == (
        "the node is still short: look at the host: `systemd-cgtop -m` shows the memory of its services, "
        "`slabtop` the kernel's, and `journalctl -k` what the kernel killed"
    )
    assert "lsof +L1" in now_text(replace(found, signal=Signal.NODEFS_AVAILABLE))
    for signal, directory in ((Signal.NODEFS_AVAILABLE, "kubelet"), (Signal.IMAGEFS_INODES_FREE, "containerd")):
        mount = f'"$(findmnt -no TARGET -T /var/lib/{directory})" | sort'
        assert mount in now_text(replace(found, signal=signal)), "it said MOUNT_POINT"
    snapshots = "the node is still short: look at the host, and at snapshots that no image uses: `lsof +L1`"
    disk = now_text(replace(found, signal=Signal.NODEFS_AVAILABLE))
    assert disk.startswith(snapshots), "these were the cause, and nothing named them (world 05)"
    assert disk.endswith("`ctr -n k8s.io snapshots usage` what each snapshot of containerd holds")
    assert left_to_do(replace(found, pressed=False)) == ""
    clear = now_text(replace(found, still_met=False))
    assert clear.startswith("look at the host, which filled memory: `systemd-cgtop"), (
        "the condition stands minutes longer"
    )


def test_a_pod_that_grew_as_fast_and_still_runs_is_named() -> None:
    """Four of five pods with the same leak were evicted, and nothing was said of the fifth."""
    leaks = (Grower(pod="default/hog-old", rate=3 << 20), Grower(pod="default/web", rate=3 << 20))
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=leaks, played=0)
    found = replace(incident(), host_filled=False, verdict=verdict)
    rows = tuple(replace(row, request=0) if row.pod == "default/web" else row for row in found.ranking)
    found = replace(found, ranking=rows)
    assert "default/web" in found.running
    assert now_text(found) == "default/web grew by 3Mi a second, and it still runs: limit or end it"
    assert now_of_growing(found, "default/web") == now_text(found)
    assert (
        now_of_growing(found, "default/hog-new")
        == now_of_growing(replace(found, host_filled=True), "default/web")
        == ""
    )
    assert left_to_do(replace(found, running=frozenset())) == ""
    within = tuple(replace(row, request=1 << 40) for row in rows)
    assert left_to_do(replace(found, ranking=within)) == "", "one within its request"
    slow = replace(verdict, growers=(leaks[0], replace(leaks[1], rate=1 << 20, owner="DaemonSet/web")))
    slower = "default/web of DaemonSet/web grew by 1Mi a second, and it still runs: limit or end it"
    assert now_text(replace(found, verdict=slow)) == slower
    tiny = replace(verdict, growers=(leaks[0], replace(leaks[1], rate=1 << 18)))
    assert left_to_do(replace(found, verdict=tiny)) == "", "less than a tenth of all growth"
    half = replace(verdict, growers=(leaks[0], replace(leaks[1], rate=2 << 20)))
    assert (
        now_text(replace(found, verdict=half)) == "default/web grew by 2Mi a second, and it still runs: limit or end it"
    )
    alone = replace(verdict, growers=leaks[1:])
    assert (
        now_text(replace(found, verdict=alone))
        == "default/web grew by 3Mi a second, and it still runs: limit or end it"
    ), "a pod of high priority leaked, and seven others went for it without a word of what to do"


def test_an_owner_whose_pods_go_in_vain_is_kept_off_the_node() -> None:
    """Three pods of 50Mi went while 91Gi were used outside pods, and nothing was said of what to do (world 13)."""
    found = replace(
        again("ReplicaSet/pinned", need=Need.NO_POD_HELPS), signal=Signal.NODEFS_AVAILABLE, outside=91 << 30
    )
    first, *commands, last = now_text(found).split("; ")
    assert first == "free the disk or lower the threshold: 91Gi are used outside pods", "the cause comes first"
    assert last == "until then keep ReplicaSet/pinned off this node"
    assert any("du -xhd3" in each for each in commands)
    assert left_to_do(replace(found, outside=None)) == ""


def test_a_protected_pod_that_grew_is_to_be_limited() -> None:
    """A static pod filled the disk until nothing was left, and nothing was said of what to do."""
    grower = Grower(pod="default/etcd", rate=40 << 20)
    verdict = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", growers=(grower,), played=0)
    found = replace(incident(), host_filled=False, verdict=verdict, still_met=True)
    grew = "default/etcd grew by 85.3Mi a second, and it still runs"
    move = "or move it to another node (if it is static: change its manifest)"
    assert now_text(found) == f"the node is still short: {grew}: limit it {move}"
    logs = replace(found, grower_in=CONTAINER_LOGS, still_met=False)
    assert now_text(logs) == f"{grew}: rotate its logs (containerLogMaxSize of the kubelet) {move}"
    assert left_to_do(replace(logs, running=frozenset())) == ""


def test_the_pod_that_exceeded_its_request_is_to_be_changed_and_not_the_one_that_grew_within_its_own() -> None:
    """A limit was proposed for a pod that used 104Mi of a requested 512Mi, and nothing for the 752Mi beyond a request."""
    grower = Grower(pod="default/web", rate=3 << 20)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(grower,), played=0)
    found = replace(incident(), host_filled=False, verdict=verdict)
    rows = tuple(replace(row, request=4 * GI if row.chosen else 1 << 40) for row in found.ranking)
    found = replace(found, ranking=rows, known_for=10)
    excess = "default/hog-old held 2Gi more than it requested: let it request a tenth more than it uses, or limit it"
    grew = "default/web grew by 3Mi a second and still runs: if it grows on, the node is short again"
    assert now_text(found) == f"{excess}; {grew}", "a minute later another pod went for the same growth"
    assert now_text(replace(found, steady=frozenset({"default/web"}))) == excess
    assert now_text(replace(found, running=frozenset())) == excess
    assert now_of_growing(found, "default/web") == ""
    less = tuple(replace(row, request=row.request + GI) if row.chosen else row for row in rows)
    assert now_text(replace(found, ranking=less)) == "", "it exceeded its request by less than was missing"
    spared = tuple(replace(row, protected=not row.chosen) for row in rows)
    assert "request a tenth more" not in now_text(replace(found, ranking=spared))
    assert left_to_do(replace(found, known_for=400)) == "", "the eviction relieved the node"


def test_nothing_is_to_do_where_the_pod_that_grew_within_its_request_went_later_and_relieved_the_node() -> None:
    """Nothing at all was said of what to do to the owner of a pod that only went before the one that grew."""
    grower = Grower(pod="default/web", rate=3 << 20)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(grower,), played=0)
    found = replace(incident(), host_filled=False, verdict=verdict, running=frozenset(), met=MetAfter(again=5.0))
    rows = tuple(replace(row, request=0 if row.chosen else 1 << 40) for row in found.ranking)
    later = rfc3339(parse_time(found.event.at) + 5 * SECOND)
    went = HistoryEvent(at=later, kind=EventKind.EVICTED, pod="default/web", uid="uid-web", text="")
    found = replace(found, ranking=rows, after=(went,), still_met=False, pressed=False, known_for=300)
    relieved = "the end of default/web, which grew and was evicted after this pod, relieved the node: nothing to do"
    assert now_text(found).startswith(relieved)
    owned = replace(found, after=(replace(went, owner="Job/web"),))
    assert now_text(owned).endswith("; the next pod of Job/web may fill its node as well")
    another = replace(went, pod="default/x", uid="uid-x")
    for changed in (
        replace(found, still_met=True),
        replace(found, pressed=True),
        replace(found, known_for=20),
        replace(found, after=(went, another)),
        replace(found, running=frozenset({"default/web"})),
    ):
        assert "relieved the node" not in now_text(changed)


def test_the_cause_that_was_evicted_after_this_pod_is_to_be_mended() -> None:
    """Three pods of an owner went before the agent that leaked, and nothing was said of what to do about the agent."""
    grower = Grower(pod="default/web", rate=3 << 20)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(grower,), played=0)
    found = replace(incident(), host_filled=False, verdict=verdict, running=frozenset())
    rows = tuple(replace(row, request=0) for row in found.ranking)
    went = HistoryEvent(at="2026-01-01T00:03:30Z", kind=EventKind.EVICTED, pod="default/web", uid="uid-web", text="")
    found = replace(found, ranking=rows, after=(replace(went, owner="DaemonSet/agent"),))
    grew = "default/web grew by 3Mi a second and was evicted after this pod"
    assert now_text(found) == f"mend or limit what DaemonSet/agent runs: {grew}"
    assert left_to_do(replace(found, after=(went,))) == f"mend or limit default/web before it runs again: {grew}"
    assert left_to_do(replace(found, after=())) == ""
    within = tuple(replace(row, request=1 << 40) for row in rows)
    assert left_to_do(replace(found, ranking=within)) == "", "one within its request"


def test_the_cause_that_went_long_after_this_pod_is_to_be_mended_as_well() -> None:
    """A leak for which four workers went was named for the last three: of the first it went 16 minutes later."""
    grower = Grower(pod="default/web", rate=3 << 20)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(grower,), played=0)
    found = replace(incident(), host_filled=False, verdict=verdict, running=frozenset(), after=())
    rows = tuple(replace(row, request=0) for row in found.ranking)
    went = HistoryEvent(at="2026-01-01T00:16:30Z", kind=EventKind.EVICTED, pod="default/web", uid="uid-web", text="")
    text = left_to_do(replace(found, ranking=rows, evicted_later=(went,)))
    assert text.endswith("default/web grew by 3Mi a second and was evicted after this pod")


def test_a_threshold_above_the_normal_level_is_to_be_lowered_while_it_is_met() -> None:
    verdict = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", played=0)
    points = tuple((seconds, 1 << 29) for seconds in (-60.0, -30.0, 0.0))
    found = replace(incident(), host_filled=False, verdict=verdict, points=points, still_met=True)
    found = replace(found, event=replace(found.event, filled=""))
    assert found.stands_still
    assert now_text(found) == (
        "the threshold is still met: lower the threshold (`evictd check` shows it as an amount on this node)"
    )
    assert left_to_do(replace(found, still_met=False)) == ""


def test_what_holds_evictions_back_comes_first_while_the_node_is_short() -> None:
    """Of a budget that refused the pods that grew nothing was said (world 42)."""
    leaks = (Grower(pod="default/hog-old", rate=3 << 20), Grower(pod="default/web", rate=3 << 20))
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=leaks, played=0)
    refused = HistoryEvent(at="2026-01-01T00:00:40Z", kind=EventKind.REFUSED, pod="default/web", uid="uid-web", text="")
    found = replace(incident(), host_filled=False, verdict=verdict, after=(refused,), still_met=True)
    rows = tuple(replace(row, request=0) for row in found.ranking)
    found = replace(found, ranking=rows)
    growing = "default/web grew by 3Mi a second, and it still runs: limit or end it"
    assert now_text(found) == (
        "the node is still short: look at the disruption budgets (`kubectl get pdb --all-namespaces`): "
        f"default/web may not go; {growing}"
    )
    assert now_text(replace(found, still_met=False)) == growing
    too_little = replace(found, still_met=False, available=0, freed=0, clear=None, gone_after=1.0, known_for=60)
    too_little = replace(too_little, points=((0.0, 0), (5.0, 1 << 20)))
    assert now_text(too_little).startswith(f"{growing}; if it is short again, look at the disruption budgets")
    clear = replace(
        too_little,
        known_for=600,
        next_eviction=600.0,
        clear=1130.0,
        met=MetAfter(still=1130.0),
        event=replace(found.event, at="2026-01-01T00:10:00Z"),
    )
    assert f"{growing}; if it is short again, look" in now_text(clear)


def test_it_begins_with_the_state_of_the_node() -> None:
    """Whether the node was well again was said by the history alone (worlds 15, 22, 30, 46)."""
    ended = "no threshold of memory.available was met from 00:28:50 to the last record, 00:29:00"
    found = replace(again("DaemonSet/leak"), clear_text=ended)
    assert now_text(found).startswith(f"{ended}; mend DaemonSet/leak")
    assert now_text(replace(found, still_met=True)).startswith("the node is still short; mend DaemonSet/leak")
    assert now_text(replace(incident(dry_run=True), clear_text=ended)) == ended


def test_an_earlier_eviction_without_advice_names_the_last_one_while_the_node_is_short() -> None:
    """Of the first of three evictions "the node is still short" was all that was said; the last one named the host."""
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", played=0)
    found = replace(incident(), host_filled=False, verdict=verdict, met=MetAfter(again=30.0), still_met=True, after=())
    later = replace(found.event, pod="default/web", uid="uid-web", at="2026-01-01T00:16:30Z")
    shows = "the node is still short; `evictd incident default/web` shows the last eviction for it"
    assert now_text(replace(found, evicted_later=(later,))) == shows
    assert now_text(found) == "the node is still short"
    assert now_text(replace(found, still_met=False, evicted_later=(later,))) == ""
    disk = replace(later, evidence={"because": {"signal": "nodefs.available"}})
    assert now_text(replace(found, evicted_later=(disk,))) == "the node is still short", "for another supply"


def test_of_a_relieved_node_it_is_said_that_nothing_is_to_do_and_where_to_look_if_it_returns() -> None:
    """A burst of the host ended, and nothing said which service to look for, or that there was nothing to do."""
    found = replace(incident(), host_filled=False, verdict=None)
    assert found.relieved
    assert now_text(replace(found, ranking=())) == "the node is relieved; nothing to do, unless it is short again"
    avoided = "the node is relieved; nothing to do now; to avoid the next one, see what would have avoided it"
    assert now_text(found) == avoided, "a request that was too small was listed below"
    assert now_text(replace(found, host_filled=True)).startswith(
        "the node is relieved; if it is short again, look at the host: `systemd-cgtop -m` shows"
    )
    assert now_text(replace(found, known_for=10)) == "", "too short a time to say so"
    assert now_text(incident(dry_run=True)) == ""


def test_that_the_node_is_relieved_is_said_once() -> None:
    """`no threshold of memory.available was met from 03:56:46 to the last record; the node is relieved: nothing to do`."""
    clear = "no threshold of memory.available was met from 00:00:33 to the last record, 00:05:33"
    found = replace(incident(), host_filled=False, verdict=None, ranking=(), clear_text=clear)
    assert now_text(found) == f"{clear}; nothing to do, unless it is short again"
    assert "relieved" not in now_text(replace(found, host_filled=True))
    assert now_text(own_growth(clear_text=clear)) == f"{clear}; mend or limit default/hog-old before it runs again"


def own_growth(**changes: object) -> Incident:
    """The incident of a pod that made the node short by its own growth."""
    grower = Grower(pod="default/hog-old", rate=15 << 20)
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=(grower,), played=0)
    found = replace(incident(), host_filled=False, verdict=verdict)
    owner = str(changes.pop("owner", ""))
    return replace(found, event=replace(found.event, owner=owner), **changes)  # type: ignore[arg-type]


def test_a_pod_that_filled_the_node_is_to_be_mended_where_it_runs_next() -> None:
    """Nothing was to do, while the pod of a leaking ReplicaSet was replaced on another node."""
    relieved = "the node is relieved; "
    assert now_text(own_growth()) == f"{relieved}mend or limit default/hog-old before it runs again"
    assert now_text(own_growth(leaves=True)).endswith("; mend or limit default/hog-old before it is started anew")
    next_pod = "default/hog-new runs here and may fill this node as well"
    replaced = own_growth(owner="ReplicaSet/api")
    assert now_text(replaced) == f"{relieved}mend or limit what ReplicaSet/api runs: {next_pod}"
    assert now_text(replace(replaced, known_for=10)) == f"mend or limit what ReplicaSet/api runs: {next_pod}"
    elsewhere = replace(replaced, successors=())
    assert (
        now_text(elsewhere)
        == f"{relieved}mend or limit what ReplicaSet/api runs: its next pod may fill its node as well"
    )
    in_memory = replace(elsewhere, in_memory=True)
    assert "runs (if files in its emptyDir in memory fill it, sizeLimit bounds them): its next pod" in now_text(
        in_memory
    )
    within = tuple(replace(row, request=1 << 40) for row in replaced.ranking)
    assert now_text(replace(replaced, ranking=within)).startswith("the node is relieved; nothing to do")
    assert now_text(replace(replaced, event=replace(replaced.event, dry_run=True))) == ""


def test_a_pod_that_was_not_measured_and_held_what_was_missing_is_to_be_mended() -> None:
    """Nothing was to do, while the report said that the pod, 4.4Gi over its request, held what was missing (world 24)."""
    no_pod = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", played=0)
    found = replace(own_growth(), measured=False, verdict=no_pod)
    assert now_text(found) == "the node is relieved; mend or limit default/hog-old before it runs again"
    within = tuple(replace(row, request=1 << 40) for row in found.ranking)
    assert "mend" not in now_text(replace(found, ranking=within))


def test_a_limit_is_no_remedy_where_most_is_in_deleted_files() -> None:
    """It was said to be limited, above "which no limit and no `du` counts": with a limit it was the same eviction (world 04)."""
    usage = own_growth().ranking[0].usage or 0
    found = own_growth(signal=Signal.NODEFS_AVAILABLE, deleted=usage)
    assert now_text(found) == "the node is relieved; mend default/hog-old before it runs again"
    assert "mend or limit default/hog-old" in now_text(replace(found, deleted=usage // 3))


def test_a_pod_has_no_limit_of_its_processes_and_the_kubelet_has() -> None:
    """A fork bomb was to be limited: no field of a pod does that (world 20)."""
    found = own_growth(signal=Signal.PID_AVAILABLE)
    bound = "or bound it by podPidsLimit of the kubelet"
    assert now_text(found) == f"the node is relieved; mend default/hog-old, {bound}, before it runs again"
    owned = own_growth(signal=Signal.PID_AVAILABLE, owner="ReplicaSet/api")
    assert f"mend what ReplicaSet/api runs, {bound}: default/hog-new runs here" in now_text(owned)
    leaks = (Grower(pod="default/hog-old", rate=30), Grower(pod="default/web", rate=30))
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=leaks, played=0)
    rows = tuple(replace(row, request=0) for row in found.ranking)
    assert left_to_do(replace(found, verdict=verdict, ranking=rows)).endswith("it still runs: mend or end it")


def test_a_second_pod_of_an_owner_that_filled_the_node_is_enough_to_mend_it() -> None:
    """Of the second eviction of one StatefulSet within six minutes nothing was said."""
    found = own_growth(owner="StatefulSet/db", of_owner=2)
    assert now_text(found).startswith("mend StatefulSet/db (if its last change")
    assert "2 pods of StatefulSet/db were evicted here" in summary_text(found)
    assert "were evicted here" not in summary_text(replace(found, of_owner=1))


def test_another_pod_that_grows_is_named_beside_the_owner_that_is_to_be_mended() -> None:
    """Only the Deployment of an upload was to be mended, while a logger went on filling the same disk."""
    found = own_growth(owner="StatefulSet/db", of_owner=2)
    assert found.verdict is not None
    logger = Grower(pod="default/web", rate=10 << 20, owner="DaemonSet/logger")
    verdict = replace(found.verdict, growers=(*found.verdict.growers, logger))
    rows = tuple(replace(row, request=0) for row in found.ranking)
    said = now_text(replace(found, verdict=verdict, ranking=rows))
    assert said.startswith("mend StatefulSet/db (if its last change")
    assert "; default/web of DaemonSet/logger grew by " in said
    on = GrowsOn(growers=(logger,), short_at="11:13:44")
    said = now_text(replace(found, verdict=verdict, ranking=rows, grows_on=on))
    assert f"; {on.text(Resource.MEMORY)}: limit or end it" in said
    once = replace(found, event=replace(found.event, owner=""), of_owner=0, verdict=verdict, ranking=rows)
    assert "limit or end it; mend or limit default/hog-old" in now_text(once), "the evicted pod was left out"


def test_who_has_a_budget_that_was_passed_over_is_to_be_told() -> None:
    found = replace(incident(), host_filled=False, verdict=None)
    assert now_text(replace(found, event=replace(found.event, past_budget=True))) == (
        "the node is relieved; tell whose disruption budget guarded default/hog-old that evictd waits no "
        "longer than evictionTimeout"
    )


def test_the_number_of_pods_that_come_is_to_be_bound_where_they_alone_fill_the_node() -> None:
    """Five pods went while others kept coming, and nothing was said of what to do (world 22)."""
    verdict = EvictionVerdict(need=Need.NOTHING_SHORT, pod="default/hog-old", played=0)
    arrivals = NewPods(before=7, over=35 * SECOND)
    found = replace(incident(), host_filled=False, verdict=verdict, arrivals=arrivals, known_for=1)
    assert now_text(found).startswith("7 pods came in the 35s before it: let the pods request what they use, or lower")
    assert now_text(replace(found, arrivals=NewPods())) == ""
    within = tuple(replace(row, request=1 << 40) for row in found.ranking)
    assert now_text(replace(found, ranking=within)) == ""


def test_the_number_of_pods_is_to_be_bound_before_the_first_eviction_that_they_caused_too() -> None:
    """Only a request of the first pod that went was advised, with which its neighbour goes (world 22)."""
    arrivals = NewPods(before=7, over=35 * SECOND, held=350 << 20)
    verdict = EvictionVerdict(need=Need.NEEDED, pod=incident().event.pod, played=0)
    fallen = ((-35.0, (GI // 2) + (350 << 20)), (0.0, GI // 2))
    found = replace(
        incident(), host_filled=False, verdict=verdict, arrivals=arrivals, known_for=1, points=fallen, successors=()
    )
    assert now_text(found).startswith("7 pods came in the 35s before it: let the pods request what they use, or lower")
    assert "came in the" not in now_text(replace(found, arrivals=replace(arrivals, held=1 << 20)))


def test_a_node_that_is_still_short_for_an_unknown_reason_is_looked_at_and_its_threshold() -> None:
    """At the first reading nothing of the growth is known, and nothing was said of what to do (world 23)."""
    verdict = EvictionVerdict(need=Need.NO_POD_HELPS, pod=incident().event.pod, played=0)
    found = replace(incident(), host_filled=False, verdict=verdict, points=(), still_met=True, known_for=1)
    found = replace(found, event=replace(found.event, filled=""))
    said = now_text(found)
    assert said.startswith("the node is still short: look at the host: `systemd-cgtop -m` shows")
    assert said.endswith("; or lower the threshold (`evictd check` shows it as an amount on this node)")
    assert now_text(replace(found, still_met=False)) == ""
    other = HistoryEvent(at="2026-01-01T00:10:30Z", kind=EventKind.EVICTED, text="evict default/web", pod="default/web")
    constant = ((0.0, 3000), *((float(at), 3250) for at in range(520, 601, 10)))
    later = replace(found, points=constant, after=(other,))
    assert now_text(later).startswith("the threshold is still met: lower the threshold")
    assert summary_text(later).startswith("nothing grew afterwards")
    left = "the node was short at the journal's last reading, 00:10:30, with 3.17Ki of memory.available left: look at the host"
    assert now_text(replace(later, after=(), answered=False)).startswith(left)


def test_what_still_grows_is_named_with_the_time_at_which_the_node_is_short_again() -> None:
    """The node was said to be relieved while another pod, or the kernel, filled it again within a quarter of an hour."""
    slow = GrowsOn(growers=(Grower(pod="default/slow", rate=6 << 20),), short_at="11:13:44")
    found, mend = own_growth(grows_on=slow), "mend or limit default/hog-old before it runs again"
    again = f"{slow.text(Resource.MEMORY)}: limit or end it"
    assert now_text(found) == f"{again}; {mend}"
    assert now_of_growing(found, "default/slow") == now_text(found)
    assert now_of_growing(found, "default/web") == ""
    assert now_text(replace(found, met=MetAfter(again=855.0))) == now_text(found)
    host = GrowsOn(growers=(Grower(pod="", rate=5 << 20),), short_at="11:13:44")
    look = "look at the host: `systemd-cgtop -m` shows"
    assert now_text(replace(found, grows_on=host)).startswith(f"{host.text(Resource.MEMORY)}: {look}")
    both = now_text(replace(found, grows_on=replace(slow, growers=(*slow.growers, *host.growers))))
    assert f"limit or end it; {look}" in both
    short = replace(found, still_met=True)
    assert "short again" not in now_text(short)


def test_after_the_growth_it_says_that_nothing_grows_and_what_makes_the_node_short_again() -> None:
    """After a burst that had ended it said only to mend or limit the pod, as if something grew still."""
    leak = Grower(pod="default/hog-old", rate=5 << 20, owner="ReplicaSet/hog")
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=(leak,), played=0)
    found = replace(incident(), verdict=verdict, quiet=True, host_filled=False)
    quiet = "nothing grew any more at the journal's last record"
    assert now_text(found).startswith(
        f"{quiet}: the node is short again if default/hog-old or its next pod grows as before; "
    )
    web = replace(verdict, growers=(Grower(pod="default/web", rate=5 << 20),))
    again = f"{quiet}: the node is short again if default/web, which still runs, grows as before"
    assert again in now_text(replace(found, verdict=web))
    assert "default/hog-old, default/web grow as before" in now_text(
        replace(found, verdict=replace(verdict, growers=(leak, *web.growers)))
    )
    bare = now_text(replace(found, host_filled=True))
    assert quiet in bare
    assert "grows as before" not in bare
    assert quiet not in now_text(replace(found, quiet=False))
    assert quiet not in now_text(replace(found, still_met=True))


def test_a_pod_that_filled_the_pids_before_and_still_runs_is_to_be_mended() -> None:
    """A static pod held 5901 of 8000 PIDs, and `nothing to do now` was said of it."""
    found = replace(
        incident(), signal=Signal.PID_AVAILABLE, host_filled=False, pods_filled=True, main_grower="default/st"
    )
    verdict = EvictionVerdict(need=Need.NEEDED, pod=found.event.pod, played=0)
    found = replace(found, verdict=verdict, running=frozenset({"default/st"}))
    before = "default/st filled the PIDs before, and it still runs: "
    assert f"{before}mend or end it" in now_text(found)
    static = replace(found.ranking[0], pod="default/st", protected=True, chosen=False)
    assert f"{before}let it start fewer processes" in now_text(replace(found, ranking=(static, *found.ranking)))
    assert before not in now_text(replace(found, running=frozenset()))
    assert before not in now_text(replace(found, main_grower=found.event.pod))


def test_the_host_is_looked_at_if_the_node_is_short_again_although_this_eviction_relieved_it_for_a_while_only() -> None:
    """Host processes filled the PIDs, a second pod went 15 s later, and nothing was to do."""
    found = replace(incident(), signal=Signal.PID_AVAILABLE, host_filled=True, met=MetAfter(again=15.0), successors=())
    assert "if it is short again, look at the host: `systemd-cgtop -t`" in now_text(found)


def test_it_is_said_that_nothing_was_left_at_the_end() -> None:
    """`the node is still short` was said of a disk that had been full for minutes, as of one with 9Gi left."""
    short = replace(incident(), answered=False, still_met=True, points=((0.0, GI), (60.0, 0)))
    left = "the node was short at the journal's last reading, 00:01:30, with nothing of memory.available left; "
    assert now_text(short).startswith(left)
    for some in (((0.0, GI), (60.0, 1)), ((0.0, 0),), ()):
        assert "nothing of memory" not in now_text(replace(short, points=some))
    assert "nothing of memory" not in now_text(replace(short, paused="evictions pause until 01:20:00"))
