"""Stalls of memory and I/O in the form of the stats summary."""

import pytest

from evictd.codec.stalls import WireIO, WirePressure, WirePSI, decode_io, decode_psi, encode_io, encode_psi
from evictd.core.model.stats import IOStats, PressureStall, PSIStats

LINE = PressureStall(31.2, 7.0, 0.0, 5)


def test_they_survive_in_nanoseconds() -> None:
    stalls = PSIStats(full=LINE)
    wire = encode_psi(stalls)
    assert wire == WirePSI(full=WirePressure(total=5000, avg10=31.2, avg60=7.0))
    assert decode_psi(wire) == stalls
    assert decode_io(encode_io(IOStats(time=0, psi=stalls))) == IOStats(time=0, psi=stalls)


def test_what_is_absent_stays_absent() -> None:
    assert (encode_psi(None), decode_psi(None), encode_io(None), decode_io(None)) == (None,) * 4
    assert decode_io(WireIO()) == IOStats()


@pytest.mark.parametrize("average", [-0.1, 100.1])
def test_an_average_that_is_no_percentage_is_refused(average: float) -> None:
    with pytest.raises(ValueError, match="no percentages"):
        decode_psi(WirePSI(some=WirePressure(avg300=average)))
