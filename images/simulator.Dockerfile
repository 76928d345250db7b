# An engine without a GPU, for trials and tests. Node runs its TypeScript as it is: there is nothing to build (decision 0140).
FROM docker.io/library/node:24-bookworm-slim AS dependencies
WORKDIR /berth
COPY package.json package-lock.json .npmrc ./
COPY simulator/package.json simulator/package.json
RUN npm ci --ignore-scripts --omit=dev --workspace simulator && rm -rf node_modules/node-linux-* node_modules/@berth

FROM docker.io/library/node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /berth
COPY --from=dependencies /berth/node_modules node_modules
COPY simulator simulator
USER 65532:65532
ENTRYPOINT ["node"]
CMD ["simulator/main.ts"]
