"""OCI archives: well-formed, the same every time, and of the size that was asked for."""

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path
from typing import Any

import pytest

from evictd.errors import NodeError
from evictd_testnode.images import BUSYBOX, PAUSE, ImageRecipe, pause_elf, write_archive

APP = ImageRecipe(reference="localhost/app:1", padding_bytes=5000, files=3)


def archive(tmp_path: Path, *recipes: ImageRecipe) -> dict[str, bytes]:
    busybox = tmp_path / "busybox"
    busybox.write_bytes(b"not really")
    path = tmp_path / "images.tar"
    assert write_archive(path, recipes, busybox=busybox) == [PAUSE, BUSYBOX, *(recipe.reference for recipe in recipes)]
    with tarfile.open(path) as opened:
        return {entry.name: content.read() for entry in opened if (content := opened.extractfile(entry))}


def test_every_blob_is_named_by_its_digest_and_every_reference_resolves(tmp_path: Path) -> None:
    files = archive(tmp_path, APP)
    for name, content in files.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"
    names = []
    for descriptor in json.loads(files["index.json"])["manifests"]:
        names.append(descriptor["annotations"]["io.containerd.image.name"])
        manifest = json.loads(blob(files, descriptor))
        config = json.loads(blob(files, manifest["config"]))
        layers = [blob(files, layer) for layer in manifest["layers"]]
        digests = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
        assert config["rootfs"]["diff_ids"] == digests
    assert names == [PAUSE, BUSYBOX, "localhost/app:1"]


def blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    content = files[f"blobs/sha256/{descriptor['digest'].removeprefix('sha256:')}"]
    assert len(content) == descriptor["size"]
    return content


def test_padding_has_the_size_and_the_files_that_were_asked_for(tmp_path: Path) -> None:
    files = archive(tmp_path, APP)
    layers = [sizes(content) for name, content in files.items() if name.startswith("blobs/") and content[:1] != b"{"]
    (layer,) = [each for each in layers if "padding" in each]
    assert layer == {"padding": 5000, "many": 0, "many/0": 0, "many/1": 0, "many/2": 0}


def sizes(layer: bytes) -> dict[str, int]:
    with tarfile.open(fileobj=io.BytesIO(layer)) as opened:
        return {entry.name: entry.size for entry in opened}


def test_the_same_recipe_gives_the_same_image_and_another_name_another(tmp_path: Path) -> None:
    assert archive(tmp_path, APP) == archive(tmp_path, APP)
    other = ImageRecipe(reference="localhost/app:2", padding_bytes=5000, files=3)
    assert archive(tmp_path, APP)["index.json"] != archive(tmp_path, other)["index.json"]


def test_the_pause_program_is_a_small_elf_for_one_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pause_elf().startswith(b"\x7fELF")
    assert len(pause_elf()) == 129
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(NodeError, match="riscv64"):
        pause_elf()
