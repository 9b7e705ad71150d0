"""The lesson: a language to teach with, exercises whose answers are computed from a run, seats."""
