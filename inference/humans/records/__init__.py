"""Records of further annotation programs, and votes on pairs, as judgments."""
