"""python -m viz_encoder."""

from viz_encoder.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
