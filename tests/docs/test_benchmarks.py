"""docs/benchmarks.md: the figures that other pages take from its tables are the sums of the rows."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8").partition("<!-- suite: oom -->")[2]


def kills(mode: str) -> tuple[int, int]:
    """Return how many trials of a mode the OOM killer won, and of how many."""
    rows = re.findall(rf"^\| {mode} \| \d+ \| \d+ \| (\d+) of (\d+) \|", TABLE.partition("<!-- end")[0], re.MULTILINE)
    assert len(rows) == 3
    return sum(int(lost) for lost, _ in rows), sum(int(trials) for _, trials in rows)


@pytest.mark.parametrize("name", ["README.md", "docs/from-the-kubelet.md"])
def test_what_evictd_adds_to_a_kubelet_has_the_figures_of_the_table(name: str) -> None:
    """The figures of a third mode, with a look every 10 s, stood between the two that a reader with a kubelet compares."""
    text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
    (kubelet, trials), (evictd, of_evictd) = map(kills, ("kubelet", "standard"))
    (sentence,) = re.findall(r"memory was filled \d+ times.*? compares the decisions\.", text)
    assert re.findall(r"\b\d+\b", sentence) == [str(each) for each in (trials, kubelet, of_evictd)]
    assert evictd == 0
    assert f"in none of {of_evictd} fills" in sentence
    assert "benchmarks.md#before-the-oom-killer" in sentence
    assert "--compare Kubelet" in sentence
    before = text.partition(sentence)[0][-60:]
    assert "node of 1024 MiB (cgroup v1), `memory.available<100Mi`" in TABLE
    assert "On 1 GiB (cgroup v1, threshold 100Mi) " in before, "the conditions of the figures"


def test_the_readme_names_the_price_beside_a_kubelet() -> None:
    """It had what evictd adds, and not what it takes."""
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/from-the-kubelet.md"))
    for amount in ("160Mi", "924Mi more of each node", "1Gi"):
        assert amount in page
        assert amount in readme.partition("Beside a kubelet evictd takes")[2].partition("\n")[0]


def test_the_first_row_tells_the_kubelets_policy_from_its_interval() -> None:
    """28 of 30 were lost under policy Kubelet, which was woken in time; the row called them the loop of 10 s."""
    first = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8").partition("does the OOM killer come first")[2]
    row = first.partition("\n")[0]
    for mode, words in (("kubelet", "under policy Kubelet"), ("10 s poll", "with a look every 10 s")):
        lost, trials = kills(mode)
        assert f"{lost} of {trials} {words}" in row
