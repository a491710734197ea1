"""Checks which settings of a configuration are said not to be played."""

import re

import pytest

from evictd.codec.config.evictd_config import EvictdConfiguration, decode_evictd
from evictd.codec.config.fields import settings_of
from evictd.codec.config.kubelet_config import decode_kubelet
from evictd.codec.config.kubelet_fields import KubeletConfiguration
from evictd.render.simulation.worlds.unplayed import NOT_PLAYED, unplayed_texts
from tests.stories import ROOT


def test_settings_that_differ_from_their_defaults_are_named() -> None:
    kubelet, _ = decode_kubelet({"imageGCHighThresholdPercent": 80, "imageGCLowThresholdPercent": 80})
    evictd, _ = decode_evictd({"disk": {"freeze": "Auto", "lead": "Auto"}})
    assert list(unplayed_texts([kubelet, evictd])) == [
        "Warning: `imageGCHighThresholdPercent`, `disk.freeze` are not played: the outcome is that without (docs/worlds.md)."
    ]
    (one,) = unplayed_texts([evictd])
    assert one.startswith("Warning: `disk.freeze` is not played: ")


def test_a_played_setting_is_not_named() -> None:
    kubelet, _ = decode_kubelet({"evictionHard": {"memory.available": "100Mi"}, "podPidsLimit": 64})
    evictd, _ = decode_evictd({"reclaim": {"images": "Enough"}, "memory": {"lead": "Auto"}, "oomScoreAdj": "Report"})
    assert not list(unplayed_texts([kubelet, evictd]))


@pytest.mark.parametrize("document", [KubeletConfiguration, EvictdConfiguration])
def test_each_name_is_a_setting_and_stands_in_the_documentation(
    document: type[KubeletConfiguration | EvictdConfiguration],
) -> None:
    assert NOT_PLAYED[document] <= {each.name for each in settings_of(document)}
    text = (ROOT / "docs" / "worlds.md").read_text(encoding="utf-8").partition("**Not played**")[2].partition("\n* ")[0]
    listed = set(re.findall(r"[\w.]+", text))
    assert NOT_PLAYED[document] <= listed
