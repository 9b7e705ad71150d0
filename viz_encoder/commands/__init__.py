"""What the command line does, one file a command; `viz_encoder/cli.py` lists them."""
