"""What a new configuration changes, and what of it can change now."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.strict import Duration
from evictd.config.file import load
from evictd.core.model.config import ImageGCPolicy
from evictd.core.units.duration import MINUTE
from evictd.daemon.configuration import Configuration, differences, live_settings
from evictd.errors import InputError
from tests.daemon.world import CONFIG, DISK, HARD, SOFT
from tests.settings import settings_with

OLD = settings_with(eviction=CONFIG)


def test_the_same_settings_differ_in_nothing() -> None:
    assert differences(OLD, settings_with(eviction=replace(CONFIG))) == ()


def test_thresholds_are_shown_as_they_are_written() -> None:
    new = replace(OLD, eviction=replace(CONFIG, thresholds=(HARD, DISK)))
    (difference,) = differences(OLD, new)
    assert difference.field == "thresholds"
    assert difference.old.startswith("memory.available<2Gi for 1m30s, memory.available<1Gi, nodefs.available<50%")
    assert difference.new == "memory.available<1Gi, nodefs.available<50%"
    assert difference.live


def test_what_the_loop_is_built_on_waits_for_the_next_start() -> None:
    new = settings_with(base=OLD, listen_address="127.0.0.1:1", dry_run=True)
    assert {(d.field, d.live) for d in differences(OLD, new)} == {("listenAddress", False), ("dryRun", True)}
    settings = live_settings(OLD, new)
    assert settings.evictd.listen_address == OLD.evictd.listen_address
    assert settings.evictd.dry_run


def test_the_collectors_keep_the_policies_they_were_built_with() -> None:
    eviction = replace(CONFIG, image_gc=ImageGCPolicy(min_age=5 * MINUTE), thresholds=(SOFT,))
    new = settings_with(eviction, image_minimum_gc_age=Duration(5 * MINUTE))
    found = {difference.field: difference.live for difference in differences(OLD, new)}
    assert found == {"imageMinimumGCAge": False, "thresholds": True}
    settings = live_settings(OLD, new)
    assert settings.eviction.image_gc == CONFIG.image_gc
    assert settings.eviction.thresholds == (SOFT,)


@given(dry_run=st.booleans(), interval=st.integers(1, 10**12), address=st.text(max_size=5))
def test_after_a_reload_only_what_waits_for_the_next_start_still_differs(
    dry_run: bool, interval: int, address: str
) -> None:
    new = settings_with(base=OLD, dry_run=dry_run, housekeeping_interval=Duration(interval), listen_address=address)
    assert not any(difference.live for difference in differences(live_settings(OLD, new), new))


DRY = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionHard:
  memory.available: 500Mi  # 5% of a node of 10 GiB
evictionSoft:
  memory.available: 1Gi
evictionSoftGracePeriod:
  memory.available: 1m30s
---
apiVersion: evictd.io/v1alpha1
kind: EvictdConfiguration
reclaim: {images: "Off"}
housekeepingInterval: 10s
dryRun: true
"""


def test_a_file_cut_at_any_byte_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "evictd.yaml"
    path.write_text(DRY)
    configuration = Configuration(load(path), lambda: load(path))
    before = configuration.settings
    for end in range(len(DRY)):
        path.write_text(DRY[:end])
        try:
            assert configuration.reload() == ()
        except InputError:
            assert configuration.settings is before
        assert not differences(before, configuration.settings)


def test_a_dry_run_is_ended_by_the_word_only(tmp_path: Path) -> None:
    path = tmp_path / "evictd.yaml"
    path.write_text(DRY)
    configuration = Configuration(load(path), lambda: load(path))
    path.write_text(DRY.replace("dryRun: true", "rootDir: /var/lib/kubelet"))
    with pytest.raises(InputError, match="dryRun: is not set any more"):
        configuration.reload()
    path.write_text(DRY.replace("dryRun: true", "dryRun: false"))
    (difference,) = configuration.reload()
    assert (difference.field, difference.old, difference.new) == ("dryRun", "true", "false")
    assert not configuration.settings.evictd.dry_run
