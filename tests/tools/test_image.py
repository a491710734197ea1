"""Image and Debian package for arm64 run: the image's interpreter under qemu, in a root directory of its own."""

import json
import os
import platform
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from evictd import __version__
from evictd_testnode.binaries import default_cache
from tools import debian, debs
from tools.image import write_image

QEMU = shutil.which("qemu-aarch64-static")
ROOT = Path(__file__).parents[2]
SAMPLES = (ROOT / "config/evictd.yaml", ROOT / "config/scenarios/ten-minutes.yaml")
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "here",
    "clusters": [{"name": "here", "cluster": {"server": "https://127.0.0.1:1"}}],
    "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here"}}],
    "users": [{"name": "here", "user": {"token": "none"}}],
}

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(QEMU is None, reason="needs qemu-aarch64-static (Debian's package qemu-user-static)"),
    pytest.mark.skipif(platform.machine() == "aarch64", reason="is for the foreign architecture"),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked image, with the emulator and samples."""
    folder = tmp_path_factory.mktemp("arm64")
    write_image(default_cache(), folder / "image.tar", debs.available(default_cache(), ["arm64"]))
    blobs = folder / "layout/blobs/sha256"
    with tarfile.open(folder / "image.tar") as tar:
        tar.extractall(folder / "layout", filter="data")
    (folder / "image.tar").unlink()

    def read(descriptor: dict[str, str]) -> Path:
        return blobs / descriptor["digest"].removeprefix("sha256:")

    (entry,) = json.loads((folder / "layout/index.json").read_text())["manifests"]
    (manifest,) = json.loads(read(entry).read_text())["manifests"]
    root = folder / "root"
    root.mkdir()
    for layer in json.loads(read(manifest).read_text())["layers"]:
        subprocess.run(["tar", "-xzf", read(layer), "-C", root], check=True)
    shutil.rmtree(folder / "layout")
    shutil.copy(str(QEMU), root / "qemu")
    for path in SAMPLES:
        shutil.copy(path, root / "tmp")
    (root / "tmp/kubeconfig").write_text(json.dumps(KUBECONFIG))
    return root


def run(
    root: Path, *command: str, python: str = "/opt/evictd/bin/python", path: str = ""
) -> subprocess.CompletedProcess[str]:
    inside = ["chroot", str(root), "/qemu", python, *command]
    environment = {"PATH": "/usr/sbin:/usr/bin", "PYTHONPATH": path}
    return subprocess.run(inside, capture_output=True, text=True, check=False, env=environment)


def test_version_check_and_simulate_run_on_arm64(root: Path) -> None:
    assert run(root, "-c", "import platform; print(platform.machine())").stdout == "aarch64\n"
    assert run(root, "/opt/evictd/bin/evictd", "--version").stdout == f"evictd {__version__}\n"
    assert run(root, "/opt/evictd/bin/evictd", "check", "--syntax", "/tmp/evictd.yaml").returncode == 0
    simulated = run(root, "/opt/evictd/bin/evictd", "simulate", "/tmp/ten-minutes.yaml")
    assert (simulated.returncode, "no threshold is met" in simulated.stdout) == (0, True)


def test_a_kubeconfig_is_read_without_the_client_for_asyncio(root: Path) -> None:
    """`kubernetes.aio` is left out of the image; what loads `kubernetes` gets as far as the connection."""
    assert not list(root.glob("opt/evictd/lib/python*/site-packages/kubernetes/aio"))
    script = (
        "from pathlib import Path; from evictd.clients.kube.access import load_access; "
        "print(load_access('/tmp/kubeconfig', {}, Path('/none')).host)"
    )
    done = run(root, "-c", script)
    assert (done.stdout, done.stderr) == ("https://127.0.0.1:1\n", "")


@pytest.mark.skipif(not debian.PYTHON.exists(), reason="needs Debian's Python")
def test_the_debian_package_has_the_programs_of_arm64(root: Path, tmp_path: Path) -> None:
    """Its environment names Debian's python3, in whose place the image has an interpreter without that link."""
    debian.main([str(tmp_path), "arm64"])
    (package,) = tmp_path.glob("*.deb")
    shown = subprocess.run(["dpkg-deb", "--field", package, "Architecture"], capture_output=True, text=True, check=True)
    assert (package.name, shown.stdout) == (f"evictd_{__version__}_arm64.deb", "arm64\n")
    subprocess.run(["dpkg-deb", "--extract", package, root], check=True)
    (site,) = root.glob("usr/lib/evictd/lib/python3*/site-packages")
    inside = f"/{os.path.relpath(site, root)}"
    assert not list(site.rglob("*x86_64*"))
    evictd = "/usr/lib/evictd/bin/evictd"
    done = run(root, evictd, "--version", python="/usr/bin/python3.11", path=inside)
    assert (done.stdout, done.stderr) == (f"evictd {__version__}\n", "")
    done = run(root, evictd, "simulate", "/tmp/ten-minutes.yaml", python="/usr/bin/python3.11", path=inside)
    assert (done.returncode, "no threshold is met" in done.stdout) == (0, True)
