"""Which parts a dry run replaces, and that it stays the same one over reloads."""

from pathlib import Path
from typing import Any

from evictd.act.dry_run import DryRunActuator
from evictd.core.model.state import State
from evictd.daemon.effects import Effects, effects_of
from evictd.render.status.own_faults import FAULT_REMEDIES, OwnFaultKind

NOTHING: Any = object()
LIVE = Effects(actuator=NOTHING, oom_scores=NOTHING, checkpoints=NOTHING, reactions=NOTHING, hooks=print)


def test_a_dry_run_replaces_every_part_and_starts_no_command() -> None:
    dry = effects_of(LIVE, LIVE, NOTHING, dry_run=True)
    assert isinstance(dry.actuator, DryRunActuator)
    assert NOTHING not in (dry.actuator, dry.oom_scores, dry.checkpoints, dry.reactions)
    assert (dry.hooks, dry.label) == (None, "dry run")
    dry.checkpoints.save(State(), always=True)
    dry.reactions.performed(NOTHING, (), since=0, acted=0)


def test_a_reload_keeps_a_dry_run_as_it_is_and_ends_it_with_the_live_parts() -> None:
    """Else it would log again what it has logged."""
    dry = effects_of(LIVE, LIVE, NOTHING, dry_run=True)
    assert effects_of(LIVE, dry, NOTHING, dry_run=True) is dry
    assert effects_of(LIVE, dry, NOTHING, dry_run=False) is LIVE


def test_the_pages_that_promise_what_a_restart_keeps_leave_out_a_dry_run() -> None:
    """They said that a restart loses no state; a dry run saves none, so its grace periods begin anew."""
    assert FAULT_REMEDIES[OwnFaultKind.STUCK].endswith("a restart loses no state, except a dry run's"), (
        "of `evictd status`"
    )
    docs = Path(__file__).parents[2] / "docs"
    for name, promise in (
        ("alerts.md", "A restart loses no state, except a dry run's."),
        ("laws.md", "A restarted dry run begins anew."),
        ("operations.md", "of this boot, not of a dry run"),
    ):
        assert promise in (docs / name).read_text(encoding="utf-8"), name
