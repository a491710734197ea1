"""SIGHUP: the configuration is read again, and errors in it change nothing."""

import os
import signal
import threading
from dataclasses import replace

from evictd.act.dry_run import DryRunActuator
from evictd.config.settings import Settings
from evictd.config.written import Written
from evictd.daemon.waiter import SIGNALS
from evictd.errors import NodeError
from tests.daemon.conftest import Make
from tests.daemon.double import LoopOnScript
from tests.daemon.world import CONFIG, GI, HARD, observe
from tests.settings import settings_with

LIVE = Written(fields=frozenset({"dryRun"}))


def reloaded(make: Make, fresh: Settings | Exception, *, dry_run: bool = False) -> LoopOnScript:
    """Run a loop until it has been asked to reload once."""

    def read() -> Settings:
        os.kill(os.getpid(), signal.SIGTERM)
        if isinstance(fresh, Exception):
            raise fresh
        return fresh

    ours = make([observe(4 * GI)], read=read, dry_run=dry_run)
    ours.wake.listen(SIGNALS)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGHUP))
    timer.start()
    ours.loop.run()
    timer.join()
    return ours


def test_sighup_puts_the_new_configuration_into_effect(make: Make) -> None:
    eviction = replace(CONFIG, thresholds=(HARD,))
    ours = reloaded(make, settings_with(eviction=eviction, dry_run=True, listen_address=""))
    assert ours.loop._reloader.eviction == eviction
    assert isinstance(ours.node.effects.actuator, DryRunActuator)
    assert {line["field"] for line in ours.logged if line["event"] == "configuration changes"} == {
        "thresholds",
        "dryRun",
    }


def test_the_end_of_a_dry_run_is_a_warning(make: Make) -> None:
    ours = reloaded(make, settings_with(eviction=CONFIG, dry_run=False, listen_address="", written=LIVE), dry_run=True)
    (line,) = [each for each in ours.logged if each["event"] == "configuration changes"]
    assert (line["level"], line["field"], line["old"], line["new"]) == ("warning", "dryRun", "true", "false")


def test_the_warnings_of_the_new_files_are_logged(make: Make) -> None:
    ours = reloaded(make, replace(settings_with(CONFIG, listen_address=""), warnings=("x is surprising",)))
    (line,) = [each for each in ours.logged if each.get("source") == "configuration"]
    assert (line["level"], line["event"]) == ("warning", "x is surprising")


def test_a_configuration_with_an_error_changes_nothing(make: Make) -> None:
    ours = reloaded(make, NodeError("config.yaml: no such file"))
    assert ours.loop._reloader.eviction == CONFIG
    assert ours.board.reload_fault.endswith("config.yaml: no such file")
    assert [line["source"] for line in ours.logged if line["event"] == "error"] == ["reload"]
