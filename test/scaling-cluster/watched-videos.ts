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
  const countOpen = () => videos.filter(({ id }) => listEvents(receiver, id).size === 0).length;
  return {
    get count() {
      return videos.length;
    },
    submit,
    fill: (count) => submit(count - countOpen()),
    untilEnded: (seconds) =>
      waitUntil('the end of all videos', seconds, async () => {
        for (const video of videos)
          if (!video.ended && listEvents(receiver, video.id).size > 0)
            video.ended = await readRequest(endpoint, video.id);
        return videos.every(({ ended }) => ended !== undefined);
      }),
    expectOneEndEach: async () => {
      for (const { id, prompt, ended } of videos) {
        const events = listEvents(receiver, id);
        expect([...events.values()], `events of ${id}`).to.deep.equal(['request.completed']);
        expect(submissions.countOf(prompt), `submissions of ${id}`).to.equal(1);
        expect(describeEnd(ended!)).to.include({ status: 'succeeded' });
        expect(describeEnd(await readRequest(endpoint, id))).to.deep.equal(describeEnd(ended!));
      }
    },
    stop: () => {
      submissions.stop();
      receiver.stop();
    },
  };
}

/** Types by the events' ids: a delivery may be repeated, an event not. */
const listEvents = ({ deliveries }: Receiver, id: string): Map<string, string> =>
  new Map(deliveries.filter(({ event }) => event.data.id === id).map(({ event }) => [event.id, event.type]));

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
  return {
    countOf: (prompt: string) => [...prompts.values()].flat().filter((one) => one === prompt).length,
    stop: () => {
      isOver = true;
    },
  };
}
