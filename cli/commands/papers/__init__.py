"""Commands that write what a paper needs."""
