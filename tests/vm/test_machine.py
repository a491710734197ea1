"""The machine is started anew until its job begins, and never afterwards (a shell in place of qemu)."""

from pathlib import Path

import pytest

from tests.vm import machine
from tests.vm.build import Image

LIMIT_SECONDS = 60


@pytest.fixture
def shell_for_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have `boot` run the script that a test writes into the returned file; each run adds a line to `starts`."""
    script = tmp_path / "qemu.sh"
    monkeypatch.setattr(machine, "_qemu", lambda *_: ["sh", str(script)])
    return script


def boot(
    script: Path, commands: str, *, limit_seconds: float = LIMIT_SECONDS, start_seconds: float = LIMIT_SECONDS
) -> float | None:
    script.write_text(f"cd {script.parent}; echo >>starts\n{commands}\n")
    image = Image(disk=script, kernel=script, initrd=script)
    return machine.boot(image, script.parent / "data.img", limit_seconds=limit_seconds, start_seconds=start_seconds)


def starts(script: Path) -> int:
    made = script.parent / "starts"
    return len(made.read_text().splitlines()) if made.exists() else 0


def test_the_job_marks_its_beginning() -> None:
    assert machine.JOB_BEGINS in Path(__file__).with_name("job.sh").read_text()


def test_a_boot_that_ends_before_the_job_is_repeated(shell_for_qemu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    panics_once = f"[ $(wc -l <starts) = 1 ] && exit; echo {machine.JOB_BEGINS}"
    assert boot(shell_for_qemu, panics_once) is not None
    assert starts(shell_for_qemu) == 2
    assert "did not begin the job and is started anew" in capsys.readouterr().out


def test_boots_that_hang_are_ended_and_given_up(shell_for_qemu: Path) -> None:
    assert boot(shell_for_qemu, "exec sleep infinity", start_seconds=0.1) is None
    assert starts(shell_for_qemu) <= machine.STARTS


def test_a_job_that_has_begun_is_not_repeated_when_the_machine_ends(shell_for_qemu: Path) -> None:
    assert boot(shell_for_qemu, f"echo {machine.JOB_BEGINS}; exit 1") is not None
    assert starts(shell_for_qemu) == 1


def test_a_job_that_exceeds_the_limit_is_not_repeated(shell_for_qemu: Path) -> None:
    hangs = f"echo {machine.JOB_BEGINS}; exec sleep infinity"
    assert boot(shell_for_qemu, hangs, limit_seconds=3) is None
    assert starts(shell_for_qemu) <= 1
