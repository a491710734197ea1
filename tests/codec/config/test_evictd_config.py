"""EvictdConfiguration: its defaults, its enums and what it refuses."""

from pathlib import Path

import msgspec
import pytest

from evictd.codec.config.evictd_config import (
    ClusterSettings,
    ConditionTypes,
    EvictdConfiguration,
    Journal,
    OomScoreAdj,
    decode_evictd,
    validate_evictd,
)
from evictd.codec.strict import Duration, Size, Word
from evictd.core.model.config import EvictionMethod, ImageReclaim, MemoryFormula, PodGroup, Policy
from evictd.core.units.duration import SECOND


def test_an_empty_document_takes_every_default() -> None:
    config, problems = decode_evictd({"apiVersion": "evictd.io/v1alpha1", "kind": "EvictdConfiguration"})
    assert (config, problems) == (EvictdConfiguration(), [])
    assert validate_evictd(config) == []


def test_every_section_is_read() -> None:
    config, problems = decode_evictd(
        {
            "decisionPolicy": "Kubelet",
            "dryRun": True,
            "housekeepingInterval": "5s",
            "cluster": {
                "kubeconfig": "in-cluster",
                "podTermination": "Status",
                "conditionTypes": "Own",
                "evictedPodTTL": "1h",
            },
            "reclaim": {"containers": False, "images": Word("Off"), "keepImages": ["a/*"]},
            "memory": {"formula": "MemAvailable", "watch": False},
            "journal": {"maxFileSize": "1Mi", "maxFiles": 2},
            "oomScoreAdj": "Enforce",
        }
    )
    assert problems == []
    assert config.decision_policy is Policy.KUBELET
    assert config.housekeeping_interval == 5 * SECOND
    assert config.cluster.pod_termination is EvictionMethod.STATUS
    assert config.cluster.condition_types is ConditionTypes.OWN
    assert config.cluster.evicted_pod_ttl == 3600 * SECOND
    assert config.reclaim.images is ImageReclaim.OFF
    assert config.reclaim.keep_images == ("a/*",)
    assert config.memory.formula is MemoryFormula.MEM_AVAILABLE
    assert config.oom_score_adj is OomScoreAdj.ENFORCE
    assert config.journal.max_file_size == 2**20


@pytest.mark.parametrize("address", ["127.0.0.1:10277", "127.8.9.10:0", "[::1]:10277", "", "127.0.0.1:65535"])
def test_loopback_addresses_are_taken(address: str) -> None:
    assert validate_evictd(EvictdConfiguration(listen_address=address)) == []


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0:1", ":10277", "localhost", "10.0.0.1:5", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", "[::]:1"],
)
def test_every_other_address_is_refused(address: str) -> None:
    (problem,) = validate_evictd(EvictdConfiguration(listen_address=address))
    assert problem.path == "listenAddress"


@pytest.mark.parametrize(
    ("config", "path"),
    [
        (EvictdConfiguration(housekeeping_interval=Duration(0)), "housekeepingInterval"),
        (EvictdConfiguration(housekeeping_interval=Duration(-SECOND)), "housekeepingInterval"),
        (EvictdConfiguration(root_dir=Path("kubelet")), "rootDir"),
        (EvictdConfiguration(cluster=ClusterSettings(kubeconfig="/a\0b")), "cluster.kubeconfig"),
        (EvictdConfiguration(state_directory=Path()), "stateDirectory"),
        (EvictdConfiguration(journal=Journal(max_file_size=Size(1000))), "journal.maxFileSize"),
        (EvictdConfiguration(journal=Journal(max_file_size=Size(1))), "journal.maxFileSize"),
    ],
)
def test_an_invalid_value_is_refused_with_a_remedy(config: EvictdConfiguration, path: str) -> None:
    (problem,) = validate_evictd(config)
    assert problem.path == path
    assert problem.remedy


@pytest.mark.parametrize("field", ["eviction_timeout", "evicted_pod_ttl"])
def test_negative_durations_of_the_cluster_are_refused(field: str) -> None:
    cluster = msgspec.structs.replace(EvictdConfiguration().cluster, **{field: Duration(-1)})
    (problem,) = validate_evictd(EvictdConfiguration(cluster=cluster))
    assert problem.path.startswith("cluster.evict")


def test_the_number_of_journal_files_is_bounded() -> None:
    _, problems = decode_evictd({"journal": {"maxFiles": 0}})
    assert [problem.path for problem in problems] == ["journal.maxFiles"]


def test_labels_of_pods_to_avoid_need_namespaces() -> None:
    """Any pod's author can write a label."""
    config, problems = decode_evictd(
        {"ranking": {"prefer": [{"labels": {"a": "b"}}, {}], "avoid": [{"labels": {"c": "d"}}, {"namespaces": ["n"]}]}}
    )
    assert problems == []
    assert [(p.path, p.wrong) for p in validate_evictd(config)] == [
        ("ranking.prefer[1]", "matches every pod"),
        ("ranking.avoid[0]", "has labels without namespaces"),
    ]
    assert config.ranking.core().avoid[1] == PodGroup(namespaces=frozenset({"n"}))
