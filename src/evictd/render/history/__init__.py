"""What the journal says happened: the list of `evictd history`, and of one pod `evictd why`.

`history` makes a list of events of the records. `cause` says who filled what is short, what came back when unused containers
and images were deleted, and what a pause waits for. `evictions` finds the one that a user means.

* `evictd history`: `table`, folded by `folded_events`; `page`, `parquet`, `document`; `kubelet_comparison` compares with the
  kubelet.
* `evictd why` (`pod`, `document`), in the order of the output: `places` at evictions of others and the pod's events, its
  incident (`evictd.render.incident`), `why_cause`, what to do (`all_refused`, `no_action`), what the daemon says;
  `pods_meant` for a wrong name.
"""
