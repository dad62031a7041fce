"""Studies that are fielded with other programs: what is written for them, and their answers as tables."""
