"""What one person sees and sends: pages in their order, answers that are read, what browsers state."""
