"""Start the page: on this machine for `make run`, or for strangers on a Hugging Face Space."""

import os

from viz_encoder.ui.serve import Settings, serve

if __name__ == "__main__":
    on_a_space = "SPACE_ID" in os.environ
    serve(Settings(host="0.0.0.0" if on_a_space else "127.0.0.1", public=on_a_space))
