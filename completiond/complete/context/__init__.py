"""What a client's other open documents have to say about the place that is worked on."""
