"""The fields of the kubelet's configuration and their defaults."""

import json
from pathlib import Path

import msgspec

from evictd.codec.config.kubelet_fields import IGNORED_FIELDS, ZERO_MEANS_DEFAULT, KubeletConfiguration
from evictd.codec.strict import Duration
from evictd.core.units.duration import parse_duration
from tools.kubelet_types import read_table

CONFIGZ = Path(__file__).parents[1].parent / "data" / "samples" / "configz.json"


def names() -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(KubeletConfiguration)}


def test_every_field_that_a_running_kubelet_reports_is_known() -> None:
    reported = set(json.loads(CONFIGZ.read_text())["kubeletconfig"]) - {"kind", "apiVersion"}
    assert reported <= names() | IGNORED_FIELDS


def test_no_field_is_both_read_and_ignored() -> None:
    assert not names() & IGNORED_FIELDS


def test_the_fields_are_the_published_ones() -> None:
    """A field of a newer kubelet is to be known by name, and a name that no kubelet knows is a mistake in the file."""
    assert names() | IGNORED_FIELDS == {field.name for field in read_table("1.37")}


def test_the_defaults_are_the_documented_ones() -> None:
    ours = {
        field.encode_name: getattr(KubeletConfiguration(), field.name)
        for field in msgspec.structs.fields(KubeletConfiguration)
    }
    differing = {
        field.name: field.default
        for field in read_table("1.37")
        if field.name in ours and not agrees(ours[field.name], field.default)
    }
    assert differing == {
        "podLogsDir": '"/var/log/pods/"',  # the same directory
        "nodeStatusReportFrequency": '"5m"',  # 0s is unset: nodeStatusUpdateFrequency counts too
        "containerRuntimeEndpoint": "",  # the kubelet has none and does not start without one
        "memorySwap": "",  # a type of its own, with an empty default
    }


def agrees(value: object, documented: str) -> bool:
    """Whether a default is the documented one; nothing, and what is empty, agrees with no default."""
    text = documented.removesuffix(" (disabled)").strip('"')
    if isinstance(value, Duration):
        return value == parse_duration(text)
    if isinstance(value, tuple):
        return json.dumps(value) == documented
    return str(value).lower() == text.lower() or (not value and text in {"", "nil"})


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
