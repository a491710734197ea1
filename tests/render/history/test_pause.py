"""Checks of a pause of evictions who holds what is short, and what the last two evicted pods held, where growth took that."""

from typing import Any

import msgspec
import pytest

from evictd.codec.decision import encode_finding
from evictd.codec.records.journal_record import JournalRecord, RecordedEffect
from evictd.codec.records.recorded_pod import RecordedMetadata, RecordedOwner
from evictd.core.model.attribution import Attribution, Share
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.render.history.cause.pause import pause_text, taken_at_once
from evictd.render.history.history import history
from tests.render.recorded_incident import recorded
from tests.stories import GI

MI = 1 << 20

NOTHING = Share(held=0)

FINDING: dict[str, Any] = {"kind": "NoAction", "why": "EvictionsDoNotHelp", "needed": "1074Mi"}

REASON = "1.05Gi is missing and the last two evictions gave back 100Mi; evictions pause"

GREW = f"{REASON}; of 50Mi that filled the disk in the last 20s, pods took 50Mi; nothing else grew"

HELD = "of 91Gi used of the disk, evictable pods hold 50Mi; 91Gi belong to no pod or lie in hostPath volumes"

OWNERS = {("default", "ReplicaSet/pinned")}


def paused(grown: int = 50 * MI, owned: bool = True) -> JournalRecord:
    held = Attribution(
        signal=Signal.NODEFS_AVAILABLE,
        used=91 * GI + 50 * MI,
        over=20 * SECOND,
        evictable=Share(held=50 * MI, grown=grown, pods=1),
        protected=NOTHING,
        leaving=NOTHING,
        unmeasured=NOTHING,
        elsewhere=Share(held=91 * GI),
        grower="default/pinned-2",
        grower_grown=grown,
    )
    record = recorded()[-1]
    owners = (RecordedOwner(kind="ReplicaSet", name="pinned", controller=True),) if owned else ()
    metadata = RecordedMetadata(namespace="default", name="pinned-2", uid="u", owner_references=owners)
    pod = msgspec.structs.replace(record.observation.pods[0], metadata=metadata)
    seen = msgspec.structs.replace(record.observation, pods=(pod,))
    return msgspec.structs.replace(record, findings=(encode_finding(held),), observation=seen)


def test_a_little_growth_of_a_replacement_hides_no_cause() -> None:
    """The pod that replaced the evicted one was named alone, and 91Gi outside pods were missing to the reader (world 13)."""
    again = "default/pinned-2, which ReplicaSet/pinned created in their place, took 50Mi again"
    assert pause_text(GREW, paused(), FINDING, OWNERS) == f"{REASON}; {again}; {HELD}"
    assert pause_text(GREW, paused(), FINDING, ()) == f"{REASON}; {HELD}"
    assert pause_text(GREW, paused(owned=False), FINDING, OWNERS) == f"{REASON}; {HELD}"


@pytest.mark.parametrize("needed", ["100Mi", "", None])
def test_growth_that_is_not_little_or_not_known_to_be_stays(needed: str | None) -> None:
    assert pause_text(GREW, paused(), {**FINDING, "needed": needed}, OWNERS) == GREW


def test_a_message_without_that_growth_stays() -> None:
    assert pause_text(REASON, paused(), FINDING, OWNERS) == REASON
    assert pause_text(GREW, paused(grown=0), FINDING, OWNERS) == GREW
    assert pause_text(GREW, msgspec.structs.replace(paused(), findings=()), FINDING, OWNERS) == GREW


SIGNAL = "nodefs.available"

FINDING_OF_TAKEN_AT_ONCE: dict[str, Any] = {"signal": SIGNAL, "needed": "4Gi"}

TAKEN = "; the two pods held 600Mi, and what grew took as much at once"


def paused_of_taken_at_once(*missing: int, freed: int = 0) -> JournalRecord:
    """A record after evictions of pods of 300Mi, at which so much was missing."""
    effects = tuple(RecordedEffect(uid=str(each), held=300 * MI, freed=freed, missing=each) for each in missing)
    record = recorded()[-1]
    return msgspec.structs.replace(record, state=msgspec.structs.replace(record.state, effects={SIGNAL: effects}))


def test_what_evicted_pods_held_and_growth_took_is_said() -> None:
    """Two pods of 300Mi "gave back 0", as if their files had stayed (world 02)."""
    assert taken_at_once(paused_of_taken_at_once(1 << 40, MI, 2 * MI), FINDING_OF_TAKEN_AT_ONCE) == TAKEN
    assert taken_at_once(paused_of_taken_at_once(MI, MI, freed=100 * MI), FINDING_OF_TAKEN_AT_ONCE) == TAKEN.replace(
        "as much", "the rest"
    )


@pytest.mark.parametrize(
    ("record", "finding"),
    [
        (paused_of_taken_at_once(MI), FINDING_OF_TAKEN_AT_ONCE),
        (paused_of_taken_at_once(MI, MI, freed=300 * MI), FINDING_OF_TAKEN_AT_ONCE),
        (paused_of_taken_at_once(1 << 40, MI), FINDING_OF_TAKEN_AT_ONCE),
        (paused_of_taken_at_once(MI, MI), {**FINDING_OF_TAKEN_AT_ONCE, "needed": "damaged"}),
        (paused_of_taken_at_once(MI, MI), {**FINDING_OF_TAKEN_AT_ONCE, "signal": "of tomorrow"}),
    ],
    ids=["one", "freed", "less is missing", "damaged", "signal"],
)
def test_nothing_is_said_where_that_is_not_known(record: JournalRecord, finding: dict[str, Any]) -> None:
    assert taken_at_once(record, finding) == ""


def test_the_end_of_a_pause_is_the_latest_one() -> None:
    """Evictions went on before the time that was given, after kills by the kernel had cleared the threshold for a minute."""
    record = paused()
    until = {**FINDING, "signal": "memory.available", "until": record.now + 60 * SECOND}
    event = {"kind": "RecordEvent", "reason": "EvictionsDoNotHelp", "message": "No pod is evicted for memory.available"}
    (told,) = history([msgspec.structs.replace(record, decisions=(event,), findings=(until,))])
    assert told.text.startswith("No pod is evicted for memory.available")
    assert told.text.endswith(" at the latest")
    limited = {**until, "why": "EvictionLimitReached"}
    event = {**event, "reason": "EvictionLimitReached"}
    (told,) = history([msgspec.structs.replace(record, decisions=(event,), findings=(limited,))])
    assert "until" in told.text
    assert "latest" not in told.text
