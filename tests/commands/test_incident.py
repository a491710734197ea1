"""`evictd incident`."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.codec.journal import decode_entry
from evictd.commands import incident
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.resources import EPHEMERAL_STORAGE, IN_MEMORY, Container, Volume, VolumeKind
from evictd.core.model.signal import Signal
from evictd.core.model.stats import DiskUsage
from evictd.core.units.quantity import of_bytes
from evictd.errors import ExitCode, InputError, NotFoundError
from evictd.render.history.evictions import evictions_of
from evictd.render.incident.incident import incident_of
from evictd.render.incident.verdict import Need
from tests.daemon.world import GI, NOW, STATIC, WEB, pod, uses
from tests.playbook import usage
from tests.render.recorded_incident import OLD, journal_lines, recorded
from tests.shortages import holders


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A state directory whose journal was rotated within the incident."""
    lines = journal_lines()
    (tmp_path / "journal.1.jsonl").write_bytes(b"".join(lines[:2]))
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines[2:]))
    return tmp_path


def command(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    incident.add_arguments(parser)
    return parser.parse_args(arguments)


def test_the_last_one_is_shown_with_the_account(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert incident.run(command("--directory", str(directory))) is ExitCode.DONE
    shown = capsys.readouterr().out
    assert shown.startswith("incident uid-hog-: default/hog-old at 2026-01-01T00:00:30Z")
    assert "no end of any pod would have" in " ".join(shown.split())
    assert "a request of 6Gi of memory (it had none): default/web (5Gi) would have gone in its place" in " ".join(
        shown.split()
    )
    assert incident.run(command("uid-hog-", "--directory", str(directory), "--output", "json")) is ExitCode.DONE
    document = json.loads(capsys.readouterr().out)
    assert document["successors"] == [{"pod": "default/hog-new", "afterSeconds": 12.0}]
    assert incident.run(command("last", "--directory", str(directory), "--output", "html")) is ExitCode.DONE
    assert capsys.readouterr().out.startswith("<!doctype html>")


def test_all_are_listed(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert incident.run(command("--list", "--directory", str(directory))) is ExitCode.DONE
    listed = capsys.readouterr().out
    assert "Of 2.5Gi that filled memory since 00:00:00, pods took 0" in listed, "the cause, not the order alone"
    assert listed.startswith("uid-hog-  2026-01-01T00:00:30Z  Evicted default/hog-old (6Gi)")
    assert incident.run(command("--list", "--directory", str(directory), "--output", "json")) is ExitCode.DONE
    assert len(json.loads(capsys.readouterr().out)["incidents"]) == 1
    one = (directory / "journal.1.jsonl").read_bytes().splitlines(keepends=True)[-1]
    with (directory / "journal.jsonl").open("ab") as journal:
        journal.write(one.replace(b"2026-01-01T00:00:30Z", b"2026-01-01T00:10:30Z"))
    assert incident.run(command("--list", "--directory", str(directory))) is ExitCode.DONE
    assert capsys.readouterr().out.startswith("uid-hog-  2026-01-01T00:10:30Z  ")
    with pytest.raises(InputError, match="--list"):
        incident.run(command("--list", "--directory", str(directory), "--output", "html"))


def test_incidents_that_one_owner_repeats_are_folded_in_the_list(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """117 lines were the same but for a number."""
    one = (directory / "journal.1.jsonl").read_bytes().splitlines(keepends=True)[-1]
    with (directory / "journal.jsonl").open("ab") as journal:
        for number in range(4):
            other = one.replace(b"uid-hog-old", b"%d-uid-hog" % number).replace(b"00:00:30Z", b"00:1%d:30Z" % number)
            journal.write(other)
    assert incident.run(command("--list", "--directory", str(directory))) is ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "... the same of ReplicaSet/hog 3 more times, 1m0s to 10m0s apart; the last time (--all lists each): 3-uid-ho"
        in shown
    )
    assert [each in shown for each in ("uid-hog- ", "0-uid-ho", "2-uid-ho")] == [True, False, False]
    assert incident.run(command("--list", "--all", "--directory", str(directory))) is ExitCode.DONE
    assert "2-uid-ho  2026-01-01T00:12:30Z" in capsys.readouterr().out


def test_an_unknown_one_and_an_empty_journal_are_answered_with_no(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"0000: is no incident of this journal; there are uid-hog-"):
        incident.run(command("0000", "--directory", str(directory)))
    for name in ("default/hog-odl", "hog-old", "hog"):
        with pytest.raises(NotFoundError, match=r"is no incident of this journal; did you mean default/hog-old\?"):
            incident.run(command(name, "--directory", str(directory)))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    with pytest.raises(NotFoundError, match=r"the journal has no eviction; `evictd history` says"):
        incident.run(command("--list", "--journal", str(tmp_path / "empty.jsonl")))
    with pytest.raises(NotFoundError, match="the journal has no eviction"):
        incident.run(command("--journal", str(tmp_path / "empty.jsonl")))
    with pytest.raises(InputError, match="there is no journal"):
        incident.run(command("--directory", str(tmp_path / "none")))


def test_the_decision_is_made_again_with_a_request() -> None:
    """A small neighbour over its request was said to go in the place of a pod that alone holds what is missing."""
    entry = decode_entry(journal_lines()[1])
    found = incident_of(recorded(), evictions_of(recorded()), "last")
    assert incident.with_request(entry, found) == "default/web"
    full = replace(pod("full"), containers=(Container(name="main", limits={EPHEMERAL_STORAGE: of_bytes(1 << 20)}),))
    stats = {**entry.observation.pod_stats, full.uid: usage(full, memory="1Mi", rootfs="2Mi")}
    seen = replace(entry.observation, pods=(full, OLD, WEB, STATIC), pod_stats=stats)
    assert incident.with_request(replace(entry, observation=seen), found) == "default/web", "not the one over its limit"
    small = pod("web")
    stats = {**entry.observation.pod_stats, small.uid: uses(small, GI // 16, entry.now)}
    held = holders({OLD.uid: 6 * GI, small.uid: GI // 16}, {OLD.uid: GI}, at=entry.now)
    beside_a_small_one = replace(
        entry,
        state=replace(entry.state, holdings={Signal.MEMORY_AVAILABLE: held}),
        observation=replace(entry.observation, pod_stats=stats, pods=(OLD, small, STATIC)),
    )
    assert incident.with_request(beside_a_small_one, found) == "default/hog-old"
    assert incident.with_request(entry, replace(found, signal=Signal.PID_AVAILABLE)) is None, "PIDs are not requested"


def test_a_pod_that_grows_alone_was_needed_and_one_beside_it_not() -> None:
    entry = decode_entry(journal_lines()[1])
    grows = holders({OLD.uid: 2 * GI}, {OLD.uid: GI}, at=NOW)
    held = {OLD.uid: 6 * GI, WEB.uid: GI // 2, STATIC.uid: GI // 2}
    stats = {each.uid: uses(each, held[each.uid], entry.now) for each in entry.observation.pods}
    entry = replace(
        entry,
        state=replace(entry.state, holdings={Signal.MEMORY_AVAILABLE: grows}),
        observation=replace(entry.observation, pod_stats=stats),
    )
    state = synchronize(entry.state, entry.observation, entry.config, entry.now).state
    said = incident.verdict_of(entry, state, Signal.MEMORY_AVAILABLE, "default/hog-old")
    assert said is not None
    assert (said.need, said.fewest) == (Need.NEEDED, ("default/hog-old",))
    other = incident.verdict_of(entry, state, Signal.MEMORY_AVAILABLE, "default/web")
    assert other is not None
    assert other.need is Need.ANOTHER_POD
    assert incident.verdict_of(entry, state, Signal.NODEFS_AVAILABLE, "default/web") is None


def test_a_pod_behind_the_journals_is_the_incident(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--journal FILE default/hog-old` took the pod for a second file."""
    journal = directory / "journal.1.jsonl"
    assert incident.run(command("--journal", str(journal), "default/hog-old")) is ExitCode.DONE
    assert capsys.readouterr().out.startswith("incident uid-hog-")
    with pytest.raises(NotFoundError, match="nope: is no incident of this journal"):
        incident.run(command("--journal", str(journal), "nope"))


@pytest.mark.parametrize(
    ("used", "most"),
    [
        ({"rootfs": "1Gi", "logs": "60Gi"}, "container logs"),
        ({"rootfs": "60Gi", "volumes": {"data": "1Gi"}}, "writable layers"),
        ({"rootfs": "1Gi", "volumes": {"data": "60Gi"}}, "volumes"),
        ({"rootfs": "1Gi", "logs": "1Gi"}, ""),
    ],
)
def test_the_part_that_holds_most_of_a_pods_disk_use_is_named(used: dict[str, Any], most: str) -> None:
    """A report on a log of 68Gi did not speak of logs."""
    assert incident.most_of_disk(usage(WEB, **used)) == most
    assert incident.most_of_disk(None) == ""


def test_deleted_files_that_are_open_are_summed() -> None:
    stats = replace(
        usage(WEB, rootfs="1Gi"), deleted_layer=DiskUsage(used_bytes=2 * GI), deleted_local=DiskUsage(used_bytes=GI)
    )
    assert incident.deleted_bytes(stats) == 3 * GI
    assert incident.most_of_disk(stats) == "deleted files that are open"
    assert incident.deleted_bytes(None) == 0


def test_a_resize_that_was_not_granted_is_read_from_the_cycle() -> None:
    records = recorded()
    found = incident_of(records, evictions_of(records), "last")
    entry = decode_entry(journal_lines()[1])
    assert incident.asked_request(entry, found) == 0
    asking = Container(name="main", requests={"memory": of_bytes(GI)}, asked={"memory": of_bytes(6 * GI)})
    pods = (replace(OLD, containers=(asking,)), WEB)
    entry = replace(entry, observation=replace(entry.observation, pods=pods))
    assert incident.asked_request(entry, found) == 6 * GI


def test_an_empty_dir_in_memory_is_read_from_the_cycle() -> None:
    records = recorded()
    found = incident_of(records, evictions_of(records), "last")
    entry = decode_entry(journal_lines()[1])
    assert not incident.has_volume_in_memory(entry, found)
    pods = (replace(OLD, volumes=(Volume(name="shm", kind=VolumeKind.EMPTY_DIR, medium=IN_MEMORY),)), WEB)
    assert incident.has_volume_in_memory(replace(entry, observation=replace(entry.observation, pods=pods)), found)
