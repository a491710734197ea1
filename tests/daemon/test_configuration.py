"""What a new configuration changes, and what of it can change now."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from evictd.config.settings import Settings
from evictd.core.model.config import ImageGCPolicy
from evictd.core.units.duration import MINUTE
from evictd.daemon.configuration import differences, live_settings
from tests.daemon.world import CONFIG, DISK, HARD, SOFT

OLD = Settings(eviction=CONFIG)


def test_the_same_settings_differ_in_nothing() -> None:
    assert differences(OLD, Settings(eviction=replace(CONFIG))) == ()


def test_thresholds_are_shown_as_they_are_written() -> None:
    new = replace(OLD, eviction=replace(CONFIG, thresholds=(HARD, DISK)))
    (difference,) = differences(OLD, new)
    assert difference.field == "eviction.thresholds"
    assert difference.old.startswith("memory.available<2Gi for 1m30s, memory.available<1Gi, nodefs.available<50%")
    assert difference.new == "memory.available<1Gi, nodefs.available<50%"
    assert difference.live


def test_what_the_loop_is_built_on_waits_for_the_next_start() -> None:
    new = replace(OLD, listen_address="127.0.0.1:1", dry_run=True)
    assert {(d.field, d.live) for d in differences(OLD, new)} == {("listen_address", False), ("dry_run", True)}
    settings = live_settings(OLD, new)
    assert settings.listen_address == OLD.listen_address
    assert settings.dry_run


def test_the_collectors_keep_the_policies_they_were_built_with() -> None:
    new = replace(OLD, eviction=replace(CONFIG, image_gc=ImageGCPolicy(min_age=5 * MINUTE), thresholds=(SOFT,)))
    found = {difference.field: difference.live for difference in differences(OLD, new)}
    assert found == {"eviction.image_gc.min_age": False, "eviction.thresholds": True}
    settings = live_settings(OLD, new)
    assert settings.eviction.image_gc == CONFIG.image_gc
    assert settings.eviction.thresholds == (SOFT,)


@given(dry_run=st.booleans(), interval=st.integers(1, 10**12), address=st.text(max_size=5))
def test_after_a_reload_only_what_waits_for_the_next_start_still_differs(
    dry_run: bool, interval: int, address: str
) -> None:
    new = replace(OLD, dry_run=dry_run, housekeeping_interval=interval, listen_address=address)
    assert not any(difference.live for difference in differences(live_settings(OLD, new), new))
