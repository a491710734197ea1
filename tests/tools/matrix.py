"""Runs `make test` as an ordinary user under the Python of several Debian releases (`make test-matrix`).

    python -m tests.tools.matrix [--deb] [bookworm] [trixie] [forky]

Each release is a root directory in the cache outside the tree, made once by mmdebstrap from the mirror that apt uses. The files
that git knows or would add are copied into it, and `make setup` and `make test` run there, in namespaces of their own: the mounts
end with them, also when this process is killed, and none of the host's is among them. The result of each release is written into
the table of docs/compatibility.md. Exit status 1: a test failed; 2: something is missing, and how to get it.

With `--deb` (`make deb-matrix`) the Debian package of each release is built there instead, for its Python, installed, tried and
purged without a network, and copied to build/RELEASE.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from evictd.errors import NodeError
from evictd_testnode.binaries import debian_mirror, default_cache
from tests.tools.tested import RELEASES, Row, record
from tests.vm import cache

ROOT = Path(__file__).parents[2]
PACKAGES = ("ca-certificates", "e2fsprogs", "git", "make", "procps", "prometheus", "python3", "python3-venv")
"""What the tests need beside a minimal system; none of them is started."""
MMDEBSTRAP = ("mmdebstrap", "--quiet", '--aptopt=Acquire::Check-Valid-Until "false"')
"""A mirror that stands still has a Release file past its date; its signature is checked all the same."""
PROGRAMS = {"mmdebstrap": "mmdebstrap", "unshare": "util-linux", "setpriv": "util-linux", "git": "git"}
USER = 1000
HOME = Path("home/tester")
CERTIFICATES = Path("etc/ssl/certs/ca-certificates.crt")
_COUNT = re.compile(r"(\d+) (passed|failed|error|skipped)")
_SUMMARY = re.compile(r" in [\d.]+s\b")

_FENCED = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private", "--pid", "--fork")
# The root directory has to be a mount, as that of a container is; else mountinfo does not list it.
_ENTER = f"""
set -eu
root=$1 user=$2; shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
# This shell stays: it is killed with its parent, and everything in its PID namespace with it. A change of the user ends that tie.
chroot "$root" setpriv --reuid "$user" --regid "$user" --clear-groups env --chdir /{HOME}/evictd "$@" || exit $?
exit 0
"""


_TRY_PACKAGE = """
trap 'dpkg --purge evictd' EXIT
dpkg --force-depends --install build/evictd_*.deb
evictd --version
evictd check --syntax /etc/evictd/config.yaml
evictd simulate /usr/share/doc/evictd/examples/scenarios/ten-minutes.yaml >/dev/null
dpkg --purge evictd
trap - EXIT
test ! -e /usr/lib/evictd
"""


def missing() -> Iterator[str]:
    """Yield a sentence with the remedy for each thing that this machine lacks."""
    if os.geteuid() != 0:
        yield "needs root, for chroot; the tests then run as an ordinary user"
    yield from absent(PROGRAMS)
    try:
        debian_mirror()
    except (NodeError, OSError) as error:
        yield f"no mirror to install from: {error}; add one to /etc/apt/sources.list"


def absent(programs: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each program that is not installed; `programs` has the Debian package of each."""
    for program, package in programs.items():
        if shutil.which(program) is None:
            yield f"{program} is not installed (apt-get install {package})"


def ensure_root(release: str) -> Path:
    """Return the root directory of a release; builds it if it is not in the cache (some 100 s)."""
    key = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:8]
    return cache.ensure(default_cache() / "matrix", release, key, partial(_build, release))


def _build(release: str, root: Path) -> None:
    options = ("--mode=root", "--variant=apt", f"--include={','.join(PACKAGES)}")
    command = (*_FENCED, "--kill-child=SIGKILL", "--", *MMDEBSTRAP, *options, release, str(root))
    subprocess.run([*command, debian_mirror()], stdin=subprocess.DEVNULL, check=True)
    for name, line in (("passwd", f"tester:x:{USER}:{USER}::/{HOME}:/bin/sh"), ("group", f"tester:x:{USER}:")):
        with (root / "etc" / name).open("a", encoding="ascii") as file:
            file.write(f"{line}\n")


def copy_sources(target: Path) -> None:
    """Copy what git knows or would add, with its times; `.venv` stays, and everything else there is removed."""
    target.mkdir(parents=True, exist_ok=True)
    for path in target.iterdir():
        if path.is_dir() and path.name != ".venv":
            shutil.rmtree(path)
        elif not path.is_dir():
            path.unlink()
    listed = ("git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in subprocess.run(listed, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\0"):
        if name and (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def prepare(root: Path) -> None:
    """Bring the sources, the resolver and the certificates into a root directory; remove what earlier tests left."""
    shutil.rmtree(root / "tmp", ignore_errors=True)
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    for name in (Path("etc/resolv.conf"), CERTIFICATES):
        if (Path("/") / name).exists():
            (root / name).unlink(missing_ok=True)
            shutil.copyfile(Path("/") / name, root / name)
    copy_sources(root / HOME / "evictd")
    subprocess.run(["chown", "-R", f"{USER}:{USER}", str(root / HOME)], check=True)


def run_in(root: Path, *command: str, user: int = USER, network: bool = True) -> tuple[int, str]:
    """Run a command as a user; print its output as it comes, and return its status and the output."""
    passed_on = [f"{name}={value}" for name, value in os.environ.items() if name.lower().endswith("_proxy")]
    passed_on += [f"{name}={value}" for name, value in os.environ.items() if name.startswith("PIP_INDEX")]
    environment = [f"HOME=/{HOME}", "LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"PIP_CERT=/{CERTIFICATES}"]
    inside = ("sh", "-c", _ENTER, "sh", str(root), str(user), "-i", *environment, *passed_on, *command)
    lines = []
    with subprocess.Popen(
        [*_FENCED, *(() if network else ("--net",)), "--kill-child=SIGKILL", "--", *inside],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines)


def counts(output: str) -> Counter[str]:
    """Add up the summaries of all runs of pytest in an output."""
    found: Counter[str] = Counter()
    for line in output.splitlines():
        if _SUMMARY.search(line):
            for number, kind in _COUNT.findall(line):
                found["failed" if kind == "error" else kind] += int(number)
    return found


def run_release(release: str) -> bool:
    """Run the tests in one release and write its line of the table; whether all passed."""
    root = ensure_root(release)
    with cache.exclusive(root.parent, f"{release}.lock"):
        prepare(root)
        _, python = run_in(root, "python3", "--version")
        status, _ = run_in(root, "make", "setup")
        if status:
            print(f"{release}: no environment for {python.strip()}; see above", file=sys.stderr)
            return False
        # With -i the tests of the core run as well where others failed.
        _, output = run_in(root, "make", "-i", "test", f"JOBS={os.environ.get('JOBS', '2')}")
    result = counts(output)
    record(Row(release=release, tests="test", python=python.split()[1], results=result))
    return bool(result["passed"]) and not result["failed"]


def build_package(release: str) -> bool:
    """Build the Debian package of one release, install, try and purge it; whether all that worked."""
    root = ensure_root(release)
    with cache.exclusive(root.parent, f"{release}.lock"):
        prepare(root)
        if any(run_in(root, "make", target)[0] for target in ("setup", "deb")):
            return False
        if run_in(root, "sh", "-ec", _TRY_PACKAGE, user=0, network=False)[0]:
            return False
        (built,) = (root / HOME / "evictd/build").glob("evictd_*.deb")
        target = ROOT / "build" / release
        target.mkdir(parents=True, exist_ok=True)
        print(shutil.copyfile(built, target / built.name))
    return True


def main(arguments: Sequence[str]) -> int:
    """Run the tests in each release, one after the other, or build its package."""
    deb = "--deb" in arguments
    releases = [each for each in arguments if each != "--deb"]
    problems = [
        *missing(),
        *(f"{each}: no release; {', '.join(RELEASES)}" for each in releases if each not in RELEASES),
    ]
    for problem in problems:
        print(f"make test-matrix: {problem}", file=sys.stderr)
    if problems:
        return 2
    failed = [each for each in releases or RELEASES if not (build_package if deb else run_release)(each)]
    print(f"matrix: {'failed in ' + ', '.join(failed) if failed else 'all passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
