"""Which dead containers and unused images the collectors may remove."""
