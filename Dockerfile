# One image for every app: the command picks which (docs/decisions/0034-one-image.md).

# The manifests alone, so that a changed source does not install everything again.
FROM node:24-bookworm-slim AS manifests
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY apps apps
COPY packages packages
RUN find apps packages -type f ! -name package.json -delete

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY --from=manifests /app ./
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/@gatehouse/testing packages/testing

FROM node:24-bookworm-slim AS sources
WORKDIR /app
COPY package.json LICENSE ./
COPY scripts scripts
COPY apps apps
COPY packages packages
RUN rm -rf packages/testing

FROM node:24-bookworm-slim
WORKDIR /app
# New volumes take their owner from these folders, so that who makes the secrets needs no root.
RUN install -d -o node -g node -m 0700 /data \
  && install -d -o node -g node -m 0755 /app/compiled /run/gatehouse \
    /secrets/store /secrets/cookies /secrets/database /secrets/operator /secrets/redis /secrets/postgres
COPY --from=dependencies /app/node_modules node_modules
COPY --from=sources /app ./
ENV NODE_ENV=production HOST=0.0.0.0 NODE_COMPILE_CACHE=/app/compiled
# Hashing a password takes 19 MiB: given back each time, not kept once for each thread.
ENV MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=1048576
USER 1000:1000
# What Node makes of the sources, kept: half the work of a start, and a quarter of the memory. The file system is
# read-only later, so it is made now, by the user that runs the apps: Node keeps one cache a user.
RUN ["/usr/local/bin/node", "scripts/container/fill-compile-cache.mjs"]
# No shell and no npm in between: signals reach the app. SIGUSR1 must not open a debugger (SL-10). New spaces are small:
# V8's default of 16 MiB costs memory that these apps make no use of (bench/compose).
ENTRYPOINT ["/usr/local/bin/node", "--disable-sigusr1", "--max-semi-space-size=4"]
CMD ["--print", "'Name what to run: apps/authorization-server/src/main.ts, apps/gateway/src/main.ts, apps/device-service/src/main.ts or apps/cli/src/main.ts'"]
