"""Kubernetes JSON to the core's values and back: pure, no file is opened here.

`plain` and `scalars` convert values by their types, `strict` a document that a person wrote. Above them stand `pods`, `summary`,
`observation` and `state`, then `scenario` and the journal's `records`.
"""
