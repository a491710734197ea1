"""Makes the classes of values: `@frozen` is `@dataclass(frozen=True, slots=True, kw_only=True)` in a third of its time.

The standard decorator compiles six methods of each class. Those of evictd's values took a quarter of the daemon's start, nearly
a second at a tenth of a processor. Here `__init__` is compiled at once, the comparison and the hash when they are first used, and
the other methods are shared. `fields`, `replace`, `copy` and `pickle` work as on any dataclass.
"""

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_OWN_FACTORY = object()
"""The default of an argument whose field has a `default_factory`."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
def frozen(cls: type[T]) -> type[T]:
    """Make a class of immutable values with slots, equality, a hash and a representation by its fields."""
    return _frozen(cls, kw_only=True)


@dataclass_transform(frozen_default=True)
def frozen_by_position(cls: type[T]) -> type[T]:
    """Make the same; the class takes its fields by position as well."""
    return _frozen(cls, kw_only=False)


def _frozen(cls: type[T], *, kw_only: bool) -> type[T]:
    made: Any = dataclass(init=False, repr=False, eq=False, kw_only=kw_only, slots=True)(cls)
    own, others = (
        "".join(f"{whose}.{each.name}, " for each in fields(made) if each.compare) for whose in ("self", "other")
    )
    methods = {
        **_SHARED,
        "__init__": _initializer(made),
        "__eq__": _when_used(
            made,
            "__eq__",
            f"self, other: ({own}) == ({others}) if other.__class__ is self.__class__ else NotImplemented",
        ),
        "__hash__": _when_used(made, "__hash__", f"self: hash(({own}))"),
    }
    for name, method in methods.items():
        if name not in cls.__dict__:
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _initializer(cls: Any) -> Callable[..., None]:
    """Compile `__init__`. A `__post_init__` sets the fields that are no arguments."""
    arguments, lines = [], []
    namespace: dict[str, Any] = {"own": _OWN_FACTORY}
    given_fields = [each for each in fields(cls) if each.init]
    for each in given_fields:
        name = argument = given = each.name
        if each.default_factory is not MISSING:
            namespace[f"make_{name}"] = each.default_factory
            argument, given = f"{name}=own", f"make_{name}() if {name} is own else {name}"
        elif each.default is not MISSING:
            namespace[f"default_{name}"] = each.default
            argument = f"{name}=default_{name}"
        arguments.append(argument)
        # The slot's own setter: `object.__setattr__` takes half as long again.
        namespace[f"set_{name}"] = getattr(cls, name).__set__
        lines.append(f"  set_{name}(self, {given})")
    if hasattr(cls, "__post_init__"):
        lines.append("  self.__post_init__()")
    by_name = ["*"] if given_fields and given_fields[0].kw_only else []
    head = f"def __init__({', '.join(['self', *by_name, *arguments])}):"
    exec("\n".join([head, *lines, "  return None"]), namespace)  # noqa: S102 - of names of fields only
    made: Callable[..., None] = namespace["__init__"]
    made.__annotations__ = {each.name: each.type for each in given_fields}
    return made


def _when_used(cls: Any, name: str, source: str) -> Callable[..., Any]:
    """Return a method that puts the compiled one in its place when it is first called."""

    def compile_first(*arguments: object) -> Any:
        compiled = eval(f"lambda {source}")  # noqa: S307 - of names of fields only
        setattr(cls, name, compiled)
        return compiled(*arguments)

    return compile_first


def _represent(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_assignment(_: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, item in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, item)


_SHARED: dict[str, Callable[..., Any]] = {
    "__repr__": _represent,
    "__setattr__": _refuse_assignment,
    "__delattr__": _refuse_deletion,
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}
