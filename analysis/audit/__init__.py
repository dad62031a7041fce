"""Published numbers, compared with ours."""
