"""Encoding of the core's configuration."""

import json

import pytest
from hypothesis import given

from evictd.codec.config.eviction_config import decode_eviction_config, encode_eviction_config
from evictd.core.model.config import ContainerGCPolicy, EvictionConfig, ImageGCPolicy
from evictd.errors import InputError
from tests.strategies import configs


@given(configs)
def test_configurations_survive(config: EvictionConfig) -> None:
    """Through JSON text."""
    assert decode_eviction_config(json.loads(json.dumps(encode_eviction_config(config)))) == config


def test_the_collectors_policies_survive() -> None:
    """And the uid of evictd's own pod."""
    config = EvictionConfig(
        image_gc=ImageGCPolicy(keep=("registry/*",), max_age=5),
        container_gc=ContainerGCPolicy(min_age=1, max_per_pod_container=2, max_containers=3),
        protected_pods=frozenset({"b", "a"}),
    )
    assert decode_eviction_config(encode_eviction_config(config)) == config


def test_a_foreign_configuration_is_refused() -> None:
    """In one line."""
    with pytest.raises(InputError, match=r"^config: "):
        decode_eviction_config({"thresholds": 5})
