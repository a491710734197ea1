"""The thresholds on memory of docs/tuning.md: `evictd check` accepts them on each node of the sizes that they are for."""

import json
import re
from pathlib import Path
from textwrap import dedent

import pytest

from evictd.cli import main
from evictd.config.kernel_share import kernel_share
from evictd.config.little_left import LARGE
from evictd.core.units.duration import SECOND, parse_duration
from evictd.core.units.quantity import parse_quantity
from tests.docs.pages import joined

PAGE = joined("tuning.md")
MI = 1 << 20
SMALL, MEASURED = 922, 8192
"""MiB that a node of 1 GiB reports at least, and those of the largest machine that was measured."""
FAULTS = {"SoftAfterHard", "MemoryThresholdNeverMet", "MuchMemoryKept", "LittleMemoryLeft", "AboveHalfOfCapacity"}


def test_the_bound_between_the_two_files_is_the_one_of_the_check() -> None:
    assert f"A node of 4 GiB reports {LARGE.value() // MI}Mi or more." in PAGE
    rollout = joined("rollout.md")
    assert f"one of 4 GiB {LARGE.value() // 1024}Ki ({LARGE.value() // MI}Mi) or more" in rollout
    assert f"({SMALL}Mi) or more" in rollout


@pytest.mark.parametrize(
    ("name", "least", "most"), [("small", SMALL, LARGE.value() // MI - 1), ("large", LARGE.value() // MI, MEASURED)]
)
def test_the_check_accepts_the_thresholds_on_memory_on_each_node_of_the_band(
    name: str, least: int, most: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With 350Mi, on nodes of 3692Mi to 3839Mi the hard threshold could act first; only whole sizes of the table were tested."""
    (block,) = re.findall(rf"^    # {name}\.yaml: .*\n(?:    .*\n)*", PAGE, re.MULTILINE)
    (path := tmp_path / "config.yaml").write_text(dedent(block))
    found: dict[int, set[str]] = {}
    for memory in (*range(least, most, 64), most):
        sizes = [f"--memory-capacity={memory}Mi", "--nodefs-capacity=20G", "--imagefs-capacity=20G"]
        assert main(["check", str(path), *sizes, "--output=json"]) == 0
        found[memory] = FAULTS & set(re.findall(r"\b[A-Z]\w+", json.dumps(json.loads(capsys.readouterr().out))))
    assert {memory: faults for memory, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    ("name", "least", "most"), [("small", SMALL, LARGE.value() // MI - 1), ("large", LARGE.value() // MI, MEASURED)]
)
def test_the_leak_that_the_page_names_crosses_the_rest_on_each_node_of_the_band(
    name: str, least: int, most: int
) -> None:
    """1 MiB a second on 2 GiB takes 90 MiB in 1m30s; of 350Mi 101 MiB were left above 150Mi and 99 MiB of the kernel."""
    text = " ".join(PAGE.split())
    (sentence,) = re.findall(
        r"A leak of (\d+) MiB a second below 4 GiB, of (\d+) from there on, crosses that rest within", text
    )
    rate = int(sentence[name == "large"])
    (block,) = re.findall(rf"^    # {name}\.yaml: .*\n(?:    .*\n)*", PAGE, re.MULTILINE)
    hard, soft = (parse_quantity(each).value() for each in re.findall(r"\bmemory\.available: (\w+i)\b", block))
    (grace,) = re.findall(r"evictionSoftGracePeriod: {memory\.available: (\w+)}", block)
    assert f"within {grace}: the hard one acts first" in text
    seconds = parse_duration(grace) // SECOND
    for memory in range(least, most + 1):
        share = kernel_share(memory * MI)
        assert share is not None
        rest = (soft - hard - share.idle) // MI
        assert (rate - 1) * seconds < rest < rate * seconds, f"{memory}Mi, if it is idle"
