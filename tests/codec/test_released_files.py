"""Files that released versions wrote are read by this one: state, journal and configuration.

`tests/data/released` has a folder for each commit that was released or tried on a cluster; its own code wrote the files. In the
states a soft memory threshold of 60 s was crossed at 110 s, and the pod `writer` is being evicted for the disk.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.codec.records.journal import decode_entry
from evictd.codec.state import VERSION, decode_state, encode_state
from evictd.config.file import load
from evictd.config.settings import Settings
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.decision import EvictPod
from evictd.core.model.observation import Observation, Outcomes
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.daemon.store.checkpoint import load_checkpoint
from evictd.daemon.store.state_file import StateFile
from evictd.errors import InputError
from tests.playbook import config, node, pod, usage

RELEASED = Path(__file__).parents[1] / "data" / "released"
VERSIONS = ("5d26490", "d84383c")
BOOT = "boot-of-the-test"
SETTINGS = config(
    hard={"nodefs.available": "1Gi"}, soft={"memory.available": ("1Gi", "60s")}, max_pod_grace_period_seconds=30
)

pytestmark = pytest.mark.parametrize("version", VERSIONS)


def state_of(version: str) -> State:
    plain = json.loads((RELEASED / version / "state.json").read_text())
    return decode_state(plain["remembered"]["state"])


class NoErrors:
    def report_error(self, source: str, detail: str) -> None:
        raise AssertionError(f"{source}: {detail}")


def test_nothing_is_set_aside(version: str, tmp_path: Path) -> None:
    """Victims, timers, conditions and image records are those of the run before the upgrade."""
    (tmp_path / "state.json").write_bytes((RELEASED / version / "state.json").read_bytes())
    found = load_checkpoint(StateFile(tmp_path / "state.json", BOOT), NoErrors(), 160 * SECOND)
    assert (found.evicted, found.running_since) == (("earlier",), 95 * SECOND)
    assert list(found.images) == ["sha256:aa"]
    assert found.state.node_conditions == (NodeCondition.MEMORY_PRESSURE, NodeCondition.DISK_PRESSURE)
    assert sorted(found.state.thresholds_first_observed_at.values()) == [110 * SECOND, 120 * SECOND]
    (victim,) = found.state.in_flight
    assert (victim.full_name, victim.cause) == ("default/writer", Signal.NODEFS_AVAILABLE)
    assert victim.owed[Signal.NODEFS_AVAILABLE] == 900 << 20
    assert 120 * SECOND <= victim.since <= 150 * SECOND
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_a_soft_grace_period_goes_on_over_an_upgrade(version: str) -> None:
    """60 s from the crossing at 110 s, and not from the start of the new version; the first victim is not taken twice."""
    hog, calm = pod("hog"), pod("calm", memory="512Mi")
    state = replace(state_of(version), reported=False)
    went = []
    for at in (155, 160, 169, 170, 171):
        now = at * SECOND
        numbers = node(memory="512Mi of 8Gi", nodefs="5Gi of 10Gi", time=now)
        stats = {each.uid: usage(each, memory=amount) for each, amount in ((hog, "3Gi"), (calm, "100Mi"))}
        observation = Observation(
            node=numbers, pods=(hog, calm), pod_stats=stats, outcomes=Outcomes(cleaned_up=frozenset({"writer"}))
        )
        step = synchronize(state, observation, SETTINGS, now)
        went += [(at, each.pod.name) for each in step.decisions if isinstance(each, EvictPod)]
        state = step.state
    assert went == [(170, "hog")]


def test_the_state_is_written_in_the_present_version_and_means_the_same(version: str) -> None:
    """Reading it once more changes nothing."""
    plain = json.loads(json.dumps(encode_state(state_of(version))))
    assert plain["version"] == VERSION
    assert decode_state(plain) == state_of(version)


def test_every_journal_line_is_read_and_can_be_decided_again(version: str) -> None:
    """`evictd history`, `why` and `replay` show what a node did before the upgrade."""
    lines = (RELEASED / version / "journal.jsonl").read_bytes().splitlines(keepends=True)
    entries = [decode_entry(line) for line in lines]
    assert [each.now for each in entries][:3] == [100 * SECOND, 110 * SECOND, 120 * SECOND]
    decisions: list[Any] = [each for entry in entries for each in entry.decisions]
    evicted = [each["pod"]["name"] for each in decisions if each["kind"] == "EvictPod"]
    assert evicted == ["writer"]
    for entry in entries:
        synchronize(entry.state, entry.observation, entry.config, entry.now)


@pytest.mark.parametrize("name", ["evictd", "hard-and-soft", "beside-a-kubelet", "daemon-set"])
def test_a_configuration_is_accepted(version: str, name: str) -> None:
    """Examples and the DaemonSet's ConfigMap of that version."""
    assert isinstance(load(RELEASED / version / f"{name}.yaml"), Settings)


@pytest.mark.parametrize("change", [{"releases": [{}]}, {"lastObservations": 1}, {"filesystems": []}, {"version": 2}])
def test_a_damaged_state_is_refused_in_one_line(version: str, change: dict[str, object]) -> None:
    """Also one of an earlier version is never half read."""
    plain = json.loads((RELEASED / version / "state.json").read_text())["remembered"]["state"]
    if not change.keys() <= plain.keys():
        pytest.skip("a field of another version")
    with pytest.raises(InputError, match=r"^state: ") as caught:
        decode_state({**plain, **change})
    assert "\n" not in str(caught.value)
