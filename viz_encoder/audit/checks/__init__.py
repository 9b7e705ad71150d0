"""checks: one file each; listed in order in audit.py."""
