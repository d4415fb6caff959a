# Turnkeeper in one container: API, workers, embedded engine and SQLite. See docker-compose.yml for how it is run.
#
# Not built by the project's CI, which has no Docker engine. Its commands were run outside of Docker, as an ordinary user
# on Node.js 20.

FROM node:22-bookworm AS build
WORKDIR /app
# Python and pip fetch the Temporal CLI below; the compiler of this image builds better-sqlite3 where no prebuilt one fits.
RUN apt-get update \
  && apt-get install -y --no-install-recommends python3-pip \
  && rm -rf /var/lib/apt/lists/*
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
RUN npm run build
# Now rather than at the first start: the running container needs no package registry.
RUN TURNKEEPER_CACHE=/cache node --input-type=module -e \
  "await (await import('/app/dist/runtime/engine/find-temporal-cli.js')).findTemporalCli()"
RUN npm prune --omit=dev

FROM node:22-bookworm-slim
# What the agent's shell commands find; add what your tasks need.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates git \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /cache /cache
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
ENV NODE_ENV=production TURNKEEPER_CACHE=/cache TURNKEEPER_HOME=/data
# A new volume takes its owner from this folder.
RUN install -d -o node -g node -m 0700 /data
USER node
VOLUME /data
ENTRYPOINT ["node", "/app/dist/cli/main.js"]
CMD ["serve"]
