"""Runs `evictd demo` on a real node."""

from pathlib import Path

import pytest

from evictd.commands import incident
from evictd.errors import ExitCode
from tests.commands.test_demo import demo
from tests.commands.test_incident import command as parsed
from tests.conftest import reason_against_nodes


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
