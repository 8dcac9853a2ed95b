# The agent alone: base install, no compiler, no shell tools beyond the image's own. Build from the repository's root:
#   docker build -f deploy/container/agent.Dockerfile -t sloscope-agent .
# Run beside the engines of a host (the NVIDIA runtime brings the driver's library):
#   docker run --gpus all --pid host --network host -v /etc/sloscope:/etc/sloscope:ro \
#     -v sloscope-agent:/var/lib/sloscope-agent -v /:/host:ro -e SLOSCOPE_HOST_ROOT=/host sloscope-agent
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY signals signals
COPY agent agent
COPY analytics analytics
COPY collector collector
COPY dashboard dashboard
COPY sample_data sample_data
RUN python -m venv /opt/sloscope && /opt/sloscope/bin/pip install --no-cache-dir --no-compile . \
 && find /opt/sloscope -name tests -type d -prune -exec rm -rf {} +

FROM python:3.12-slim
# The NVIDIA runtime gives the libraries of these capabilities: utility holds libnvidia-ml.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=utility \
    NVIDIA_MIG_MONITOR_DEVICES=all \
    SLOSCOPE_AGENT_SPOOL=/var/lib/sloscope-agent/spool.db \
    PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/sloscope /opt/sloscope
RUN useradd --system --uid 10001 sloscope && install -d -o sloscope /var/lib/sloscope-agent
USER sloscope
VOLUME /var/lib/sloscope-agent
EXPOSE 9464 4318
HEALTHCHECK --interval=30s --timeout=3s CMD ["/opt/sloscope/bin/python", "-c", \
  "import urllib.request as r; r.urlopen('http://127.0.0.1:9464/healthz', timeout=2)"]
# SIGTERM; the rest of the spool is delivered by the next life.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/sloscope/bin/sloscope-agent"]
CMD ["run", "--config", "/etc/sloscope/agent.yaml"]
