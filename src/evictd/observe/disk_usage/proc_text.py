"""Reads files of /proc and of cgroups whose length a pod can choose."""

_MAX_BYTES = 1 << 20
"""10,000 lines of a `mountinfo` or `maps`."""


def read_whole_lines(path: str) -> bytes:
    """Return the whole lines among the first `_MAX_BYTES` bytes of a file; raises `OSError`."""
    with open(path, "rb") as file:  # noqa: PTH123 - in the hot loop
        found = file.read(_MAX_BYTES)
    return found if len(found) < _MAX_BYTES else found[: found.rfind(b"\n") + 1]
