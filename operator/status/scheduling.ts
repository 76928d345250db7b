/** Parses the scheduler's message on why no node fits a pod. */

export interface SchedulingRefusal {
  /** Nodes that the scheduler considered. */
  nodes: number;
  /** The scheduler's reasons, such as `Insufficient nvidia.com/gpu`, each with the nodes it holds for. */
  reasons: { text: string; nodes: number }[];
}

const HEAD = /^(\d+)\/(\d+) nodes are available: (.*)$/s;

/** Parses `0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: …`; undefined for other texts. */
export function parseRefusal(message: string): SchedulingRefusal | undefined {
  const head = HEAD.exec(message.trim());
  if (!head) return message.startsWith('no nodes available') ? { nodes: 0, reasons: [] } : undefined;
  const sentence = head[3]!.split(/\. (?:preemption:|no new claims|still not schedulable)|\.\s*$/)[0]!;
  const reasons = splitReasons(sentence).map((part) => {
    const counted = /^(\d+) (.*)$/s.exec(part);
    return counted
      ? { text: counted[2]!, nodes: Number(counted[1]) }
      : // Concerns the pod itself, such as a claim that is missing; the scheduler may repeat the end of it.
        { text: part.split('. ')[0]!, nodes: Number(head[2]) };
  });
  return { nodes: Number(head[2]), reasons };
}

/** Reasons are separated by commas, but a taint's text in braces may contain commas, too. */
function splitReasons(sentence: string): string[] {
  return sentence
    .split(/, (?=\d+ )/)
    .map((part) => part.trim().replace(/\.$/, ''))
    .filter((part) => part !== '');
}

/** What a pod asks the scheduler for. */
export interface WantedGPUs {
  /** Resource name of its GPUs; empty for none. */
  gpuResource: string;
  /** It has claims of devices (dynamic resource allocation). */
  hasClaims?: boolean;
}

export interface Refusal {
  /** GPUs are missing. */
  gpus: boolean;
  message: string;
  /** Better than the pod's. */
  reason?: string;
}

const NO_CLASS = /^request \S+: device class \S+ does not exist$/;

/** An actionable refusal, the wanted resource first: `Insufficient nvidia.com/gpu (0 of 4 nodes fit)`. */
export function describeRefusal(message: string, { gpuResource, hasClaims }: WantedGPUs): Refusal {
  const refusal = parseRefusal(message);
  if (!refusal) return { gpus: false, message };
  const fit = `(0 of ${refusal.nodes} nodes fit)`;
  if (refusal.reasons.length === 0) return { gpus: false, message: `the cluster has no nodes ${fit}` };
  const unknown = refusal.reasons.find(({ text }) => NO_CLASS.test(text));
  if (unknown) return { gpus: true, message: unknown.text, reason: 'DeviceClassNotFound' };
  const gpu = refusal.reasons.find(
    ({ text }) =>
      text === `Insufficient ${gpuResource}` || (hasClaims && text === 'cannot allocate all claims'),
  );
  const others = refusal.reasons.filter((reason) => reason !== gpu).map(countReason);
  if (!gpu) return { gpus: false, message: `${others.join(', ')} ${fit}` };
  const rest = others.length > 0 ? `; also ${others.join(', ')}` : '';
  return { gpus: true, message: `${gpu.text} ${fit}${rest}` };
}

const countReason = ({ text, nodes }: { text: string; nodes: number }): string => `${text} on ${nodes}`;
