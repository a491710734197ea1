"""A law of the state file: whatever damage it has, the daemon starts, and what it keeps of it can be decided upon."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.state import encode_state
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.state import CleaningUp, State
from evictd.daemon.store.checkpoint import load_checkpoint
from evictd.daemon.store.state_file import StateFile
from tests.codec.plain_values import FULL
from tests.daemon.world import CONFIG, GI, NOW, observe, step
from tests.recorded_errors import RecordedErrors

PRESSED = step(GI // 2).state
WATCHING = replace(PRESSED, in_flight=())
"""Under pressure and with no victim to wait for: the next cycle compares its readings with these."""
STATES = (
    State(),
    PRESSED,
    WATCHING,
    step(GI // 2, PRESSED, NOW + 1, disk=10).state,
    FULL,
    State(phase=CleaningUp(until=NOW)),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["x", "-1", "\ud800"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
) | st.sampled_from([10**30, -(10**30), "1e4000", "9" * 5000])


def document(state: State) -> dict[str, Any]:
    extras = {"images": {"sha256:a": [1, None]}, "evicted": ["uid-web"], "runningSince": 7}
    return {"state": encode_state(state), **deepcopy(extras)}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document, as its container and key."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    for key in keys:
        yield value, key
        yield from places(value[key])


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    made = document(draw(st.sampled_from(STATES)))
    for _ in range(draw(st.integers(1, 3))):
        spots = list(places(made))
        if spots:
            container, key = spots[draw(st.integers(0, len(spots) - 1))]
            if draw(st.booleans()):
                container[key] = draw(VALUES)
            else:
                del container[key]
    return made


def enveloped(remembered: dict[str, Any]) -> bytes:
    envelope = {"apiVersion": "evictd.io/v1alpha1", "kind": "EvictdState", "bootID": "boot", "remembered": remembered}
    return json.dumps(envelope).encode()


def start(content: bytes) -> None:
    """Start on this file in a folder of its own."""
    with TemporaryDirectory() as folder:
        start_in(Path(folder), content)


def start_in(folder: Path, content: bytes) -> None:
    """Start on this file; it is used or set aside, and what is used can be decided upon and written again."""
    errors = RecordedErrors()
    file = StateFile(folder / "state.json", "boot")
    file.path.write_bytes(content)
    found = load_checkpoint(file, errors, NOW)
    assert file.path.exists() == (not errors)
    state = found.state
    for available, disk, at in ((GI // 2, 10, NOW + 1), (6 * GI, 90, NOW + 2)):
        state = synchronize(state, observe(available, at, disk=disk), CONFIG, at).state
        file.write({"state": encode_state(state), "evicted": sorted(found.evicted), "since": found.running_since})


@pytest.mark.parametrize("value", ["x", None, True, -1.5, 10**30, [], {}], ids=repr)
def test_each_single_value_can_be_another(value: object, tmp_path: Path) -> None:
    made = document(WATCHING)
    for container, key in list(places(made)):
        right, container[key] = container[key], value
        start_in(tmp_path, enveloped(made))
        container[key] = right


@given(damaged())
def test_a_document_with_other_values_in_it_is_used_or_set_aside(remembered: dict[str, Any]) -> None:
    start(enveloped(remembered))


@given(st.sampled_from(STATES), st.data())
def test_a_file_with_other_bytes_in_it_is_used_or_set_aside(state: State, data: st.DataObject) -> None:
    content = bytearray(enveloped(document(state)))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    start(bytes(content))


def test_a_file_nested_without_end_is_set_aside() -> None:
    start(b'{"kind":' + b"[" * 200_000)
