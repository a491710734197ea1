"""Journal lines; tests/laws decides every one of them again."""

import json
import os
from pathlib import Path

import pytest

from evictd.codec.records.journal import decode_entry, encode_entry
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig
from evictd.core.model.observation import Observation
from evictd.core.model.pod import Pod
from evictd.core.model.state import State
from evictd.errors import InputError
from tests.codec.plain_values import assert_holds
from tests.playbook import node

DATA = Path(__file__).parents[1] / "data" / "earlier"
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


def test_a_line_is_ascii_whatever_a_pods_author_wrote() -> None:
    """The file is shown by `cat` as well: no mark of direction and no control character of eight bits."""
    text = "\u202e\x9b31m\x7f\x1b\U0001f4a3\ufeff\u2028é\\"
    seen = Observation(node=SEEN.node, pods=(Pod(name="web", namespace="ns", uid="u", labels={"app": text}),))
    line = encode_entry(
        now=5, wall="w", state=State(), observation=seen, config=EvictionConfig(),
        step=synchronize(State(), seen, EvictionConfig(), 5), extra={"lastWords": {"main": text}},
    )  # fmt: skip
    assert line.isascii()
    assert line[:-1].decode().isprintable()
    entry = decode_entry(line)
    assert entry.observation == seen
    assert entry.extra == {"lastWords": {"main": text}}


def test_a_name_that_is_not_utf_8_does_not_cost_the_record() -> None:
    """A container's log folder is read from the disk."""
    line = encode_entry(
        now=5, wall="w", state=State(), observation=SEEN, config=EvictionConfig(),
        step=synchronize(State(), SEEN, EvictionConfig(), 5), extra={"lastWords": {os.fsdecode(b"a\xff"): "\u202e"}},
    )  # fmt: skip
    assert line.isascii()
    entry = decode_entry(line)
    assert entry.observation == SEEN
    assert entry.extra == {"lastWords": {"a?": "\u202e"}}


def test_a_line_written_before_the_form_followed_the_types_is_read() -> None:
    """It is decided as it was, and written again it has every key of it, and the same values."""
    line = (DATA / "journal.jsonl").read_bytes()
    entry = decode_entry(line)
    step = synchronize(entry.state, entry.observation, entry.config, entry.now)
    again = encode_entry(
        now=entry.now, wall=entry.wall, state=entry.state, observation=entry.observation, config=entry.config,
        step=step, extra=entry.extra,
    )  # fmt: skip
    written = json.loads(again)
    written["findings"] = [each for each in written["findings"] if each["kind"] != "Attribution"]  # added later
    assert_holds(written, json.loads(line))


@pytest.mark.parametrize("line", [b"", b"{}", LINE[:-20], b"\xff", b"[]", LINE.replace(b'"now":5', b'"now":{}')])
def test_a_cut_or_foreign_line_is_refused(line: bytes) -> None:
    """The power may go in the middle of one."""
    with pytest.raises(InputError):
        decode_entry(line)


def test_a_journal_of_another_version_is_named() -> None:
    with pytest.raises(InputError, match="is of version v9; this evictd reads v1: use the evictd that wrote it"):
        decode_entry(LINE.replace(b"/journal/v1", b"/journal/v9"))
    with pytest.raises(InputError, match="not a journal line"):
        decode_entry(LINE.replace(b"/journal/v1", b"/other/v1"))
