"""One cycle as a line of JSON: what was known, what it obeyed, what was decided, and why.

The line holds all arguments of `synchronize`, so it can be decided again (`evictd replay`), and its decisions and findings, so it
can be read without doing so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from evictd.codec.decision import encode_decision, encode_finding
from evictd.codec.eviction_config import decode_eviction_config, encode_eviction_config
from evictd.codec.observation import decode_observation, encode_observation
from evictd.codec.state import decode_state, encode_state
from evictd.core.config import EvictionConfig
from evictd.core.observation import Observation
from evictd.core.state import State, Step
from evictd.errors import InputError

KIND = "evictd.io/journal/v1"
_RANKING_ROWS = 20

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """A recorded cycle. `now` on the boot-time clock, `wall` for people."""

    now: int
    wall: str
    state: State
    observation: Observation
    config: EvictionConfig
    decisions: tuple[Plain, ...]
    findings: tuple[Plain, ...] = ()
    extra: Mapping[str, Any] | None = None
    """What the shell adds: dry run or not, the tail of a victim's logs."""


def encode_entry(
    *,
    now: int,
    wall: str,
    state: State,
    observation: Observation,
    config: EvictionConfig,
    step: Step,
    extra: Mapping[str, Any] | None = None,
) -> bytes:
    """Write one line, newline included; `state` is the one that the step started from."""
    return (
        msgspec.json.encode(
            {
                "kind": KIND,
                "wall": wall,
                "now": now,
                "decisions": [encode_decision(decision) for decision in step.decisions],
                "findings": [encode_finding(finding, rows=_RANKING_ROWS) for finding in step.findings],
                "extra": dict(extra or {}),
                "config": encode_eviction_config(config),
                "state": encode_state(state),
                "observation": encode_observation(observation),
            }
        )
        + b"\n"
    )


def decode_entry(line: bytes) -> JournalEntry:
    """Read one line back; raises `InputError` if it is cut short, damaged, or no journal line."""
    try:
        plain = msgspec.json.decode(line)
        if not isinstance(plain, dict) or plain.get("kind") != KIND:
            raise InputError(f'journal: not a journal line; one says "kind": "{KIND}"')
        return JournalEntry(
            now=int(plain["now"]),
            wall=str(plain["wall"]),
            state=decode_state(plain["state"]),
            observation=decode_observation(plain["observation"]),
            config=decode_eviction_config(plain["config"]),
            decisions=tuple(plain["decisions"]),
            findings=tuple(plain["findings"]),
            extra=plain["extra"],
        )
    except (msgspec.DecodeError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"journal: {error}; the line is cut short or damaged") from error
