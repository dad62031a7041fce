"""Pictures of a study: what each shows, how it is drawn, stored, listed in a manifest and uploaded."""
