"""The answer to what the node does now: `evictd status`, the page at `/` and the sentences that both show.

All of it is made of the document of `/statusz`, of which `signal_entry` selects the signals.

* `evictd status` is `view`; the page is `page.node_page`. Both begin with the `headline`.
* `times`: when a threshold is met, when nothing is left (`depletion`), and a grace period that is cut (`hard_cut`).
* Which pod: `next_pod`, `leaving_pods`, `proposed`, `stopped` (why none), `last_action`, `owners`, `kernel_killed`,
  `unguarded`.
* Who fills it: `holders`. What to do: `remedy`, with the texts in `remedy_texts`, and `own_faults`.
"""
