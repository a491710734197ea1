"""`evictd why`."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.cli import main
from evictd.commands import incident, why
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.telemetry.http import HttpServer, json_page
from evictd.daemon.telemetry.statusz.status_page import snapshot_view
from evictd.errors import ExitCode, InputError, NodeError
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.node_view import explanation_document
from tests.commands.test_history import line
from tests.commands.test_incident import command as incident_command
from tests.daemon.status import status_of
from tests.daemon.world import GI, NOW, WEB, observe, pod, snapshot
from tests.locked import locked_directory
from tests.recorded_errors import NoErrors
from tests.render.recorded_incident import journal_lines
from tests.render.shown_nodes import play
from tests.stories import ROOT


@pytest.fixture
def address() -> Iterator[str]:
    seen = snapshot(4 * GI)
    pages = {
        "/statusz": lambda: json_page(status_of(seen, NOW)),
        "/explainz": lambda: json_page(explanation_document(snapshot_view(seen), rows=None)),
    }
    server = HttpServer("127.0.0.1:0", pages, NoErrors())
    yield f"127.0.0.1:{server.port}"
    server.close()


def command(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    why.add_arguments(parser)
    return parser.parse_args(arguments)


def test_the_daemon_alone_is_enough(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("default/web", "--address", address, "--directory", str(tmp_path))
    assert why.run(command(*arguments)) is ExitCode.DONE
    assert "place 2 of 2" in capsys.readouterr().out
    assert why.run(command(*arguments, "--output", "json")) is ExitCode.DONE
    document = json.loads(capsys.readouterr().out)
    assert (document["known"], document["places"][0]["place"]) == (True, 2)


def test_the_journal_alone_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "journal.jsonl").write_bytes(line(NOW, "2026-01-01T00:00:00Z"))
    arguments = ("--address", "127.0.0.1:1", "--directory", str(tmp_path))
    assert why.run(command("default/hog", *arguments)) is ExitCode.DONE
    shown = capsys.readouterr().out
    assert "2026-01-01T00:00:00Z: evict default/hog" in shown
    assert "no daemon answers" in shown


def test_a_journal_alone_tells_the_place_of_a_pod_that_was_not_evicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "copied.jsonl"
    journal.write_bytes(line(NOW, "2026-01-01T00:00:00Z"))
    arguments = ("--address", "127.0.0.1:1", "--journal", str(journal))
    assert why.run(command("default/web", *arguments)) is ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "2026-01-01T00:00:00Z: default/hog was evicted for memory.available; this pod was at place 2 of 2 "
        "Evicted default/hog (6Gi): it requests none and uses 6Gi; default/web, the next, exceeds its request of 1Gi"
    ) in shown
    assert why.run(command("default/web", *arguments, "--output", "json")) is ExitCode.DONE
    assert [(row["victim"], row["place"]) for row in json.loads(capsys.readouterr().out)["passed"]] == [
        ("default/hog", 2)
    ]


def test_an_eviction_that_was_refused_did_not_pass_over_a_pod(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`default/leak was evicted` was said of three requests that a budget refused."""
    journal = tmp_path / "copied.jsonl"
    refused = b'"extra":{"refused":[{"pod":"default/hog","uid":"uid-hog","detail":"needs 2"}]}'
    later = line(NOW + 30 * SECOND, "2026-01-01T00:00:30Z").replace(b'"extra":{}', refused, 1)
    assert refused in later
    journal.write_bytes(line(NOW, "2026-01-01T00:00:00Z") + later)
    arguments = ("--address", "127.0.0.1:1", "--journal", str(journal))
    assert why.run(command("default/web", *arguments)) is ExitCode.DONE
    shown = capsys.readouterr().out
    assert "2026-01-01T00:00:30Z: default/hog was evicted" in shown
    assert "2026-01-01T00:00:00Z: default/hog was evicted" not in shown


def test_a_pod_that_was_replaced_is_found_by_its_owner_in_a_rotated_journal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = (replace(pod(name), owner="ReplicaSet/report-7d4f") for name in ("report-7d4f-old", "report-7d4f-new"))
    (tmp_path / "journal.1.jsonl").write_bytes(line(NOW, "2026-01-01T00:00:00Z", pods=(old, WEB)))
    (tmp_path / "journal.jsonl").write_bytes(line(NOW + MINUTE, "2026-01-01T00:01:00Z", pods=(WEB,)))
    seen = snapshot(4 * GI)
    seen = replace(seen, observation=observe(4 * GI, pods=(new, WEB)))
    pages = {
        "/statusz": lambda: json_page(status_of(seen, NOW)),
        "/explainz": lambda: json_page(explanation_document(snapshot_view(seen), rows=None)),
    }
    server = HttpServer("127.0.0.1:0", pages, NoErrors())
    arguments = ("--address", f"127.0.0.1:{server.port}", "--directory", str(tmp_path))
    try:
        assert why.run(command(f"default/{old.name}", *arguments)) is ExitCode.DONE
        gone = " ".join(capsys.readouterr().out.split())
        assert why.run(command(f"default/{new.name}", *arguments)) is ExitCode.DONE
        here = " ".join(capsys.readouterr().out.split())
        assert why.run(command(f"default/{new.name}", *arguments, "--output", "json")) is ExitCode.DONE
    finally:
        server.close()
    assert (
        "Evicted default/report-7d4f-old (6Gi): it requests none and uses 6Gi; "
        "default/web, the next, exceeds its request of 1Gi by 4Gi" in gone
    )
    assert "its owner ReplicaSet/report-7d4f runs default/report-7d4f-new on this node now" in gone
    assert "2026-01-01T00:00:00Z: evict default/report-7d4f-old" in here
    assert "ReplicaSet/report-7d4f owns this pod and default/report-7d4f-new" in here
    document = json.loads(capsys.readouterr().out)
    assert [each["pod"] for each in document["replaced"]] == [f"default/{old.name}"]


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    with locked_directory(tmp_path, line(NOW, "2026-01-01T00:00:00Z")) as folder:
        yield folder


def test_without_the_right_to_read_the_journal_the_daemon_answers(
    locked: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert why.run(command("default/web", "--address", address, "--directory", str(locked))) is ExitCode.DONE
    said = " ".join(capsys.readouterr().out.split())
    assert "place 2 of 2" in said
    assert "Permission denied): what happened before is known to root only" in said
    with pytest.raises(NodeError, match=r"no evictd answers at .* running\? .*: Permission denied; --journal"):
        why.run(command("a/b", "--address", "127.0.0.1:1", "--directory", str(locked)))


def test_what_another_daemon_decided_is_not_mixed_with_the_journal_of_this_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An eviction that `status` listed was unknown to `why --address`, which read the journal of this node's daemon beside it."""
    seen = play([6 * GI, GI // 2, 6 * GI], gone_at=2)
    own, other = tmp_path / "own", tmp_path / "other"
    pages = {
        "/statusz": lambda: json_page({**status_of(seen, seen.at), "node": "b"}),
        "/explainz": lambda: json_page(explanation_document(snapshot_view(seen), rows=None)),
        "/configz": lambda: json_page({"stateDirectory": str(own)}),
    }
    recorded = line(NOW, "2026-01-01T00:00:00Z")
    for folder, node in ((own, b"b"), (other, b"a")):
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(recorded.replace(b'"node-1"', b'"%s"' % node))
    server = HttpServer("127.0.0.1:0", pages, NoErrors())
    address = f"127.0.0.1:{server.port}"
    try:
        assert why.run(command("default/hog", "--address", address)) is ExitCode.DONE
        assert "2026-01-01T00:00:00Z: evict default/hog" in capsys.readouterr().out
        beside, alone = "the journal is of node a, the evictd that answers of b", f"--journal {other}"
        asked = command("default/hog", "--address", address, "--directory", str(other))
        with pytest.raises(InputError, match=f"{beside}; {alone} without --address reads only the journal$"):
            why.run(asked)
        assert why.run(command("default/hog", *alone.split())) is ExitCode.DONE
        assert "2026-01-01T00:00:00Z: evict default/hog" in capsys.readouterr().out
        (own / "journal.jsonl").write_bytes((other / "journal.jsonl").read_bytes())
        assert why.run(command("default/hog", "--address", address)) is ExitCode.DONE
    finally:
        server.close()
    said = capsys.readouterr()
    assert "2026-01-01" not in said.out
    assert "evict default/hog" in said.out
    assert said.err == ""


def test_an_unknown_pod_is_a_no(address: str, tmp_path: Path) -> None:
    assert why.run(command("a/b", "--address", address, "--directory", str(tmp_path))) is ExitCode.NO


def test_with_neither_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        NodeError, match=r"no evictd answers at .* running\? --journal reads the files of a node that is away"
    ):
        why.run(command("a/b", "--address", "127.0.0.1:1", "--directory", str(tmp_path)))


@pytest.mark.parametrize("pod", ["web", "a/b/c", "/b", "a/"])
def test_what_is_no_pod_is_bad_usage(pod: str) -> None:
    with pytest.raises(InputError, match="NAMESPACE/POD"):
        why.run(command(pod))


def test_what_is_no_address_is_bad_usage(tmp_path: Path) -> None:
    for address in ("foo", "foo:", ":1", "foo:70000"):
        with pytest.raises(InputError, match="is no host:port"):
            why.run(command("a/b", "--address", address, "--directory", str(tmp_path)))


def test_a_pod_behind_the_journals_is_meant_and_an_incident_is_pointed_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--journal FILE default/hog` took the pod for a second file; the ID that `incident` prints was no pod."""
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(line(NOW, "2026-01-01T00:00:00Z"))
    assert why.run(command("--journal", str(journal), "default/hog")) is ExitCode.DONE
    said = "".join(capsys.readouterr().out.split())
    assert f"`evictdincidentdefault/hog--journal{journal}`shows" in said
    with pytest.raises(InputError, match=r"uid-hog: is no pod; .* `evictd incident uid-hog` shows that eviction"):
        why.run(command("uid-hog", "--journal", str(journal)))
    with pytest.raises(InputError, match="which pod"):
        why.run(command("--journal", str(journal)))


def test_an_evicted_pod_is_told_what_to_do_as_its_incident_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`why` named the order only: the setting that avoids the next eviction stood in `evictd incident` alone."""
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(b"".join(journal_lines()))
    assert why.run(command("default/hog-old", "--journal", str(journal))) is ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert incident.run(incident_command("default/hog-old", "--journal", str(journal))) is ExitCode.DONE
    reported = " ".join(capsys.readouterr().out.split())
    said = shown[shown.index("in short: ") : shown.index(" would have avoided it: ")]
    assert said in reported
    assert shown.index("in short: ") < shown.index("`evictd incident default/hog-old --journal")


def told(world: str, pod: str, journal: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of a pod of a recorded incident, in one line."""
    if not journal.exists():
        main(["simulate", str(ROOT / "config" / "incidents" / f"{world}.yaml"), "--journal", str(journal)])
    capsys.readouterr()
    assert why.run(command(pod, "--journal", str(journal))) is ExitCode.DONE
    return " ".join(capsys.readouterr().out.split())


def test_a_pod_that_goes_on_leaking_is_told_to_be_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The fifth of five leaks was said to be behind four others, as a bystander is; `incident` said to end it."""
    journal = tmp_path / "journal"
    shown = told("30-control-many-hogs", "default/leak-4", journal, capsys)
    assert "now: no threshold of memory.available was met " in shown
    assert "; default/leak-4 still grows by 3Mi a second, and at that rate the node is short again at about " in shown
    assert shown.endswith(": limit or end it only the journal was read (--address HOST:PORT asks a daemon too)")
    assert "now: " not in told("30-control-many-hogs", "default/web-0", journal, capsys)


def test_a_pod_is_told_what_is_to_be_done_as_every_incident_of_the_shortage_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One journal said to free memory outside pods, to look at the host, and to lower the threshold (world 23)."""
    journal, world = tmp_path / "journal", "23-threshold-never-clear"
    now = "now: the threshold is still met: lower the threshold (`evictd check` shows it as an amount on this node)"
    paused = told(world, "default/web-5", journal, capsys)
    assert "that is too little, so evictions pause; until " in paused
    assert f"{now} only the journal was read" in paused
    assert now in told(world, "default/web-0", journal, capsys)
    assert incident.run(incident_command("default/web-0", "--journal", str(journal))) is ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "in short: nothing grew afterwards; the eviction gave back too little" in shown
    assert "not known yet" not in shown


def test_a_pod_that_grew_beside_images_that_held_most_inodes_is_not_blamed_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = told("40-images-fill-inodes", "default/app", tmp_path / "journal", capsys)
    assert (
        "pods took 40000 (all of it default/app); nothing else grew unused containers and images held 599000, most"
        in shown
    )


def test_a_pod_whose_page_cache_holds_the_threshold_met_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`it grew most` was all that was said of it: a reader would have limited a pod that holds 200Mi."""
    shown = told("36-file-reader", "default/reader", tmp_path / "journal", capsys)
    assert "it grew most when MemoryPressure began" in shown
    assert "only page cache holds the threshold met" in shown
    assert "now: set `memory.formula: MemAvailable`" in shown


def test_a_reason_for_no_eviction_is_over_where_its_condition_began_again() -> None:
    stop = HistoryEvent(
        at="2026-01-01T00:01:00Z", kind=EventKind.NO_ACTION, text="evictions pause", signal="memory.available"
    )
    chosen = HistoryEvent(at=stop.at, kind=EventKind.REQUESTED, text="ask to evict a/x")
    memory = HistoryEvent(
        at=stop.at,
        kind=EventKind.CONDITIONS,
        text="MemoryPressure begins, DiskPressure ends",
        begun=("MemoryPressure",),
        ended=("DiskPressure",),
    )
    assert why.is_superseded([stop, chosen])
    assert why.is_superseded([stop, memory])
    assert not why.is_superseded([memory, stop])
    assert not why.is_superseded([stop, replace(memory, begun=("DiskPressure",))]), "another resource is short"


def test_the_daemon_says_whether_the_node_is_short_now(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For the whole transition period `the node is still short` was said, beside `would have to fall by 78.7Mi`."""
    (tmp_path / "journal.jsonl").write_bytes(line(NOW, "2026-01-01T00:00:00Z"))
    journal = ("--directory", str(tmp_path))
    assert why.run(command("default/hog", "--address", address, *journal)) is ExitCode.DONE
    assert "now: no threshold of memory.available is met" in " ".join(capsys.readouterr().out.split())
    assert why.run(command("default/hog", "--address", "127.0.0.1:1", *journal)) is ExitCode.DONE
    assert "available is met" not in capsys.readouterr().out
