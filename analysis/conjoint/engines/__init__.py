"""Engines that solve a plan's regressions; each imports its library only when called."""
