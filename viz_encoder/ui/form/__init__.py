"""The form at the top: what to run, on which model, and opening others."""
