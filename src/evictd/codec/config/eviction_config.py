"""Encodes the core's configuration as plain values; every journal holds the configuration of its decisions."""

from typing import Any

from evictd.codec.plain import Form, View
from evictd.codec.scalars import Plain
from evictd.codec.threshold import THRESHOLD_VIEWS
from evictd.core.model.config import EvictionConfig

_KEYS = {"preferences": "ranking", "image_gc": "imageGC", "container_gc": "containerGC"}
_FORM = Form({**THRESHOLD_VIEWS, EvictionConfig: View(keys=_KEYS)})


def encode_eviction_config(config: EvictionConfig) -> Plain:
    """Encode the configuration; durations are nanoseconds."""
    plain: Plain = _FORM.encode(EvictionConfig, config)
    return plain


def decode_eviction_config(plain: Any) -> EvictionConfig:
    """Decode a configuration; raises `InputError` for anything that no `encode_eviction_config` would have written."""
    config: EvictionConfig = _FORM.decode(EvictionConfig, plain, "config")
    return config
