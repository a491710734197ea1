"""What holds for a field stands beside it: every setting of the core has one, and bounds and reload obey it."""

from dataclasses import fields

import msgspec

from evictd.codec.config.evictd_config import ClusterSettings, EvictdConfiguration, HookSettings, Memory
from evictd.codec.config.fields import (
    THRESHOLDS,
    after_reload,
    changed_settings,
    range_problems,
    settings_of,
    with_documents,
    with_kept,
)
from evictd.codec.config.kubelet_fields import KubeletConfiguration
from evictd.codec.strict import Duration
from evictd.core.model.config import EvictionConfig, FastFill, ImageGCPolicy
from evictd.core.units.duration import MINUTE

DOCUMENTS = (EvictdConfiguration, KubeletConfiguration)


def test_every_field_of_the_core_s_configuration_is_set_by_a_setting() -> None:
    """Except evictd's own pods, which are found, and dead containers, which only flags configure."""
    sets = {each.rule.sets.partition(".")[0] for document in DOCUMENTS for each in settings_of(document)} - {""}
    assert {each.name for each in fields(EvictionConfig)} == sets | {"protected_pods", "container_gc"}


def test_no_two_settings_set_the_same() -> None:
    sets = [each.rule.sets for document in DOCUMENTS for each in settings_of(document)]
    single = [each for each in sets if each not in {"", THRESHOLDS}]
    assert len(single) == len(set(single))


def test_every_setting_is_documented() -> None:
    for document in DOCUMENTS:
        for each in msgspec.inspect.type_info(document).fields:  # type: ignore[attr-defined]
            assert each.type.extra_json_schema["description"], each.name


def test_the_defaults_of_the_documents_are_those_of_the_core() -> None:
    assert with_documents(EvictionConfig(), EvictdConfiguration(), KubeletConfiguration()) == EvictionConfig()


def test_a_setting_of_the_core_is_applied_by_its_name() -> None:
    changed = EvictdConfiguration(memory=Memory(lead=FastFill.AUTO), housekeeping_interval=Duration(MINUTE))
    images = KubeletConfiguration(image_minimum_gc_age=Duration(MINUTE))
    made = with_documents(EvictionConfig(), changed, images)
    assert made == EvictionConfig(
        memory_lead=FastFill.AUTO, monitoring_period=MINUTE, image_gc=ImageGCPolicy(min_age=MINUTE)
    )
    assert type(made.monitoring_period) is int


def test_bounds_are_those_beside_the_field() -> None:
    faulty = EvictdConfiguration(
        housekeeping_interval=Duration(1),
        cluster=ClusterSettings(evicted_pod_ttl=Duration(-1)),
        hooks=HookSettings(time_limit=Duration(6 * MINUTE)),
    )
    assert [str(problem) for problem in range_problems(faulty)] == [
        "housekeepingInterval: 1ns: is too short; give at least 100ms",
        "cluster.evictedPodTTL: -1ns: is negative; give 0s or more",
        "hooks.timeLimit: 6m0s: is out of range; give 100ms to 5m0s",
    ]


def test_a_reload_changes_the_live_settings_only() -> None:
    old = EvictdConfiguration()
    new = EvictdConfiguration(dry_run=True, listen_address="", memory=Memory(lead=FastFill.AUTO, watch=False))
    assert {each.name: each.rule.live for each, _, _ in changed_settings(old, new)} == {
        "dryRun": True,
        "listenAddress": False,
        "memory.lead": True,
        "memory.watch": False,
    }
    assert after_reload(old, new) == EvictdConfiguration(dry_run=True, memory=Memory(lead=FastFill.AUTO))
    core = with_kept(with_documents(EvictionConfig(), old), with_documents(EvictionConfig(), new), EvictdConfiguration)
    assert core.memory_lead is FastFill.AUTO


def test_a_setting_without_effect_is_no_change() -> None:
    assert list(changed_settings(KubeletConfiguration(), KubeletConfiguration(max_pods=1))) == []
