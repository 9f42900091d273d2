# syntax=docker/dockerfile:1
# The experiment monitor with its embedded PostgreSQL. Runs as uid 10001 on a read-only root: only /data (the database)
# and /tmp are written to. Build: docker build -t svc . ; run: compose.yaml.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
# As the lock file says; the layer is kept until that changes.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
ARG TARGETARCH=amd64
# Unpatched packages would be installed once more.
RUN node scripts/patch-packages.mjs \
  && platform=linux-$([ "$TARGETARCH" = arm64 ] && echo arm64 || echo x64) \
  && node scripts/release.mjs --out /release --only "$platform" \
  && mkdir /opt/svc && tar -xzf /release/svc-*-"$platform".tar.gz -C /opt/svc --strip-components=1

FROM ${NODE_IMAGE}
# tini is the init: it passes signals on, and buries what PostgreSQL leaves when it is killed.
RUN apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/* \
  && groupadd --gid 10001 svc && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data svc \
  && mkdir /data && chown 10001:10001 /data && chmod 0700 /data
COPY --from=build /opt/svc /opt/svc
RUN ln -s /opt/svc/bin/svc.cjs /usr/local/bin/svc
ENV NODE_ENV=production SVC_HOST=0.0.0.0 SVC_PORT=8080 SVC_DATA_DIR=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SVC_PORT}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "svc"]
CMD ["start"]
