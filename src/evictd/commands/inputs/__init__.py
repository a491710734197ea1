"""What commands read: configurations, scenarios, journals, and files that people have."""
