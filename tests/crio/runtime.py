"""Starts a private CRI-O in the place of a disposable node's containerd, in both layouts.

    PrivateCrio        images and writable layers in one folder: `root`
    SplitCrio          images in `root`, writable layers on nodefs: the split image filesystem (KEP-4191, `imagestore`)

`EVICTD_CRIO` names a folder with the programs `crio` and `pinns` of CRI-O, or both packed with xz, and `runc-least`, which starts
runc without the OOM scores that only CAP_SYS_RESOURCE allows. `conmon` and `skopeo` are Debian's packages; skopeo copies images
from an archive into CRI-O's storage, which needs no registry.
"""

import json
import lzma
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evictd.errors import NodeError
from evictd_testnode.binaries import SYSTEM_PATH, default_cache, which
from evictd_testnode.containerd import PrivateContainerd
from evictd_testnode.images import PAUSE
from evictd_testnode.tool import run_tool, wait_for

FOLDER = "EVICTD_CRIO"
_PROGRAMS = ("crio", "pinns", "runc-least")
_PACKAGES = ("conmon", "skopeo")

_CONFIG = """[crio]
root = "{storage}"
runroot = "{folder}/run"
{imagestore}
storage_driver = "overlay"
log_dir = "{folder}/log"
version_file = "{folder}/version"
version_file_persist = "{folder}/version-persist"
clean_shutdown_file = "{folder}/clean"
[crio.api]
listen = "{socket}"
stream_port = "0"
[crio.runtime]
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
pinns_path = "{programs}/pinns"
namespaces_dir = "{folder}/ns"
container_exits_dir = "{folder}/exits"
container_attach_socket_dir = "{folder}/attach"
default_runtime = "runc"
hooks_dir = ["{folder}/hooks"]
seccomp_profile = ""
apparmor_profile = "unconfined"
disable_hostport_mapping = true
[crio.runtime.runtimes.runc]
runtime_path = "{programs}/runc-least"
runtime_root = "{folder}/runc"
monitor_path = "{conmon}"
[crio.image]
signature_policy = "{folder}/policy.json"
pause_image = "{pause}"
[crio.stats]
collection_period = 0
[crio.network]
network_dir = "{folder}/cni"
plugin_dirs = ["{folder}/cnibin"]
"""


def reason_against() -> str:
    """Say what is missing to run CRI-O here; empty if nothing is."""
    folder = os.environ.get(FOLDER, "")
    if not folder:
        return f"{FOLDER} names no folder with crio, pinns and runc-least (docs/development.md)"
    lacking = [name for name in _PROGRAMS if _found(Path(folder), name) is None]
    lacking += [name for name in _PACKAGES if which(name) is None]
    return f"CRI-O needs {', '.join(lacking)} (docs/development.md)" if lacking else ""


def _found(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.xz") if path.is_file()), None)


def unpack(runc: Path) -> Path:
    """Return a folder with CRI-O's programs, unpacked once, and runc beside them."""
    source = Path(os.environ[FOLDER])
    stamp = max(path.stat().st_mtime_ns for name in _PROGRAMS if (path := _found(source, name)) is not None)
    target = default_cache() / f"crio-{stamp}"
    for name in _PROGRAMS:
        path, made = _found(source, name), target / name
        if path is None:
            raise NodeError(f"{source}: no {name}")
        if not made.exists():
            target.mkdir(parents=True, exist_ok=True)
            new = target / f"{name}.{os.getpid()}"
            with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as packed, new.open("wb") as plain:
                shutil.copyfileobj(packed, plain)
            new.chmod(0o755)
            new.rename(made)
    link = target / f"runc.{os.getpid()}"
    link.symlink_to(runc)
    link.rename(target / "runc")
    return target


@dataclass(slots=True, kw_only=True)
class PrivateCrio(PrivateContainerd):
    """A CRI-O with images and writable layers in `root`."""

    @property
    def storage(self) -> Path:
        """The folder of the writable layers."""
        return self.root

    @property
    def image_store(self) -> Path | None:
        """The folder of the images where they lie apart."""
        return None

    def _command(self) -> tuple[list[str], dict[str, str]]:
        folder, programs = self.folder, unpack(self.binaries.runc)
        for path in (
            self.storage,
            *(folder / name for name in ("run", "cni", "cnibin", "exits", "hooks", "log", "ns")),
        ):
            path.mkdir(parents=True, exist_ok=True)
        if self.image_store is not None:
            self.image_store.mkdir(parents=True, exist_ok=True)
        (folder / "policy.json").write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
        network = {"cniVersion": "1.0.0", "name": "noop", "plugins": [{"type": "loopback"}]}
        (folder / "cni/10-noop.conflist").write_text(json.dumps(network))
        config = folder / "crio.conf"
        config.write_text(
            _CONFIG.format(
                storage=self.storage,
                imagestore="" if self.image_store is None else f'imagestore = "{self.image_store}"',
                folder=folder,
                socket=self.socket,
                programs=programs,
                conmon=which("conmon"),
                pause=PAUSE,
            )
        )
        environment = {"PATH": f"{programs}:{SYSTEM_PATH}", "HOME": str(folder)}
        return [str(programs / "crio"), "--config", str(config), "--config-dir", ""], environment

    def import_images(self, archive: Path, references: Iterable[str]) -> None:
        """Copy images from an OCI archive into CRI-O's storage; returns when CRI lists all of them."""
        wanted = set(references)
        unpacked = self.folder / "oci"
        unpacked.mkdir()
        run_tool("tar", "-xf", archive, "-C", unpacked)
        for each in sorted(wanted):
            run_tool("skopeo", "--insecure-policy", "copy", "-q", f"oci:{unpacked}:{each}", self._reference(each))
        shutil.rmtree(unpacked)
        if not wait_for(lambda: wanted <= self._references()):
            raise NodeError(f"copied, but not listed: {', '.join(sorted(wanted - self._references()))}")

    def _reference(self, image: str) -> str:
        # The folders below an image store are those of a storage of its own; Debian's skopeo knows no `overlay.imagestore`.
        store = self.image_store or self.storage
        return f"containers-storage:[overlay@{store}+{self.folder}/run-skopeo]{image}"


@dataclass(slots=True, kw_only=True)
class SplitCrio(PrivateCrio):
    """A CRI-O with images in `root` and writable layers on the node's own disk."""

    @property
    def storage(self) -> Path:
        """The folder of the writable layers, on nodefs."""
        return self.folder.parent / "node/crio"

    @property
    def image_store(self) -> Path | None:
        """The folder of the images."""
        return self.root
