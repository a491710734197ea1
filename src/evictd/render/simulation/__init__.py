"""Scenarios and worlds that were played: their steps, their outcome, tables and pictures.

* A scenario: `steps` and `tables`, then `conclusion`; `document` for other programs; `plot` draws what `chart` and `lanes` place.
* A world (`worlds`): `world_view`, with `world_head` and `continued` before the timeline, `world_warnings`, and after it
  `world_outcome` (`world_relief`, `by_itself`, `clear_again`, `grace`, `host_growth`, `met_at_start`) and `world_unattended`.
* Several configurations: `comparison`, in a world `world_comparison` and `shortages`. A node that is calm: `outlook`.
"""
