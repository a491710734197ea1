"""The line for a person who starts the daemon in a terminal."""

from evictd.render.start import start_text


def test_a_dry_run_says_that_nothing_is_changed_and_where_to_look() -> None:
    pages = "`evictd status` and http://127.0.0.1:10277/ show what evictd sees and decides"
    assert start_text("127.0.0.1:10277", dry_run=True, thresholds=True) == f"dry run: nothing is changed; {pages}"


def test_another_address_is_named_and_without_one_the_log_is() -> None:
    assert "`evictd status --address 127.0.0.1:1` and http://127.0.0.1:1/ " in start_text(
        "127.0.0.1:1", dry_run=True, thresholds=True
    )
    assert (
        start_text("", dry_run=False, thresholds=True)
        == "this is no dry run: pods are evicted; this log has each decision"
    )


def test_without_thresholds_it_does_not_say_that_pods_are_evicted() -> None:
    """A warning that there were none stood right below `pods are evicted`."""
    said = "no thresholds are configured: no pod is evicted for pressure; this log has each decision"
    assert start_text("", dry_run=False, thresholds=False) == said
    assert start_text("", dry_run=True, thresholds=False).startswith("dry run: nothing is changed; ")
