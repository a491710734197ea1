"""Reads an eviction from journals and decides its cycle again."""
