"""Removes dead containers and unused images, beside the loop."""
