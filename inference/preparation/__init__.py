"""Preparation of items before anybody judges them: copies, personal data, sources, languages, transcripts."""
