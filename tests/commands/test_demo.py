"""Runs `evictd demo` as a process."""

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from evictd.cli import main
from evictd.commands import demo as command
from evictd.errors import ExitCode, InputError

ROOT = Path(__file__).parents[2]


def demo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "evictd", "demo", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment}
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=200, env=environment, cwd=ROOT)


def test_the_simulated_demonstration_says_so_and_plots(tmp_path: Path) -> None:
    """The simulated node, drawn as well."""
    done = demo("--simulated", "--plot", str(tmp_path / "demo.svg"))
    assert done.returncode == 0, done.stderr
    assert "This is the simulated node" in done.stdout
    after = done.stdout.partition("What to try next:\n")[2]
    assert after.startswith(f"  {command.program()} simulate config/scenarios/ten-minutes.yaml")
    assert "job-beside-a-database.yaml" not in after, "it has just been shown"
    assert (tmp_path / "demo.svg").exists()
    result = " ".join(done.stdout.split()).partition(" Result: ")[2]
    assert result == " ".join(command.RESULT.split()).removeprefix("Result: "), "it ended with the commands to try"


def test_the_result_is_that_of_the_world(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(ROOT / "config/worlds" / command.WORLD)]) == 0
    concluded = " ".join(capsys.readouterr().out.partition("\n\n")[2].split())
    for said in ("default/job was evicted at 53.3s", "come at 1m13.3s", "killed default/database first"):
        assert said in concluded


def test_the_simulated_demonstration_fits_on_a_screen(tmp_path: Path) -> None:
    """It had forty lines at 80x24, of which eighteen were gone when it ended; the plot's line and the prompt are below them."""
    done = demo("--simulated", "--plot", str(tmp_path / "demo.svg"), COLUMNS="80")
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines(), "$ "]
    assert len(lines) <= 24
    assert max(map(len, lines[:-2])) <= 80
    assert any("evict default/job" in line for line in lines)


def test_the_story_is_told_without_the_conclusion_of_the_simulation() -> None:
    assert command.story("a: decided\n  53s  evict\n  in 18 cycles nothing changes\n\nend") == "  53s  evict"
    assert command.story("a: decided\n  53s  evict\n") == "  53s  evict"
    assert command.story("") == ""


def test_a_simulation_does_not_draw_over_the_plot_of_a_real_run(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Path] = []

    def simulate(file: Path) -> ExitCode:
        drawn.append(file)
        return ExitCode.DONE

    monkeypatch.setattr("evictd.commands.demo._simulate", simulate)
    assert command.run(Namespace(simulated=True, plot=None)) is ExitCode.DONE
    assert command.run(Namespace(simulated=True, plot=Path("mine.svg"))) is ExitCode.DONE
    assert drawn == [Path("build/demo-simulated.svg"), Path("mine.svg")]


def test_the_commands_to_try_next_are_as_they_have_to_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make demo` in a checkout ended with commands that the shell does not find."""
    (folder := tmp_path / ".venv/bin").mkdir(parents=True)
    (folder / "evictd").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    assert command.program() == str(folder / "evictd")
    monkeypatch.chdir(tmp_path)
    assert command.program() == ".venv/bin/evictd"
    (check,) = (line for line in command.next_steps(80, program=command.program()) if " check " in line)
    assert check == "  .venv/bin/evictd check config/evictd.yaml  a configuration on this machine"
    assert "  docs/getting-started.md" in command.next_steps(60, program=command.program())
    monkeypatch.setenv("PATH", str(folder))
    assert command.program() == "evictd"


def test_an_installation_without_the_test_node_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The image has evictd alone."""
    monkeypatch.setattr("evictd.commands.demo.importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("evictd.commands.demo._simulate", lambda _: ExitCode.DONE)
    assert command.run(Namespace(simulated=False, plot=None)) is ExitCode.DONE
    assert "(this installation is without evictd_testnode, which a checkout, " in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_plot_that_cannot_be_drawn_is_refused_before_the_demonstration(tmp_path: Path) -> None:
    """`--plot /tmp` ended after half a minute with `no plot`, exit status 0, and wrote `/tmp.jsonl`."""
    with pytest.raises(InputError, match=r"is no picture that can be drawn; give FILE\.svg or FILE\.png"):
        command.run(Namespace(simulated=True, plot=tmp_path))


def test_a_plot_in_a_directory_that_is_not_there_is_refused_before_the_demonstration(tmp_path: Path) -> None:
    """`--plot /nonexist/demo.svg` made the directory."""
    with pytest.raises(InputError, match=r"^--plot: .*/none/demo\.svg: No such file or directory$"):
        command.run(Namespace(simulated=True, plot=tmp_path / "none/demo.svg"))
    assert not (tmp_path / "none").exists()
