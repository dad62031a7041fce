"""Values that sentences state: plain prose, the patterns of statements, and what they find."""
