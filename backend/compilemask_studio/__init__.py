"""The studio's server: FastAPI over the public names of `compilemask`."""
