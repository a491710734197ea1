"""The advice as a picture."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from evictd.advice.proposal import advise
from evictd.render.advice.picture import draw_advice
from tests.render.advice.test_advice import ADVICE, NODES


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_picture_is_drawn(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"advice.{suffix}"
    draw_advice(ADVICE, path)
    if suffix == "svg":
        assert (
            "memory.available" in ET.tostring(ET.parse(path).getroot(), encoding="unicode")
            or path.stat().st_size > 5000
        )
    draw_advice(advise([], 99), tmp_path / f"none.{suffix}")
    draw_advice(advise(NODES[:1], 99), tmp_path / f"few.{suffix}")
