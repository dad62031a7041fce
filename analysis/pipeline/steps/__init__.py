"""Steps of a fit that follow from those of the choices: bounds, and further questions about a task."""
