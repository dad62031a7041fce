# The commands of conjury in an image, with reports, people's panel, and judges by OpenAI's protocol:
#   docker build --tag conjury .
#   docker run --rm --volume "$PWD:/study" conjury judge comments.csv --human ann,ben,eva
ARG BASE=python:3.12-slim-bookworm
FROM ${BASE} AS build
COPY . /source
RUN python3 -m venv /opt/conjury && \
    /opt/conjury/bin/pip install --no-cache-dir --disable-pip-version-check "/source[report,openai,panel,files]"

FROM ${BASE}
COPY --from=build /opt/conjury /opt/conjury
ENV PATH=/opt/conjury/bin:$PATH
WORKDIR /study
ENTRYPOINT ["conjury"]
CMD ["--help"]
