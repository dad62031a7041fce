"""What checks found, for people (terminal, page) and programs (JSON, SARIF)."""
