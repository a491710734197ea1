"""Run the loop: observe, decide, journal, perform, wait; and let people and machines look in."""
