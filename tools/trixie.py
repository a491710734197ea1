"""Programs of Debian 13 that Debian 12 has not or has too old, unpacked once into the cache; nothing is installed.

    python -m tools.trixie cosign generate-key-pair     # runs one of them

One version on every machine makes the same bytes and takes the same options: `kubectl kustomize` of Debian 12 takes no folder as
a resource, and `cosign sign-blob` of Debian 14 writes no plain signature.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from evictd.errors import NodeError
from evictd_testnode.binaries import default_cache, unpack_packages


def program(name: str) -> Path:
    """Return the program of the package of this name."""
    return unpack_packages(default_cache(), f"{name}-trixie", (name,), suite="trixie") / "usr/bin" / name


def main(arguments: Sequence[str]) -> NoReturn:
    """Run a program in the place of this process."""
    if not arguments:
        sys.exit("usage: python -m tools.trixie PROGRAM [ARGUMENT ...]")
    try:
        path = program(arguments[0])
    except NodeError as error:
        sys.exit(f"{arguments[0]}: {error}")
    os.execv(path, list(arguments))  # noqa: S606 - no shell


if __name__ == "__main__":
    main(sys.argv[1:])
