/** Prints the secret that signs a namespace's deliveries, unless its Workspace names another Secret. */
export const describeReading = (namespace: string): string =>
  `kubectl get secret berth-signing-secret -n ${namespace} -o jsonpath='{.data.secret}' | base64 -d`;
