# One image, four commands: operator, gateway, console, and the loader of weights.
FROM docker.io/library/node:24-bookworm-slim AS dependencies
WORKDIR /berth
COPY package.json package-lock.json .npmrc ./
COPY simulator/package.json simulator/package.json
# The image has its own Node: that of the lock file is for machines with an older one. Of the Kubernetes client the build
# bundles what is used; its license stays.
RUN npm ci --ignore-scripts --omit=dev --workspaces=false && rm -rf node_modules/node-linux-* node_modules/.bin/node \
  node_modules/@kubernetes/client-node/dist node_modules/@kubernetes/client-node/node_modules

FROM docker.io/library/node:24-bookworm-slim AS build
WORKDIR /berth
COPY package.json package-lock.json .npmrc ./
COPY simulator/package.json simulator/package.json
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json build-assets.ts bundle-connection.ts bundle-gateway.ts ./
COPY api api
COPY kit kit
COPY kube kube
COPY redis redis
COPY operator operator
COPY gateway gateway
COPY weights weights
COPY console console
RUN node_modules/.bin/tsc -p tsconfig.build.json && node build-assets.ts

FROM docker.io/library/node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /berth
# What seldom changes comes first, so that a change of the sources makes one small layer.
COPY --from=dependencies /berth/node_modules node_modules
COPY --from=dependencies /berth/package.json package.json
COPY --from=build /berth/dist .
USER 65532:65532
ENTRYPOINT ["node"]
CMD ["gateway/main.js"]
