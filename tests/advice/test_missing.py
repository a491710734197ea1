"""Who would have gone first with a threshold that a node has not."""

from dataclasses import replace

import pytest

from evictd.advice.evidence import Uncovered
from evictd.advice.missing import recorded_first_to_go
from evictd.codec.records.journal import encode_entry
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.observation import Observation
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.errors import InputError
from tests.playbook import config, node, pod, usage

BELOW = Uncovered(
    node="n", wall="w", signal=Signal.MEMORY_AVAILABLE, available=1, capacity=2, line="500Mi", below=1, occasions=1,
    readings=1, first_met="w",
)  # fmt: skip
API, HOG = pod("api", memory="256Mi"), pod("hog", memory="5200Mi")
WITHOUT = config(hard={"nodefs.available": "1Gi"})


def line(api: str, *, killed: bool = False) -> bytes:
    """A reading with 320Mi left, in which the pod uses this much, and its processes were killed or not."""
    stats = {API.uid: usage(API, memory=api), HOG.uid: usage(HOG, memory="5Gi")}
    seen = Observation(node=node(memory="320Mi of 8Gi"), pods=(API, HOG), pod_stats=stats)
    step = synchronize(State(), seen, WITHOUT, 0)
    extra = {"kernelKilled": [{"where": "default/api", "uid": API.uid, "count": 1}]} if killed else None
    return encode_entry(now=0, wall="w", state=State(), observation=seen, config=WITHOUT, step=step, extra=extra)


def first(*lines: bytes) -> str | None:
    """The name of the pod that goes first."""
    row = recorded_first_to_go(lines[0], BELOW, *lines[1:])
    return None if row is None else row.pod.full_name


def test_the_ranking_of_the_reading_names_the_pod() -> None:
    assert first(line("500Mi")) == "default/api"
    assert first(line("100Mi")) == "default/hog"


def test_a_pod_that_the_kernel_has_killed_counts_with_what_it_used_before() -> None:
    """It uses nothing right after, and goes last then."""
    assert first(line("0", killed=True), line("500Mi")) == "default/api"
    assert first(line("0", killed=True)) is None, "what it used before is not known"


def test_a_value_that_is_none_and_a_damaged_line() -> None:
    assert recorded_first_to_go(line("500Mi"), replace(BELOW, line="0%")) is None
    with pytest.raises(InputError):
        recorded_first_to_go(b"{}", BELOW)
