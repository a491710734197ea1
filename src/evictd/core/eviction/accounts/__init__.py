"""Keeps account of what is held, who holds it, and what ended pods and collections still owe."""
