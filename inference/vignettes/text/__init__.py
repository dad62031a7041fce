"""Text in many scripts: fonts, line breaks and drawing."""
