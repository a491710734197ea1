"""The conditions file of a standalone node, in Kubernetes' form."""

import json
from pathlib import Path

import pytest

from evictd.act.conditions_file import ConditionsFile
from evictd.codec.times import rfc3339
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import SECOND

AT = 1_700_000_000 * SECOND
LATER = AT + 60 * SECOND
DISK = NodeCondition.DISK_PRESSURE


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def read(path: Path, most_bytes: int) -> bytes:
    return path.read_bytes()[:most_bytes]


@pytest.fixture
def file(tmp_path: Path) -> ConditionsFile:
    return ConditionsFile(tmp_path / "conditions.json", node="node-1", replace_file=write, read_file=read)


def entries(tmp_path: Path) -> dict[str, dict[str, str]]:
    document = json.loads((tmp_path / "conditions.json").read_text())
    return {entry["type"]: entry for entry in document["conditions"]}


def test_all_three_conditions_are_written_in_the_api_s_form(file: ConditionsFile, tmp_path: Path) -> None:
    file.report([DISK], AT)
    assert list(entries(tmp_path)) == ["MemoryPressure", "DiskPressure", "PIDPressure"]
    assert entries(tmp_path)["DiskPressure"] == {
        "type": "DiskPressure",
        "status": "True",
        "lastHeartbeatTime": "2023-11-14T22:13:20Z",
        "lastTransitionTime": "2023-11-14T22:13:20Z",
        "reason": "KubeletHasDiskPressure",
        "message": "kubelet has disk pressure",
    }


def test_the_heartbeat_moves_and_the_transition_does_not(file: ConditionsFile, tmp_path: Path) -> None:
    file.report([DISK], AT)
    file.report([DISK], LATER)
    entry = entries(tmp_path)["DiskPressure"]
    assert (entry["lastHeartbeatTime"], entry["lastTransitionTime"]) == (rfc3339(LATER), rfc3339(AT))


def test_a_change_moves_both_times_and_changes_the_texts(file: ConditionsFile, tmp_path: Path) -> None:
    file.report([DISK], AT)
    file.report([], LATER)
    entry = entries(tmp_path)["DiskPressure"]
    assert entry["lastTransitionTime"] == rfc3339(LATER)
    assert (entry["status"], entry["reason"]) == ("False", "KubeletHasNoDiskPressure")


def test_each_transition_is_one_event_of_the_node(file: ConditionsFile) -> None:
    assert len(file.report([], AT)) == 3
    assert file.report([], LATER) == ()
    (event,) = file.report([DISK], LATER)
    assert (event.type, event.reason) == ("Normal", "NodeHasDiskPressure")
    assert event.message == "Node node-1 status is now: NodeHasDiskPressure"


def test_a_restart_is_no_transition(file: ConditionsFile, tmp_path: Path) -> None:
    file.report([DISK], AT)
    again = ConditionsFile(tmp_path / "conditions.json", node="node-1", replace_file=write, read_file=read)
    assert again.report([DISK], LATER) == ()
    assert entries(tmp_path)["DiskPressure"]["lastTransitionTime"] == rfc3339(AT)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"conditions": [{}]}', b'{"conditions": 3}', b"\xff"])
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "conditions.json").write_bytes(content)
    file = ConditionsFile(tmp_path / "conditions.json", node="node-1", replace_file=write, read_file=read)
    assert len(file.report([], AT)) == 3
