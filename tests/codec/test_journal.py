"""Journal lines; tests/laws decides every one of them again."""

import pytest

from evictd.codec.journal import decode_entry, encode_entry
from evictd.core.config import EvictionConfig
from evictd.core.observation import Observation
from evictd.core.state import State
from evictd.core.synchronize import synchronize
from evictd.errors import InputError
from tests.playbook import node

SEEN = Observation(node=node(memory="1Gi of 4Gi"))
LINE = encode_entry(
    now=5,
    wall="2026-01-01T00:00:00Z",
    state=State(),
    observation=SEEN,
    config=EvictionConfig(),
    step=synchronize(State(), SEEN, EvictionConfig(), 5),
    extra={"dryRun": True},
)


def test_a_line_is_one_line_and_brings_everything_back() -> None:
    """All arguments of the decision, and what the shell added."""
    assert LINE.count(b"\n") == 1
    entry = decode_entry(LINE)
    assert (entry.now, entry.state, entry.observation, entry.config) == (5, State(), SEEN, EvictionConfig())
    assert entry.extra == {"dryRun": True}
    assert entry.decisions[-1]["kind"] == "Wait"


@pytest.mark.parametrize("line", [b"", b"{}", LINE[:-20], b"\xff", b"[]", LINE.replace(b'"now":5', b'"now":{}')])
def test_a_cut_or_foreign_line_is_refused(line: bytes) -> None:
    """The power may go in the middle of one."""
    with pytest.raises(InputError):
        decode_entry(line)
