"""The API server: credentials, transport, and the few calls that evictd makes. Types of `kubernetes` and urllib3 end here.

Importing this package costs some 30 MiB (the `kubernetes` package); a node without an API server does not import it.
"""
