"""`deploy/install.sh` verifies every file of a bundle before it does anything; here of a small one."""

import base64
import hashlib
import io
import os
import platform
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.deploy.manifests import DEPLOY
from tools.packing import checksums

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")

SCRIPT = DEPLOY / "install.sh"
IMAGE, OVERLAY = "evictd-image-9.9.9.tar", "evictd-dry-run-9.9.9.yaml"
FILES = {
    "install.sh": SCRIPT.read_bytes(),
    IMAGE: b"the image",
    OVERLAY: b"the overlay",
    "evictd-9.9.9.tar.gz": b"source",
}
SIGNED = ["SHA256SUMS", "SHA256SUMS.sig"]
Members = list[tuple[str, bytes]]


def openssl(*arguments: str | Path) -> bytes:
    return subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pairs of keys as cosign makes them (ECDSA on P-256), and the folder for signatures."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("publisher", "other"):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", folder / f"{name}.key")
        openssl("ec", "-in", folder / f"{name}.key", "-pubout", "-out", folder / f"{name}.pub")
    return folder


@pytest.fixture(scope="module")
def members(keys: Path) -> Members:
    """What lies in a bundle, signed by the publisher."""
    folder = keys / "files"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    sums = folder.parent / "SHA256SUMS"
    sums.write_text(checksums(folder.iterdir()))
    signature = base64.b64encode(openssl("dgst", "-sha256", "-sign", keys / "publisher.key", sums))
    return [*FILES.items(), ("SHA256SUMS", sums.read_bytes()), ("SHA256SUMS.sig", signature)]


def bundle(folder: Path, members: Members) -> Path:
    path = folder / "bundle.tar"
    with tarfile.open(path, "w") as tar:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def run(folder: Path, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script; `ctr` and `kubectl` write what they read into files of the folder."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("ctr", "kubectl"):
        (programs / name).write_text(f'#!/bin/sh\necho "$*" >{folder}/{name}.arguments\ncat >{folder}/{name}.input\n')
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(folder), **variables}
    return subprocess.run(
        ["sh", SCRIPT, *map(str, arguments)], capture_output=True, text=True, env=environment, cwd=folder, check=False
    )


def test_a_bundle_of_the_publisher_is_verified_and_unpacked(tmp_path: Path, keys: Path, members: Members) -> None:
    made = bundle(tmp_path, members)
    done = run(tmp_path, "--key", keys / "publisher.pub", made, "verify")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(FILES)} files are those of the release, signed by" in done.stdout
    assert run(tmp_path, "--key", keys / "publisher.pub", made, "unpack", "out").returncode == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == dict(members)
    again = run(tmp_path, "--key", keys / "publisher.pub", made, "unpack", "out")
    assert (again.returncode, "out exists; name a new directory" in again.stderr) == (2, True)


def test_the_image_goes_into_the_runtime_and_an_overlay_to_the_cluster(
    tmp_path: Path, keys: Path, members: Members
) -> None:
    made = bundle(tmp_path, members)
    assert run(tmp_path, "--key", keys / "publisher.pub", made, "image").returncode == 0
    assert (tmp_path / "ctr.arguments").read_text() == "--namespace k8s.io images import -\n"
    assert (tmp_path / "ctr.input").read_bytes() == FILES[IMAGE]
    assert run(tmp_path, "--unsigned", made, "cluster", "dry-run").returncode == 0
    assert (tmp_path / "kubectl.input").read_bytes() == FILES[OVERLAY]
    assert {path.name for path in tmp_path.iterdir()} == {
        *("bundle.tar", "programs", "ctr.arguments", "ctr.input", "kubectl.arguments", "kubectl.input")
    }


def test_neither_a_key_nor_consent_is_refused(tmp_path: Path, members: Members) -> None:
    done = run(tmp_path, bundle(tmp_path, members), "verify")
    assert done.returncode == 2
    assert "name the publisher's key (--key FILE), or --unsigned" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "no command 'frobnicate'"),
        (["cluster", "nothing"], "no overlay 'nothing': evictd-dry-run-9.9.9.yaml"),
        (["package"], "the bundle has no package for"),
        (["unpack"], "name a directory"),
    ],
)
def test_wrong_commands_name_what_there_is(tmp_path: Path, members: Members, arguments: list[str], said: str) -> None:
    if arguments == ["package"] and shutil.which("dpkg") is None:
        pytest.skip("needs dpkg")
    done = run(tmp_path, "--unsigned", bundle(tmp_path, members), *arguments)
    assert (done.returncode, said in done.stderr) == (2, True)


def debian_package(folder: Path, fields: str) -> tuple[str, bytes]:
    """A package for this machine's release, and its name in a bundle."""
    architecture = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout
    content = folder / "content"
    for path in (content / "DEBIAN", content / "usr/share/evictd"):
        path.mkdir(parents=True)
    control = f"Package: evictd\nVersion: 9.9.9\nArchitecture: all\nMaintainer: tests\nDescription: none\n{fields}"
    (content / "DEBIAN/control").write_text(control)
    (content / "usr/share/evictd/file").touch()
    subprocess.run(["dpkg-deb", "--build", content, folder / "made.deb"], check=True, capture_output=True)
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    return f"evictd_9.9.9_{architecture.strip()}.{release}.deb", (folder / "made.deb").read_bytes()


def private_apt(folder: Path, *installed: str) -> Path:
    """An apt configuration that installs below the folder, knows these installed packages and no mirror."""
    for name in ("root/var/lib/dpkg", "lists/partial", "cache/archives/partial", "log"):
        (folder / name).mkdir(parents=True)
    state = "Status: install ok installed\nVersion: 1\nArchitecture: all\nMaintainer: tests\nDescription: none\n"
    status = folder / "root/var/lib/dpkg/status"
    status.write_text("\n".join(f"Package: {name}\n{state}" for name in installed))
    config = folder / "apt.conf"
    config.write_text(
        f'Dir::State "{folder}";\nDir::State::status "{status}";\nDir::Cache "{folder}/cache";\nDir::Log "{folder}/log";\n'
        'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "/dev/null";\nAPT::Sandbox::User "root";\n'
        f'DPkg::Options {{ "--root={folder}/root"; }};\n#clear DPkg::Post-Invoke;\n#clear DPkg::Pre-Install-Pkgs;\n'
    )
    return config


def install_package(folder: Path, *installed: str) -> subprocess.CompletedProcess[str]:
    """Run the script for a package that needs systemd, on a node that has these packages installed."""
    name, content = debian_package(folder, "Depends: systemd\n")
    sums = f"{hashlib.sha256(content).hexdigest()}  {name}\n".encode()
    made = bundle(folder, [(name, content), ("SHA256SUMS", sums)])
    return run(folder, "--unsigned", made, "package", APT_CONFIG=str(private_apt(folder, *installed)))


@pytest.mark.root
@pytest.mark.skipif(shutil.which("apt-get") is None, reason="not a Debian")
def test_the_package_is_installed_by_apt_without_a_mirror(tmp_path: Path) -> None:
    """Debian 12's apt has an internal error for a file together with --no-download."""
    done = install_package(tmp_path, "systemd")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "root/usr/share/evictd/file").exists()


@pytest.mark.root
@pytest.mark.skipif(shutil.which("apt-get") is None, reason="not a Debian")
def test_what_the_package_needs_beside_it_is_named_and_nothing_is_installed(tmp_path: Path) -> None:
    done = install_package(tmp_path)
    assert (done.returncode, "evictd : Depends: systemd" in done.stderr) == (2, True)
    assert not (tmp_path / "root/usr").exists()


def refused(folder: Path, keys: Path, changed: Members, said: str) -> None:
    """The whole script with each command that writes: nothing is passed on and nothing is left."""
    made = bundle(folder, changed)
    for command in (["verify"], ["unpack", "out"], ["image"], ["cluster", "dry-run"]):
        done = run(folder, "--key", keys / "publisher.pub", made, *command)
        assert (done.returncode, said in done.stderr, "nothing was installed" in done.stderr) == (1, True, True)
    assert {path.name for path in folder.iterdir()} == {"bundle.tar", "programs"}


@pytest.mark.parametrize("name", [*FILES, "SHA256SUMS", "SHA256SUMS.sig"])
def test_a_change_of_any_file_is_found(tmp_path: Path, keys: Path, members: Members, name: str) -> None:
    changed = [(each, b"X" + content[1:] if each == name else content) for each, content in members]
    said = "the signature of SHA256SUMS is not by" if name in SIGNED else f"{name} is not the file of the release"
    refused(tmp_path, keys, changed, said)


@pytest.mark.parametrize("name", [*FILES, "SHA256SUMS", "SHA256SUMS.sig"])
def test_a_missing_file_is_found(tmp_path: Path, keys: Path, members: Members, name: str) -> None:
    said = {"SHA256SUMS": "has no SHA256SUMS", "SHA256SUMS.sig": "signature"}.get(name, "missing, additional or twice")
    refused(tmp_path, keys, [each for each in members if each[0] != name], said)


@pytest.mark.parametrize("more", [("../evil", b"x"), (IMAGE, b"another"), ("extra file", b"x")])
def test_an_additional_file_is_found(tmp_path: Path, keys: Path, members: Members, more: tuple[str, bytes]) -> None:
    refused(tmp_path, keys, [*members, more], "missing, additional or twice there")


def test_a_bundle_that_ends_early_is_found(tmp_path: Path, keys: Path, members: Members) -> None:
    made = bundle(tmp_path, members)
    made.write_bytes(made.read_bytes()[:700])
    done = run(tmp_path, "--key", keys / "publisher.pub", made, "unpack", "out")
    assert done.returncode == 1
    assert not (tmp_path / "out").exists()


def test_sums_signed_by_another_are_refused(tmp_path: Path, keys: Path, members: Members) -> None:
    done = run(tmp_path, "--key", keys / "other.pub", bundle(tmp_path, members), "verify")
    assert done.returncode == 1
    assert "is not by" in done.stderr
