"""Declares one fault of a configuration, and formats untrusted texts for messages.

A fault has a path, the value, what is wrong with it, and a remedy. All faults of a document are collected and shown together.
The text of `wrong` is the kubelet's where the kubelet reports the same fault.
"""

from evictd.core.frozen import frozen

_SHOWN = 60
_TYPOGRAPHIC = "\u201c\u201d\u2018\u2019"
"""The quotes of a word processor, which are a part of the value in YAML."""


@frozen
class ConfigProblem:
    """One fault; `path` is the field's, with a map's key in brackets as in Kubernetes: `evictionHard[pid.available]`."""

    path: str
    wrong: str
    value: str | None = None
    """The value found; `None` if there is none."""
    remedy: str = ""
    unknown_field: bool = False
    """Whether there is no such field."""
    meant: str = ""
    """The known name that is most similar to an unknown one; empty where none is similar enough."""
    line: int | None = None
    """Where the field is in its file, from 1; `None` where that is unknown."""

    def __str__(self) -> str:
        where = self.place if self.value is None else f"{self.place}: {shown(self.value)}"
        text = f"{where}: {self.wrong}"
        typographic = self.value is not None and any(quote in self.value for quote in _TYPOGRAPHIC)
        remedy = "write plain quotes, or none" if typographic else self.remedy
        return f"{text}; {remedy}" if remedy else text

    @property
    def place(self) -> str:
        """Return the path, after its line in the file where that is known."""
        return self.path if self.line is None else f"line {self.line}: {self.path}"


def printable(text: str) -> str:
    """Return a text on one line, with every control character escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shown(text: str) -> str:
    """Return a text on one line and of bounded length, for messages."""
    cut = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return printable(cut) or '""'


def quoted(text: str) -> str:
    """Return a text in double quotes, as Go's `%q` does, and of bounded length."""
    cut = text if len(text) <= _SHOWN - 2 else text[: _SHOWN - 5] + "..."
    escaped = cut.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'
