"""Runs `evictd demo` on a real node."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evictd.commands import incident
from evictd.errors import ExitCode
from evictd_testnode import command
from tests.commands.test_demo import demo
from tests.commands.test_incident import command as parsed
from tests.conftest import reason_against_nodes


def test_an_interrupt_is_reported_after_the_node_is_removed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C left a blank terminal, and the user did not know whether anything remained."""
    removed: list[str] = []

    @contextmanager
    def node(_: object) -> Iterator[None]:
        yield None
        removed.append(capsys.readouterr().out)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    for name, replacement in (
        ("sweep", list), ("start_cleanup_process", list), ("find_binaries", str), ("demo_node", node), ("_run", interrupted),
    ):  # fmt: skip
        monkeypatch.setattr(command, name, replacement)
    with pytest.raises(KeyboardInterrupt):
        command.run(Path("demo.svg"))
    assert removed == [" making the node: its own containerd on a disk of 160Mi, and images for it\n"]
    assert capsys.readouterr().out == "interrupted; the node was removed\n"


@pytest.mark.root
@pytest.mark.containerd
def test_garbage_is_collected_before_exactly_the_right_pod_is_evicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real demonstration, with its timeline line by line, because there is no terminal."""
    if reason := reason_against_nodes():
        pytest.skip(reason)
    done = demo("--plot", str(tmp_path / "demo.svg"))
    assert done.returncode == 0, done.stdout + done.stderr
    output = done.stdout
    assert output.index("2 dead containers removed") < output.index("evicts default/log-shipper")
    assert output.index("2 unused images removed") < output.index("evicts default/log-shipper")
    assert output.count(" evicts default/") == 1
    assert output.index("2 unused images removed") < output.index("enough is left again")
    assert output.index("making the node") < output.index("the node is up")
    assert output.index("DiskPressure ends") < output.index("replaying and plotting evictd's journal")
    assert (
        output.index("the threshold of 60Mi is crossed")
        < output.index("reports DiskPressure")
        < output.index("DiskPressure ends")
    )
    assert "why this pod: " in output
    assert " evictd evicted default/log-shipper: " in output.split("What to try next:")[1]
    assert (tmp_path / "demo.svg").exists()
    assert f"incident --journal {tmp_path / 'demo.jsonl'}\n" in output
    assert incident.run(parsed("--journal", str(tmp_path / "demo.jsonl"))) is ExitCode.DONE
    assert ": default/log-shipper at " in capsys.readouterr().out
