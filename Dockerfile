# One image for every app. The command selects the app (docs/decisions/02-containers.md).

# For a build that others can repeat, add the digest (CONTRIBUTING.md).
ARG NODE_IMAGE=node:24-bookworm-slim

# Only the manifests, so that a changed source file does not repeat the installation.
FROM ${NODE_IMAGE} AS manifests
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY apps apps
COPY packages packages
RUN find apps packages -type f ! -name package.json -delete

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY --from=manifests /app ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts && rm -rf node_modules/@gatehouse/testing packages/testing

FROM ${NODE_IMAGE} AS sources
WORKDIR /app
COPY package.json LICENSE ./
COPY scripts scripts
COPY apps apps
COPY packages packages
COPY examples/demo-application examples/demo-application
RUN rm -rf packages/testing packages/client/build

FROM ${NODE_IMAGE}
WORKDIR /app
# New volumes take their owner from these folders, so the service that generates the secrets does
# not need root.
RUN install -d -o node -g node -m 0700 /data \
  && install -d -o node -g node -m 0755 /app/compiled /run/gatehouse \
    /secrets/store /secrets/cookies /secrets/database /secrets/operator /secrets/redis /secrets/postgres
COPY --from=dependencies /app/node_modules node_modules
COPY --from=sources /app ./
RUN ln -s /app/apps/cli/src/main.ts /usr/local/bin/gatehouse
ENV NODE_ENV=production HOST=0.0.0.0 NODE_COMPILE_CACHE=/app/compiled
# A password hash takes 19 MiB. With these settings, malloc returns it to the system after each use.
ENV MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=1048576
LABEL org.opencontainers.image.title="Gatehouse" \
  org.opencontainers.image.description="OAuth 2.0 authorization server, resource gateway and device service" \
  org.opencontainers.image.version="1.0.0-rc.1" \
  org.opencontainers.image.licenses="Apache-2.0"
USER 1000:1000
# The compile cache saves a third of the time of a start and 20 MB in each process. It is filled here,
# because the file system is read-only later, and by this user, because Node keeps one cache per user.
# Every build has the same cache: the seed is fixed, and the young generation is so
# large that V8 collects no garbage. After a collection, unused bytes of the cache can contain what was
# in that memory before. The programs that use the cache have random seeds.
RUN ["/usr/local/bin/node", "--random-seed=1", "--min-semi-space-size=256", "--max-semi-space-size=256", "scripts/container/fill-compile-cache.mjs"]
# Without a shell or npm in between, signals reach the app. SIGUSR1 must not open a debugger.
# A small semi-space saves memory that these apps do not need (bench/compose).
ENTRYPOINT ["/usr/local/bin/node", "--disable-sigusr1", "--max-semi-space-size=4"]
CMD ["--print", "'Name what to run: apps/authorization-server/src/main.ts, apps/gateway/src/main.ts, apps/device-service/src/main.ts, apps/console/src/main.ts or apps/cli/src/main.ts'"]
