"""Where evictions do not help, the pages lead to the commands that find what no pod holds."""

import re
from pathlib import Path

import pytest
import yaml

from evictd.commands.explain_alert import runbooks
from evictd.commands.inputs.source import own_config
from evictd.core.model.config import Policy
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.world.file import decode_world
from evictd.world.loop import play

DOCS = Path(__file__).parents[2] / "docs"
PARTS = ["Meaning.", "Severity.", "Look.", "Do."]
COMMANDS = "(alerts.md#evictdevictionsdonothelp)"


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("begin", ["| a disk or memory stays short", "* **The disk stays full**", "| `NoActivePods`, "])
def test_troubleshooting_leads_to_the_commands(begin: str) -> None:
    """It said to look outside pods, and neither how nor where that is said."""
    (line,) = (each for each in text_of("troubleshooting.md").splitlines() if each.startswith(begin))
    assert COMMANDS in line


def test_a_run_book_without_commands_leads_to_the_one_that_has_them() -> None:
    section = runbooks(text_of("alerts.md"))["EvictdEvictionCannotHelp"]
    (line,) = (each for each in section.splitlines() if each.startswith("- `NothingHelps`"))
    assert "EvictdEvictionsDoNotHelp" in line


HOST_FILLS = """
kind: World
name: the-host-fills-memory
config: {evictionHard: {memory.available: 500Mi}}
duration: 20m
node: {memory: 8Gi}
pods:
- {name: agent, static: true, behaviours: [{hold: {of: memory, amount: 300Mi}}]}
host: [{name: build, behaviours: [{grow: {of: memory, rate: 10Mi, bound: 7500Mi}}]}]
"""


def test_a_constant_pod_is_no_cause_where_the_host_filled_memory() -> None:
    """The reason is `ProtectedCulprit`, at which both pages said to limit or move that pod, which freed 300 MiB of 8 GiB."""
    file = decode_world(yaml.safe_load(HOST_FILLS))
    run = play(file.world, own_config(file, Policy.STANDARD))
    reasons = {each.why for cycle in run.cycles for each in cycle.step.findings if isinstance(each, NoAction)}
    assert reasons == {NoActionReason.PROTECTED_CULPRIT}
    (row,) = (line for line in text_of("troubleshooting.md").splitlines() if line.startswith("| `ProtectedCulprit`"))
    (item,) = re.findall(r"^- `ProtectedCulprit`: (.*)$", text_of("alerts.md"), re.MULTILINE)
    begin = f"| `ProtectedCulprit` | first free [what no pod holds]{COMMANDS} if that grew"
    assert row.startswith(begin)
    assert item == "first the same if that grew, then limit or move the pod."
    assert text_of("alerts.md").index("- `NothingHelps`: ") < text_of("alerts.md").index("- `ProtectedCulprit`: ")


def test_the_commands_find_each_consumer_that_is_no_pod() -> None:
    """One listed all snapshots for those that nothing uses, and none found a hostPath directory."""
    book = runbooks(text_of("alerts.md"))["EvictdEvictionsDoNotHelp"]
    for command in ("du -xh", "lsof +L1", "journalctl --disk-usage", "hostPath.path", "crictl rmi --prune", "findmnt"):
        assert command in book
    assert "until when evictions pause" in book


def test_what_no_pod_holds_is_freed_at_once() -> None:
    """It said "before the pause ends", ten minutes or more: in the incidents 02 and 07 nothing is left 30 s later."""
    book = " ".join(runbooks(text_of("alerts.md"))["EvictdEvictionsDoNotHelp"].split())
    assert "Do. Free at once what no pod holds: nothing may be left half a minute into the pause." in book
    lines = text_of("troubleshooting.md").splitlines()
    (stays,) = (each for each in lines if each.startswith("* **The disk stays full**"))
    assert "free at once" in stays


def test_each_command_that_measures_a_disk_names_the_disk() -> None:
    """That for inodes had no path, so that it measured the directory where it was typed."""
    book = runbooks(text_of("alerts.md"))["EvictdEvictionsDoNotHelp"]
    measure = re.findall(r"`(du .*?)`", book)
    assert len(measure) == 2
    assert all('"$(findmnt -no TARGET -T /var/lib/kubelet)" | sort' in command for command in measure)


def test_each_part_of_a_run_book_is_a_paragraph() -> None:
    """A blank line was missing: `explain-alert` printed what to look at and what to do as one paragraph."""
    for name, book in runbooks(text_of("alerts.md")).items():
        begins = [paragraph.split(maxsplit=1)[0] for paragraph in book.split("\n\n")]
        assert [begin for begin in begins if begin in PARTS] == PARTS, name


def test_the_run_book_says_what_went_before_the_alert() -> None:
    """It fires a minute into the pause, and no alert says that two pods have gone in vain by then."""
    book = runbooks(text_of("alerts.md"))["EvictdEvictionsDoNotHelp"]
    assert "Two pods went before the alert, and memory or disk may have run out. Sooner: " in " ".join(book.split())
    assert "#to-learn-of-each-eviction" in text_of("alerts.md").partition("## EvictdEvictionsDoNotHelp")[2]
