# One image, five commands: operator, gateway, console, the loader of weights, and the guard of an uninstall.
FROM docker.io/library/node:24-bookworm-slim AS build
WORKDIR /berth
COPY package.json package-lock.json .npmrc ./
COPY simulator/package.json simulator/package.json
# The image has its own Node: that of the lock file is for machines with an older one.
RUN npm ci --ignore-scripts && rm -rf node_modules/node-linux-* node_modules/.bin/node
COPY tsconfig.json build.ts bundle-program.ts ./
COPY api api
COPY kit kit
COPY kube kube
COPY redis redis
COPY operator operator
COPY gateway gateway
COPY weights weights
COPY console console
# Its page shows them.
COPY examples/webhooks examples/webhooks
RUN node build.ts

FROM docker.io/library/node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /berth
COPY --from=build /berth/dist .
USER 65532:65532
ENTRYPOINT ["node"]
CMD ["gateway/main.js"]
