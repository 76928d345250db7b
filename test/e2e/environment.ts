/** What the runner tells the tests that it starts within the cluster's network. */

export const CLUSTER_VARIABLE = 'BERTH_E2E_CLUSTER';
/** In the cluster's state folder. */
export const ENDPOINTS_FILE = 'endpoints.json';
export const OPENAI_PYTHON = 'openai==3.22.1';
