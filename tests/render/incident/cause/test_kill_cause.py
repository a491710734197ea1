"""What grew before the kernel killed for want of memory."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import pytest

from evictd.codec.records.journal_record import (
    JournalRecord,
    RecordedConfig,
    RecordedExtra,
    RecordedKill,
    RecordedMemory,
    RecordedNode,
    RecordedObservation,
    RecordedReference,
    RecordedState,
    RecordedSummary,
    RecordedThreshold,
    RecordedUsage,
)
from evictd.codec.records.recorded_pod import (
    RecordedContainer,
    RecordedMetadata,
    RecordedPod,
    RecordedResources,
    RecordedSpec,
)
from evictd.core.units.duration import MINUTE
from evictd.render.incident.cause.kill_cause import kill_cause
from evictd.render.incident.cause.kill_lines import kill_lines, last_kill_lines
from tests.stories import GI


def record(
    minute: int, used: Mapping[str, int], *killed: str, signal: str = "nodefs.available", outside: int = 0
) -> JournalRecord:
    """A cycle in which these pods use so much memory, after the kernel killed processes of some."""
    whole = sum(used.values()) + outside
    memory = RecordedMemory(available_bytes=10 * GI - whole, working_set_bytes=whole)
    summary = RecordedSummary(
        node=RecordedNode(memory=memory),
        pods=tuple(
            RecordedUsage(pod_ref=RecordedReference(uid=name), memory=RecordedMemory(working_set_bytes=amount))
            for name, amount in used.items()
        ),
    )
    pods = tuple(RecordedPod(metadata=RecordedMetadata(name=name, namespace="n", uid=name)) for name in used)
    return JournalRecord(
        kind="Cycle",
        wall=f"2026-01-01T00:{minute:02}:00Z",
        now=minute * MINUTE,
        decisions=(),
        state=RecordedState(),
        observation=RecordedObservation(summary=summary, pods=pods),
        extra=RecordedExtra(kernel_killed=tuple(RecordedKill(where=f"n/{name}", uid=name) for name in killed)),
        config=RecordedConfig(thresholds=(RecordedThreshold(signal=signal),)),
    )


CALM = record(0, {"hog": GI, "api": GI})
GREW = "grew most before the kernel killed"
NO_THRESHOLD = "evictd has no threshold of memory, so it evicts no pod for it"
SET_IT = "now: set the threshold `memory.available` (`evictd check`)"


def test_the_pod_that_grew_and_the_missing_threshold_are_named() -> None:
    """Of a node whose kernel killed an innocent pod again and again only the kills were told (world 43)."""
    found = kill_cause([CALM, record(2, {"hog": 7 * GI, "api": 0}, "api"), record(3, {"hog": 7 * GI}, "api")])
    assert tuple(kill_lines(found, "n/api")) == (
        f"n/hog {GREW} its processes, first at 00:02:00: from 1Gi to 7Gi since 00:00:00", NO_THRESHOLD, SET_IT
    )  # fmt: skip
    assert next(kill_lines(found, "n/hog")).startswith(f"it {GREW} processes of n/api, first at 00:02:00: from 1Gi")
    assert next(kill_lines(found)).startswith(f"n/hog {GREW} processes of n/api")
    assert not tuple(kill_lines(found, "n/other"))


def requesting(found: JournalRecord, **requests: str) -> JournalRecord:
    """The cycle in which these pods request so much memory."""
    pods = []
    for pod in found.observation.pods:
        requests_of = {"memory": requests.get(pod.metadata.name, "0")}
        container = RecordedContainer(resources=RecordedResources(requests=requests_of))
        pods.append(msgspec.structs.replace(pod, spec=RecordedSpec(containers=(container,))))
    observation = msgspec.structs.replace(found.observation, pods=tuple(pods))
    return msgspec.structs.replace(found, observation=observation)


def test_a_killed_pod_above_its_request_ranks_before_a_grower_within_its_own() -> None:
    """With the threshold that was proposed an innocent pod went first, and that was not said (world 43)."""
    kill = record(2, {"hog": 7 * GI, "api": 0}, "api")
    found = kill_cause([requesting(CALM, hog="7Gi", api="256Mi"), requesting(kill, hog="7Gi", api="256Mi")])
    grew, missing, order, now = kill_lines(found, "n/api")
    assert grew.endswith("from 1Gi to 7Gi since 00:00:00, within its request of 7Gi")
    assert missing == NO_THRESHOLD
    assert order == (
        "it used 1Gi before and requests 256Mi: evictd ranks a pod above its request before n/hog, which is within its own"
    )
    assert now == f"{SET_IT}; let it request the 1Gi that it uses"
    *_, order, _ = kill_lines(found, "n/hog")
    assert order.startswith(
        "n/api used 1Gi before and requests 256Mi: evictd ranks a pod above its request before this pod"
    )
    assert last_kill_lines([CALM, kill])[-2:] == (NO_THRESHOLD, SET_IT)
    guarded = record(2, {"hog": 7 * GI}, "api", signal="memory.available")
    grew, now = last_kill_lines([CALM, guarded])
    assert grew.startswith(f"n/hog {GREW} processes of n/api"), "`history`, to which the alert leads, did not name it"
    assert now == "now: mend or limit n/hog"
    own = [requesting(CALM, hog="512Mi"), record(2, {"hog": 7 * GI}, "hog", signal="memory.available")]
    assert [*last_kill_lines(own)] == [
        f"n/hog {GREW} its processes, first at 00:02:00: from 1Gi to 7Gi since 00:00:00",
        now,
    ]
    assert last_kill_lines([record(0, {"hog": 7 * GI}), guarded]) == (), "what made it kill is not known"
    assert last_kill_lines([CALM]) == ()


def test_nothing_is_said_of_the_order_where_it_is_that_of_the_fault() -> None:
    kill = record(2, {"hog": 7 * GI, "api": 0}, "api")
    small = kill_cause([requesting(CALM, api="256Mi"), requesting(kill, hog="6Gi", api="256Mi")])
    assert len(tuple(kill_lines(small, "n/api"))) == 3, "the pod that grew exceeds its request"
    fits = kill_cause([requesting(CALM, api="2Gi"), requesting(kill, hog="7Gi", api="2Gi")])
    assert len(tuple(kill_lines(fits, "n/api"))) == 3, "the pod that was killed does not"


def test_a_threshold_of_memory_is_not_said_to_be_missing() -> None:
    kill = record(2, {"hog": 7 * GI}, "api", signal="memory.available")
    _, now = kill_lines(kill_cause([CALM, kill]), "n/api")
    assert now == "now: mend or limit n/hog"
    older = msgspec.structs.replace(kill, config=RecordedConfig())
    assert NO_THRESHOLD not in tuple(kill_lines(kill_cause([CALM, older]))), "not recorded"


@pytest.mark.parametrize(
    "before",
    [
        (),
        (record(5, {"hog": GI}),),
        (record(0, {}),),
        (record(0, {"hog": 7 * GI - 1}),),
        (record(0, {"hog": 8 * GI}),),
    ],
)
def test_no_pod_is_named_that_is_not_known_to_have_grown_much(before: tuple[JournalRecord, ...]) -> None:
    """No reading, one of another boot, one without pods; and one that grew little beside the pod that was killed."""
    found = kill_cause([*before, record(2, {"hog": 7 * GI}, "api")])
    assert found is not None
    assert (found.at, found.killed, found.grower) == ("2026-01-01T00:02:00Z", ("n/api",), "")
    assert tuple(kill_lines(found, "n/api")) == (NO_THRESHOLD, SET_IT)


def test_kills_of_an_earlier_shortage_do_not_count() -> None:
    calm = record(30, {"hog": GI, "web": GI})
    found = kill_cause([CALM, record(2, {"hog": 7 * GI}, "api"), calm, record(31, {"hog": GI, "web": 7 * GI}, "db")])
    assert found is not None
    assert (found.killed, found.grower) == (("n/db",), "n/web")
    assert kill_cause([CALM, calm]) is None
    assert not tuple(kill_lines(None))


def test_what_was_used_outside_pods_is_named_with_a_reservation() -> None:
    """What the pods used fit in the memory, and the 900Mi of the host were not named (world 43)."""
    calm = record(0, {"hog": GI, "api": GI}, outside=GI)
    kill = record(2, {"hog": 7 * GI, "api": 0}, "api", outside=GI)
    lines = tuple(kill_lines(kill_cause([calm, kill]), "n/api"))
    assert lines[1] == "1Gi of memory was used outside pods, by the host"
    assert lines[-1] == (
        f"{SET_IT}; let systemReserved and kubeReserved of the kubelet cover the 1Gi used outside pods all the time"
    )
    grew = tuple(kill_lines(kill_cause([record(0, {"hog": GI, "api": GI}, outside=GI // 2), kill]), "n/api"))
    assert "systemReserved" not in grew[-1], "what grew is no constant use"
    assert grew[-1].startswith(f"{SET_IT}; free memory outside pods")
    guarded = record(2, {"hog": 7 * GI, "api": 0}, "api", outside=GI, signal="memory.available")
    *_, now = kill_lines(kill_cause([calm, guarded]))
    assert now.startswith("now: mend or limit n/hog; let systemReserved"), "the threshold is set"
    little = record(2, {"hog": 7 * GI, "api": 0}, "api", outside=GI // 4)
    assert "outside" not in "".join(kill_lines(kill_cause([CALM, little])))
    other = RecordedPod(metadata=RecordedMetadata(name="new", namespace="n", uid="new"))
    unmeasured = msgspec.structs.replace(kill.observation, pods=(*kill.observation.pods, other))
    hidden = msgspec.structs.replace(kill, observation=unmeasured)
    assert "outside" not in "".join(kill_lines(kill_cause([CALM, hidden]))), "a pod was not measured"


def test_little_use_outside_pods_beside_the_growth_of_a_pod_is_not_named() -> None:
    """500Mi of the host were to be reserved beside a pod that had grown by 4.49Gi."""
    calm = record(0, {"hog": GI, "api": GI}, outside=GI // 2)
    kill = record(2, {"hog": 6 * GI, "api": GI}, "api", outside=GI // 2)
    assert "outside" not in "".join(kill_lines(kill_cause([calm, kill])))


def test_what_the_reading_of_the_kill_does_not_show_is_found_in_the_next_ones() -> None:
    """The pod that came held nothing in a reading 10 s old, and "mend or limit api" was said, which the kernel had killed."""
    kill = requesting(record(2, {"new": 0, "api": 3 * GI}, "api", signal="memory.available"), api="1Gi")
    shows = requesting(record(3, {"new": 6 * GI, "api": 0}, "api", signal="memory.available"), api="1Gi")
    calm = requesting(record(1, {"api": 3 * GI}), api="1Gi")
    found = kill_cause([calm, kill, shows])
    assert found is not None
    assert (found.grower, found.before, found.after) == ("n/new", 0, 6 * GI)
    assert list(kill_lines(found, "n/api"))[-1] == "now: mend or limit n/new"
    late = msgspec.structs.replace(shows, wall="2026-01-01T00:09:00Z")
    assert kill_cause([calm, kill, late]).grower == "", "later than five minutes"  # type: ignore[union-attr]


def test_the_remedy_with_a_threshold_stays_beside_the_order() -> None:
    kill = record(2, {"hog": 7 * GI, "api": 0}, "api", signal="memory.available")
    found = kill_cause([requesting(CALM, hog="7Gi", api="256Mi"), requesting(kill, hog="7Gi", api="256Mi")])
    order, now = tuple(kill_lines(found, "n/api"))[-2:]
    assert order.endswith("which is within its own")
    assert now == "now: let it request the 1Gi that it uses"


def test_a_pod_that_was_killed_while_it_grew_within_its_request_is_to_be_limited() -> None:
    """Nothing was said of what to do about a pod whose burst within its request the kernel ended again and again."""
    kill = record(2, {"hog": 7 * GI, "api": 0}, "hog", signal="memory.available")
    found = kill_cause([requesting(CALM, hog="7Gi", api="2Gi"), requesting(kill, hog="7Gi", api="2Gi")])
    assert found is not None
    assert found.grew_within
    assert list(kill_lines(found))[-1] == "now: mend or limit n/hog"
    assert not any(line.startswith("now:") for line in kill_lines(replace(found, before=0)))


def test_a_pod_that_came_back_or_grew_by_less_than_a_killed_one_exceeded_its_request_is_not_to_be_limited() -> None:
    """`Mend or limit batch-1` was said, which had only come back, where `api` had grown to five times its request."""
    kill = record(2, {"hog": 7 * GI}, "api", signal="memory.available")
    found = kill_cause([CALM, kill])
    assert found is not None
    assert list(kill_lines(found))[-1] == "now: mend or limit n/hog"
    for other in (replace(found, before=0, came_back=True), replace(found, exceeded=(("n/api", 9 * GI, GI),))):
        assert not any(line.startswith("now:") for line in kill_lines(other))
