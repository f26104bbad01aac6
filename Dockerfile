# The server as one static program, its web page inside, in an image that holds nothing else.

FROM node:22 AS web
WORKDIR /src/web
COPY web/package.json web/package-lock.json ./
RUN --mount=type=cache,target=/root/.npm \
    npm ci
COPY api/spec/ ../api/spec/
COPY web/ ./
RUN npm run build

FROM golang:1.26 AS server
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod \
    go mod download
COPY . .
COPY --from=web /src/web/dist ./web/dist
ENV CGO_ENABLED=0
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    go build -trimpath -buildvcs=false -ldflags='-s -w' -o /server ./cmd/server

FROM gcr.io/distroless/static-debian12:nonroot
ARG VERSION=dev
ARG REVISION=unknown
ARG SOURCE=
LABEL org.opencontainers.image.title="server" \
      org.opencontainers.image.description="An HTTP API and its web page, with a rate limit ahead of authentication" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE"
COPY --from=server /server /server
EXPOSE 8080
ENTRYPOINT ["/server"]
CMD ["serve"]
HEALTHCHECK --interval=5s --timeout=10s --start-period=30s CMD ["/server", "healthcheck"]
