"""The thresholds that `evictd advise` proposes, as a table, a document and a picture."""
