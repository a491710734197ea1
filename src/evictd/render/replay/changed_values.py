"""Writes what differs between two recorded values in words, of a map only the parts that differ."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import SequenceMatcher

from evictd.core.model.observation import Reclaim
from evictd.render.text import clean, duration_text

_NAMES = {
    "available": "what was left",
    "fillRate": "the rate at which it fills",
    "fitted": "whether the grace period was made shorter",
    "gracePeriodNanoseconds": "the grace period of the threshold",
    "limit": "the limit",
    "minReclaim": "the minimum reclaim of the threshold",
    "origin": "where the threshold is from",
    "request": "its request",
    "timeLeftNanoseconds": "how long what is left lasts",
    "usage": "its usage",
    "value": "the value of the threshold",
}
"""What the parts of a decision are called; others are named as in the journal."""
_VALUE = frozenset({"quantity", "fraction"})
"""The fields of the value of a threshold, one of which is set."""
_ALIKE = 0.5
"""Least share of common words of two sentences whose difference is shown word by word."""
_MARKS = "(),;:"
_COLLECTED = {
    Reclaim.CONTAINERS.value: "unused containers",
    Reclaim.IMAGES.value: "unused images",
    Reclaim.ROTATED_LOGS.value: "rotated logs",
    Reclaim.PAGE_CACHE.value: "page cache",
}


def changed_values(then: object, now: object) -> Iterator[str]:
    """Yield what is replaced by what, of maps by the names of their parts; what only one side has is no difference."""
    for name, old, new in _changed_parts("", then, now):
        values = f"{_value_text(name, old)} -> {_value_text(name, new)}"
        yield f"{_NAMES.get(name, clean(name))}: {values}" if name else values


def _changed_parts(name: str, then: object, now: object) -> Iterator[tuple[str, object, object]]:
    if isinstance(then, Mapping) and isinstance(now, Mapping) and not {*then, *now} <= _VALUE:
        for each in then:
            if each in now and then[each] != now[each]:
                yield from _changed_parts(str(each), then[each], now[each])
    elif then != now:
        yield name, then, now


def _value_text(name: str, value: object) -> str:
    if isinstance(value, Mapping) and value.keys() <= _VALUE:
        share = _share(value.get("fraction"))
        return f"{share * 100:.6g}%" if share else clean(str(value.get("quantity") or 0))
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return ", ".join(map(clean, value)) or "nothing"
    if name.endswith("Nanoseconds") and isinstance(value, int):
        return duration_text(value)
    if value is None:
        return "none"
    return clean(value) if isinstance(value, str) else json.dumps(value)


def _share(fraction: object) -> float:
    """Return the fraction of a threshold, which a journal has in the hexadecimal notation of floating-point numbers; 0: none."""
    if isinstance(fraction, str):
        with suppress(ValueError, OverflowError):
            return float.fromhex(fraction)
    return fraction if isinstance(fraction, float) else 0.0


def measured_text(then: Iterable[object], now: Iterable[object]) -> str:
    """Return what another configuration does not measure any more, and what it measures as well."""
    old, new = ([_COLLECTED.get(str(each), clean(str(each))) for each in side] for side in (then, now))
    left, added = [each for each in old if each not in new], [each for each in new if each not in old]
    parts = [f"{' and '.join(left)} would not be measured"] if left else []
    return "; ".join([*parts, *([f"{' and '.join(added)} would be measured, not removed"] if added else [])])


def fields_agree(now: object, then: object) -> bool:
    """Whether two plain values are equal but for fields that only one of them has."""
    if isinstance(now, Mapping) and isinstance(then, Mapping):
        return all(fields_agree(now[name], then[name]) for name in now.keys() & then.keys())
    if isinstance(now, list | tuple) and isinstance(then, list | tuple):
        return len(now) == len(then) and all(map(fields_agree, now, then))
    return now == then


def changed_words(then: str, now: str) -> str:
    """Return the changed amounts of two sentences with their names, as `uses 4Gi -> 2Gi`: the word before is the name.

    Empty where the sentences have little in common or one has more words.
    """
    old, new = then.split(), now.split()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return ""
    changed = [
        (old[a - 1].strip(_MARKS) if a else "", " ".join(old[a:b]).strip(_MARKS), " ".join(new[c:d]).strip(_MARKS))
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ]
    complete = all(then and now for _, then, now in changed)
    return ", ".join(f"{name} {then} -> {now}".lstrip() for name, then, now in changed) if complete else ""
