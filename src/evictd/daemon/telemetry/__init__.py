"""Logs, metrics, and the HTTP pages of the daemon.

`telemetry` takes what happens and publishes a `snapshot`; `pages` makes documents of it (`statusz`, `gauges`), which `http`
serves.
"""
