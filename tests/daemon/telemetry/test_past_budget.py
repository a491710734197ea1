"""Which pod may go in the place of one that a disruption budget guards."""

from dataclasses import replace

import pytest

from evictd.core.eviction.next_up import who_is_next
from evictd.daemon.telemetry.past_budget import goes_instead
from evictd.render.status.headline import headline
from evictd.render.status.stopped import past_its_budget
from evictd.render.text import seconds_text
from tests.daemon.status import status_of
from tests.render.shown_nodes import page
from tests.render.snapshots import incident_snapshot


@pytest.mark.parametrize(("seconds", "left"), [(68, 68.0), (100, 44.0)])
def test_the_pod_that_is_tried_next_is_known_before(seconds: int, left: float) -> None:
    """`evictd deletes that pod from 22:15:26 UTC on` never came true: the Eviction API was set, and web-0 was tried."""
    guarded = incident_snapshot("42-budget-of-one", seconds)
    (stop, *_) = [each.stop for each in who_is_next(guarded.state, guarded.observation, guarded.config, guarded.at)]
    assert stop is not None
    assert goes_instead(stop, guarded, guarded.at) == {"pod": "default/web-0", "inSeconds": left}
    assert goes_instead(replace(stop, pod=None), guarded, guarded.at) is None
    status = status_of(guarded, guarded.at)
    never = "with podTermination EvictionAPI evictd deletes no pod despite a budget"
    text = headline(status).text
    assert f"{never}; default/web-0 may go in its place from 22:15:35 UTC (in {seconds_text(left)}) on." in text
    (memory, *_) = status["signals"]
    assert past_its_budget(status, {**memory, "stopInstead": None}) == never
    late = {"pod": "default/web-0", "inSeconds": -1.0}
    assert past_its_budget(status, {**memory, "stopInstead": late}).endswith("may go in its place at the next attempt")
    auto = {**status, "podTermination": "Auto"}
    assert "with podTermination Auto evictd deletes that pod" in headline(auto).text
    assert never in page(guarded, 0), "the page goes by the configuration of the last cycle"
