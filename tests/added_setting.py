"""Reads a setting that `tests/test_added_setting.py` has added, and prints where it appears, as JSON.

It runs in a process of its own with the copied source on `PYTHONPATH`: `python -m tests.added_setting FILE`.
"""

import json
import sys
from pathlib import Path

from evictd.codec.config.eviction_config import decode_eviction_config, encode_eviction_config
from evictd.config.file import load
from evictd.config.schema import json_schema
from evictd.daemon.configuration import differences, live_settings
from evictd.errors import InputError
from tools import reference


def main() -> None:
    """Print one text for each place."""
    path = Path(sys.argv[1])
    old, new = load(None), load(path)
    path.write_text(path.read_text().replace("5s", "-5s"))
    fault = ""
    try:
        load(path)
    except InputError as error:
        fault = str(error)
    journal = encode_eviction_config(live_settings(old, new).eviction)
    memory = json_schema()["$defs"]["EvictdConfiguration"]["properties"]["memory"]
    found = {
        "decoded": str(new.evictd.memory),
        "journal": journal["patience"],
        "core": str(decode_eviction_config(journal)),
        "fault": fault,
        "reload": [[each.field, each.old, each.new, each.live] for each in differences(old, new)],
        "schema": memory["properties"]["patience"],
        "docs": next(line for line in reference.configuration().splitlines() if "`memory.patience`" in line),
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
