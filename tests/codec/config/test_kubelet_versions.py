"""The defaults of the kubelets of different versions, and which version counts."""

import pytest

from evictd.codec.config.kubelet_versions import DEFAULTS, USUAL, KubernetesVersion, defaults_of, version_of

AUTO, V1_35, V1_36, V1_37 = KubernetesVersion


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.36.2", V1_36),
        ("v1.35.9+k3s1", V1_35),
        ("v1.37.0-rc.1", V1_37),
        ("v1.29.3", V1_35),
        ("v1.41.0", V1_37),
        ("", AUTO),
        ("v1", AUTO),
        ("vx.y.z", AUTO),
    ],
)
def test_the_version_that_a_node_reports(text: str, version: KubernetesVersion) -> None:
    """An older one counts as the oldest known, a newer one as the newest."""
    assert version_of(text) is version


def test_what_is_asked_for_goes_before_what_the_node_reports() -> None:
    assert defaults_of(V1_36, "v1.37.0").memory_throttling_factor == 0.9
    assert defaults_of(AUTO, "v1.37.0").memory_throttling_factor is None
    assert defaults_of(AUTO) == DEFAULTS[USUAL]


def test_every_version_has_its_defaults() -> None:
    """Memory QoS came on by default with 1.37, which throttles no pod unless a factor is set."""
    assert DEFAULTS.keys() == set(KubernetesVersion) - {AUTO}
    assert [each.memory_throttling_factor for each in DEFAULTS.values()] == [0.9, 0.9, None]
    assert [each.memory_qos for each in DEFAULTS.values()] == [False, False, True]
