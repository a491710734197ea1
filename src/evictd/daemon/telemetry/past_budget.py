"""Finds the pod that may go in the place of one whose eviction a disruption budget refuses."""

from dataclasses import replace
from typing import Any

from evictd.core.eviction.backoff import BUDGET_RETRY, patience_with_budget
from evictd.core.eviction.next_up import who_is_next
from evictd.core.model.finding import NoAction
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.snapshot import Snapshot


def goes_instead(stop: NoAction, snapshot: Snapshot, now: int) -> dict[str, Any] | None:
    """Return the pod that would go when evictd no longer waits for budgets, and the seconds from `now` to that; `None` for none.

    All else stays as it is: the budgets refuse again, and no pod has grown.
    """
    budgets = snapshot.state.backoff.budgets
    if stop.threshold is None or stop.pod is None or stop.pod.uid not in budgets:
        return None
    patience = patience_with_budget(snapshot.config, hard=stop.threshold.hard) + BUDGET_RETRY
    waited = {uid: replace(each, first_at=snapshot.at - patience) for uid, each in budgets.items()}
    state = replace(snapshot.state, backoff=replace(snapshot.state.backoff, budgets=waited))
    answers = who_is_next(state, snapshot.observation, snapshot.config, snapshot.at)
    victim = next((each.victim for each in answers if each.signal is stop.threshold.signal), None)
    if victim is None or victim.uid in budgets:
        return None
    left = budgets[stop.pod.uid].first_at + patience - now
    return {"pod": victim.pod.full_name, "inSeconds": round(left / SECOND, 1)}
