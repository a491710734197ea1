"""Says whether growth is too little to be why a signal is short, for every text that names who fills it."""

_LITTLE_PART = 10


def is_little_growth(grown: int, missing: int) -> bool:
    """Whether what grew is little beside what is missing."""
    return grown * _LITTLE_PART < missing
