/** Settings of the chart that between them render every template and every branch which is about the cluster. */

const IMAGE = { repository: 'registry.example.com/berth' };

/** Every optional part that needs nothing but definitions. */
export const EVERYTHING = {
  image: IMAGE,
  imagePullSecrets: ['pull'],
  documentationURL: 'https://docs.example.com',
  ingress: {
    domain: 'example.test',
    className: 'test',
    preset: 'traefik',
    allowedHosts: ['*.example.test'],
    frontTLSSecrets: ['certificate'],
  },
  egress: { allow: ['10.0.0.0/8'], plainHTTP: true },
  operator: {
    modelHub: '',
    priorityClassName: 'system-cluster-critical',
    tolerations: [{ operator: 'Exists' }],
  },
  front: { service: { type: 'LoadBalancer' }, nodeSelector: { zone: 'a' } },
  console: {
    publicURL: 'https://console.example.test',
    oidc: {
      issuer: 'https://id.example.com',
      clientId: 'berth',
      secretName: 'oidc-client',
      caSecretName: 'authority',
    },
    route: { tlsSecretName: 'certificate' },
  },
  storage: { bucket: 'berth', endpoint: 'https://s3.example.com', secretName: 's3-keys' },
  mail: { smtpSecretName: 'smtp', from: 'berth@example.com' },
  sidecarRollout: { enabled: true },
  engines: { simulator: { repository: 'registry.example.com/simulator' } },
  downloads: { env: [{ name: 'HTTPS_PROXY', value: 'http://proxy.example.com' }] },
  redis: { bundled: { backup: { enabled: true, claim: 'copies' }, tls: { plaintext: true } } },
  metrics: { serviceMonitor: { enabled: true }, rules: { enabled: true }, dashboards: { enabled: true } },
  tracing: { endpoint: 'http://collector.example.com:4318' },
};

/** The other ways: Gateway API, some namespaces, a Redis of one's own, OpenShift, Secrets that are there. */
export const OTHERWISE = {
  image: IMAGE,
  watchNamespaces: ['default'],
  forceUninstall: true,
  ingress: { domain: 'example.test', via: 'Front', gateway: { name: 'public' } },
  console: { route: { type: 'HTTPRoute', parentRefs: [{ name: 'public' }] } },
  networkPolicies: { enabled: false },
  securityContext: { platform: 'openshift' },
  masterKeySecret: 'master',
  redis: {
    bundled: { enabled: false },
    external: { url: 'rediss://redis.example.com:6379', secretName: 'redis', tls: { caSecret: 'authority' } },
  },
};
