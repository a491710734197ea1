"""SIGHUP: the configuration is read again, and errors in it change nothing."""

import os
import signal
import threading
from dataclasses import replace

from evictd.config.settings import Settings
from evictd.daemon.actuator.dry_run import DryRunActuator
from evictd.daemon.waiter import SIGNALS
from evictd.errors import NodeError
from tests.daemon.conftest import Make
from tests.daemon.double import LoopOnScript
from tests.daemon.world import CONFIG, GI, HARD, observe


def reloaded(make: Make, fresh: Settings | Exception) -> LoopOnScript:
    """Run a loop until it has been asked to reload once."""

    def read() -> Settings:
        os.kill(os.getpid(), signal.SIGTERM)
        if isinstance(fresh, Exception):
            raise fresh
        return fresh

    ours = make([observe(4 * GI)], read=read)
    ours.wake.listen(SIGNALS)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGHUP))
    timer.start()
    ours.loop.run()
    timer.join()
    return ours


def test_sighup_puts_the_new_configuration_into_effect(make: Make) -> None:
    eviction = replace(CONFIG, thresholds=(HARD,))
    ours = reloaded(make, Settings(eviction=eviction, dry_run=True, listen_address=""))
    assert ours.loop._reloader.eviction == eviction
    assert isinstance(ours.node.effects.actuator, DryRunActuator)
    assert {line["field"] for line in ours.logged if line["event"] == "configuration changes"} == {
        "eviction.thresholds",
        "dry_run",
    }


def test_a_configuration_with_an_error_changes_nothing(make: Make) -> None:
    ours = reloaded(make, NodeError("config.yaml: no such file"))
    assert ours.loop._reloader.eviction == CONFIG
    assert ours.board.reload_fault.endswith("config.yaml: no such file")
    assert [line["source"] for line in ours.logged if line["event"] == "error"] == ["reload"]
