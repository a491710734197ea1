"""Values to text, tables and pictures: decisions, findings, thresholds and quantities are worded here and nowhere else."""
