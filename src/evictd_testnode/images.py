"""Writes OCI image archives without a registry or a compiler.

There are three kinds: the pause image (one static ELF file of 129 bytes), busybox, and busybox with padding of a given size and
number of files. The same recipe always results in the same bytes, so the image ids are the same in every run.
"""

import hashlib
import io
import json
import platform
import random
import struct
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from evictd.core.frozen import frozen
from evictd.errors import NodeError

PAUSE = "localhost/pause:1"
BUSYBOX = "localhost/busybox:1"

_APPLETS = "cat dd echo false head id ls mkdir mount ps rm seq sh sleep sync tail touch tr true wc yes"
_FOLDERS = ("dev", "etc", "proc", "sys", "tmp")
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"


@frozen
class ImageRecipe:
    """An image to make: busybox, with a layer of one file of `padding_bytes` and a number of empty `files`."""

    reference: str
    padding_bytes: int = 0
    files: int = 0


def write_archive(path: Path, recipes: Iterable[ImageRecipe], *, busybox: Path) -> list[str]:
    """Write pause, busybox and these images to one archive for `ctr images import`; returns their references."""
    recipes = list(recipes)
    base = _busybox_layer(busybox)
    images = [_image(PAUSE, [_tar([("pause", 0o755, pause_elf())])], "/pause"), _image(BUSYBOX, [base], "/bin/sh")]
    images += [_image(recipe.reference, [base, _padding_layer(recipe)], "/bin/sh") for recipe in recipes]
    index = {"schemaVersion": 2, "manifests": [descriptor for descriptor, _ in images]}
    blobs = {name: blob for _, image_blobs in images for name, blob in image_blobs.items()}
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": _json(index)}
    files |= {f"blobs/sha256/{name}": blob for name, blob in blobs.items()}
    path.write_bytes(_tar([(name, 0o644, blob) for name, blob in files.items()]))
    return [PAUSE, BUSYBOX, *(recipe.reference for recipe in recipes)]


def pause_elf() -> bytes:
    """Assemble a static x86-64 program that calls pause(2) in a loop: two headers and nine bytes of code."""
    if platform.machine() != "x86_64":
        raise NodeError(f"the pause image exists for x86_64 only, not for {platform.machine()}")
    code = bytes([0xB8, 34, 0, 0, 0, 0x0F, 0x05, 0xEB, 0xF7])  # mov eax, 34; syscall; jmp to the start
    base, headers = 0x400000, 64 + 56
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = struct.pack("<16sHHIQQQIHHHHHH", identity, 2, 62, 1, base + headers, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    size = headers + len(code)
    return header + struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 0x1000) + code


def _busybox_layer(busybox: Path) -> bytes:
    folders: list[_Entry] = [(name, 0o755, None) for name in ("bin", *_FOLDERS)]
    links: list[_Entry] = [(f"bin/{name}", 0o777, "busybox") for name in _APPLETS.split()]
    return _tar([*folders, ("bin/busybox", 0o755, busybox.read_bytes()), *links])


def _padding_layer(recipe: ImageRecipe) -> bytes:
    seed = random.Random(recipe.reference)  # noqa: S311 - incompressible filling, not a secret
    entries: list[_Entry] = [("padding", 0o644, seed.randbytes(recipe.padding_bytes)), ("many", 0o755, None)]
    entries += [(f"many/{number}", 0o644, b"") for number in range(recipe.files)]
    return _tar(entries)


def _image(reference: str, layers: list[bytes], command: str) -> tuple[dict[str, object], dict[str, bytes]]:
    """Return the descriptor of one image, and its blobs by digest."""
    config = _json(
        {
            "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine()),
            "os": "linux",
            "created": "1970-01-01T00:00:00Z",
            "config": {"Env": ["PATH=/bin"], "Entrypoint": [command]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_digest(layer)}" for layer in layers]},
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _descriptor(_CONFIG, config),
            "layers": [_descriptor(_LAYER, layer) for layer in layers],
        }
    )
    annotations = {"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference}
    blobs = {_digest(blob): blob for blob in (config, manifest, *layers)}
    return {**_descriptor(_MANIFEST, manifest), "annotations": annotations}, blobs


def _descriptor(media_type: str, blob: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": f"sha256:{_digest(blob)}", "size": len(blob)}


def _digest(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value).encode()


_Entry = tuple[str, int, bytes | str | None]
"""Name, mode, and content: the bytes of a file, the target of a symlink, or `None` for a directory."""


def _tar(entries: Iterable[_Entry]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, mode, content in entries:
            entry = tarfile.TarInfo(name)
            entry.mode = mode
            if content is None:
                entry.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
            else:
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content) if isinstance(content, bytes) else None)
    return buffer.getvalue()
