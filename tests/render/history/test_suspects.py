"""Which pods may be the cause although nothing was measured of them."""

import msgspec

from evictd.codec.records.journal_record import JournalRecord
from evictd.codec.records.recorded_pod import RecordedMetadata, RecordedOwner, RecordedPod, RecordedSpec, RecordedVolume
from evictd.render.history.cause.suspects import suspects_of, suspects_text
from tests.render.recorded_incident import recorded


def pod(name: str, *volumes: RecordedVolume) -> RecordedPod:
    return RecordedPod(
        metadata=RecordedMetadata(name=name, namespace="default", uid=f"uid-{name}"), spec=RecordedSpec(volumes=volumes)
    )


def record(signal: str) -> JournalRecord:
    """A cycle that ranked a pod with a hostPath, one with another volume and a protected one with a hostPath."""
    host = RecordedVolume(host_path={})
    pods = (pod("writer", host), pod("web", RecordedVolume()), pod("static", host), pod("unranked", host))
    rows = [{"uid": f"uid-{name}", "protected": name == "static"} for name in ("writer", "web", "static")]
    whole = recorded()[0]
    return msgspec.structs.replace(
        whole,
        observation=msgspec.structs.replace(whole.observation, pods=pods),
        findings=({"kind": "Ranking", "signal": signal, "rows": rows},),
    )


def test_a_pod_with_a_host_path_that_may_be_evicted_is_a_suspect_of_a_full_disk() -> None:
    assert suspects_of(record("nodefs.available"), "nodefs.available") == {"default/writer": ""}


def test_the_owner_that_creates_a_suspect_is_named() -> None:
    owner = RecordedOwner(kind="DaemonSet", name="writer", controller=True)
    whole = record("nodefs.available")
    owned = tuple(
        msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, owner_references=(owner,)))
        for each in whole.observation.pods
    )
    of_owner = msgspec.structs.replace(whole, observation=msgspec.structs.replace(whole.observation, pods=owned))
    assert suspects_of(of_owner, "nodefs.available") == {"default/writer": "DaemonSet/writer"}


def test_there_is_no_suspect_where_memory_is_short_or_the_ranking_is_not_known() -> None:
    assert suspects_of(record("memory.available"), "memory.available") == {}
    assert suspects_of(record("imagefs.available"), "nodefs.available") == {}
    assert suspects_of(record("nodefs.available"), "no signal") == {}


def test_suspects_are_named() -> None:
    assert suspects_text(()) == ""
    assert suspects_text(("a/b",)) == "a/b has a hostPath volume, which is not measured and may be the cause"
    assert suspects_text(("a/b", "a/c")) == (
        "a/b, a/c have hostPath volumes, which are not measured and may be the cause"
    )
