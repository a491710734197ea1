"""Runs the commands of docs/verify.md over a release in another root directory without a network (`make verify-release`).

    python -m tests.tools.verify_release [FOLDER] [KEY]

FOLDER is that of `make release`, KEY the publisher's public key; without it, what compares signatures is left out. The root
directory is Debian 13's of `make test-matrix`: nothing of this machine is in it but the files, the key, and Debian 13's cosign
if there is a key. Exit status 1: a command failed; 2: something is missing.
"""

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from evictd import __version__
from tests.tools import matrix
from tests.vm import cache
from tools import trixie

RELEASE = "trixie"
PAGE = matrix.ROOT / "docs/verify.md"
SECTIONS = ("# Verify a release", "## Provenance", "## Without a network")
OFFLINE = "if grep -v '^ *lo:' /proc/net/dev | grep :; then exit 1; fi"
"""Fails where there is an interface beside the loopback."""
_BLOCK = re.compile(r"(?:^ {4}.*\n|^\n(?= {4}))+", re.MULTILINE)
_SIGNATURE = ("cosign", "openssl", "base64")


def commands(page: str, *, signed: bool) -> list[str]:
    """Return the blocks of commands that need only the files of a release."""
    sections = re.split(r"^(?=#)", page, flags=re.MULTILINE)
    blocks = [
        re.sub(r"^ {4}", "", block, flags=re.MULTILINE).strip("\n")
        for section in sections
        if section.startswith(SECTIONS)
        for block in _BLOCK.findall(section)
    ]
    return [_without(block.replace("VERSION", __version__), signed=signed) for block in blocks]


def _without(block: str, *, signed: bool) -> str:
    if signed:
        return block
    text = "\n".join(line for line in block.splitlines() if not line.startswith(_SIGNATURE))
    return text.replace("--key cosign.pub", "--unsigned")


def verify(folder: Path, key: Path | None) -> bool:
    """Copy the release into the root directory and run the commands there; whether all of them ended well."""
    root = matrix.ensure_root(RELEASE)
    with cache.exclusive(root.parent, f"{RELEASE}.lock"):
        place = root / matrix.HOME / "evictd"
        shutil.rmtree(place, ignore_errors=True)
        try:
            shutil.copytree(folder, place)
            (root / "tmp").mkdir(exist_ok=True)
            if key:
                shutil.copy(key, place / "cosign.pub")
                shutil.copy(trixie.program("cosign"), root / "usr/bin/cosign")
            blocks = commands(PAGE.read_text(encoding="utf-8"), signed=key is not None)
            script = "\n".join(["set -ex", OFFLINE, *filter(None, blocks)])
            status, _ = matrix.run_in(root, "sh", "-c", script, user=0, network=False)
        finally:
            shutil.rmtree(place, ignore_errors=True)
            (root / "usr/bin/cosign").unlink(missing_ok=True)
    return status == 0


def main(arguments: Sequence[str]) -> int:
    """Verify a release and print what was run."""
    folder, *keys = map(Path, arguments or [str(matrix.ROOT / "build/release" / __version__)])
    absent = [path for path in (folder / "SHA256SUMS", *keys) if not path.exists()]
    problems = [*matrix.missing(), *(f"there is no file {path}" for path in absent)]
    for problem in problems:
        print(f"make verify-release: {problem}", file=sys.stderr)
    if problems:
        return 2
    verified = verify(folder.absolute(), keys[0].absolute() if keys else None)
    print(
        f"{folder}: {'verified' if verified else 'NOT verified'} by the commands of docs/verify.md, without a network"
    )
    return 0 if verified else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
