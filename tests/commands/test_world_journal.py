"""The journal of a world: what the commands that read journals say of it is what happened in the world."""

import json
from pathlib import Path

import pytest

from evictd.cli import main
from evictd.codec.records.journal import decode_entry
from evictd.commands.played.world_journal import journal_lines
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import Policy
from evictd.world.lifecycle import EndCause, PodEnd
from tools.incidents import incident_files, play_incident

END = 1_800_000_000 * 10**9


@pytest.fixture(
    params=["01-recreated-hog", "16-long-grace-period", "25-budget-of-zero", "29-control-images-of-a-victim"]
)
def incident(request: pytest.FixtureRequest) -> Path:
    """A world file."""
    return next(each for each in incident_files() if each.stem == request.param)


def test_each_record_is_decided_again_as_it_was(incident: Path) -> None:
    run = play_incident(incident, (Policy.STANDARD,)).runs[Policy.STANDARD]
    lines = journal_lines(run, end=END)
    assert lines
    for entry in map(decode_entry, lines):
        again = synchronize(entry.state, entry.observation, entry.config, entry.now)
        assert tuple(type(each).__name__ for each in again.decisions) == tuple(each["kind"] for each in entry.decisions)


def test_history_has_the_evictions_of_the_world(
    incident: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = play_incident(incident, (Policy.STANDARD,)).runs[Policy.STANDARD]
    ended = [each.event for each in run.happened if isinstance(each.event, PodEnd)]
    main(["simulate", str(incident), "--journal", str(tmp_path)])
    assert (
        f"Journal written to {tmp_path}/journal.jsonl; read it by: evictd history {tmp_path}\n"
        in capsys.readouterr().err
    )
    assert main(["history", str(tmp_path), "--output", "json"]) == 0
    events = json.loads(capsys.readouterr().out)["events"]
    gone = {each["pod"] for each in events if each["kind"] == "Gone"}
    assert gone == {each.name for each in ended if each.cause is EndCause.EVICTED}


def test_a_journal_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "journal.jsonl").write_text("kept")
    world = str(incident_files()[0])
    assert main(["simulate", world, "--journal", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert "exists; give a directory without a journal" in printed.err
    assert printed.out == "", "the whole world was printed before it was refused"
    assert (tmp_path / "journal.jsonl").read_text() == "kept"


def test_a_place_that_is_no_directory_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["simulate", str(incident_files()[0]), "--journal", str(tmp_path / "file" / "in")]) == 2
    assert "--journal: " in capsys.readouterr().err


def test_a_scenario_has_no_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = next(iter(sorted(Path("config/scenarios").glob("*.yaml"))))
    assert main(["simulate", str(scenario), "--journal", str(tmp_path)]) == 2
    assert "only a world file" in capsys.readouterr().err


def test_what_the_kernel_killed_is_in_the_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node without a threshold on memory: nothing is evicted, and the leak's neighbour is killed again and again."""
    path = next(each for each in incident_files() if each.stem == "43-no-memory-threshold")
    run = play_incident(path, (Policy.STANDARD,)).runs[Policy.STANDARD]
    main(["simulate", str(path), "--journal", str(tmp_path)])
    assert main(["history", str(tmp_path), "--output", "json"]) == 0
    document = capsys.readouterr().out.partition("\n{")[2]
    events = json.loads("{" + document)["events"]
    killed = [each for each in events if each["kind"] == "KernelKilled"]
    assert sum(each["evidence"]["count"] for each in killed) == len(run.kills) > 0
    assert {each["pod"] for each in killed} == {kill.name for _, kill in run.kills}
