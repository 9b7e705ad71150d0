"""Transport between browser and server: bytes, errors, and slots for heavy work."""
