"""Small tables with one fault each, with the right numbers or the refusal beside them."""
