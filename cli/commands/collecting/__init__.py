"""Commands that ask judges, and that look at what was asked."""
