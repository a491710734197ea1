"""Reads the static pods' manifests in `staticPodPath`.

As the kubelet's file source (`pkg/kubelet/config/file.go`): one v1.Pod per file, JSON or YAML; names that begin with a dot and
directories are skipped; a missing directory is empty. When a file becomes unreadable, its last good content stays in use and a
problem is added, because a half-written file must not turn a static pod into one that may be evicted.
"""

import json
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from evictd.codec.pods.manifest import Manifest, decode_manifest
from evictd.core.frozen import frozen
from evictd.core.model.observation import Problem
from evictd.errors import EvictdError, InputError

MAX_MANIFEST_BYTES = 10 << 20
"""Bytes; the kubelet's limit for one file (`maxConfigLength`)."""

LoadYaml = Callable[[str], object]
"""Parses one YAML document to plain values; raises an `EvictdError` if it is invalid."""


@frozen
class Manifests:
    """The manifests, ordered by file name, and the problems of files that could not be read."""

    found: tuple[Manifest, ...] = ()
    problems: tuple[Problem, ...] = ()
    complete: bool = True
    """False if the directory itself could not be read: `found` then holds the last known manifests, some perhaps deleted."""


class _Stamp(NamedTuple):
    inode: int
    size: int
    changed: int


class ManifestReader:
    """Reads a directory (or a single file) repeatedly, decoding only files whose inode, size or time has changed."""

    def __init__(self, path: Path | None, load_yaml: LoadYaml | None = None) -> None:
        self._path = path
        self._load_yaml = load_yaml
        self._stamps: dict[str, _Stamp] = {}
        self._known: dict[str, Manifest] = {}
        self._problems: dict[str, Problem] = {}

    def read(self) -> Manifests:
        """Read the directory and return its manifests; errors are problems of the result."""
        try:
            files = self._files()
        except OSError as error:
            problem = Problem(source="manifests", detail=f"{self._path}: {error.strerror}")
            return Manifests(found=tuple(self._known.values()), problems=(problem,), complete=False)
        present = {file.name for file in files}
        for name in (self._stamps.keys() | self._problems.keys()) - present:
            for by_name in (self._stamps, self._known, self._problems):
                by_name.pop(name, None)
        for file in files:
            self._refresh(file)
        found = tuple(self._known[name] for name in sorted(self._known))
        return Manifests(found=found, problems=tuple(self._problems[name] for name in sorted(self._problems)))

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
                raise InputError(f"not a regular file of at most {MAX_MANIFEST_BYTES} bytes")
            self._known[file.name] = decode_manifest(self._plain(file.read_text(encoding="utf-8")))
            self._problems.pop(file.name, None)
        except (OSError, ValueError, RecursionError, EvictdError) as error:
            if isinstance(error, OSError):
                self._stamps.pop(file.name, None)  # as without a free descriptor: read again in the next cycle
            detail = " ".join(str(error).split()) or type(error).__name__
            self._problems[file.name] = Problem(source=f"manifests/{file.name!r}", detail=detail)

    def _plain(self, text: str) -> Mapping[str, object]:
        if text.lstrip().startswith("{"):
            data = json.loads(text)
        elif self._load_yaml is not None:
            data = self._load_yaml(text)
        else:
            raise InputError("not JSON, and no YAML parser is configured")
        if not isinstance(data, Mapping):
            raise InputError(f"expected one v1.Pod, found {type(data).__name__}")
        return data
