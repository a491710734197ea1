"""Declares the rules of each field of a configuration document beside the field, by `about` in its type.

The field's type and default are the struct's own. `about` adds its documentation, its bounds, the field of the core's
configuration that it sets, and whether a reload puts it into effect at once. The JSON Schema, the reference, the core's
configuration, the reload and the check of bounds are made from these, so that a new setting is one field and its use.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec import Meta, inspect

from evictd.codec.plain import Form
from evictd.codec.strict import Duration, Size, struct_fields
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.problem import ConfigProblem
from evictd.core.units.duration import format_duration
from evictd.core.units.quantity import of_bytes

S = TypeVar("S", bound=msgspec.Struct)

THRESHOLDS = "thresholds"
"""The field of the core's configuration that several settings make together."""
_NO_EFFECT = "No effect on evictd."


@frozen
class Rule:
    """The rules of one field beside its type and default."""

    sets: str = ""
    """The field of `EvictionConfig` that it sets, as `memory_lead` or `image_gc.keep`; empty for a setting of the shell."""
    live: bool = False
    """A reload puts it into effect at once; else the next start does."""
    least: int | None = None
    most: int | None = None
    """Bounds of a duration in nanoseconds, or of a size in bytes."""
    explicit: bool = False
    """Switching it off changes what evictd does to the node, so a reload accepts that only where the file says `false`."""
    zero_is_default: bool = False
    """A zero in a file means 'not set' and becomes the default (`SetDefaults_KubeletConfiguration`)."""
    has_effect: bool = True
    """Whether evictd obeys it; else it is only validated."""


_NO_RULE = Rule()


def about(text: str, **rule: Any) -> Meta:
    """Return a field's documentation, with the fields of its `Rule`."""
    return Meta(description=text, extra={"rule": Rule(**rule)})


def not_obeyed(text: str, *, zero_is_default: bool = False) -> Meta:
    """Return the documentation of a field that is validated and not obeyed."""
    return about(f"{text} {_NO_EFFECT}", has_effect=False, zero_is_default=zero_is_default)


@frozen
class Setting:
    """One value of a document; a list or map is one value."""

    name: str
    """In the file: `memory.lead`."""
    attribute: str
    """In the struct: `memory.lead`."""
    rule: Rule

    def of(self, document: msgspec.Struct) -> Any:
        """Return its value in this document."""
        return attrgetter(self.attribute)(document)


@cache
def rules(cls: type[msgspec.Struct]) -> dict[str, Rule]:
    """Return the rule of each field of a struct, by attribute."""
    return {field.name: _rule(field.type) for field in struct_fields(cls)}


@cache
def settings_of(cls: type[msgspec.Struct]) -> tuple[Setting, ...]:
    """List the settings of a document, those of the structs in it included."""
    return tuple(_settings(cls, "", ""))


def range_problems(document: msgspec.Struct) -> Iterator[ConfigProblem]:
    """List the durations that are outside of their bounds."""
    for each in settings_of(type(document)):
        least, most = each.rule.least, each.rule.most
        value = each.of(document)
        if (least is None or value >= least) and (most is None or value <= most):
            continue
        text: Callable[[int], object] = of_bytes if isinstance(value, Size) else format_duration
        if most is not None:
            wrong, remedy = "is out of range", f"give {text(least or 0)} to {text(most)}"
        elif least:
            wrong = "is too small" if isinstance(value, Size) else "is too short"
            remedy = f"give at least {text(least)}"
        else:
            wrong, remedy = "is negative", f"give {text(0)} or more"
        yield ConfigProblem(path=each.name, value=str(text(value)), wrong=wrong, remedy=remedy)


def changed_settings(old: msgspec.Struct, new: msgspec.Struct) -> Iterator[tuple[Setting, Any, Any]]:
    """List the settings that differ and that evictd obeys, with both values."""
    for each in settings_of(type(old)):
        before, after = each.of(old), each.of(new)
        if each.rule.has_effect and before != after:
            yield each, before, after


def after_reload(old: S, new: S) -> S:
    """Return the document in effect after a reload: new values of the live settings, old values of the others."""
    values = {}
    for name, rule in rules(type(old)).items():
        before, after = getattr(old, name), getattr(new, name)
        values[name] = (
            after_reload(before, after) if isinstance(before, msgspec.Struct) else after if rule.live else before
        )
    return msgspec.structs.replace(old, **values)


# --- the core's configuration -----------------------------------------------------------------------------------------


def with_documents(config: EvictionConfig, *documents: msgspec.Struct) -> EvictionConfig:
    """Return the core's configuration with what these documents set in it, except the thresholds."""
    values = {
        each.rule.sets: _plain(each.of(document))
        for document in documents
        for each in settings_of(type(document))
        if each.rule.sets not in {"", THRESHOLDS}
    }
    made: EvictionConfig = _replaced(config, values)
    return made


def with_kept(old: EvictionConfig, new: EvictionConfig, *documents: type[msgspec.Struct]) -> EvictionConfig:
    """Return the new configuration with the old values of what no reload changes."""
    names = {
        each.rule.sets
        for document in documents
        for each in settings_of(document)
        if each.rule.sets and not each.rule.live
    }
    made: EvictionConfig = _replaced(new, {name: attrgetter(name)(old) for name in names})
    return made


def fields_of(config: EvictionConfig, document: type[msgspec.Struct]) -> dict[str, Any]:
    """Write the core's configuration as fields of a document, by names in a file, without thresholds and what is not known."""
    found: dict[str, Any] = {}
    for each in settings_of(document):
        if each.rule.sets in {"", THRESHOLDS} or (value := attrgetter(each.rule.sets)(config)) is None:
            continue
        *above, name = each.name.split(".")
        below = found
        for part in above:
            below = below.setdefault(part, {})
        below[name] = _written(value, each.of(document()))
    return found


def _written(value: Any, default: Any) -> Any:
    """Write a value as a file does where the field has this default."""
    if isinstance(default, Duration):
        return format_duration(value)
    return list(value) if isinstance(value, tuple) else _FORM.encode(type(value), value)


_FORM = Form({})


def _plain(value: Any) -> Any:
    if isinstance(value, Duration):
        return int(value)
    return value.core() if hasattr(value, "core") else value


def _replaced(config: Any, values: dict[str, Any]) -> Any:
    """Replace fields of a dataclass, and of the dataclasses in it: `image_gc.keep`."""
    found: dict[str, Any] = {}
    for each in fields(config):
        below = {name.partition(".")[2]: value for name, value in values.items() if name.startswith(f"{each.name}.")}
        if each.name in values:
            found[each.name] = values[each.name]
        elif below and is_dataclass(inner := getattr(config, each.name)):
            found[each.name] = _replaced(inner, below)
    return replace(config, **found)


# --- types ------------------------------------------------------------------------------------------------------------


def _settings(cls: type[msgspec.Struct], prefix: str, attributes: str) -> Iterator[Setting]:
    for field in struct_fields(cls):
        name, attribute = f"{prefix}{field.encode_name}", f"{attributes}{field.name}"
        kind = field.type.type if isinstance(field.type, inspect.Metadata) else field.type
        rule = _rule(field.type)
        if isinstance(kind, inspect.StructType) and not rule.sets:
            yield from _settings(kind.cls, f"{name}.", f"{attribute}.")
        else:
            yield Setting(name=name, attribute=attribute, rule=rule)


def _rule(kind: inspect.Type) -> Rule:
    extra = kind.extra if isinstance(kind, inspect.Metadata) else None
    rule = (extra or {}).get("rule", _NO_RULE)
    return rule if isinstance(rule, Rule) else _NO_RULE
