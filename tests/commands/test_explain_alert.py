"""`evictd explain-alert`."""

import argparse
import re
from pathlib import Path

import pytest

from evictd.commands import explain_alert
from evictd.errors import ExitCode, InputError

ROOT = Path(__file__).parents[2]


def command(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    explain_alert.add_arguments(parser)
    return parser.parse_args(arguments)


def test_the_packaged_text_is_that_of_the_documentation() -> None:
    packaged = Path(explain_alert.__file__).with_name("alerts.md")
    assert packaged.read_text() == (ROOT / "docs" / "alerts.md").read_text(), "run `make reference`"


def test_every_alert_has_its_run_book_and_names_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    rules = (ROOT / "deploy" / "chart" / "evictd" / "files" / "alerts.yaml").read_text()
    for name in re.findall(r"alert: (\w+)", rules):
        assert explain_alert.run(command(name)) is ExitCode.DONE
        shown = capsys.readouterr().out
        assert shown.startswith(f"{name}\n\nMeaning.")
        assert "## " not in shown
        assert f"runbook: evictd explain-alert {name}\n" in rules


def test_without_a_name_all_are_listed_and_a_name_may_be_short(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain_alert.run(command()) is ExitCode.DONE
    listed = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["EvictdDryRunForLong", "A dry run has lasted a week."] in listed
    assert explain_alert.run(command("dryrunforlong")) is ExitCode.DONE
    assert capsys.readouterr().out.startswith("EvictdDryRunForLong")


def test_a_run_book_is_as_wide_as_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert explain_alert.run(command("EvictdEvictionCannotHelp")) is ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert "- `HeldBack`: look at the disruption budgets and at the" in lines
    assert any(line.startswith("  owners that recreate their pods. ") for line in lines)


def test_a_command_of_a_run_book_is_one_line_on_any_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At 80 columns `helm upgrade ... --values` ended a line: pasted, a shell ran that, and `my-values.yaml` as a command."""
    monkeypatch.setenv("COLUMNS", "80")
    page = (ROOT / "docs" / "alerts.md").read_text()
    for name in re.findall(r"^## (\w+)$", page, re.MULTILINE):
        explain_alert.run(command(name))
    lines = capsys.readouterr().out.splitlines()
    commands = re.findall(r"^    .*$", page.partition("\n## Evictd")[2], re.MULTILINE)
    assert len(commands) > 5
    assert [each for each in commands if each not in lines] == []


def test_an_unknown_alert_is_bad_usage() -> None:
    with pytest.raises(InputError, match="EvictdDwn: is no alert of evictd; did you mean EvictdDown"):
        explain_alert.run(command("EvictdDwn"))
    with pytest.raises(InputError, match="there are EvictdDown, "):
        explain_alert.run(command("qqqq"))


def test_up_to_three_alerts_are_named_the_one_that_means_the_last_word_among_them() -> None:
    """Only EvictdEvictionCannotHelp was named, which is about a threshold at which no pod is evicted."""
    names = "EvictdEvictionCannotHelp, EvictdCannotPerform or EvictdReloadFailed"
    with pytest.raises(InputError, match=rf"is no alert of evictd; did you mean {names}\?$"):
        explain_alert.run(command("EvictdEvictionFailed"))


@pytest.mark.parametrize("name", ["EvictdEvictionLimitReached", "evictionlimitreached"])
def test_a_reason_with_the_prefix_of_an_alert_is_found_in_its_run_book(name: str) -> None:
    with pytest.raises(InputError, match=r"the run book of EvictdEvictionCannotHelp names it$"):
        explain_alert.run(command(name))


@pytest.mark.parametrize("name", ["EvictdBlind", "blind"])
def test_an_unknown_alert_is_found_by_its_word_in_the_run_books(name: str) -> None:
    """All names begin alike, so `EvictdBlind` was most similar to the shortest one."""
    with pytest.raises(InputError, match=r"the run book of EvictdDown or EvictdSignalUnavailable names it$"):
        explain_alert.run(command(name))


def test_links_name_the_page_as_a_file() -> None:
    """A terminal showed `([Rollout](rollout.md))`, later `(docs/rollout.md)`, a long page without the heading."""
    books = explain_alert.runbooks((ROOT / "docs" / "alerts.md").read_text(encoding="utf-8"))
    assert (
        "`systemReserved` first (docs/rollout.md#3-a-canary-pool-beside-the-kubelet).\nThen"
        in books["EvictdDryRunForLong"]
    )
    assert books["EvictdDryRunForLong"].startswith("Meaning. A dry run has lasted a week.")
    assert "add the missing right (docs/cluster.md#rights)." in books["EvictdCannotPerform"]
    assert not [name for name, book in books.items() if "](" in book]
