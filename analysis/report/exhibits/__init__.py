"""What a report shows of each kind of result."""
