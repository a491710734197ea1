"""Decodes the manifest of a static pod from a file in `staticPodPath`.

The kubelet's `tryDecodeSinglePod` and `applyDefaults` (`pkg/kubelet/config/common.go`) as far as eviction needs them: a
manifest without `kubernetes.io/config.source` is a static pod, one without a namespace is in `default`, and a missing request
defaults to the limit. For a manifest without a uid the kubelet hashes its in-memory Go object, which cannot be reproduced here;
such a pod is identified by its name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from evictd.codec.pods.pod import CONFIG_SOURCE, decode_pod
from evictd.core.frozen import frozen
from evictd.core.model.pod import Pod
from evictd.core.model.resources import Container
from evictd.errors import InputError

CONFIG_HASH = "kubernetes.io/config.hash"
SOURCE_FILE = "file"


@frozen
class Manifest:
    """One manifest: the pod, and the fields that only the file has."""

    pod: Pod
    """`uid` is empty unless the manifest has one."""
    config_hash: str = ""
    restart_policy: str = "Always"


def decode_manifest(data: Mapping[str, object]) -> Manifest:
    """Decode a manifest from plain values; raises `InputError`."""
    if data.get("kind") != "Pod" or data.get("apiVersion") != "v1":
        raise InputError(f"want apiVersion v1 and kind Pod, got {data.get('apiVersion')!r} and {data.get('kind')!r}")
    metadata, spec = _mapping(data, "metadata"), _mapping(data, "spec")
    annotations = {CONFIG_SOURCE: SOURCE_FILE, **_mapping(metadata, "annotations")}
    pod = decode_pod({**data, "metadata": {**metadata, "annotations": annotations}})
    if not pod.name:
        raise InputError("metadata.name: missing")
    return Manifest(
        pod=replace(
            pod,
            namespace=pod.namespace or "default",
            containers=_defaulted(pod.containers),
            init_containers=_defaulted(pod.init_containers),
        ),
        config_hash=str(annotations.get(CONFIG_HASH, "")),
        restart_policy=str(spec.get("restartPolicy") or "Always"),
    )


def _defaulted(containers: Iterable[Container]) -> tuple[Container, ...]:
    """Default missing requests to the limits (`SetDefaults_Pod`), which for other pods the API server does."""
    return tuple(replace(each, requests={**each.limits, **each.requests}) for each in containers)


def _mapping(data: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = data.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{key}: want a mapping, got {type(value).__name__}")
    return value
