"""A recorded decision on one line."""

from dataclasses import replace

from evictd.codec.decision import encode_decision
from evictd.codec.records.journal import JournalEntry, decode_entry, encode_entry
from evictd.core.model.decision import EvictPod, ReclaimNode
from evictd.core.model.observation import Reclaim
from evictd.core.model.state import State, Step
from evictd.core.units.quantity import of_bytes
from evictd.render.replay.replayed import Replayed, Unknown, recorded_text, victims_text
from evictd.render.sentences import decision_text
from tests.daemon.world import CONFIG, DISK, GI, NOW, observe, step


def test_recorded_decisions_in_words() -> None:
    event = {"kind": "RecordEvent", "type": "Warning", "reason": "R", "message": "m\x1b"}
    assert recorded_text(event) == r"Warning event R: m\x1b"
    reclaim = encode_decision(ReclaimNode(actions=(Reclaim.CONTAINERS,), threshold=DISK))
    assert recorded_text(reclaim) == "delete unused containers for nodefs.available"
    assert recorded_text({**reclaim, "threshold": {}}) == "ReclaimNode"
    assert recorded_text({"kind": "ReportConditions", "conditions": []}) == "report node conditions: none"
    assert recorded_text({"kind": "Wait"}) == "Wait"


def test_a_recorded_decision_reads_as_it_did_when_it_was_made() -> None:
    decisions = step(GI // 2).decisions
    assert [recorded_text(encode_decision(each)) for each in decisions] == [decision_text(each) for each in decisions]


def entry(recorded: Step) -> JournalEntry:
    line = encode_entry(
        now=NOW, wall="2026-01-01T00:00:00Z", state=State(), observation=observe(GI), config=CONFIG, step=recorded
    )
    return decode_entry(line)


def test_whether_a_victim_differs_is_said() -> None:
    evicts, calm = step(GI // 2), step(4 * GI)
    same = Replayed(entry=entry(evicts), step=evicts)
    never = Replayed(entry=entry(evicts), step=calm)
    late = Replayed(entry=entry(calm), step=evicts)
    assert victims_text([same]) == "No victim differs: the same pods at the same times: default/hog."
    assert victims_text([same], Unknown(may_act=("memory.lead",))) == (
        "No victim differs in the recorded cycles: default/hog; between them one could have gone, or gone sooner."
    )
    assert victims_text([never]) == (
        "Other victims: then default/hog; whether any pod goes now, these readings cannot tell: they end at each."
    )
    dry = replace(never, entry=replace(never.entry, extra={"dryRun": True}))
    assert victims_text([dry]) == "Other victims: then default/hog; now none.", "the readings go on"
    assert victims_text([never, late]) == (
        "At other times: default/hog, and possibly more: the journal has no reading after 2026-01-01T00:00:00Z."
    )
    more = "default/hog, and possibly more: the readings after 2026-01-01T00:00:00Z are those of the recorded course."
    assert victims_text([late, never]) == f"At other times: {more}"
    raised = Unknown(may_act=("memory.available<1Gi (hard)",))
    assert victims_text([late, never], raised) == f"At other times, by the recorded readings: {more}"
    assert victims_text([late, replace(late, step=calm)]) == f"Other victims: then none; now {more}"


def test_pods_that_go_by_readings_that_would_have_been_others_are_not_named() -> None:
    """`now default/web-3, default/web-6`, by readings without the pods that would have stayed; played, others go (world 07)."""
    evicts, calm = step(GI // 2), step(4 * GI)
    (eviction,) = (each for each in evicts.decisions if isinstance(each, EvictPod))
    other = replace(evicts, decisions=(replace(eviction, pod=replace(eviction.pod, name="web", uid="uid-web")),))
    never = Replayed(entry=entry(evicts), step=calm)
    late = Replayed(entry=entry(calm), step=other)
    assert victims_text([never, late]) == (
        "Other victims: then default/hog; whether and which pods go now, these readings cannot tell: they end at each."
    )
    assert victims_text([late, never]) == (
        "Other victims: then default/hog; now default/web, and possibly more: the readings after 2026-01-01T00:00:00Z are those "
        "of the recorded course."
    )
    assert victims_text([late, replace(never, step=evicts)]) == victims_text([late, never]).replace(
        "recorded course", "recorded course: whether default/hog goes is not known"
    ), "hog goes by a reading that still has web"
    instead = replace(never, step=other)
    assert victims_text([instead]).startswith("Other victims: then default/hog; now default/web; which go after "), (
        "the reading itself is still as it would have been"
    )


def test_a_pod_that_is_chosen_after_one_that_goes_earlier_is_named() -> None:
    """`The same victims` was said beside `+ now: evict default/web-0`; played, four pods go instead of one."""
    evicts = step(GI // 2)
    (eviction,) = (each for each in evicts.decisions if isinstance(each, EvictPod))
    other = replace(evicts, decisions=(replace(eviction, pod=replace(eviction.pod, name="web", uid="uid-web")),))
    calm = entry(step(4 * GI))
    earlier = Replayed(entry=calm, step=evicts)
    recorded = Replayed(entry=entry(evicts), step=step(4 * GI))
    assert victims_text([earlier, recorded, Replayed(entry=calm, step=other)]) == (
        "At other times: default/hog, and possibly more: the readings after 2026-01-01T00:00:00Z are those of the recorded "
        "course: whether default/web goes is not known."
    )


def test_a_higher_threshold_is_not_said_to_be_met_at_the_same_time() -> None:
    """A journal of an older evictd has no readings before an eviction."""
    evicts = step(GI // 2)
    (eviction,) = (each for each in evicts.decisions if isinstance(each, EvictPod))
    limit = of_bytes(3 * GI)
    higher = replace(evicts, decisions=(replace(eviction, because=replace(eviction.because, limit=limit)),))
    one = Replayed(entry=entry(evicts), step=higher)
    assert victims_text([one]) == (
        "No victim differs in the recorded readings: default/hog; a higher threshold is met earlier, when another "
        "pod may have gone."
    )
    assert "default/hog, and possibly more: the readings after 2026-01-01T00:00:00Z are" in victims_text(
        [one, replace(one, entry=entry(step(4 * GI)), step=step(4 * GI))]
    )
