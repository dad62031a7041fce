# The commands of conjury in an image, with reports, people's panel, and judges by OpenAI's protocol:
#   docker build --tag conjury .
#   docker run --rm --user "$(id -u)" --volume "$PWD:/study" conjury judge comments.csv --human ann,ben,eva
# With vLLM and Ray, for a cluster:
#   docker build --build-arg BASE=rayproject/ray-llm:2.49.0-py311-cu128 --build-arg EXTRAS=openai,media --tag conjury .
ARG BASE=python:3.12-slim-bookworm
FROM ${BASE} AS build
ARG EXTRAS=report,openai,panel,files
COPY . /source
# The environment sees what the base has installed, such as vLLM.
RUN python3 -m venv --system-site-packages /opt/conjury && \
    /opt/conjury/bin/pip install --no-cache-dir --disable-pip-version-check "/source[${EXTRAS}]"

FROM ${BASE}
COPY --from=build /opt/conjury /opt/conjury
# Models are mounted; nothing is downloaded or reported. With --user there is no home to keep caches of fonts in.
ENV PATH=/opt/conjury/bin:$PATH \
    MPLCONFIGDIR=/var/tmp/matplotlib \
    HF_HUB_OFFLINE=1 \
    VLLM_NO_USAGE_STATS=1
USER 1000
WORKDIR /study
ENTRYPOINT ["conjury"]
CMD ["--help"]
