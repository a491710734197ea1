"""The archives that `make release` writes are OCI layouts: each descriptor names a blob that is there, with its size and sum."""

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

from tools import oci
from tools.packing import compress

REFERENCE = "docker.io/library/evictd:9.9.9"


def layer(folder: Path, name: str) -> oci.Layer:
    made = oci.Layer(folder / f"{name}.tar", folder / f"{name}.tar.gz")
    made.plain.write_bytes(name.encode())
    compress(*made)
    return made


def blobs(archive: Path) -> dict[str, bytes]:
    """Each file of an archive; none is there twice."""
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
        found = {each.name: file.read() for each in members if (file := tar.extractfile(each))}
    assert len(found) == len(members)
    return found


def resolved(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    content = files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
    assert descriptor["size"] == len(content)
    assert descriptor["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    return content


def test_an_image_has_one_index_with_a_manifest_for_each_platform(tmp_path: Path) -> None:
    shared = layer(tmp_path, "shared")
    platforms = [oci.Platform(each, [layer(tmp_path, each), shared]) for each in ("amd64", "arm64")]
    digest = oci.write_image(tmp_path / "image.tar", platforms, {"User": "65532"}, REFERENCE)
    files = blobs(tmp_path / "image.tar")
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["digest"] == digest
    assert set(entry["annotations"].values()) == {REFERENCE}
    manifests = json.loads(resolved(files, entry))["manifests"]
    assert [each["platform"] for each in manifests] == [
        {"architecture": "amd64", "os": "linux"},
        {"architecture": "arm64", "os": "linux"},
    ]
    for platform, each in zip(platforms, manifests, strict=True):
        manifest = json.loads(resolved(files, each))
        config = json.loads(resolved(files, manifest["config"]))
        assert (config["architecture"], config["config"]) == (platform.architecture, {"User": "65532"})
        packed = [resolved(files, one) for one in manifest["layers"]]
        assert packed == [one.packed.read_bytes() for one in platform.layers]
        plain = [f"sha256:{hashlib.sha256(one.plain.read_bytes()).hexdigest()}" for one in platform.layers]
        assert config["rootfs"]["diff_ids"] == plain


def test_a_chart_is_stored_as_helm_pushes_it(tmp_path: Path) -> None:
    (tmp_path / "chart.tgz").write_bytes(b"packed")
    digest = oci.write_chart(tmp_path / "chart.tar", tmp_path / "chart.tgz", {"name": "evictd", "version": "9.9.9"})
    files = blobs(tmp_path / "chart.tar")
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert (entry["digest"], entry["annotations"]) == (digest, {"org.opencontainers.image.ref.name": "9.9.9"})
    manifest = json.loads(resolved(files, entry))
    assert manifest["config"]["mediaType"] == "application/vnd.cncf.helm.config.v1+json"
    assert json.loads(resolved(files, manifest["config"]))["version"] == "9.9.9"
    (chart,) = manifest["layers"]
    assert chart["mediaType"] == "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    assert resolved(files, chart) == b"packed"


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    platform = oci.Platform("amd64", [layer(tmp_path, "one")])
    made = [tmp_path / "first.tar", tmp_path / "second.tar"]
    assert len({oci.write_image(archive, [platform], {}, REFERENCE) for archive in made}) == 1
    assert made[0].read_bytes() == made[1].read_bytes()
