"""Starts evictd on a real node over the files that an earlier version left under pressure."""

import json
import time
from pathlib import Path

import pytest

from evictd import cli
from evictd.errors import ExitCode
from tests.cluster import objects
from tests.cluster.node import NAME, RealNode
from tests.cluster.short_disk import chosen
from tests.cluster.side_by_side import OFF, daemon
from tests.kube.waiting import eventually

RELEASED = Path(__file__).parents[1] / "data" / "released"
pytestmark = [pytest.mark.cluster, pytest.mark.root]


@pytest.mark.parametrize("version", ["5d26490", "d84383c"])
def test_conditions_of_the_version_before_are_kept_for_the_transition_period(real_node: RealNode, version: str) -> None:
    """No threshold is met now, so only the old version's state can say that the disk was short a moment ago."""
    folder = real_node.folder / f"upgrade-{version}"
    folder.mkdir()
    _carry_over(RELEASED / version / "state.json", folder / "state.json")
    try:
        with daemon(real_node, {"stateDirectory": str(folder)}, evictionHard=OFF) as recorded:
            eventually(lambda: _conditions(real_node) == {"EvictdDiskPressure", "EvictdMemoryPressure"}, 120)
            assert chosen(recorded) == []
    finally:
        kubeconfig = real_node.plane.kubeconfig("evictd")
        assert cli.main(["cleanup", "--node", NAME, f"--kubeconfig={kubeconfig}"]) == ExitCode.DONE


def _carry_over(old: Path, path: Path) -> None:
    """Write an old version's state as one of this boot, its last observations of a few seconds ago."""
    plain = json.loads(old.read_text())
    plain["bootID"] = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    state, now = plain["remembered"]["state"], time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    state["nodeConditionsLastObservedAt"] = dict.fromkeys(state["nodeConditionsLastObservedAt"], now - 5_000_000_000)
    path.write_text(json.dumps(plain))


def _conditions(node: RealNode) -> set[str]:
    found = node.plane.admin.must("GET", f"{objects.NODES}/{NAME}")["status"]["conditions"]
    return {each["type"] for each in found if each["type"].startswith("Evictd") and each["status"] == "True"}
