/** The requests to the replicas: exactly the same sessions in each run. Pure. */
import { createRandom, hashText, pickInteger, pickOne, type Random } from '../../../simulator/random.ts';

export interface Message {
  role: string;
  content: string;
}

/** One request; the answers before it are added to what it says. */
export interface Turn {
  messages: Message[];
  maxTokens: number;
  /** Until the next turn. */
  pauseMs: number;
}

export interface Trace {
  name: string;
  sessions: Turn[][];
}

const SYLLABLES = ['ka', 'lo', 'mi', 'ren', 'sta', 'ver', 'du', 'pon', 'qui', 'tal', 'nor', 'gse'];
const CHARACTERS_PER_TOKEN = 4;
/** Popularity is 1 ÷ rank to this power. */
const SKEW = 1.2;

/** `scale`: of the number of sessions. `length`: of the prompts' texts. */
export const listTraces = (scale = 1, length = 1): Trace[] =>
  Object.entries({ chats, agents, prompts, skewed, 'one prefix': samePrefix }).map(([name, write]) => {
    const random = createRandom(hashText(name));
    const scaled = (count: number) => Math.max(1, Math.round(count * scale));
    return { name, sessions: write({ random, scaled, say: createSpeaker(random, length) }) };
  });

interface Writing {
  random: Random;
  scaled(count: number): number;
  /** A message with a text of so many tokens. */
  say(role: string, tokens: number): Message;
}

type Write = (writing: Writing) => Turn[][];

/** Conversations of six turns about a text of one's own, behind a short system prompt that all share. */
const chats: Write = ({ random, scaled, say }) => {
  const system = say('system', 200);
  return repeat(scaled(50), () =>
    repeat(6, (turn) => ({
      messages:
        turn === 0
          ? [system, say('user', pickInteger(random, 600, 1_800))]
          : [say('user', pickInteger(random, 40, 250))],
      ...answerBriefly(random),
      pauseMs: pickInteger(random, 50, 400),
    })),
  );
};

/** Loops of eight calls of tools: the same long instructions, one of 16 projects, a task of its own; no pause. */
const agents: Write = ({ random, scaled, say }) => {
  const system = say('system', 1_500);
  const projects = repeat(16, () => say('user', 1_500));
  return repeat(scaled(36), (index) =>
    repeat(8, (turn) => ({
      messages:
        turn === 0
          ? [system, projects[index % projects.length]!, say('user', pickInteger(random, 50, 150))]
          : [say('user', pickInteger(random, 100, 500))],
      ...answerBriefly(random),
      pauseMs: 0,
    })),
  );
};

/** Single questions to 32 applications, each with a long system prompt and equally popular. */
const prompts: Write = ({ random, scaled, say }) => {
  const systems = repeat(32, () => say('system', pickInteger(random, 2_000, 4_000)));
  return repeat(scaled(300), () => [askOnce(random, say, pickOne(random, systems))]);
};

/** The same, but few of 64 applications get most of the questions. */
const skewed: Write = ({ random, scaled, say }) => {
  const systems = repeat(64, () => say('system', pickInteger(random, 2_000, 4_000)));
  const weights = systems.map((_, index) => (index + 1) ** -SKEW);
  return repeat(scaled(300), () => [askOnce(random, say, systems[pickWeighted(random, weights)]!)]);
};

/** Adversarial: all have the same prefix, so that routing by prefix alone would overload one replica. */
const samePrefix: Write = ({ random, scaled, say }) => {
  const system = say('system', 3_000);
  return repeat(scaled(300), () => [askOnce(random, say, system)]);
};

const askOnce = (random: Random, say: Writing['say'], system: Message): Turn => ({
  messages: [system, say('user', pickInteger(random, 50, 250))],
  ...answerBriefly(random),
  pauseMs: pickInteger(random, 0, 200),
});

const answerBriefly = (random: Random): { maxTokens: number } => ({
  maxTokens: pickInteger(random, 8, 40),
});

const createSpeaker =
  (random: Random, length: number): Writing['say'] =>
  (role, tokens) => {
    let content = '';
    while (content.length < tokens * CHARACTERS_PER_TOKEN * length)
      content += `${pickOne(random, SYLLABLES)}${pickOne(random, SYLLABLES)} `;
    return { role, content };
  };

function pickWeighted(random: Random, weights: readonly number[]): number {
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
  return Math.max(
    0,
    weights.findIndex((weight) => {
      left -= weight;
      return left < 0;
    }),
  );
}

const repeat = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
