# The collector: OTLP in, answers out. Build from the repository root:
#   docker build -f deploy/container/collector.Dockerfile -t sloscope-collector .
FROM python:3.12-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/sloscope && /opt/sloscope/bin/pip install --no-cache-dir '.[server]'

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/sloscope --create-home sloscope
COPY --from=build /opt/sloscope /opt/sloscope
ENV PATH=/opt/sloscope/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    SLOSCOPE_DB=/var/lib/sloscope/sloscope.duckdb \
    SLOSCOPE_HOST=0.0.0.0 \
    SLOSCOPE_TOKENS=/etc/sloscope/tokens.yaml
USER sloscope
VOLUME /var/lib/sloscope
EXPOSE 4320
# A token file is required, because the container binds every address.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:4320/healthz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["sloscope", "serve"]
