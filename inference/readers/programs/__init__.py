"""Programs whose files are recognised: how, by which reader, and what they yield."""
