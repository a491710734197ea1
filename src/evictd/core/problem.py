"""How a fault of a configuration is said, so that it can be found and put right.

One value per fault: where it is, what stands there, what is wrong with it, and what would be right. All faults of a
document are collected and shown together; the words of `wrong` are the kubelet's own wherever the kubelet has some.
"""

from dataclasses import dataclass

_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault; `path` is the field's, with a map's key in brackets as in Kubernetes: `evictionHard[pid.available]`."""

    path: str
    wrong: str
    value: str | None = None
    """What stands there; `None` where nothing does."""
    remedy: str = ""

    def __str__(self) -> str:
        where = self.path if self.value is None else f"{self.path}: {shown(self.value)}"
        text = f"{where}: {self.wrong}"
        return f"{text}; {self.remedy}" if self.remedy else text


def shown(text: str) -> str:
    """Give a text on one line and of bounded length, as it may stand in a message."""
    cut = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut) or '""'


def quoted(text: str) -> str:
    """Give a text in double quotes, as Go's `%q` does, and of bounded length."""
    cut = text if len(text) <= _SHOWN - 2 else text[: _SHOWN - 5] + "..."
    escaped = cut.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in escaped) + '"'
