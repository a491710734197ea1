"""The command line: lazy imports of commands, one line per fault, exit codes."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from evictd import __version__
from evictd.cli import COMMANDS, main
from evictd.errors import EvictdError, ExitCode, InputError, NotFoundError, RuntimeUnavailableError
from tests.commands.test_replay import journal_of
from tests.locked import locked_directory
from tests.stories import SCENARIOS

ROOT = Path(__file__).parent.parent


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Replace the command `status` by a function."""

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


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"evictd {__version__}\n"


def test_no_command_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == ExitCode.USAGE
    assert "COMMAND" in capsys.readouterr().err


def test_a_misspelt_command_gets_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulte", "x.yaml"]) == ExitCode.USAGE
    assert capsys.readouterr().err == "evictd: simulte: is no command; did you mean simulate?\n"


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("version", "did you mean --version?"),
        ("evict", "`evictd run` evicts pods, and `evictd explain` shows which would be first"),
        ("xyz", "see `evictd --help`"),
    ],
)
def test_a_word_that_is_no_command_is_not_answered_with_the_raw_list(
    word: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == ExitCode.USAGE
    assert capsys.readouterr().err == f"evictd: {word}: is no command; {answer}\n"


def test_a_misspelt_option_of_evictd_itself_gets_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    """`--verison` was sent to the help, beside a misspelt command, which gets a suggestion."""
    with pytest.raises(SystemExit):
        main(["--verison"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --verison; did you mean --version?\n")


def test_a_file_without_its_option_is_answered_with_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", __file__])
    assert capsys.readouterr().err.endswith(f"unrecognized arguments: {__file__}; did you mean --config {__file__}?\n")


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return what is written of arguments that are bad usage."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == ExitCode.USAGE
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["check", "--memory", "16Gi", __file__], "--memory; did you mean --memory-capacity?"),
        (["check", "--memory-capcity", "16Gi", __file__], "--memory-capcity; did you mean --memory-capacity?"),
        (["check", "--imagefs=1G", __file__], "--imagefs=1G; did you mean --imagefs-capacity or --imagefs-inodes?"),
        (["simulate", "--conf", "a.yaml", __file__], "--conf; did you mean --config?"),
        (["explain", "--kube", "a", "b"], "--kube; did you mean --kubeconfig or --kube-reserved?"),
        (["simulate", "--xy", "a", "b"], "--xy; see evictd simulate --help"),
        (["run", "--dry-run", "false"], "false; did you mean --dry-run=false?"),
        (["status", "--watch", "false"], "false; see evictd status --help"),
    ],
)
def test_a_misspelt_option_is_named_without_the_file_that_follows_its_value(
    arguments: list[str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The value was taken for the file, and so the file was called unrecognized beside the option."""
    assert refusal(arguments, capsys) == f"evictd {arguments[0]}: error: unrecognized arguments: {fault}\n"


@pytest.mark.parametrize("arguments", [["check", "--bogus"], ["--bogus"], ["check", "--outp=json"]])
def test_an_unknown_argument_is_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    error = refusal(arguments, capsys)
    assert "error:" in error
    remedy = {"--bogus": "see evictd check --help", "--outp=json": "did you mean --output?"}
    if arguments[0] == "check":
        assert error == f"evictd check: error: unrecognized arguments: {arguments[1]}; {remedy[arguments[1]]}\n"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["run", "--config"], "argument --config: expected one argument"),
        (["explain", "--policy", "x"], "argument --policy: invalid choice: 'x' (choose from 'Standard', 'Kubelet')"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line(
    arguments: list[str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refusal(arguments, capsys) == f"evictd {arguments[0]}: error: {fault}; see evictd {arguments[0]} --help\n"


def test_the_result_of_a_command_is_the_exit_status(command: Callable[[Callable[[], object]], None]) -> None:
    command(lambda: ExitCode.NO)
    assert main(["status", "--flag"]) == 1


@pytest.mark.parametrize(
    ("error", "status", "lines"),
    [
        (InputError(("f: a: b", "f: c: d")), 2, ["evictd: f: a: b", "evictd: f: c: d"]),
        (RuntimeUnavailableError("no\nanswer"), 3, ["evictd: no answer"]),
        (EvictdError("no"), 1, ["evictd: no"]),
        (NotFoundError("no eviction\nnow: look"), 1, ["evictd: no eviction", "  now: look"]),
        (EvictdError(), 1, ["evictd: EvictdError"]),
    ],
)
def test_an_error_is_one_line_per_fault_and_its_exit_code(
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


def test_an_unforeseen_exception_is_not_hidden(command: Callable[[Callable[[], object]], None]) -> None:
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
    twice, unknown = capsys.readouterr().err.splitlines()
    assert twice.startswith(f"evictd: {path}: line 2: kind: ")
    assert unknown.startswith(f"evictd: {path}: line 2: kind: ")


def test_a_fault_is_folded_at_the_width_of_the_terminal_with_commands_whole() -> None:
    """A terminal cut words at its last column; a pipe gets each fault on one line."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 60, 0, 0))
    command = evictd("simulate", "x" * 70)
    piped = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert piped.count("\n") == 1
    subprocess.run(evictd("explain-alert", "qqqq"), stderr=theirs, check=False)
    os.close(theirs)
    lines = os.read(ours, 65536).decode().splitlines()
    os.close(ours)
    assert len(lines) > 5
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith("evictd: qqqq: is no alert of evictd; there are")
    assert all(line.startswith(" " * len("evictd: ")) for line in lines[1:])
    assert "EvictdLogLinesDropped" in lines[-1]


def evictd(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "evictd", *arguments]


def test_a_closed_pipe_is_no_fault(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("words", [[], ["why"]])
def test_help_is_a_command_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for arguments in (["help", *words], [*words, "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


def test_the_help_has_each_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert all(f" {each.value} " in text.partition("Exit status:")[2] for each in ExitCode)


def test_a_full_disk_behind_standard_output_is_one_clear_error() -> None:
    """Exit status 1 would be an answer."""
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            evictd("simulate", str(ROOT / "config/scenarios/memory-with-priorities.yaml")),
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=ROOT / "src",
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (3, b"evictd: standard output: No space left on device\n")


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "0<&- 1>&- 2>&-"])
@pytest.mark.parametrize(("words", "status"), [("explain-alert EvictdDown", 0), ("check --config nowhere", 2)])
def test_a_closed_descriptor_does_not_change_the_exit_status(words: str, status: int, closed: str) -> None:
    ended = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m evictd {words} {closed}"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, b"Traceback" in ended.stderr) == (status, False)


def test_a_name_that_is_too_long_is_one_clear_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "--directory", "x" * 5000]) == ExitCode.UNREACHABLE
    shown = capsys.readouterr().err
    assert shown.endswith("...: File name too long\n")
    assert len(shown) < 100


@pytest.mark.parametrize(
    "command",
    ["check --config", "check --config-dir", "check", "explain --config", "explain", "simulate", "history", "advise"],
)
def test_a_file_in_a_directory_that_this_user_may_not_enter_is_a_wrong_input(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not a node that is not reached, which a caller tries again."""
    main([*command.split(), str(tmp_path / "none.yaml")])  # imports everything as the present user
    capsys.readouterr()
    with locked_directory(tmp_path, b"{}") as folder:
        assert main([*command.split(), str(folder / "journal.jsonl")]) == ExitCode.USAGE
    assert re.search(r"journal\.jsonl: Permission denied; .*use sudo", capsys.readouterr().err)


def test_only_the_requested_command_is_imported() -> None:
    """Each reload of the service runs `check`, also on a node without an API server, which has no client of it."""
    program = (
        "import sys; from evictd.cli import main\n"
        "try: main(['check', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'grpclib', 'google.protobuf', 'kubernetes', 'urllib3', 'rich', 'matplotlib', 'psutil'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or None)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT / "src", timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_command_shows_its_own_options_first_and_the_kubelet_s_only_when_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Thirty flags of the kubelet stood before `--log-level`."""
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    text = capsys.readouterr().out
    assert text.index("--log-level") < text.index("--config PATH")
    assert "--eviction-hard" not in text
    assert "--help-kubelet-flags" in text


def test_the_kubelet_s_flags_come_with_their_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "--help-kubelet-flags"])
    assert ended.value.code == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[1:]}
    assert "(default: 5m0s)" in lines["--eviction-pressure-transition-period"]
    assert "(default: none)" in lines["--eviction-hard"]
    assert all("(default: " in line and "None" not in line for line in lines.values())
    assert "--config" not in lines


def _pipe(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_a_hyphen_reads_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = SCENARIOS / "memory-with-priorities.yaml"
    for command in ("simulate", "explain"):
        _pipe(scenario.read_bytes(), monkeypatch)
        assert main([command, "-"]) == 0
        assert "memory.available" in capsys.readouterr().out
    _pipe(b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n", monkeypatch)
    assert main(["check", "-", "--output", "json"]) in {0, 1}
    assert '"signal": "memory.available"' in capsys.readouterr().out
    _pipe(b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: x\n", monkeypatch)
    assert main(["check", "-"]) == 2
    assert capsys.readouterr().err.startswith("evictd: standard input: line 3: maxPods: ")
    _pipe(journal_of("memory-with-priorities", tmp_path / "journal.jsonl").read_bytes(), monkeypatch)
    assert main(["replay", "-"]) == 0


def test_an_empty_standard_input_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A daemon that read its configuration from a pipe finds nothing there at a reload, which must not mean no thresholds."""
    _pipe(b"", monkeypatch)
    assert main(["check", "-"]) == 2
    assert "standard input: is empty" in capsys.readouterr().err


def test_the_help_writes_a_boolean_flag_as_it_has_to_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, line in (
        (["run", "--help"], "--dry-run=true|false"),
        (["run", "--help-kubelet-flags"], "--cgroups-per-qos=true|false"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert line in capsys.readouterr().out
