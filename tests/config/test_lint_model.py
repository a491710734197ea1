"""Amounts and values of thresholds, as findings write them, and what is said of systemd-oomd."""

from pathlib import Path

from evictd.config.lint_model import Lint, LintFinding, OomdKill, Severity, amount_on, limit_on
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold
from evictd.core.model.threshold_config import ThresholdMaps, parse_threshold_config
from evictd.core.units.quantity import of_bytes, of_count


def thresholds(hard: dict[str, str], soft: dict[str, str] | None = None) -> tuple[Threshold, ...]:
    soft = soft or {}
    maps = ThresholdMaps(hard=hard, soft=soft, soft_grace_period=dict.fromkeys(soft, "1m"))
    found, problems = parse_threshold_config(maps)
    assert problems == ()
    return found


def test_a_percentage_of_an_unknown_capacity_has_no_amount() -> None:
    (threshold,) = thresholds({"nodefs.available": "10%"})
    assert limit_on(threshold, {}) is None
    assert limit_on(threshold, {Signal.NODEFS_AVAILABLE: of_bytes(1000)}) == of_bytes(100)


def test_amounts_are_bytes_or_counts() -> None:
    assert amount_on(of_bytes(3 * 2**30 + 1), Signal.MEMORY_AVAILABLE) == "3Gi"
    assert amount_on(of_count(32768), Signal.PID_AVAILABLE) == "32768"


def test_a_slice_is_a_warning_with_both_settings_and_what_to_run() -> None:
    root_slice = Path("/usr/lib/systemd/system/-.slice.d/10-oomd-root-slice-defaults.conf")
    kill = OomdKill("-.slice", {"ManagedOOMSwap": root_slice, "ManagedOOMMemoryPressure": Path("/etc/x.conf")})
    found = kill.finding
    assert (found.lint, found.severity) == (Lint.OOMD_KILLS, Severity.WARNING)
    assert found.message.endswith(
        f"-.slice has ManagedOOMSwap=kill ({root_slice}) and ManagedOOMMemoryPressure=kill (/etc/x.conf)"
    )
    assert found.remedy == (
        "run systemctl set-property -- -.slice ManagedOOMSwap=auto ManagedOOMMemoryPressure=auto, or stop systemd-oomd"
    )


def test_a_threshold_that_never_acts_is_a_warning() -> None:
    """Another one, or the kernel, acts instead; `evictd check` fails only for what evicts without need or is not read."""
    never = (
        Lint.SOFT_NEVER_FIRST,
        Lint.PID_THRESHOLD_NEVER_MET,
        Lint.MEMORY_THRESHOLD_NEVER_MET,
        Lint.STALL_NOT_OBSERVED,
    )
    assert {LintFinding(lint=each, message="", remedy="").severity for each in never} == {Severity.WARNING}
