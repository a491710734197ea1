"""Makes every decision of evictd, as pure functions from values to values.

Nothing here reads a clock, a file, a socket or the environment, logs, or draws a random number. Values are frozen; a missing
statistic is `None`; durations are ints of nanoseconds, sizes ints of bytes, unless a name says otherwise.
"""
