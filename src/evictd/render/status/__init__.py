"""The answer to what the node does now: `evictd status`, the page at `/` and the sentences that both show.

All of it is made of the document of `/statusz`, of which `signal_entry` selects the signals.

* `evictd status` is `view`; the page is `node_page`: `headline`, what a person can do, `signal_card` with `page_chart`,
  `page_leaving`, `page_order`, `page_decisions`, `page_notes`.
* When: `timing` (thresholds), `depletion` (nothing is left), `nearest`, `hard_cut` (a grace period that is cut).
* Which pod: `next_pod`, `leaving_pods`, `proposed`, `stopped` (why none), `last_action`, `owners`, `kernel_killed`,
  `unguarded`.
* Who fills it: `holders`, `file_pages`. What to do: `remedies` with `remedy_texts`, `grower_remedies`, `unused_images`,
  `own_faults`.
"""
