"""The eviction manager: from one observation to decisions, in pure functions.

* `synchronize` decides. What comes next says a policy, `kubelet` or `standard`, and a `draft` collects it.
* `assess` compares the signals with the thresholds, on the `reclaim` layout of the filesystems, with the time that is left
  (`time_left`). `calm` says whether a reading must have the pods.
* `rank` orders the pods; `choice` chooses one, `page_cache` none where page cache alone is short of memory; `local_storage`
  finds pods that exceed a limit of their own.
* `accounts` keep what is held and owed, `laws` judge what an eviction would bring, `refusals` skip pods for a while.
* `next_up` says for people which pod would go next.
"""
