"""Files of text as tables: encoding, separator, header rows, and rows with too few or too many cells."""
