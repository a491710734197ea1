"""A bundle installed by its own `install.sh`: containerd's real client imports the image, the real kubectl applies the overlay.

The bundle has what these two commands read, made as `make release` makes it; the overlay is changed for the test's node
(`deployed.for_node`) before it is packed.
"""

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from evictd import __version__
from evictd.errors import NodeError
from tests.cluster.deployed import Daemon, Json, for_node, remove
from tests.cluster.node import RealNode
from tests.cluster.test_daemon_set import clean_up
from tests.deploy.manifests import DEPLOY
from tests.kube.waiting import eventually
from tools import release, trixie
from tools.image import REFERENCE
from tools.packing import checksums

pytestmark = [
    *(pytest.mark.cluster, pytest.mark.root),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl"),
]
OVERLAY = "beside-kubelet"


def openssl(*arguments: str | Path) -> bytes:
    return subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True).stdout


@pytest.fixture
def items(real_node: RealNode, tmp_path: Path) -> Iterator[list[Json]]:
    """The overlay of a release for the test's node; its objects are removed at the end."""
    build = release.Build(source=DEPLOY.parent, target=tmp_path / "files", commit="", epoch=0, packages={})
    build.target.mkdir()
    release.write_overlays(build)
    path = build.target / f"evictd-{OVERLAY}-{__version__}.yaml"
    made = for_node(real_node, filter(None, yaml.safe_load_all(path.read_text())))
    path.write_text(yaml.safe_dump_all(made))
    yield made
    remove(real_node, made)
    clean_up(real_node)


@pytest.fixture
def bundle(items: list[Json], image_archive: Path, tmp_path: Path) -> Path:
    """The signed bundle; the key is beside it."""
    files = tmp_path / "files"
    shutil.copy(image_archive, files / f"evictd-image-{__version__}.tar")
    shutil.copy(DEPLOY / "install.sh", files)
    (files / "SHA256SUMS").write_text(checksums(files.iterdir()))
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", tmp_path / "cosign.key")
    openssl("ec", "-in", tmp_path / "cosign.key", "-pubout", "-out", tmp_path / "cosign.pub")
    signature = openssl("dgst", "-sha256", "-sign", tmp_path / "cosign.key", files / "SHA256SUMS")
    (files / "SHA256SUMS.sig").write_bytes(base64.b64encode(signature))
    release.write_bundle(release.Build(source=DEPLOY.parent, target=files, commit="", epoch=0, packages={}))
    return files / f"evictd-bundle-{__version__}.tar"


def test_the_image_and_the_overlay_of_a_bundle_run_on_the_node(real_node: RealNode, bundle: Path) -> None:
    try:
        real_node.ctr("images", "rm", "--sync", REFERENCE)  # of another test
    except NodeError as error:
        assert "not found" in str(error)
    environment = {
        "PATH": f"{trixie.program('kubectl').parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(real_node.plane.kubeconfig()),
        "CTR": " ".join(real_node.ctr_command()),
        "HOME": str(bundle.parent),  # kubectl has a cache
    }

    def install(*command: str) -> str:
        paths = (bundle.parent / "install.sh", "--key", bundle.parents[1] / "cosign.pub", bundle)
        argv = ["sh", *map(str, paths), *command]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "signed by" in install("verify")
    install("image")
    assert REFERENCE in real_node.ctr("images", "ls", "--quiet")
    assert "daemonset.apps/evictd created" in install("cluster", OVERLAY)
    daemon = Daemon(real_node)
    daemon.wait_until_ready()
    eventually(lambda: "starting" in daemon.events(), 120)
    assert "unchanged" in install("cluster", OVERLAY)
