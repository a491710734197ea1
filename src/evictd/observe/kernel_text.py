"""What do the kernel's small text files say?

Strict on purpose: a number is ASCII digits, at most 64 bits wide, and ends with its line. Anything else is a file cut short or no
number at all, and a wrong number is worse than none when pods are killed by it.
"""

from evictd.core.stats import PressureStall
from evictd.errors import NodeError

_MAX_UINT64 = 2**64 - 1


def parse_count(text: bytes, what: str) -> int:
    """Read a file of one number."""
    digits, newline, rest = text.partition(b"\n")
    if not newline or rest:
        raise _garbled(text, what)
    return _number(digits, what)


def parse_limit(text: bytes, what: str) -> int | None:
    """Read a file of one number or `max`, which is `None`."""
    return None if text == b"max\n" else parse_count(text, what)


def parse_stat(text: bytes, key: bytes, what: str) -> int:
    """Give the number on the line of this key in a file like memory.stat."""
    at = 0 if text.startswith(key + b" ") else text.find(b"\n" + key + b" ") + 1
    if not at and not text.startswith(key + b" "):
        raise NodeError(f"{what}: no {key.decode()}")
    start = at + len(key) + 1
    end = text.find(b"\n", start)
    if end < 0:
        raise _garbled(text[at:], what)
    return _number(text[start:end], what)


def parse_pressure(text: bytes, what: str) -> dict[str, PressureStall]:
    """Read a PSI file into its lines by name: `some` and, but for cpu on old kernels, `full`."""
    lines = {}
    for line in text.splitlines():
        try:
            name, *fields = line.split()
            values = dict(field.partition(b"=")[::2] for field in fields)
            lines[name.decode("ascii")] = PressureStall(
                avg10=float(values[b"avg10"]),
                avg60=float(values[b"avg60"]),
                avg300=float(values[b"avg300"]),
                total_us=_number(values[b"total"], what),
            )
        except (KeyError, ValueError) as error:
            raise _garbled(line, what) from error
    return lines


def _number(digits: bytes, what: str) -> int:
    # isdigit first: int() would also take signs, blanks and underscores.
    if not digits.isdigit() or (number := int(digits)) > _MAX_UINT64:
        raise _garbled(digits, what)
    return number


def _garbled(text: bytes, what: str) -> NodeError:
    return NodeError(f"{what}: not understood: {text[:40]!r}")
