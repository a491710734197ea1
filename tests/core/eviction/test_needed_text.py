"""What is needed, if growth goes on."""

from evictd.core.eviction.needed_text import needed_with_growth
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.signal import Resource
from evictd.core.units.quantity import of_bytes


def test_what_is_needed_with_growth_begins_with_what_is_missing_now() -> None:
    """More than a gibibyte was needed, and 72Mi were missing (world 42)."""
    finding = NoAction(why=NoActionReason.PROTECTED_CULPRIT, needed=of_bytes(2 << 30), missing=of_bytes(72 << 20))
    text = "if growth goes on while other pods end (40 s or more each)"
    assert needed_with_growth(finding, Resource.MEMORY) == f"72Mi is missing now, 2Gi {text}"
    least = NoAction(why=finding.why, needed=finding.needed, missing=of_bytes(1))
    assert needed_with_growth(least, Resource.MEMORY) == f"2Gi is needed {text}"
    now = NoAction(why=finding.why, needed=finding.needed, missing=finding.needed)
    assert needed_with_growth(now, Resource.MEMORY) == "2Gi is needed"
