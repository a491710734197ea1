"""Scripts for those who change evictd; nothing here is installed."""
