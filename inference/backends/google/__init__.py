"""The batch mode of Google's Gemini API."""
