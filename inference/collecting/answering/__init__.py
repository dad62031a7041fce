"""How a judge answers: what a server does, asked before a run, and an account of its answers after it."""
