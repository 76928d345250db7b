/** Videos that are asked for under watch: which ends of each were reported, and how often an engine was asked for it. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { cluster, listModelPods, type Pod, waitUntil } from '../e2e/installation.ts';
import { findControl, type InferenceRequest, readRequest, send } from '../e2e/media.ts';
import { type Receiver, startReceiver } from '../e2e/receivers.ts';

export interface WatchedVideos {
  /** Accepted so far. */
  readonly count: number;
  submit(count: number): Promise<void>;
  /** Submits as many as are missing for so many to be under way or queued. */
  fill(count: number): Promise<void>;
  /** Reads the ends that were reported since; throws if one did not succeed, or was reported or begun twice. */
  check(): Promise<void>;
  untilEnded(seconds: number): Promise<void>;
  /** Each has succeeded with one event and one submission, and its end is the one that was first seen. */
  expectOneEndEach(): Promise<void>;
  stop(): void;
}

interface Video {
  id: string;
  prompt: string;
  /** As it was read right after its event. */
  ended?: InferenceRequest;
}

const PATH = '/videos';
const ENGINE_PATH = '/v1/videos';
/** Much shorter than a video, and than a pod that has nothing left to do stays. */
const POLL_MS = 1_000;

export async function watchVideos(endpoint: EndpointEntry): Promise<WatchedVideos> {
  const receiver = await startReceiver(cluster.nodeIP, {});
  const fleet = randomUUID();
  const videos: Video[] = [];
  const submissions = watchSubmissions(endpoint);
  const submitOne = async (): Promise<void> => {
    const prompt = `Ship ${videos.length + 1} of ${fleet}`;
    const video: Video = { id: '', prompt };
    videos.push(video);
    const order = { model: endpoint.modelId, prompt, resolution: '320x192', duration: 1 };
    const { status, body } = await send(endpoint, '/videos/generations', {
      body: { ...order, webhook_url: receiver.urlOf(PATH) },
    });
    expect(status, JSON.stringify(body)).to.equal(202);
    video.id = body.id!;
  };
  const submit = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) await submitOne();
  };
  const open = () => videos.filter(({ id, ended }) => !ended && listEvents(receiver, id).length === 0);
  const check = async (): Promise<void> => {
    expect(submissions.listRepeated(), 'begun twice').to.deep.equal([]);
    for (const video of videos.filter(({ ended }) => !ended)) {
      const events = listEvents(receiver, video.id);
      if (events.length === 0) continue;
      expect(events, `events of ${video.id}`).to.deep.equal(['request.completed']);
      video.ended = await readRequest(endpoint, video.id);
      expect(describeEnd(video.ended)).to.include({ status: 'succeeded' });
    }
  };
  return {
    get count() {
      return videos.length;
    },
    submit,
    fill: (count) => submit(count - open().length),
    check,
    untilEnded: (seconds) =>
      waitUntil('the end of all videos', seconds, async () => {
        await check();
        return videos.every(({ ended }) => ended !== undefined);
      }),
    expectOneEndEach: async () => {
      for (const { id, prompt, ended } of videos) {
        expect(listEvents(receiver, id), `events of ${id}`).to.deep.equal(['request.completed']);
        expect(submissions.countOf(prompt), `submissions of ${id}`).to.equal(1);
        expect(describeEnd(await readRequest(endpoint, id))).to.deep.equal(describeEnd(ended!));
      }
    },
    stop: () => {
      submissions.stop();
      receiver.stop();
    },
  };
}

/** Types, one of each event: a delivery may be repeated, an event not. */
function listEvents({ deliveries }: Receiver, id: string): string[] {
  const own = deliveries.filter(({ event }) => event.data.id === id);
  return [...new Map(own.map(({ event }) => [event.id, event.type])).values()];
}

const describeEnd = (request: object) => {
  const { status, started_at, completed_at, output_object_key } = request as Record<string, unknown>;
  return { status, started_at, completed_at, output_object_key };
};

/** What each engine was asked for, also those that are gone by now. */
function watchSubmissions({ name }: EndpointEntry) {
  const prompts = new Map<string, string[]>();
  let isOver = false;
  const look = async (pod: Pod) => {
    const answer = await fetch(findControl(pod));
    const { recent } = (await answer.json()) as { recent: { path: string; prompt?: string }[] };
    const asked = recent.filter(({ path }) => path === ENGINE_PATH).map(({ prompt }) => prompt ?? '');
    prompts.set(pod.metadata.uid, asked);
  };
  const run = async () => {
    while (!isOver) {
      const pods = await listModelPods(name).catch(() => []);
      // One that starts or goes does not answer.
      await Promise.allSettled(pods.filter(({ status }) => status.podIP).map(look));
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  void run();
  const list = () => [...prompts.values()].flat();
  return {
    countOf: (prompt: string) => list().filter((one) => one === prompt).length,
    listRepeated: () => {
      const seen = new Set<string>();
      return list().filter((prompt) => seen.size === seen.add(prompt).size);
    },
    stop: () => {
      isOver = true;
    },
  };
}
