"""Before anyone is asked: the design of a study, its card, and power."""
