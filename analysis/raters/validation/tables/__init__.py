"""Tables of judges and people: rows about one item, pairs of answers, and what labels are about."""
