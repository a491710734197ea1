"""Scenarios and worlds that were played: their steps, their outcome, tables and pictures."""
