"""The JSON Schema in the repository is generated from the types; every sample loads and validates against it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from evictd.codec.config.evictd_config import EvictdConfiguration
from evictd.codec.config.kubelet_fields import KubeletConfiguration
from evictd.codec.strict import Duration
from evictd.commands.check import check
from evictd.config.file import load, load_yaml, read_documents
from evictd.config.flags import FLAGS
from evictd.config.lint_model import Lint, Severity
from evictd.config.schema import dump_schema, json_schema, world_schema
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE
from evictd.core.units.quantity import of_bytes, parse_quantity

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT / "config").glob("*.yaml"))
CONFIGZ = ROOT / "tests/data/samples/configz.json"


def errors(document: object) -> list[str]:
    validator = jsonschema.Draft202012Validator(json_schema())
    return [error.message for error in validator.iter_errors(document)]


def test_the_schema_that_is_checked_in_is_current() -> None:
    """To renew it: python -m evictd.config.schema > config/evictd.schema.json"""
    assert (ROOT / "config/evictd.schema.json").read_text(encoding="utf-8") == dump_schema()


def test_the_schema_of_worlds_is_current_and_takes_every_world() -> None:
    """To renew it: python -m evictd.config.schema --world > config/world.schema.json"""
    assert (ROOT / "config/world.schema.json").read_text(encoding="utf-8") == dump_schema(world_schema())
    validator = jsonschema.Draft202012Validator(world_schema())
    for path in [*(ROOT / "config/incidents").glob("*.yaml"), *(ROOT / "config/worlds").glob("*.yaml")]:
        assert list(validator.iter_errors(load_yaml(path.read_text(encoding="utf-8")))) == [], path.name
    assert list(validator.iter_errors({"kind": "World", "speed": 1}))


def test_the_schema_is_a_schema() -> None:
    of_schemas = jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA)
    assert list(of_schemas.iter_errors(json_schema())) == []


def test_there_are_samples() -> None:
    assert len(SAMPLES) >= 6


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_loads_without_warnings_and_validates(path: Path) -> None:
    assert load(path).warnings == ()
    for document in read_documents(path):
        assert errors(document) == []


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_samples_have_no_lint_findings(path: Path, tmp_path: Path) -> None:
    """Errors depend on how large this machine's disk is."""
    findings = check(load(path), tmp_path, layout="dedicated").findings
    warnings = [finding for finding in findings if finding.severity is Severity.WARNING]
    lints = [
        finding.lint.value for finding in warnings if finding.lint is not Lint.FILE_UNREADABLE
    ]  # no pod's token here
    assert lints == []


@pytest.mark.parametrize(("name", "capacity"), [("small-edge", 1 << 30), ("beside-a-kubelet", 2 << 30)])
def test_no_sample_has_a_threshold_that_is_never_met_or_that_the_pods_limit_meets(
    name: str, capacity: int, tmp_path: Path
) -> None:
    """128Mi on a node of 1 GiB were below the kernel's share, and the pods' limit had evictd's threshold, not the kubelet's."""
    (kubelet := tmp_path / "kubelet.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nsystemReserved: {memory: 100Mi}\n"
    )
    settings = load(ROOT / f"config/{name}.yaml")
    report = check(settings, tmp_path, {Signal.MEMORY_AVAILABLE: of_bytes(capacity)}, kubelet_config=kubelet)
    assert [each for each in report.findings if each.lint is Lint.REQUESTS_MEET_THRESHOLD] == []
    assert not any("200Mi may never be met" in each for each in report.warnings), "a hard one has the kernel's estimate"


def test_what_a_running_kubelet_reports_validates() -> None:
    assert errors(json.loads(CONFIGZ.read_text())["kubeletconfig"]) == []


def test_the_first_example_of_the_documentation() -> None:
    thresholds = load(ROOT / "config/hard-with-minimum-reclaim.yaml").eviction.thresholds
    found = {one.signal.value: (one.value.quantity, one.min_reclaim and one.min_reclaim.quantity) for one in thresholds}
    amounts = {
        "memory.available": ("500Mi", "0Mi"),
        "nodefs.available": ("1Gi", "500Mi"),
        "imagefs.available": ("100Gi", "2Gi"),
    }
    for signal, (limit, reclaim) in amounts.items():
        assert found[signal] == (parse_quantity(limit), parse_quantity(reclaim))


def test_the_second_example_has_grace_periods_of_five_minutes_and_lets_pods_end() -> None:
    eviction = load(ROOT / "config/hard-and-soft.yaml").eviction
    graces = {one.grace_period for one in eviction.thresholds if not one.hard}
    assert graces == {5 * MINUTE}
    assert (eviction.max_pod_grace_period_seconds, eviction.pressure_transition_period) == (60, 5 * MINUTE)


HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"kind": "KubeletConfiguration"},
        {**HEAD, "apiVersion": "v1"},
        {**HEAD, "kind": "Some"},
        {**HEAD, "evictionHard": {"bogus": "1Gi"}},
        {**HEAD, "evictionHard": {"pid.available": 5}},
        {**HEAD, "evictionPressureTransitionPeriod": "5"},
        {**HEAD, "maxPods": 2**31},
        {**HEAD, "dryRun": True},
        {"apiVersion": "evictd.io/v1alpha1", "kind": "EvictdConfiguration", "reclaim": {"images": "Some"}},
    ],
)
def test_the_schema_refuses_what_loading_refuses(document: dict[str, object], tmp_path: Path) -> None:
    assert errors(document)
    path = tmp_path / "c.json"
    path.write_text(json.dumps(document))
    with pytest.raises(Exception, match=r"c\.json"):
        load(path)


@pytest.mark.parametrize("text", ["0", "-0", "1h1m1.5s", ".5s", "5.s", "1µs", "100ms", "+1s"])
def test_the_schema_takes_every_duration_of_go(text: str) -> None:
    assert errors({**HEAD, "volumeStatsAggPeriod": text}) == []


def field_paths(cls: Any, prefix: str = "") -> Iterator[str]:
    for field in msgspec.structs.fields(cls):
        if isinstance(field.default, msgspec.Struct):
            yield from field_paths(type(field.default), f"{prefix}{field.encode_name}.")
        else:
            yield prefix + field.encode_name


def test_the_documentation_has_every_field_and_every_flag() -> None:
    pages = [ROOT / "docs/reference" / name for name in ("configuration.md", "flags.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    wanted = [
        *field_paths(KubeletConfiguration),
        *field_paths(EvictdConfiguration),
        *(f"--{one.name}=" for one in FLAGS),
    ]
    assert [name for name in wanted if f"`{name}" not in text] == []


@pytest.mark.parametrize("name", ["evictd", "beside-a-kubelet"])
def test_a_sample_that_is_installed_is_safe_to_run(name: str) -> None:
    """A user who ran it as `docs/getting-started.md` says, and forgot `--dry-run`, evicted pods."""
    assert load(ROOT / f"config/{name}.yaml").evictd.dry_run


def test_the_annotated_sample_has_every_field_of_evictds_own_document() -> None:
    (_, evictd) = read_documents(ROOT / "config/evictd.yaml")
    assert isinstance(evictd, dict)
    for path in field_paths(EvictdConfiguration):
        value: Any = evictd
        for name in path.split("."):
            value = value[name]


def test_defaults_are_written_as_in_a_file() -> None:
    properties = json_schema()["$defs"]["KubeletConfiguration"]["properties"]
    assert properties["imageMinimumGCAge"]["default"] == "2m0s"
    assert isinstance(KubeletConfiguration().image_minimum_gc_age, Duration)
    assert properties["enforceNodeAllocatable"]["default"] == ["pods"]
