"""The model of correlated dimensions."""
