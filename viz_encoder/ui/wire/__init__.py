"""What travels between the browser and the server: bytes, faults, places for heavy work."""
