"""Whether a pod that was not evicted may be why others were."""

from typing import Any

import msgspec

from evictd.codec.records.journal_record import JournalRecord, decode_record
from evictd.codec.records.recorded_pod import RecordedContainer, RecordedResources, RecordedSpec
from evictd.commands.played.world_journal import journal_lines
from evictd.core.model.signal import Resource
from evictd.core.units.duration import SECOND
from evictd.render.history.history import EventKind, history
from evictd.render.history.pod.why_cause import cause_lines
from evictd.render.status.remedy_texts import host_path_remedy
from tests.render.history.test_suspects import record as of_host_path
from tests.render.played_worlds import incident_run
from tests.render.recorded_incident import recorded
from tests.stories import GI

EVICTION = {"kind": "EvictPod", "shortens": False, "pod": {"uid": "uid-web"}}


def evicting(record: JournalRecord, signal: str, **attribution: Any) -> JournalRecord:
    """The cycle, with an eviction for the signal and with other values in its attribution."""
    held = next(
        each for one in recorded() for each in one.findings if each.get("kind") == "Attribution" and each["used"]
    )
    others = [each for each in record.findings if each.get("kind") != "Attribution"]
    return msgspec.structs.replace(
        record,
        decisions=({**EVICTION, "because": {"signal": signal}},),
        findings=(*others, {**held, "overNanoseconds": 30 * 10**9, "signal": signal, **attribution}),
    )


def test_a_pod_with_a_host_path_volume_may_be_the_cause_of_a_full_disk() -> None:
    """Only places in the ranking were written of the writer that filled the disk."""
    elsewhere = {"held": 9 * GI, "grown": 2 * GI, "pods": 0}
    record = evicting(of_host_path("nodefs.available"), "nodefs.available", elsewhere=elsewhere)
    said = cause_lines([record], "default/writer")
    assert said[0].startswith(
        "it may be the cause, because its hostPath volume is not measured: of 2Gi that filled the disk"
    )
    assert said[1] == host_path_remedy(["default/writer"], Resource.EPHEMERAL_STORAGE)
    assert cause_lines([record], "default/web") == ()


def test_a_pod_with_a_host_path_volume_is_measured_in_inodes_where_these_are_short() -> None:
    """It advised to see whether the volume fills the disk, of which half was free."""
    elsewhere = {"held": 9000, "grown": 8000, "pods": 0}
    record = evicting(of_host_path("nodefs.inodesFree"), "nodefs.inodesFree", elsewhere=elsewhere)
    assert cause_lines([record], "default/writer")[1] == host_path_remedy(["default/writer"], Resource.INODES)


def test_a_pod_that_grew_most_is_said_to_with_its_request() -> None:
    """Nothing was said of the growth of a pod of high priority that stayed within its request."""
    whole = next(each for each in recorded() if any(one.get("kind") == "EvictPod" for one in each.decisions))
    grown = {"held": 9 * GI, "grown": 3 * GI, "pods": 2}
    none = {"held": 0, "grown": 0, "pods": 0}
    of_pod = {"evictable": grown, "elsewhere": none, "grower": "default/web", "growerGrown": 3 * GI}
    record = evicting(whole, "memory.available", **of_pod)
    (said,) = cause_lines([record], "default/web")
    assert said.startswith("it grew most then: of 3Gi that filled memory")
    (ranking,) = (each for each in record.findings if each.get("kind") == "Ranking")
    rows = [{**row, "request": 8 * GI} for row in ranking["rows"]]
    others = [each for each in record.findings if each is not ranking]
    within = msgspec.structs.replace(record, findings=({**ranking, "rows": rows}, *others))
    (said,) = cause_lines([within], "default/web")
    assert said.startswith("it grew most then, within its request (5Gi of 8Gi): of 3Gi that filled memory")
    assert cause_lines([within], "default/hog-old") == ()
    unranked = msgspec.structs.replace(within, findings=tuple(others))
    assert cause_lines([unranked], "default/web")[0].startswith("it grew most then: of 3Gi"), "it requests none"
    asks = RecordedContainer(resources=RecordedResources(requests={"memory": "8Gi"}))
    spec = RecordedSpec(containers=(asks,))
    pods = tuple(msgspec.structs.replace(each, spec=spec) for each in record.observation.pods)
    observation = msgspec.structs.replace(record.observation, pods=pods)
    unranked = msgspec.structs.replace(unranked, observation=observation)
    assert cause_lines([unranked], "default/web") == (said,), (
        "no pod had to be chosen, so there is no ranking (world 11)"
    )


def test_a_pod_that_took_little_of_what_was_missing_is_not_named_as_the_cause() -> None:
    """A new pod of 50Mi "grew most" on a disk on which 1Gi was missing (world 13)."""
    whole = next(each for each in recorded() if any(one.get("kind") == "EvictPod" for one in each.decisions))
    little = {"held": GI, "grown": GI // 20, "pods": 1}
    none = {"held": 0, "grown": 0, "pods": 0}
    record = evicting(
        whole, "memory.available", evictable=little, elsewhere=none, grower="default/web", growerGrown=GI // 20
    )
    assert cause_lines([record], "default/web")
    because = {"signal": "memory.available", "limit": "10Gi", "available": "9Gi"}
    short = msgspec.structs.replace(record, decisions=({**EVICTION, "because": because},))
    assert cause_lines([short], "default/web") == ()


def test_a_pod_that_grew_most_when_a_grace_period_was_shortened_is_said_to() -> None:
    """Of a new pod that filled memory while the old one was being deleted nothing was said (world 11)."""
    lines = journal_lines(incident_run("11-leaving-pod"), end=1_800_000_000 * SECOND)
    records = [decode_record(line) for line in lines]
    (said,) = cause_lines(records, "default/new")
    assert said.startswith(
        "it grew most when the grace period of default/old was shortened, within its request (2.5Gi of 3Gi): "
        "of 1.32Gi that filled"
    )
    assert "all of it default/new" in said
    assert cause_lines(records, "default/old") == ()
    (shortened,) = (each for each in history(records) if each.kind is EventKind.SHORTENED)
    assert shortened.filled.endswith("(all of it default/new); nothing else grew.")


def test_a_pod_that_grew_most_when_a_condition_began_is_said_to_though_images_were_enough() -> None:
    """Of the pod that filled a disk `evictd why` knew nothing, where the deletion of images was enough (world 41)."""
    lines = journal_lines(incident_run("41-images-beside-a-new-pod"), end=1_800_000_000 * SECOND)
    records = [decode_record(line) for line in lines]
    said, held = cause_lines(records, "default/new")
    assert held == "unused images held 10Gi of the 24.7Gi in use: their deletion gave that back"
    assert said.startswith(
        "it grew most when DiskPressure began, at 2027-01-15T07:50:40Z: of 3.91Gi that filled the disk"
    )
    assert "all of it default/new" in said
    assert cause_lines(records, "default/web-0") == ()


def test_a_pod_that_filled_memory_within_a_grace_period_is_said_to_have() -> None:
    """Of the pod that had taken 4.6Gi only "no eviction of the journal concerned it" was written (world 34)."""
    lines = journal_lines(incident_run("34-control-burst-within-grace"), end=1_800_000_000 * SECOND)
    records = [decode_record(line) for line in lines]
    grew, grace = cause_lines(records, "default/batch")
    assert "of 4.58Gi that filled memory" in grew
    assert grace.startswith("the soft threshold of memory.available was met with 1m30s of its grace period left")
    assert cause_lines(records, "default/web-0") == ()
