# syntax=docker/dockerfile:1

# The gateway is one static binary, so the image holds it, the root certificates it trusts upstreams by, and nothing
# else: no shell, no package manager, no root.

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/gpustack-gateway ./cmd/gpustack-gateway

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/LICENSE /LICENSE
COPY --from=build /out/gpustack-gateway /gpustack-gateway
USER 65532:65532
EXPOSE 8080 9090
# The routes file is mounted at /etc/gpustack-gateway. Mount its directory, not the file, so that a replaced file is
# seen. The admin address stays on loopback; set GPUSTACK_GATEWAY_ADMIN_LISTEN to reach it from outside the container.
ENV GPUSTACK_GATEWAY_ROUTES=/etc/gpustack-gateway/routes.json
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["/gpustack-gateway", "health"]
ENTRYPOINT ["/gpustack-gateway"]
CMD ["serve"]
