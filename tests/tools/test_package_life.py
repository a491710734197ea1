"""dpkg installs, upgrades, removes and purges the Debian package on a temporary copy of this system.

The copy is an overlay over `/` in a mount namespace, with its changes in memory. systemd does not run in it: the scripts
of the package do what they do in a chroot. Triggers of other packages do not run: man-db's would index every page of this system.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("shtab")
pytest.importorskip("argparse_manpage")

from tools import debian

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        shutil.which("dpkg-deb") is None or not debian.PYTHON.exists(), reason="needs dpkg-deb and Debian's Python"
    ),
]

LIFE = r"""
set -e
mount -t tmpfs -o size=256m tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
cp "$2" "$1/root/tmp/evictd.deb"
cd "$1/root"
inside() { chroot . "$@"; }
report() { echo "== $1"; shift; "$@"; }
install() { inside dpkg --force-depends --no-triggers --install /tmp/evictd.deb >/dev/null 2>log || { cat log; exit 1; }; }
install
report installed inside /usr/bin/evictd
report files ls usr/lib/systemd/system/evictd.service etc/evictd/config.yaml
mkdir -p var/lib/evictd && echo '{}' > var/lib/evictd/state.json
echo '# mine' >> etc/evictd/config.yaml
install
report upgraded tail -n 1 etc/evictd/config.yaml
inside dpkg --no-triggers --remove evictd >/dev/null
report removed ls usr/bin etc/evictd var/lib/evictd
inside dpkg --no-triggers --purge evictd >/dev/null
report purged sh -c 'ls -d etc/evictd var/lib/evictd usr/lib/evictd 2>/dev/null; true'
"""


def install(folder: Path) -> None:
    (folder / "bin").mkdir()
    program = folder / "bin/evictd"
    program.write_text("#!/bin/sh\necho evictd runs\n")
    program.chmod(0o755)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What was seen after each step, by step."""
    package = debian.build(tmp_path_factory.mktemp("deb"), install)
    folder = tmp_path_factory.mktemp("overlay")
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", LIFE, "sh", str(folder), str(package)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    if "overlay" in done.stderr and "mount" in done.stderr:
        pytest.skip(f"no overlay over this root: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    steps = (step.partition("\n") for step in done.stdout.split("== ")[1:])
    return {name: text for name, _, text in steps}


def test_the_installed_command_runs(life: dict[str, str]) -> None:
    assert life["installed"] == "evictd runs\n"
    assert "evictd.service" in life["files"]


def test_an_upgrade_keeps_a_changed_configuration(life: dict[str, str]) -> None:
    assert life["upgraded"] == "# mine\n"


def test_a_removal_keeps_configuration_and_state(life: dict[str, str]) -> None:
    words = life["removed"].split()
    assert "evictd" not in words
    assert {"config.yaml", "state.json"} <= set(words)


def test_a_purge_leaves_nothing(life: dict[str, str]) -> None:
    assert life["purged"] == ""
