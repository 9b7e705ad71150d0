"""What is wrong in one batch, by one way of looking a file: each gives a Check, or None."""
