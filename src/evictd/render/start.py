"""Says at the start of the daemon, to a person at a terminal, whether it acts, and where to look."""

from evictd.config.settings import EvictdConfiguration


def start_text(address: str, *, dry_run: bool, thresholds: bool) -> str:
    """Return whether pods are evicted, and what shows the decisions of a daemon whose pages are at this address; empty: nowhere.

    An address that another daemon has is none of this one. Without thresholds no pod is evicted for pressure.
    """
    acts = "dry run: nothing is changed" if dry_run else "this is no dry run: pods are evicted"
    if not (thresholds or dry_run):
        acts = "no thresholds are configured: no pod is evicted for pressure"
    if not address:
        return f"{acts}; this log has each decision"
    option = "" if address == EvictdConfiguration().listen_address else f" --address {address}"
    return f"{acts}; `evictd status{option}` and http://{address}/ show what evictd sees and decides"
