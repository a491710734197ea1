"""What must survive a restart, and is it really ours?

One JSON file, replaced atomically: an envelope with the boot id around what the caller remembers. Times inside are
boot-time clock, so a file of another boot means nothing; it is set aside, as is a damaged one, and the daemon starts
fresh. No fsync: the file must outlive the process, and a machine that went down has a new boot id anyway. The kubelet
keeps none of this.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evictd.errors import InputError

API_VERSION = "evictd.io/v1alpha1"
KIND = "EvictdState"

_MOST_BYTES = 64 << 20


def boot_id(path: Path = Path("/proc/sys/kernel/random/boot_id")) -> str:
    """Read the kernel's name for this boot."""
    return path.read_text("ascii").strip()


class StateFile:
    """The file and the boot it belongs to."""

    def __init__(self, path: Path, boot: str) -> None:
        self.path = path
        self._boot = boot

    def read(self) -> dict[str, Any] | None:
        """Give what was remembered in this boot, `None` where there is nothing.

        Raises `InputError` for a file that is damaged or of another boot; `set_aside` then keeps it for people.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror}") from error
        with os.fdopen(fd, "rb") as file:
            return self._open_envelope(file.read(_MOST_BYTES))

    def _open_envelope(self, content: bytes) -> dict[str, Any]:
        try:
            document = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.path}: is damaged: {error}") from error
        if not isinstance(document, dict) or document.get("kind") != KIND or document.get("apiVersion") != API_VERSION:
            raise InputError(f"{self.path}: is no {KIND} of {API_VERSION}")
        if document.get("bootID") != self._boot:
            raise InputError(f"{self.path}: was written before the machine started anew")
        remembered = document.get("remembered")
        if not isinstance(remembered, dict):
            raise InputError(f"{self.path}: remembers nothing")
        return remembered

    def write(self, remembered: Mapping[str, Any]) -> None:
        """Replace the file; raises OSError and leaves the old one as it was where that is not possible."""
        envelope = {"apiVersion": API_VERSION, "kind": KIND, "bootID": self._boot, "remembered": remembered}
        replace_file(self.path, json.dumps(envelope, separators=(",", ":")).encode())

    def set_aside(self) -> Path | None:
        """Rename the file so that the next write does not destroy the evidence; `None` if that failed."""
        aside = self.path.with_name(self.path.name + ".set-aside")
        try:
            self.path.rename(aside)
        except OSError:
            return None
        return aside


def replace_file(path: Path, content: bytes) -> None:
    """Put a whole new content in place of a file: readers see the old or the new, never half of one."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(fresh, flags, 0o600), "wb") as file:
            file.write(content)
        fresh.rename(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
