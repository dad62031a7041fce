"""Published tables: read from files, described, and checked number by number."""
