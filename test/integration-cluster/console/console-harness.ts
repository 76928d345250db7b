/** What the console's tests share: a real API server with RBAC, a real Redis, a console, people who sign in. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { CSRF_HEADER } from '../../../console/api.ts';
import type { ConsoleEnvironment } from '../../../console/server/environment.ts';
import { type RunningConsole, startConsole } from '../../../console/server/program.ts';
import { type Logger, openLog } from '../../../kit/log.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { createKubeRequest, type KubeRequest } from '../../support/kube-request.ts';
import { writePage } from '../../support/page-fixture.ts';
import { pollUntil } from '../../support/poll.ts';
import { REDIS_PASSWORDS, type RedisServer } from '../../support/redis-server.ts';
import { TestStack } from '../../support/test-stack.ts';
import { type Api, useApi } from '../kube/api.ts';
import { CONSOLE_RULES, MEMBER_RULES } from './rules.ts';

const CRD_FOLDER = join(import.meta.dirname, '../../../charts/berth/files/crds');
const GROUP = 'berth.dev';
const RBAC = 'rbac.authorization.k8s.io';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what a test checks
  body: any;
}

/** A browser as far as the console can tell: it keeps one cookie. */
export interface Person {
  cookie: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface ConsoleHarness {
  api: Api;
  kube: KubeRequest;
  readonly redis: RedisConnection;
  readonly server: RedisServer;
  readonly console: RunningConsole;
  readonly origin: string;
  /** Folder of the page that it serves. */
  readonly webFolder: string;
  /** Another console on the same API server and Redis. */
  start(change?: Partial<ConsoleEnvironment>, log?: Logger): Promise<RunningConsole>;
  /** A namespace with one service account that may do all that a member may, there alone. */
  makeMember(): Promise<{ namespace: string; token: string }>;
  makeToken(namespace: string, account: string, seconds?: number): Promise<string>;
  person(origin?: string): Person;
  signIn(token: string, namespace?: string): Promise<Person>;
  /** With any headers, which fetch would not send, and the path as it is. */
  rawCall(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
    to?: RunningConsole,
  ): Promise<RawAnswer>;
}

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what a test checks
  body: any;
}

/** All keys of Redis that match. */
export const keysOf = ({ redis }: ConsoleHarness, pattern: string): Promise<string[]> =>
  redis.redis.keys(pattern);

/** `listFlags`: further ones of kube-apiserver. */
export function useConsole(listFlags?: () => Promise<string[]>): ConsoleHarness {
  const api = useApi({ listFlags });
  const consoles: RunningConsole[] = [];
  let kube: KubeRequest;
  let stack: TestStack;
  let folder: string;
  let first: RunningConsole;
  let memberCount = 0;

  const expectMade = async (path: string, body: object) => {
    const answer = await kube('POST', path, body);
    if (answer.status > 299) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  before(async function () {
    this.timeout(120_000);
    kube = createKubeRequest(api.controlPlane);
    stack = await TestStack.start();
    for (const file of readdirSync(CRD_FOLDER)) {
      const definition = parse(readFileSync(join(CRD_FOLDER, file), 'utf8'));
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      await expectMade(path, definition);
      const list = `/apis/${GROUP}/v1alpha1/namespaces/default/${definition.spec.names.plural}`;
      await kube.until('GET', list, ({ status }) => status === 200);
    }
    await makeRole('berth-member', MEMBER_RULES);
    await makeRole('berth-console', CONSOLE_RULES);
    await expectMade('/api/v1/namespaces', { metadata: { name: 'berth-system' } });
    await expectMade('/api/v1/namespaces/berth-system/serviceaccounts', { metadata: { name: 'console' } });
    await expectMade(`/apis/${RBAC}/v1/clusterrolebindings`, {
      metadata: { name: 'berth-console' },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'berth-console' },
      subjects: [{ kind: 'ServiceAccount', name: 'console', namespace: 'berth-system' }],
    });
    folder = mkdtempSync(join(tmpdir(), 'berth-console-'));
    writePage(folder);
    writeFileSync(join(folder, 'token'), await makeToken('berth-system', 'console'));
    first = await start();
  });
  after(async function () {
    this.timeout(120_000);
    await Promise.all(consoles.map((console) => console.stop()));
    await stack?.stop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  const makeRole = (name: string, rules: object[]) =>
    expectMade(`/apis/${RBAC}/v1/clusterroles`, { metadata: { name }, rules });

  const makeToken = async (namespace: string, account: string, seconds = 3_600) => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
    const body = await expectMade(path, { spec: { expirationSeconds: seconds } });
    return body.status.token as string;
  };

  const start: ConsoleHarness['start'] = async (
    change = {},
    log = openLog({ level: process.env.TEST_LOG ?? 'silent', base: { program: 'console' } }),
  ) => {
    const running = await startConsole(
      {
        host: '127.0.0.1',
        port: 0,
        metricsPort: 0,
        webFolder: join(folder, 'web'),
        kubernetesURL: api.controlPlane.url,
        kubernetesCA: api.controlPlane.authority,
        tokenPath: join(folder, 'token'),
        // As the chart's console, which may do little.
        redisURL: `redis://berth-console:${REDIS_PASSWORDS.console}@127.0.0.1:${stack.server.port}`,
        redisUsername: undefined,
        redisPassword: undefined,
        redisCAFile: undefined,
        frontURL: null,
        publicURL: null,
        documentationURL: null,
        plainHTTP: false,
        oidc: null,
        logLevel: 'silent',
        ...change,
      },
      log,
    );
    consoles.push(running);
    await pollUntil(async () => (await fetch(`${originOf(running)}/readyz`)).ok, 'a console that is ready');
    return running;
  };

  const originOf = ({ port }: RunningConsole) => `http://127.0.0.1:${port}`;
  const person = (origin = originOf(first)): Person => {
    const self: Person = {
      cookie: '',
      call: async (method, path, body, headers = {}) => {
        const isWrite = method !== 'GET';
        const response = await fetch(`${origin}${path}`, {
          method,
          redirect: 'manual',
          headers: {
            ...(self.cookie && { cookie: self.cookie }),
            ...(isWrite && { origin, [CSRF_HEADER]: '1' }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
          body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
        });
        const set = response.headers.getSetCookie()[0];
        if (set) self.cookie = /Max-Age=0/.test(set) ? '' : set.split(';')[0]!;
        const text = await response.text();
        const isJSON = response.headers.get('content-type')?.startsWith('application/json');
        return { status: response.status, headers: response.headers, body: isJSON ? JSON.parse(text) : text };
      },
    };
    return self;
  };

  return {
    api,
    get kube() {
      return kube;
    },
    get redis() {
      return stack.connection;
    },
    get server() {
      return stack.server;
    },
    get console() {
      return first;
    },
    get origin() {
      return originOf(first);
    },
    get webFolder() {
      return join(folder, 'web');
    },
    start,
    makeToken,
    makeMember: async () => {
      const namespace = await api.makeNamespace();
      const account = `member-${++memberCount}`;
      await expectMade(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: account } });
      await expectMade(`/apis/${RBAC}/v1/namespaces/${namespace}/rolebindings`, {
        metadata: { name: 'member' },
        roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'berth-member' },
        subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
      });
      return { namespace, token: await makeToken(namespace, account) };
    },
    person,
    rawCall: (method, path, body, headers = {}, to = first) =>
      new Promise((resolve, reject) => {
        const text = body === undefined ? '' : JSON.stringify(body);
        const sent = { [CSRF_HEADER]: '1', 'content-type': 'application/json', ...headers };
        const call = request(
          { port: to.port, host: '127.0.0.1', method, path, headers: sent },
          async (response) => {
            const chunks = await response.toArray();
            const answer = Buffer.concat(chunks).toString();
            const isJSON = response.headers['content-type']?.startsWith('application/json');
            resolve({
              status: response.statusCode!,
              headers: response.headers,
              text: answer,
              body: isJSON ? JSON.parse(answer) : null,
            });
          },
        );
        call.on('error', reject);
        call.end(text);
      }),
    signIn: async (token, namespace) => {
      const someone = person();
      const answer = await someone.call('POST', '/api/session', { token, namespace });
      if (answer.status !== 200) throw new Error(`sign-in: ${answer.status} ${JSON.stringify(answer.body)}`);
      return someone;
    },
  };
}
