"""Which pods the manifests in `staticPodPath` describe.

The kubelet's file source (`pkg/kubelet/config/file.go`): one v1.Pod a file, JSON or YAML, names that begin with a dot and
folders left out, a missing folder is an empty one. A file that stops being readable keeps its last good meaning, with a
problem beside it, because a half-written file must not turn a static pod into one that may be evicted.
"""

import json
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evictd.codec.manifest import Manifest, decode_manifest
from evictd.core.observation import Problem
from evictd.errors import EvictdError, InputError

MAX_MANIFEST_BYTES = 10 << 20
"""The kubelet's limit for one file."""

LoadYaml = Callable[[str], object]
"""Turns one YAML document into plain values; raises an `EvictdError` for anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifests:
    """What was read: the manifests by file name, and what could not be."""

    found: tuple[Manifest, ...] = ()
    problems: tuple[Problem, ...] = ()
    complete: bool = True
    """False where the folder itself could not be read: nobody then knows which pods are gone from it."""


class _Stamp(NamedTuple):
    inode: int
    size: int
    changed: int


class ManifestReader:
    """Reads a folder (or a single file) again and again, decoding only what changed."""

    def __init__(self, path: Path | None, load_yaml: LoadYaml | None = None) -> None:
        self._path = path
        self._load_yaml = load_yaml
        self._stamps: dict[str, _Stamp] = {}
        self._known: dict[str, Manifest] = {}
        self._faults: dict[str, Problem] = {}

    def read(self) -> Manifests:
        """Give the manifests as they are now."""
        try:
            files = self._files()
        except OSError as error:
            problem = Problem(source="manifests", detail=f"{self._path}: {error.strerror}")
            return Manifests(found=tuple(self._known.values()), problems=(problem,), complete=False)
        present = {file.name for file in files}
        for name in self._stamps.keys() - present:
            for memory in (self._stamps, self._known, self._faults):
                memory.pop(name, None)
        for file in files:
            self._refresh(file)
        found = tuple(self._known[name] for name in sorted(self._known))
        return Manifests(found=found, problems=tuple(self._faults[name] for name in sorted(self._faults)))

    def _files(self) -> list[Path]:
        if self._path is None:
            return []
        try:
            names = sorted(self._path.iterdir())
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            return [self._path]
        return [path for path in names if not path.name.startswith(".")]

    def _refresh(self, file: Path) -> None:
        try:
            status = file.stat()
            if stat.S_ISDIR(status.st_mode):
                return
            stamp = _Stamp(status.st_ino, status.st_size, status.st_mtime_ns)
            if self._stamps.get(file.name) == stamp:
                return
            self._stamps[file.name] = stamp
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_MANIFEST_BYTES:
                raise InputError(f"want a regular file of at most {MAX_MANIFEST_BYTES} bytes")
            self._known[file.name] = decode_manifest(self._plain(file.read_text(encoding="utf-8")))
            self._faults.pop(file.name, None)
        except (OSError, ValueError, RecursionError, EvictdError) as error:
            detail = f"{file.name!r}: {' '.join(str(error).split()) or type(error).__name__}"
            self._faults[file.name] = Problem(source="manifests", detail=detail)

    def _plain(self, text: str) -> Mapping[str, object]:
        if text.lstrip().startswith("{"):
            data = json.loads(text)
        elif self._load_yaml is not None:
            data = self._load_yaml(text)
        else:
            raise InputError("not JSON, and YAML cannot be read here")
        if not isinstance(data, Mapping):
            raise InputError(f"want one v1.Pod, got {type(data).__name__}")
        return data
