"""Training of drafting heads on the user's own machine."""
