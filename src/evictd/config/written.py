"""Recognises configuration files that were cut, or that lose a document, between two readings.

Half of a YAML file is often a valid file with other settings: without `dryRun: true` at its end, with `5` in place of `500Mi`,
or without the second document. What is read at the start has nothing to be compared with; a reload is compared with what is in
effect. A new file that is cut at the end of a line cannot be told from a shorter one: write a file beside it and rename it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from evictd.core.frozen import frozen
from evictd.core.model.threshold import Threshold
from evictd.core.model.threshold_config import HARD, SOFT

_DOCUMENT_END = "..."
"""YAML's own mark; a file that ends with it was not cut."""


@frozen
class Written:
    """The fields as the files and flags have them, beside the settings made of them."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """Text by the name of each file."""
    kinds: frozenset[str] = frozenset()
    """Kinds of the main file's documents."""
    fields: frozenset[str] = frozenset()
    """Top-level fields of `EvictdConfiguration` that the file has, by their YAML names."""
    kubelet: frozenset[str] = frozenset()
    """The same of `KubeletConfiguration`."""
    thresholds: Mapping[str, str] = field(default_factory=dict)
    """The drop-in of a threshold, as `evictionHard.memory.available`, and the flag of all of a field, as `evictionHard`."""
    cluster: frozenset[str] = frozenset()
    """Fields of the `cluster` of `EvictdConfiguration`, by their YAML names."""

    def set_by(self, threshold: Threshold) -> str:
        """Return the drop-in or the flag that sets a threshold; empty where the main file does."""
        name = HARD if threshold.hard else SOFT
        return self.thresholds.get(name) or self.thresholds.get(f"{name}.{threshold.signal.value}", "")


def ends_early(text: str) -> bool:
    """Whether the last line has no end, so that a value in it may have lost its last characters; JSON ends with its bracket."""
    return not text.endswith(("\n", "}"))


def faults(old: Written, new: Written, *, switched_off: Iterable[str] = ()) -> Iterator[str]:
    """List why new files, which change something, must not replace those in effect; one line each.

    `switched_off` are fields that change to false and must be written for that.
    """
    for name, text in new.texts.items():
        if ends_early(text):
            yield f"{name}: the last line has no end, as in a file that was cut; end it with a newline"
        elif _is_beginning(text, old.texts.get(name, "")):
            yield (
                f"{name}: is the beginning of the file in effect, as if it was cut; "
                f"if it is meant so, end it with a line {_DOCUMENT_END}"
            )
    for kind in sorted(old.kinds - new.kinds):
        yield f"the document {kind} is missing; write it, or restart evictd without it"
    for name in switched_off:
        if name not in new.fields:
            yield f"{name}: is not set any more; write {name}: false if it is to end"


def _is_beginning(text: str, whole: str) -> bool:
    return len(text) < len(whole) and whole.startswith(text) and text.splitlines()[-1:] != [_DOCUMENT_END]
