"""Studies that people answer: in the browser, or in other programs."""
