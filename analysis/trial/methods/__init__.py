"""Methods that ship with the project, as trials call them."""
