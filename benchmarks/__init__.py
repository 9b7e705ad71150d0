"""Ratios against named alternatives, each measured side by side in one process."""
