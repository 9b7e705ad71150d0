"""Start the page: on this machine for `make run`, or for strangers on a Hugging Face Space."""

import os

from viz_encoder.ui.serve import ServerSettings, serve
from viz_encoder.ui.wire.security_headers import SPACES

if __name__ == "__main__":
    on_a_space = "SPACE_ID" in os.environ
    serve(
        ServerSettings(
            host="0.0.0.0" if on_a_space else "127.0.0.1",
            public=on_a_space,
            trust_proxy=on_a_space,  # a Space is reached through the hub's proxy alone
            framed_by=SPACES if on_a_space else (),
        )
    )
