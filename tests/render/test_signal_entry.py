"""Which signals stand under pressure, and which only repeat another one."""

from typing import Any

import pytest

from evictd.render.signal_entry import is_calm_copy, is_pressed


def threshold(*, met: bool = False, kept: bool = False, origin: str = "derived") -> dict[str, Any]:
    return {"met": met, "keptByMinReclaim": kept, "origin": origin}


@pytest.mark.parametrize(("met", "kept"), [(True, False), (False, True)])
def test_a_threshold_presses_until_its_minimum_reclaim_is_reached(met: bool, kept: bool) -> None:
    assert is_pressed(threshold(met=met, kept=kept))
    assert not is_calm_copy({"thresholds": [threshold(), threshold(met=met, kept=kept)]})


def test_only_derived_thresholds_make_a_copy() -> None:
    assert not is_pressed(threshold())
    assert is_calm_copy({"thresholds": [threshold(), threshold()]})
    assert not is_calm_copy({"thresholds": [threshold(), threshold(origin="set")]})
    assert not is_calm_copy({"thresholds": []}), "a signal without a threshold repeats no other"
