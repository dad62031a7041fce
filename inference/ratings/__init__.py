"""Studies of ratings: who rates what, and ratings with a known truth."""
