/** The programs that people code with, against `make run`: what they do on success, and how soon they tell what is wrong. */
import { expect } from 'chai';
import { generateApiKey, hashApiKey } from '../../api/identity.ts';
import { ConcurrencyLimit } from '../../kit/concurrency-limit.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { INSTALL_TIMEOUT_MS } from '../support/cached-install.ts';
import { createLocalKey } from '../support/local-key.ts';
import { isSimulated, type LocalStack } from '../support/local-stack.ts';
import { pollUntil } from '../support/poll.ts';
import { AGENTS, type Agent, AgentHome, type AgentRun, findProgram } from './coding-agents.ts';
import { shareStack } from './shared-stack.ts';

/** Limit of a run, and of those before it. */
const RUN_TIMEOUT_MS = 300_000;
const RUNS_AT_ONCE = 3;
const PROMPT = 'Tell me about ships.';
/** Requests of a limited key, all of which are used before an agent gets it. */
const RPM = 3;

const FAILURES = {
  'a deployment that is paused': /deployment paused-chat is paused/,
  'a workspace without credit': /The workspace's credit is used up/,
  'a key that is wrong': /The API key is not valid for this endpoint/,
} as const;
type Failure = keyof typeof FAILURES;

const describeSimulated = isSimulated ? describe : describe.skip;

describeSimulated('coding agents', function () {
  this.timeout(RUN_TIMEOUT_MS);
  let stack: LocalStack;
  let chat: EndpointEntry;
  const homes: AgentHome[] = [];
  /** Beside each other, since they mostly wait: the most patient agent first. */
  const atOnce = new ConcurrencyLimit(RUNS_AT_ONCE);
  const failures = new Map<string, Promise<AgentRun>>();
  const limited = new Map<string, Promise<AgentRun>>();

  before(async function () {
    this.timeout(INSTALL_TIMEOUT_MS);
    for (const agent of AGENTS) findProgram(agent);
    stack = await shareStack();
    chat = stack.find('LLM');
    for (const agent of AGENTS.toReversed()) {
      for (const failure of Object.keys(FAILURES) as Failure[])
        failures.set(
          `${agent.name}: ${failure}`,
          atOnce.run(() => ask(agent, findTarget(failure))),
        );
      limited.set(
        agent.name,
        atOnce.run(async () => ask(agent, { ...chat, apiKey: await spendKey() })),
      );
    }
    for (const run of [...failures.values(), ...limited.values()]) run.catch(() => {});
  });
  after(async () => {
    await Promise.allSettled([...failures.values(), ...limited.values()]);
    for (const home of homes) home.remove();
  });

  function openHome(agent: Agent): AgentHome {
    const home = new AgentHome(agent);
    homes.push(home);
    return home;
  }
  const ask = (agent: Agent, target: Pick<EndpointEntry, 'baseURL' | 'modelId' | 'apiKey'>) =>
    openHome(agent).run(target, [...agent.ask, PROMPT]);

  function findTarget(failure: Failure): Pick<EndpointEntry, 'baseURL' | 'modelId' | 'apiKey'> {
    switch (failure) {
      case 'a deployment that is paused':
        return stack.endpoints.deployments.find(({ paused }) => paused)!;
      case 'a workspace without credit':
        return stack.endpoints.exhaustedWorkspace!.deployments.find(({ kind }) => kind === 'LLM')!;
      case 'a key that is wrong':
        return { ...chat, apiKey: 'sk-wrong' };
    }
  }

  async function spendKey(): Promise<string> {
    const key = generateApiKey();
    const sha256 = hashApiKey(key);
    const name = `agent-${sha256.slice(0, 10)}`;
    await createLocalKey(stack.endpoints, {
      namespace: 'default',
      name,
      sha256,
      rpm: RPM,
      tpd: 1_000_000_000,
      priority: 0,
    });
    const send = async () => {
      const response = await fetch(`${chat.baseURL}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ messages: [{ role: 'user', content: PROMPT }] }),
      });
      await response.text();
      return response.status;
    };
    await pollUntil(async () => (await send()) === 429, 'the limit of the key');
    return key;
  }

  const statusesOf = ({ requests }: AgentRun): number[] => requests.map(({ status }) => status);

  for (const agent of AGENTS)
    describe(`${agent.name} (${agent.package})`, () => {
      let home: AgentHome;
      let turn: AgentRun;

      it('calls a tool, and answers with its result', async () => {
        home = openHome(agent);
        turn = await home.run(chat, [...agent.ask, agent.toolPrompt]);
        expect(turn.code, turn.output).to.equal(0);
        expect(statusesOf(turn).filter((status) => status !== 200)).to.deep.equal([]);
        expect(turn.requests).to.have.length.of.at.least(2);
        expect(turn.requests.at(-1)!.body).to.match(/"(tool_result|function_call_output|tool)"/);
        expect(turn.outside.filter((host) => !agent.outside.includes(host))).to.deep.equal([]);
      });

      it('goes on with the conversation', async () => {
        const next = await home.run(chat, [...agent.resume, PROMPT]);
        expect(next.code, next.output).to.equal(0);
        expect(statusesOf(next).filter((status) => status !== 200)).to.deep.equal([]);
        expect(next.requests.at(-1)!.body).to.include(agent.toolPrompt).and.include(PROMPT);
      });

      it('waits as long as Retry-After says when its key is over the limit, and then succeeds', async () => {
        const run = await limited.get(agent.name)!;
        expect(run.code, run.output).to.equal(0);
        const [first] = run.requests;
        const served = run.requests.find(({ status }) => status === 200)!;
        expect(first!.status).to.equal(429);
        expect(served.seconds - first!.seconds).to.be.at.least(Number(first!.retryAfter) - 1);
        expect(statusesOf(run).filter((status) => status === 429)).to.have.length.of.at.most(2);
      });

      for (const [failure, sentence] of Object.entries(FAILURES))
        it(`tells soon of ${failure}`, async () => {
          const { output, code, requests, seconds } = await failures.get(`${agent.name}: ${failure}`)!;
          expect(output, `${seconds} s, ${requests.length} requests`).to.match(sentence);
          expect(code).to.not.equal(0);
          expect(requests).to.have.length.within(1, agent.maxRequests);
          expect(seconds).to.be.below(agent.patienceSeconds);
          console.log(`        ${seconds.toFixed(1)} s, ${requests.length} requests`);
        });
    });
});
