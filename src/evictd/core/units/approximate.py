"""Writes bytes, counts and shares for people, with three significant digits.

`Quantity` writes exact numbers in Kubernetes' canonical form, which for a measured amount is a long number of bytes or Ki.
"""

_BINARY_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL_UNITS = ("k", "M", "G", "T", "P", "E")
_EXACT_COUNT = 99_999
"""Up to here a count is written in full."""


def bytes_text(count: int) -> str:
    """Write bytes with three significant digits and a binary suffix: `62Mi`, `1.46Gi`."""
    return _scaled(count, 1024, _BINARY_UNITS)


def size_text(count: int) -> str:
    """Write bytes as `bytes_text` does, and less than 1Ki with their unit: `160 bytes`, in a sentence without other amounts."""
    return bytes_text(count) if abs(count) >= 1024 else f"{count} byte{'' if count == 1 else 's'}"


def count_text(count: int) -> str:
    """Write a count in full up to five digits, above with three significant ones and a decimal suffix: `655k`."""
    return str(count) if abs(count) <= _EXACT_COUNT else _scaled(count, 1000, _DECIMAL_UNITS)


def share_text(share: int) -> str:
    """Write a share of time, given in hundredths of a percent: `31.2%`."""
    return f"{share / 100:g}%"


def _scaled(count: int, step: int, units: tuple[str, ...]) -> str:
    size, unit = float(abs(count)), ""
    for larger in units:
        if size < step - 0.5:
            break
        size, unit = size / step, larger
    digits = 0 if size >= 99.95 or not unit else 1 if size >= 9.995 else 2
    text = f"{size:.{digits}f}"
    return ("-" if count < 0 else "") + (text.rstrip("0").rstrip(".") if digits else text) + unit
