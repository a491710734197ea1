"""The fields of the kubelet's configuration and their defaults."""

import json
from pathlib import Path

import msgspec

from evictd.codec.config.kubelet_fields import IGNORED_FIELDS, ZERO_MEANS_DEFAULT, KubeletConfiguration

CONFIGZ = Path(__file__).parents[1].parent / "data" / "samples" / "configz.json"


def names() -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(KubeletConfiguration)}


def test_every_field_that_a_running_kubelet_reports_is_known() -> None:
    reported = set(json.loads(CONFIGZ.read_text())["kubeletconfig"]) - {"kind", "apiVersion"}
    assert reported <= names() | IGNORED_FIELDS


def test_no_field_is_both_read_and_ignored() -> None:
    assert not names() & IGNORED_FIELDS


def test_the_unusual_spellings_are_the_kubelets() -> None:
    assert {
        "imageMinimumGCAge",
        "imageGCHighThresholdPercent",
        "cgroupsPerQOS",
        "reservedSystemCPUs",
        "eventRecordQPS",
        "singleProcessOOMKill",
        "failCgroupV1",
        "podPidsLimit",
        "nodeStatusMaxImages",
    } <= names()


def test_where_zero_means_default_the_default_is_not_zero() -> None:
    assert all(getattr(KubeletConfiguration(), name) for name in ZERO_MEANS_DEFAULT)
