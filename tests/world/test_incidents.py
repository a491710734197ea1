"""Plays every file of config/incidents: its assertions hold, unless it says that one fails today."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.commands.inputs.source import own_config
from evictd.core.model.config import Policy
from evictd.world.kernel import OomKill
from evictd.world.loop import play
from tools.incidents import incident_files, page, play_incident, table

FILES = incident_files()


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_an_incident_ends_as_an_operator_would_want_it(path: Path) -> None:
    incident = play_incident(path, (Policy.STANDARD,))
    expect = incident.file.expect
    assert expect is not None, "a file without assertions shows nothing"
    for report in incident.file.world.source.split(", "):
        assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", report), report
    if expect.fails:
        assert incident.unmet, "every assertion holds: remove `fails: true`"
    else:
        assert incident.unmet == ()


def test_the_table_has_a_line_for_each_and_a_sum() -> None:
    incident = play_incident(FILES[0])
    lines = table([incident])
    assert len(lines) == 4
    assert lines[2].startswith(FILES[0].stem)
    assert [
        row for row in page([incident]).splitlines() if row.startswith(f"| [`{FILES[0].stem}`](https://github.com/")
    ]


def test_the_node_of_the_readme_loses_its_database_without_evictd_and_the_job_with_it() -> None:
    """The figures and the words of `docs/images/what-evictd-does.svg`."""
    path = FILES[0].parents[1] / "worlds" / "job-beside-a-database.yaml"
    incident = play_incident(path, (Policy.STANDARD,))
    assert incident.unmet == ()
    config = replace(own_config(incident.file), thresholds=())
    kills = [each.event for each in play(incident.file.world, config).happened if isinstance(each.event, OomKill)]
    assert kills[0].name == "default/database"
    picture = (FILES[0].parents[2] / "docs/images/what-evictd-does.svg").read_text(encoding="utf-8")
    assert "the job 1.4Gi" in picture
