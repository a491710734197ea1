"""The command line: lazy commands, one line a fault, and exit codes that mean something."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from evictd import __version__
from evictd.cli import COMMANDS, main
from evictd.errors import EvictdError, ExitCode, InputError, RuntimeUnavailableError

ROOT = Path(__file__).parent.parent


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Put a body in the place of the command `status`."""

    def put(body: Callable[[], object]) -> None:
        module = ModuleType("stand_in")
        module.__dict__["add_arguments"] = lambda parser: parser.add_argument("--flag", action="store_true")
        module.__dict__["run"] = lambda _args: body()
        monkeypatch.setitem(sys.modules, "stand_in", module)
        monkeypatch.setitem(COMMANDS, "status", ("stand_in", "a stand-in"))

    return put


def raising(error: BaseException) -> Callable[[], object]:
    def body() -> object:
        raise error

    return body


def test_all_commands_are_offered(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    for name in ("run", "status", "check", "explain", "simulate", "replay", "capture", "demo"):
        assert f"    {name} " in out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"evictd {__version__}\n"


def test_no_command_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == ExitCode.USAGE
    assert "COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["bogus"], ["check", "--bogus"], ["--bogus"], ["check", "--outp=json"]])
def test_what_is_not_known_is_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == ExitCode.USAGE
    assert "error:" in capsys.readouterr().err


def test_the_answer_of_a_command_is_the_exit_status(command: Callable[[Callable[[], object]], None]) -> None:
    command(lambda: ExitCode.NO)
    assert main(["status", "--flag"]) == 1


@pytest.mark.parametrize(
    ("error", "status", "lines"),
    [
        (InputError(("f: a: b", "f: c: d")), 2, ["evictd: f: a: b", "evictd: f: c: d"]),
        (RuntimeUnavailableError("no\nanswer"), 3, ["evictd: no answer"]),
        (EvictdError("no"), 1, ["evictd: no"]),
        (EvictdError(), 1, ["evictd: EvictdError"]),
    ],
)
def test_an_error_is_one_line_a_fault_and_its_exit_code(
    command: Callable[[Callable[[], object]], None],
    capsys: pytest.CaptureFixture[str],
    error: EvictdError,
    status: int,
    lines: list[str],
) -> None:
    command(raising(error))
    assert main(["status"]) == status
    assert capsys.readouterr().err.splitlines() == lines


def test_ctrl_c_ends_quietly(
    command: Callable[[Callable[[], object]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    command(raising(KeyboardInterrupt()))
    assert main(["status"]) == 130
    assert capsys.readouterr().err == ""


def test_a_programmers_error_is_not_swallowed(command: Callable[[Callable[[], object]], None]) -> None:
    command(raising(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["status"])


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def load(_name: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'plotter'", name="plotter")

    monkeypatch.setattr("evictd.cli.importlib.import_module", load)
    assert main(["status"]) == ExitCode.NO
    assert "needs the Python package plotter" in capsys.readouterr().err


def test_a_wrong_configuration_has_no_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("kind: X\nkind: Y\n")
    assert main(["check", str(path)]) == ExitCode.USAGE
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"evictd: {path}: kind: ") for line in lines)


def evictd(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "evictd", *arguments]


def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        ended = subprocess.run(
            evictd("check", str(ROOT / "config/evictd.yaml"), "--root", str(tmp_path)),
            stdout=gone,
            stderr=subprocess.PIPE,
            cwd=ROOT / "src",
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_only_the_command_that_was_asked_for_is_imported() -> None:
    program = (
        "import sys; from evictd.cli import main\n"
        "try: main(['check', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'grpc', 'kubernetes', 'rich', 'matplotlib', 'prometheus_client', 'psutil', 'structlog'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or None)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT / "src", timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
