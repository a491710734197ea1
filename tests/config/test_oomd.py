"""What is said of a slice in which systemd-oomd may kill."""

from pathlib import Path

from evictd.config.lint_model import Lint, OomdKill, Severity
from evictd.config.oomd import oomd_findings


def test_a_slice_is_a_warning_with_both_settings_and_what_to_run() -> None:
    root_slice = Path("/usr/lib/systemd/system/-.slice.d/10-oomd-root-slice-defaults.conf")
    kill = OomdKill("-.slice", {"ManagedOOMSwap": root_slice, "ManagedOOMMemoryPressure": Path("/etc/x.conf")})
    (found,) = oomd_findings([kill])
    assert (found.lint, found.severity) == (Lint.OOMD_KILLS, Severity.WARNING)
    assert found.message.endswith(
        f"-.slice has ManagedOOMSwap=kill ({root_slice}) and ManagedOOMMemoryPressure=kill (/etc/x.conf)"
    )
    assert found.remedy == (
        "run systemctl set-property -- -.slice ManagedOOMSwap=auto ManagedOOMMemoryPressure=auto, or stop systemd-oomd"
    )


def test_without_one_there_is_no_finding() -> None:
    assert not list(oomd_findings([]))
