"""Converts what the stats summary says of stalled tasks: `psi` of memory and I/O, for `codec.summary`."""

import msgspec

from evictd.codec.pod_wire import WireInt
from evictd.codec.times import format_time, parse_stamp
from evictd.core.model.stats import IOStats, PressureStall, PSIStats


class SummaryStruct(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """A part of the summary: camelCase on the wire, unknown fields skipped."""


class WirePressure(SummaryStruct, frozen=True):
    """One line of a PSI file; `total` is in nanoseconds, the kernel's in microseconds."""

    total: WireInt = 0
    avg10: float = 0.0
    avg60: float = 0.0
    avg300: float = 0.0


class WirePSI(SummaryStruct, frozen=True):
    """`psi`."""

    full: WirePressure | None = None
    some: WirePressure | None = None


class WireIO(SummaryStruct, frozen=True):
    """`io`; the kubelet reports it since Kubernetes 1.34."""

    time: str | None = None
    psi: WirePSI | None = None


def decode_stamp(text: str | None) -> int | None:
    """Return the nanoseconds of an RFC 3339 time; `None` for none."""
    return None if text is None else parse_stamp(text)


def encode_stamp(time: int | None) -> str | None:
    """Return the RFC 3339 time of nanoseconds; `None` for none."""
    return None if time is None else format_time(time)


def decode_psi(wire: WirePSI | None) -> PSIStats | None:
    """Decode `psi`; raises `ValueError` for averages that are no percentages."""
    return None if wire is None else PSIStats(_decode_pressure(wire.full), _decode_pressure(wire.some))


def _decode_pressure(wire: WirePressure | None) -> PressureStall | None:
    if wire is None:
        return None
    if not all(0 <= average <= 100 for average in (wire.avg10, wire.avg60, wire.avg300)):
        raise ValueError(f"psi: {wire} has averages that are no percentages")
    return PressureStall(wire.avg10, wire.avg60, wire.avg300, wire.total // 1000)


def decode_io(wire: WireIO | None) -> IOStats | None:
    """Decode `io`; raises `ValueError` as `decode_psi`."""
    return None if wire is None else IOStats(time=decode_stamp(wire.time), psi=decode_psi(wire.psi))


def encode_psi(psi: PSIStats | None) -> WirePSI | None:
    """Encode `psi`."""
    return None if psi is None else WirePSI(full=_encode_pressure(psi.full), some=_encode_pressure(psi.some))


def _encode_pressure(line: PressureStall | None) -> WirePressure | None:
    if line is None:
        return None
    return WirePressure(total=line.total_us * 1000, avg10=line.avg10, avg60=line.avg60, avg300=line.avg300)


def encode_io(io: IOStats | None) -> WireIO | None:
    """Encode `io`."""
    return None if io is None else WireIO(time=encode_stamp(io.time), psi=encode_psi(io.psi))
