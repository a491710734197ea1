"""Encodes and decodes journal entries: one cycle as a line of JSON.

A line holds all arguments of `synchronize`, so that `evictd replay` can decide the cycle again, and its decisions and findings,
so that it can be read without a replay. It is ASCII: a terminal that shows the file acts on nothing that a pod's author wrote.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from evictd.codec.config.eviction_config import decode_eviction_config, encode_eviction_config
from evictd.codec.decision import encode_decision, encode_finding
from evictd.codec.observation import decode_observation, encode_observation
from evictd.codec.plain import Form, View
from evictd.codec.scalars import Plain
from evictd.codec.state import decode_state, encode_state
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.observation import Observation
from evictd.core.model.state import State, Step
from evictd.errors import InputError

KIND = "evictd.io/journal/v1"
_KIND_BEFORE_VERSION = re.compile(re.escape(KIND.rpartition("/")[0]) + r"/(v[0-9a-z]{1,20})")
_RANKING_ROWS = 20
_NOT_ASCII = re.compile(r"[^\x00-\x7e]+")


@frozen
class JournalEntry:
    """A recorded cycle; `now` is nanoseconds of the boot-time clock, `wall` an RFC 3339 time."""

    now: int
    wall: str
    state: State
    observation: Observation
    config: EvictionConfig
    decisions: tuple[dict[str, object], ...]
    findings: tuple[dict[str, object], ...] = ()
    extra: Mapping[str, Any] | None = None
    """Fields that the shell adds, such as dry run and the end of a victim's logs."""


_FORM = Form(
    {
        State: View(encode=encode_state, decode=decode_state),
        Observation: View(encode=encode_observation, decode=decode_observation),
        EvictionConfig: View(encode=encode_eviction_config, decode=decode_eviction_config),
    }
)


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
    """Encode one line, newline included; `state` is the state before the step."""
    return _line(
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


def _line(document: Plain) -> bytes:
    """Encode in ASCII: a character that is not, and DEL, can only be part of a JSON string, and is escaped there."""
    try:
        line = msgspec.json.encode(document)
    except UnicodeEncodeError:  # the name of a container's log folder that is not UTF-8
        line = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    if not line.isascii() or b"\x7f" in line:
        line = _NOT_ASCII.sub(_escaped, line.decode()).encode()
    return line + b"\n"


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1].replace("\x7f", "\\u007f")


def not_a_line(kind: object) -> InputError:
    """Make the error for a line of another `kind`; of a journal of another version it says so."""
    version = _KIND_BEFORE_VERSION.fullmatch(kind) if isinstance(kind, str) else None
    if version is not None:
        return InputError(
            f"journal: is of version {version[1]}; this evictd reads {KIND.rpartition('/')[2]}: use the evictd that wrote it"
        )
    return InputError(f'journal: not a journal line; one has "kind": "{KIND}"')


def decode_entry(line: bytes) -> JournalEntry:
    """Decode one line; raises `InputError` with the first part that is damaged, or if it is cut short or no journal line."""
    try:
        plain = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"journal: {error}; the line is cut short or damaged") from error
    if not isinstance(plain, dict) or plain.get("kind") != KIND:
        raise not_a_line(plain.get("kind") if isinstance(plain, dict) else None)
    entry: JournalEntry = _FORM.decode(JournalEntry, plain, "journal")
    return entry
