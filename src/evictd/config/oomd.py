"""Reports what systemd-oomd's settings mean for pods: it kills their containers whatever their priority, beside evictd."""

from collections.abc import Iterable, Iterator

from evictd.config.lint_model import Lint, LintFinding, OomdKill
from evictd.core.model.signal import Signal


def oomd_findings(kills: Iterable[OomdKill]) -> Iterator[LintFinding]:
    """Return a finding for each slice."""
    for kill in kills:
        names = " and ".join(f"{name}=kill ({file})" for name, file in kill.settings.items())
        auto = " ".join(f"{name}=auto" for name in kill.settings)
        yield LintFinding(
            lint=Lint.OOMD_KILLS,
            signal=Signal.MEMORY_AVAILABLE,
            message=f"systemd-oomd may kill containers before evictd acts, of pods of any priority: {kill.unit} has {names}",
            remedy=f"run systemctl set-property -- {kill.unit} {auto}, or stop systemd-oomd",
        )
