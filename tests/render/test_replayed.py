"""A recorded decision on one line."""

from evictd.codec.decision import encode_decision
from evictd.core.model.decision import ReclaimNode
from evictd.core.model.observation import Reclaim
from evictd.render.replayed import recorded_text
from evictd.render.sentences import decision_text
from tests.daemon.world import DISK, GI, step


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
