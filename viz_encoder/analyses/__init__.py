"""Methods: each file one pure function from a trace to a frozen numpy result."""
