"""Values in answers: choices, ratings, labels, and the verdicts around them."""
