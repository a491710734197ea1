"""Who took what is short, wherever it is shown."""

from dataclasses import replace

from evictd.codec.records.journal import encode_entry
from evictd.codec.records.journal_record import decode_record
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.observation import Observation
from evictd.core.model.pod import PodSource
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.statusz.status_page import snapshot_view
from evictd.render.attribution import Filled, attribution_lines, filled_by, recorded_filled_text
from evictd.render.history.history import history
from evictd.render.history.pod.why import PodWhy, why_lines
from evictd.render.node_view import explanation_document
from evictd.render.status.page.node_page import node_page
from tests.daemon.status import status_of
from tests.playbook import SINGLE, config, node, pod, usage
from tests.render.played_worlds import unread_leak_run
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.render.status.test_view import shown

WEB, STATIC = pod("web", memory="2Gi"), pod("static", source=PodSource.STATIC)
SETTINGS = config(hard={"memory.available": "500Mi"})
WALL = 1_700_000_000 * SECOND
FILLED = "of 3.9Gi that filled memory since 22:13:20, pods took 30Mi; 3.87Gi belong to no pod"


def reading(left: str, web: str, now: int) -> Observation:
    return Observation(
        node=node(memory=f"{left} of 8Gi", time=now),
        pods=(WEB, STATIC),
        pod_stats={"web": usage(WEB, memory=web), "static": usage(STATIC, memory="1Gi")},
        filesystems=SINGLE,
    )


def filled() -> tuple[Snapshot, bytes]:
    """A host that took memory within 40 s; the snapshot and the journal's line of the cycle that evicts a pod."""
    state = synchronize(State(), reading("4Gi", "1Gi", 0), SETTINGS, 0).state
    now, seen = 40 * SECOND, reading("100Mi", "1054Mi", 40 * SECOND)
    step = synchronize(state, seen, SETTINGS, now)
    line = encode_entry(now=now, wall="2023-11-14T22:14:00Z", state=state, observation=seen, config=SETTINGS, step=step)
    wall = WALL + 40 * SECOND
    return Snapshot(
        at=now, wall=wall, config=SETTINGS, state=step.state, observation=seen, findings=step.findings
    ), line


def test_the_journal_says_who_took_what_was_short() -> None:
    (event,) = (each for each in history([decode_record(filled()[1])]) if each.kind.value == "Evicted")
    assert event.filled == f"O{FILLED[1:]}."


def test_a_cycle_says_who_took_what_was_short() -> None:
    snapshot, _ = filled()
    assert filled_by(snapshot.findings, snapshot.wall).text == f"O{FILLED[1:]}."
    assert filled_by((), snapshot.wall) == Filled()


def test_a_damaged_attribution_leaves_the_event() -> None:
    damaged = filled()[1].replace(b'"overNanoseconds":40000000000', b'"overNanoseconds":"long"')
    assert damaged != filled()[1]
    (event,) = (each for each in history([decode_record(damaged)]) if each.kind.value == "Evicted")
    assert (event.filled, bool(event.why)) == ("", True)


def test_every_view_says_it() -> None:
    snapshot, _ = filled()
    snapshot = replace(snapshot, state=replace(snapshot.state, in_flight=()))  # as if the pod had not been chosen
    status = status_of(snapshot, snapshot.at)
    explained = explanation_document(snapshot_view(snapshot), rows=None)
    (entry,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    assert entry["attribution"]["text"][0] == FILLED
    assert entry["attribution"]["since"] == "2023-11-14T22:13:20Z"
    assert entry["attribution"]["elsewhere"]["grown"] == 3966 << 20
    assert FILLED in shown(status, width=120)
    assert FILLED[1:].encode() in node_page(status, explained, {}, faults=())
    assert f"  {FILLED}" in why_lines(PodWhy(pod="default/web", explained=explained, status=status))


def test_a_pod_that_was_not_measured_is_named_where_no_measured_pod_grew() -> None:
    """It said that 828Mi belong to no measured pod, and did not say which pod was not measured (world 24)."""
    record = decode_record(filled()[1])
    missing = {"kind": "StatsMissing", "pods": [{"namespace": "default", "name": "leak"}]}
    text = recorded_filled_text((*record.findings, missing), record.wall, {})
    assert text == f"O{FILLED[1:]} (not measured: default/leak)."


def test_the_holders_are_named_where_little_grew_beside_what_was_missing() -> None:
    """A new pod of 50Mi was named as what filled a disk on which 1Gi was missing (world 13)."""
    record = decode_record(filled()[1])
    because = {"limit": "100Gi", "available": "1Gi"}
    text = recorded_filled_text(record.findings, record.wall, because)
    assert text.startswith("Of 7.9Gi used of memory, evictable pods hold 1.03Gi, protected pods hold 1Gi; ")


def test_what_one_pod_took_is_no_older_than_the_pod() -> None:
    """A pod that lived 7.7 s was said to have filled memory since 37 s before: the time of its predecessors."""
    record = decode_record(filled()[1])
    (finding,) = (each for each in record.findings if each["kind"] == "Attribution")
    grown = {"held": 4 << 30, "grown": 4 << 30, "pods": 1}
    nothing = {"held": 0, "grown": 0, "pods": 0}
    alone = {**finding, "evictable": grown, "elsewhere": nothing, "grower": "default/leak", "grower_grown": 4 << 30}
    alone["growerGrown"] = alone.pop("grower_grown")

    def text(*, pods: tuple[str, ...], of: dict[str, object] = alone) -> str:
        return recorded_filled_text([of], record.wall, {}, before="2023-11-14T22:13:50Z", pods_before=pods)

    assert text(pods=()).startswith("Of 4Gi that filled memory since 22:13:50, pods took 4Gi (all of it default/leak);")
    assert " since 22:13:20, " in text(pods=("default/leak",)), "it was there before"
    assert " since 22:13:20, " in text(pods=(), of={**alone, "elsewhere": {**nothing, "grown": 1 << 30}}), "not alone"


def test_what_the_holders_of_memory_hold_adds_up_for_the_memory_of_pods_too() -> None:
    """Of the 1.46Gi of the pods' cgroup 2.41Gi were said to belong to no pod."""
    view = snapshot_view(incident_snapshot("23-threshold-never-clear", 90.4))
    texts = {text for queue in view.queues if queue.held for text in attribution_lines(queue.held, None)}
    assert len(view.queues) == 2
    assert texts == {"of 3.87Gi used of memory, evictable pods hold 1.46Gi; 2.41Gi belong to no pod"}


def test_a_pod_that_is_not_measured_is_named_in_the_cycle_that_evicts_it() -> None:
    """`Pods took 0; 891Mi belong to no measured pod`, and 4.49Gi had no age, beside the end of the pod that took it."""
    snapshot = snapshot_at(unread_leak_run(240), 300)
    (eviction,) = [each for each in status_of(snapshot, snapshot.at)["decisions"] if each["pod"]]
    unread = "(not measured: default/leak, default/quiet)"
    assert eviction["filled"].endswith(f", pods took 0; 891Mi belong to no measured pod {unread}.")
    assert eviction["why"].startswith("Evicted default/leak (4.49Gi 55s before): it exceeds its request by 4.24Gi")
