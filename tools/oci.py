"""Writes OCI layouts as archives: an image for several platforms as one index, a Helm chart as an artefact."""

import hashlib
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tools.packing import add_bytes, add_file, digest

_OCI = "application/vnd.oci.image"
_HELM = "application/vnd.cncf.helm"


class Layer(NamedTuple):
    """A layer of the image as a tar archive, and compressed."""

    plain: Path
    packed: Path


class Platform(NamedTuple):
    """The image of one architecture."""

    architecture: str
    layers: list[Layer]


class Blob(NamedTuple):
    """What a descriptor points to: bytes, or a file."""

    media_type: str
    content: bytes | Path

    @property
    def sha256(self) -> str:
        """The sum as hexadecimal digits, which is also the blob's name."""
        return digest(self.content) if isinstance(self.content, Path) else hashlib.sha256(self.content).hexdigest()

    def descriptor(self, **more: object) -> dict[str, object]:
        """Describe this blob as manifests and indexes do."""
        size = self.content.stat().st_size if isinstance(self.content, Path) else len(self.content)
        return {"mediaType": self.media_type, "digest": f"sha256:{self.sha256}", "size": size, **more}


def write_image(archive: Path, platforms: Iterable[Platform], config: dict[str, Any], reference: str) -> str:
    """Write an image as an OCI archive under a reference, and return the digest of its index of platforms."""
    blobs, manifests = [], []
    for platform in platforms:
        *parts, manifest = _manifest(platform, config)
        blobs += [*parts, manifest]
        manifests.append(manifest.descriptor(platform={"architecture": platform.architecture, "os": "linux"}))
    index = _index(manifests)
    names = {"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference}
    _write(archive, [*blobs, index], index.descriptor(annotations=names))
    return f"sha256:{index.sha256}"


def write_chart(archive: Path, chart: Path, metadata: dict[str, Any]) -> str:
    """Write a packed Helm chart as an OCI archive, as `helm push` stores it, and return the digest of its manifest."""
    config = Blob(f"{_HELM}.config.v1+json", _json(metadata))
    layer = Blob(f"{_HELM}.chart.content.v1.tar+gzip", chart)
    manifest = _of(config, [layer])
    names = {"org.opencontainers.image.ref.name": str(metadata["version"])}
    _write(archive, [config, layer, manifest], manifest.descriptor(annotations=names))
    return f"sha256:{manifest.sha256}"


def _manifest(platform: Platform, config: dict[str, Any]) -> list[Blob]:
    """Return the blobs of one platform; the manifest is the last."""
    diffs = [f"sha256:{digest(layer.plain)}" for layer in platform.layers]
    image = {
        "architecture": platform.architecture,
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": diffs},
    }
    described = Blob(f"{_OCI}.config.v1+json", _json(image))
    layers = [Blob(f"{_OCI}.layer.v1.tar+gzip", layer.packed) for layer in platform.layers]
    return [described, *layers, _of(described, layers)]


def _of(config: Blob, layers: list[Blob]) -> Blob:
    media_type = f"{_OCI}.manifest.v1+json"
    content = {
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": config.descriptor(),
        "layers": [layer.descriptor() for layer in layers],
    }
    return Blob(media_type, _json(content))


def _index(manifests: list[dict[str, object]]) -> Blob:
    media_type = f"{_OCI}.index.v1+json"
    return Blob(media_type, _json({"schemaVersion": 2, "mediaType": media_type, "manifests": manifests}))


def _write(archive: Path, blobs: Iterable[Blob], entry: dict[str, object]) -> None:
    """Write a layout with one entry; a blob that several manifests share is stored once."""
    with tarfile.open(archive, "w") as tar:
        add_bytes(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        add_bytes(tar, "index.json", _json({"schemaVersion": 2, "manifests": [entry]}))
        for sha256, blob in {blob.sha256: blob for blob in blobs}.items():
            if isinstance(blob.content, Path):
                add_file(tar, blob.content, f"blobs/sha256/{sha256}")
            else:
                add_bytes(tar, f"blobs/sha256/{sha256}", blob.content)


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
