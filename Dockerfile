# The studio in a container. CPU by default; the same image uses a GPU when the runtime hands it one.
FROM node:20-bookworm-slim AS ui
WORKDIR /src/frontend
COPY frontend/package.json frontend/package-lock.json frontend/.npmrc ./
RUN npm ci --no-audit --no-fund
COPY frontend ./
RUN npm run build

FROM python:3.11-slim-bookworm
# gcc: Triton compiles its launcher at first use
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY pyproject.toml constraints.txt hatch_build.py README.md LICENSE CHANGELOG.md ./
COPY compilemask compilemask
COPY backend backend
COPY --from=ui /src/backend/compilemask_studio/_static backend/compilemask_studio/_static
RUN pip install --no-cache-dir -c constraints.txt '.[studio,gpu-info]' && useradd --create-home studio && mkdir /data && chown studio /data
USER studio
VOLUME /data
EXPOSE 8000
ENV COMPILEMASK_DATABASE_URL=sqlite:////data/studio.db
# The container's own loopback cannot be published, so it listens on all of the container's addresses and asks for the token.
CMD ["compilemask", "studio", "--host", "0.0.0.0", "--port", "8000", "--no-browser"]
