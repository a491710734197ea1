"""A limit that evictd cannot work with is one clear line and exit status 3, never an abort in a library."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from evictd.daemon.host.limits import LEAST_ADDRESS_SPACE, LEAST_DESCRIPTORS, require_limits

LIMITED = """
import resource, sys
from evictd.cli import main
kind, soft, hard = map(int, sys.argv[1:4])
resource.setrlimit(kind, (soft, hard))
sys.exit(main(sys.argv[4:]))
"""
RAISED = """
import resource
from evictd.daemon.host.limits import require_limits
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 1000))
require_limits()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def limited(kind: int, amount: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", LIMITED, str(kind), str(amount), str(amount), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("amount", [16, 20, LEAST_DESCRIPTORS - 1])
def test_too_few_descriptors_are_one_line(tmp_path: Path, amount: int) -> None:
    ended = limited(resource.RLIMIT_NOFILE, amount, "run", "--config", str(tmp_path / "none.yaml"))
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr == (
        f"evictd: limit of open files: {amount} is too low, at least {LEAST_DESCRIPTORS} (LimitNOFILE=, ulimit -n)\n"
    )


@pytest.mark.parametrize("mebibytes", [60, 160, (LEAST_ADDRESS_SPACE >> 20) - 1])
def test_too_little_address_space_is_one_line(tmp_path: Path, mebibytes: int) -> None:
    ended = limited(resource.RLIMIT_AS, mebibytes << 20, "run", "--config", str(tmp_path / "none.yaml"))
    assert (ended.returncode, ended.stdout) == (3, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"evictd: limit of address space: {mebibytes}Mi is too low, at least 2048Mi or none")


def test_a_command_that_runs_out_of_memory_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_text("a: " + "x" * (30 << 20))
    ended = limited(resource.RLIMIT_AS, 90 << 20, "check", str(path))
    assert ended.returncode in {2, 3}, ended.stderr
    assert [line.partition(":")[0] for line in ended.stderr.splitlines()] == ["evictd"], ended.stderr


def test_the_soft_limit_of_descriptors_is_raised() -> None:
    ended = subprocess.run([sys.executable, "-c", RAISED], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "(1000, 1000)\n"


def test_a_filter_of_system_calls_that_refuses_a_higher_limit_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(kind: int, limits: tuple[int, int]) -> None:
        asked.append((kind, limits))
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(
        resource, "getrlimit", lambda kind: (1024, 4096) if kind == resource.RLIMIT_NOFILE else (-1, -1)
    )
    monkeypatch.setattr(resource, "setrlimit", refuse)
    require_limits()
    assert asked == [(resource.RLIMIT_NOFILE, (4096, 4096))]
