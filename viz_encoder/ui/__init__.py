"""The page: layout, events, sessions and the routes that feed its canvases."""
