"""Every decoder answers garbage with an error of the project's own, or with a value that can be used and written.

Once some fifteen inputs gave a traceback. The inputs are plain noise, plain values of any shape, and valid documents of
which one part was replaced; these reach furthest.
"""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.config.evictd_config import decode_evictd, validate_evictd
from evictd.codec.config.eviction_config import decode_eviction_config
from evictd.codec.config.kubelet_config import eviction_config
from evictd.codec.pods.manifest import decode_manifest
from evictd.codec.pods.pod import decode_pod, encode_pod
from evictd.codec.pods.slim_pods import decode_event, decode_page
from evictd.codec.records.journal import decode_entry, encode_entry
from evictd.codec.scenario import decode_scenario, encode_scenario
from evictd.codec.state import decode_state
from evictd.codec.summary import decode_summary, encode_summary
from evictd.codec.times import parse_time
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import Policy
from evictd.core.units.duration import parse_duration
from evictd.core.units.percentage import parse_percentage
from evictd.core.units.quantity import parse_quantity
from evictd.errors import EvictdError, InputError
from tests.commands.test_replay import journal_of
from tests.kube.objects import pod, pod_list

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([-1, 2**63, 10**30, "1e5000", "9" * 5000, "\ud800", "\x1b[31m", "9999-12-31T23:59:59-23:00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def entry(line: bytes) -> None:
    """Read a journal line, decide it again, and write it anew."""
    read = decode_entry(line)
    step = synchronize(read.state, read.observation, read.config, read.now)
    encode_entry(
        now=read.now, wall=read.wall, state=step.state, observation=read.observation, config=read.config, step=step
    )


def as_json(document: object) -> bytes:
    """Write plain values; half of a surrogate pair becomes an escape."""
    return json.dumps(document).encode()


def scenario(document: Any) -> None:
    """Read a scenario and write it again."""
    json.dumps(encode_scenario(decode_scenario(document)))


def evictd(document: Any) -> None:
    """Read and validate a configuration of evictd."""
    options, problems = decode_evictd(document)
    assert all(str(problem) for problem in (*problems, *validate_evictd(options)))


TEXT: list[Callable[[str], object]] = [parse_quantity, parse_duration, parse_percentage, parse_time]
DOCUMENTS: dict[str, Callable[[Any], object]] = {
    "pod": lambda document: json.dumps(encode_pod(decode_pod(document))),
    "pod text": lambda document: json.dumps(encode_pod(decode_pod(as_json(document)))),
    "page": lambda document: decode_page(pod_list(document, document)),
    "event": lambda document: decode_event(as_json({"type": "ADDED", "object": document})),
    "manifest": decode_manifest,
    "summary": lambda document: encode_summary(*decode_summary(document)),
    "scenario": scenario,
    "state": decode_state,
    "eviction config": decode_eviction_config,
    "entry": lambda document: entry(as_json(document)),
    "evictd config": evictd,
    "kubelet config": lambda document: eviction_config(document, policy=Policy.STANDARD),
}


def attempt(decode: Callable[[Any], object], given_: object) -> None:
    """Any error but the project's own fails the test."""
    try:
        decode(given_)
    except EvictdError as error:
        assert str(error)


@given(st.text(max_size=60) | st.from_regex(r"[+-]?[0-9.]{0,40}[eEinumkKMGTP]{0,3}[+-]?[0-9]{0,12}", fullmatch=True))
def test_any_text(text: str) -> None:
    """The parsers of single values."""
    for parse in TEXT:
        attempt(parse, text)


@given(st.binary(max_size=100))
def test_any_bytes(data: bytes) -> None:
    """The decoders of what comes over a wire."""
    for decode in (decode_pod, decode_page, decode_event, decode_entry, decode_summary):
        attempt(decode, data)


@pytest.mark.parametrize("name", DOCUMENTS)
@given(document=st.dictionaries(st.text(max_size=5), JUNK, max_size=3))
def test_any_document(name: str, document: dict[str, object]) -> None:
    """A document of any shape; the reader of its file checks that it is a map."""
    attempt(DOCUMENTS[name], document)


def places(document: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every path in a document."""
    below: list[tuple[str | int, Any]] = []
    if isinstance(document, dict):
        below = list(document.items())
    elif isinstance(document, list):
        below = list(enumerate(document))
    return [found for key, value in below for found in ((*path, key), *places(value, (*path, key)))]


def replaced(document: object, path: tuple[str | int, ...], value: object) -> Any:
    """Return the document with another value at this path."""
    made: Any = copy.deepcopy(document)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A valid document for each decoder, with as much in it as possible."""
    journal = journal_of("memory-with-priorities", tmp_path_factory.mktemp("journal") / "journal.jsonl")
    lines = [json.loads(line) for line in Path(journal).read_bytes().splitlines()]
    last = next(line for line in reversed(lines) if any(d["kind"] == "EvictPod" for d in line["decisions"]))
    made = pod("web")
    made["spec"]["volumes"] = [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]
    story = {"config": {"evictionHard": {"memory.available": "1Gi"}}, "pods": [made],
             "steps": [{"at": "1s", "summary": last["observation"]["summary"]}]}  # fmt: skip
    manifest = {"apiVersion": "v1", "kind": "Pod", **made}
    return {
        **dict.fromkeys(("pod", "pod text", "page", "event"), made),
        "manifest": manifest,
        "summary": last["observation"]["summary"],
        "scenario": story,
        "state": last["state"],
        "eviction config": last["config"],
        "entry": last,
        "evictd config": {
            "decisionPolicy": "Kubelet",
            "reclaim": {"keepImages": ["a"]},
            "journal": {"maxFileSize": "1Mi"},
        },
        "kubelet config": {"evictionHard": {"memory.available": "1Gi"}, "evictionMaxPodGracePeriod": 3},
    }


@pytest.mark.parametrize("name", DOCUMENTS)
@given(data=st.data())
def test_a_document_with_one_wrong_part(name: str, data: st.DataObject, valid: dict[str, Any]) -> None:
    """The valid one is read; with one part replaced it is read or refused."""
    document = valid[name]
    DOCUMENTS[name](document)
    path = data.draw(st.sampled_from(places(document)))
    attempt(DOCUMENTS[name], replaced(document, path, data.draw(JUNK)))


@pytest.mark.parametrize(
    "change", [{"decisions": [1]}, {"findings": [None]}, {"extra": 7}, {"now": "x"}, {"now": True}, {"wall": 3},
               {"observation": {}}, {"state": []}, {"config": None}, {"now": 10**30}, {"wall": "\ud800"}],
    ids=str,
)  # fmt: skip
def test_a_journal_entry_of_another_shape(change: dict[str, object], valid: dict[str, Any]) -> None:
    """One line in words; `"decisions": [1]` was a traceback in `replay`."""
    with pytest.raises(InputError) as caught:
        decode_entry(as_json({**valid["entry"], **change}))
    assert "\n" not in str(caught.value)
