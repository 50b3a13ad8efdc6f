# syntax=docker/dockerfile:1
# Two images of this repository:
#   docker build -t spky .                          the runner
#   docker build -t spky-ingest --target ingest .   the example backend

FROM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# Static binaries, which need nothing of the image that they run in.
ENV CGO_ENABLED=0
RUN mkdir /out && go build -trimpath -ldflags="-s -w" -o /out/ ./cmd/spky ./examples/ingest

FROM alpine:3.22 AS ingest
COPY --from=build /out/ingest /usr/local/bin/ingest
USER 65532:65532
# Within a container, loopback is of no use to anybody.
ENV HOST=0.0.0.0 PORT=3660
EXPOSE 3660
HEALTHCHECK --interval=5s --timeout=3s CMD wget -q -O /dev/null http://127.0.0.1:3660/healthz
ENTRYPOINT ["/usr/local/bin/ingest"]

# The last stage is the default one. There is no Node.js in it: the development database does not run
# here, and `spky run` does not need it.
FROM alpine:3.22
COPY --from=build /out/spky /usr/local/bin/spky
USER 65532:65532
# Where sp00ky.yml is looked for.
WORKDIR /project
# Off loopback runner and admin API listen only with SPKY_AUTH_SECRET set.
ENV SPKY_SSP_LISTEN_ADDR=0.0.0.0:8667 SPKY_ADMIN_HOST=0.0.0.0
EXPOSE 8667 9668
# Whether the process lives. Whether it can work, GET /ready says: do not restart it for that.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD wget -q -O /dev/null http://127.0.0.1:8667/health
ENTRYPOINT ["/usr/local/bin/spky"]
CMD ["run"]
