"""Reads and replaces the state file: what must survive a restart of the daemon, as one JSON document.

The file is replaced atomically: an envelope with the boot id around what the caller remembers. Times inside are of the boot-time
clock, so a file of another boot is not valid; the caller sets it aside, as it does a damaged one. No fsync: the file must outlive
the process, and after a crash of the machine the boot id differs anyway. The kubelet keeps no such file.
A filesystem that is full cannot refuse a write (`store.reserved_file`).
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from evictd.codec.checksum import sealed, unsealed
from evictd.daemon.store.own_file import read_own
from evictd.daemon.store.reserved_file import ReservedFile
from evictd.errors import InputError
from evictd.worker import ErrorReporter, describe

API_VERSION = "evictd.io/v1alpha1"
KIND = "EvictdState"

_MOST_BYTES = 64 << 20
RESERVED_BYTES = 64 << 10
"""Several times what the state of a node with a hundred pods and as many images needs."""

_T = TypeVar("_T")


def boot_id() -> str:
    """Read the kernel's id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()


class StateFile:
    """The state file; `boot` is the id of the boot in which it is valid."""

    def __init__(self, path: Path, boot: str) -> None:
        self.path = path
        self._boot = boot
        self._file = ReservedFile(path, RESERVED_BYTES)

    def read(self) -> dict[str, Any] | None:
        """Return what was remembered in this boot, `None` if there is no file.

        Raises `InputError` for a file that is damaged or of another boot; `set_aside` then keeps it as evidence.
        """
        try:
            content = read_own(self.path, _MOST_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror}") from error
        return self._open_envelope(content)

    def load(self, decode: Callable[[Mapping[str, Any]], _T], *, fresh: _T, errors: ErrorReporter, then: str) -> _T:
        """Decode what was remembered; `fresh` if there is no file.

        A file that cannot be used is set aside and reported with what follows from that (`then`), and `fresh` is returned.
        """
        try:
            remembered = self.read()
            return fresh if remembered is None else decode(remembered)
        except Exception as error:  # whatever is wrong with it: a file must not keep the daemon from starting
            aside = self.set_aside()
            done = "it cannot be set aside and is overwritten" if aside is None else f"set aside as {aside}"
            errors.report_error("state", f"{describe(error)}; {done}, {then}")
            return fresh

    def _open_envelope(self, content: bytes) -> dict[str, Any]:
        try:
            document = json.loads(unsealed(content))
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.path}: is damaged: {error}") from error
        if not isinstance(document, dict) or document.get("kind") != KIND or document.get("apiVersion") != API_VERSION:
            raise InputError(f"{self.path}: is not a {KIND} of {API_VERSION}")
        if document.get("bootID") != self._boot:
            raise InputError(f"{self.path}: was written in another boot of the machine")
        remembered = document.get("remembered")
        if not isinstance(remembered, dict):
            raise InputError(f"{self.path}: has no object `remembered`")
        return remembered

    def write(self, remembered: Mapping[str, Any]) -> None:
        """Replace the file; raises OSError, and leaves the old file as it was, if that is not possible."""
        envelope = {"apiVersion": API_VERSION, "kind": KIND, "bootID": self._boot, "remembered": remembered}
        self._file.write(sealed(json.dumps(envelope, separators=(",", ":")).encode()))

    def reserve(self) -> None:
        """Reserve the blocks of all later writes; raises OSError if there are none."""
        self._file.reserve()

    def set_aside(self) -> Path | None:
        """Rename the file so that the next write does not destroy the evidence; `None` if that failed."""
        aside = self.path.with_name(self.path.name + ".set-aside")
        try:
            self.path.rename(aside)
        except OSError:
            return None
        return aside
