"""The form on the left: what to run, on which model, and opening others."""
