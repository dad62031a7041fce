"""Numerical methods: functions of arrays, known to no study and no table."""
