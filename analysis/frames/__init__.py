"""Tables as arrays: variables, formulas and cells."""
