"""Calls the API server: credentials, transport and requests. Types of `kubernetes` and urllib3 do not leave this package.

The `kubernetes` package, 20 MiB of memory, is imported for kubeconfigs only (`access`).
"""
