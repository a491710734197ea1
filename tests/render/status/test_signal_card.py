"""The card of a signal on the page: its rate, its thresholds, and its line."""

import re
from pathlib import Path

from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.telemetry.trends import RATE_WINDOW, SLOT
from evictd.render.status.page.signal_card import _rate, one_entry, signal_card
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.render.played_worlds import one_disk_run
from tests.render.shown_nodes import approaching, calm, crowded, fresh, page, play, pressed, rehearsed
from tests.render.snapshots import incident_snapshot, snapshot_at


def test_a_signal_that_falls_says_when_its_threshold_is_met() -> None:
    text = page(play([6 * GI - number * GI // 16 for number in range(40)]))
    assert "at the present rate" in text
    assert "fell by" in text
    assert "<polyline" in text


def test_no_time_stands_beside_a_flat_line() -> None:
    """`Met in 19s at the rate of the last minute` was the mean of readings of which the last ones did not fall.

    The lower rate of the last readings stood twice on the card, beside a time at the higher one (world 34).
    """
    text = page(incident_snapshot("25-budget-of-zero", 305), 0)
    assert "did not fall in the last 11s</span>" in text
    assert "hard 300Mi: not met<" in text
    slow = page(incident_snapshot("37-control-thrashing-reader", 60), 0)
    assert slow.count("17.6Mi a second in the last 10s") == 1, "the threshold has the time at that rate"
    assert "hard 200Mi: met in 38s at this rate<" in slow


def test_half_a_minute_of_readings_is_drawn_on_half_a_minute() -> None:
    text = page(fresh())
    assert "<span>22:13:20, 32s ago</span><span>now, 22:13:52 UTC</span>" in text
    assert "an hour ago" not in text


def test_what_a_line_shows_is_said_once() -> None:
    """It began with 1.34Gi where 4.28Gi was read, because the least of half a minute is kept (world 42)."""
    caption = "Before the last minute a line shows the lowest reading of each 30s."
    assert page(incident_snapshot("42-budget-of-one", 200), 0).count(caption) == 1
    assert caption not in page(play([6 * GI])), "there is no line"
    assert (SLOT, RATE_WINDOW) == (30 * SECOND, MINUTE)


def test_one_reading_is_said_and_not_drawn() -> None:
    text = page(play([6 * GI]))
    assert text.count("One reading so far: the line begins with the second.") == 3
    assert "<polyline" not in text


def test_a_line_says_where_nothing_was_read() -> None:
    text = page(calm(), later=10 * MINUTE)
    assert "Dotted: nothing read for the last 10m0s." in text
    assert 'class="held"' in text
    assert "Dotted:" not in page(calm())
    assert "Dotted:" not in page(fresh()), "a calm node is read every ten seconds"


def test_the_line_has_the_amounts_of_its_thresholds_and_ends_at_the_capacity() -> None:
    """35000 stood above a capacity of 32768, and 0 beside the line of the hard threshold."""
    text = page(calm())
    assert re.findall(r'<text x="100%" y="[0-9.]+%">(.*?)</text>', text) == [
        *("7Gi", "2Gi", "1Gi", "0"), *("100Gi", "50Gi", "0"), *("32768", "16384", "0"),
    ]  # fmt: skip
    assert "soft 2Gi (grace period 1m30s): " in text


def test_a_grace_period_ends_in_the_words_of_the_headline() -> None:
    text = page(play([int(1.5 * GI)]))
    assert text.count("acts in 1m28s at the latest") == 3, "the title, the headline and the card"


def test_a_soft_threshold_that_is_lower_than_configured_says_why() -> None:
    """`Soft 960Mi` stood where the configuration has 1Gi; why was said only once a pod had been chosen."""
    text = page(incident_snapshot("25-budget-of-zero", 265), 0)
    assert "memory.available (960Mi left): the soft threshold acts in " in text
    assert "soft 960Mi (configured: 1Gi less what no process can allocate; grace period 30s): met" in text
    assert "hard 300Mi: " in text


def test_the_eviction_of_a_dry_run_has_another_mark() -> None:
    assert 'class="mark dry"' in page(rehearsed())
    assert 'class="key mark dry"' in page(rehearsed())
    assert "mark dry" not in page(pressed())


def rate(amount: int, left: int, signal: Signal) -> str:
    return _rate({"signal": signal.value, "fillRate": amount, "available": left, "thresholds": ()})


def test_a_rate_of_a_count_says_what_is_counted() -> None:
    assert rate(274, 9000, Signal.NODEFS_INODES_FREE) == "fell by 274 inodes a second in the last minute"
    assert rate(-3, 9000, Signal.PID_AVAILABLE) == "rose by 3 processes a second in the last minute"
    assert rate(1, 3000, Signal.PID_AVAILABLE) == "fell by 1 process a second in the last minute"
    assert rate(GI, GI, Signal.MEMORY_AVAILABLE) == "fell by 1Gi a second in the last minute"


def test_a_rate_that_leads_to_a_threshold_is_shown_however_slow() -> None:
    """The headline named a time at a rate that the card did not have."""
    card = page(crowded()).partition("<h3>memory.available</h3>")[2].partition("</article>")[0]
    assert "met in 58s at this rate" in card
    assert "fell by 546Ki a second in the last minute" in card


def test_a_threshold_that_would_be_met_in_more_than_an_hour_is_not_foreseen() -> None:
    text = page(play([6 * GI - number * GI // 1024 for number in range(90)]))
    assert "hard 1Gi: not met" in text
    assert "at the present rate<" not in text


def test_a_signal_that_nears_its_threshold_is_marked_as_the_headline_is() -> None:
    assert '<article class="soft">\n      <h3>memory.available</h3>' in page(approaching())
    assert '<article class="soft">' not in page(calm())


def test_a_rate_that_changes_little_in_an_hour_is_not_shown() -> None:
    """39 s after the start the page said that 32,000 PIDs fall by one a second."""
    assert rate(1, 32_000, Signal.PID_AVAILABLE) == ""


def test_a_rate_that_a_sentence_at_the_top_has_does_not_stand_on_the_card_as_another_one() -> None:
    """`Last 30s (61.2Mi a second)` stood above `fell by 31.3Mi a second in the last minute`."""
    for text in (page(pressed()), page(rehearsed())):
        assert "in the last 30s" in text or "of the last 30s" in text
        assert "in the last minute" not in text


def test_the_fill_and_the_ticks_of_a_bar_stay_apart_and_in_order() -> None:
    """Of 192Gi the ticks of 1Gi and 2Gi and the end of the fill were one mark."""
    card = page(crowded()).partition("<h3>memory.available</h3>")[2].partition("</article>")[0]
    fill = float(re.findall(r'class="fill" .*?width="([0-9.]+)"', card)[0])
    soft, hard = (float(re.findall(rf'<rect class="{kind}" x="([0-9.]+)"', card)[0]) for kind in ("soft", "hard"))
    assert fill - soft > 1
    assert soft - hard > 1


def test_the_evictions_come_before_what_removed_no_pod_in_the_legend() -> None:
    """Two reclaims and an eviction left the first eviction out."""
    text = page(incident_snapshot("02-host-path-writer", 373), 0)
    legend = text.partition('<ul class="marks">')[2].partition("</ul>")[0]
    assert "default/web-0 evicted" in legend
    assert "default/web-1 evicted" in legend
    assert legend.count("began to remove what no pod needs") == 1
    assert "1M</strong> inodes left of 1M" in text


def test_a_steep_last_interval_is_on_the_card_as_in_the_headline() -> None:
    burst = incident_snapshot("44-limit-of-evictions", 310)
    (memory, *_) = status_of(burst, burst.at)["signals"]
    states = [
        each["state"]
        for each in signal_card(one_entry([memory]), (), (), near=True, rate_is_said=False, now=None)["thresholds"]
    ]
    assert states[1] == "met in 6.9s at the rate of the last 10s, in 42s at that of the last minute"


def test_the_signals_of_one_disk_share_a_card(tmp_path: Path) -> None:
    """Two cards had the same amount, rate and line: a disk seemed to be there twice."""
    text = page(snapshot_at(one_disk_run(tmp_path), 191), 0)
    assert "<h3>imagefs.available</h3>" not in text
    card = text.partition("<h3>nodefs.available, imagefs.available</h3>")[2].partition("</article>")[0]
    assert "hard 15Gi (imagefs.available): met</li>" in card
    assert "hard 10Gi (nodefs.available): " in card
    assert "eviction of default/leak began" in card, "the mark of imagefs"


def test_a_threshold_that_both_signals_of_a_disk_have_is_said_once() -> None:
    hard = {"kind": "hard", "limit": 9, "gracePeriodSeconds": 0, "met": False, "keptByMinReclaim": False}
    disk = one_entry([{"signal": f"{name}.available", "thresholds": [hard]} for name in ("nodefs", "imagefs")])
    assert [each["of"] for each in disk["thresholds"]] == [""]
