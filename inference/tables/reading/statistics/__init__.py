"""Files of SPSS and Stata, which a process of its own parses."""
