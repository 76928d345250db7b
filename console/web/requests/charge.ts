/** Descriptions of a request's payer and price. Pure. */
import type { RequestDetail } from '../../api.ts';

/** Describes the price, which is refunded if the request fails or is canceled. */
export function describeCost({ price, status }: Pick<RequestDetail, 'price' | 'status'>): string {
  if (price === null) return '–';
  if (price === '0') return 'Free';
  if (status === 'failed' || status === 'canceled') return `0 (${price} refunded)`;
  return status === 'succeeded' ? price : `${price}, refunded if it fails`;
}

/** In a column: the amount alone. */
export function describeCharged({ price, status }: Pick<RequestDetail, 'price' | 'status'>): string {
  if (price === null) return '–';
  return status === 'failed' || status === 'canceled' ? '0' : price;
}

/** In a column. */
export function nameSubmitter({ submitter }: Pick<RequestDetail, 'submitter'>): string {
  if (submitter === null) return '–';
  return submitter.kind === 'playground' ? `${submitter.name} (playground)` : submitter.name;
}

export function describeSubmitter({ submitter }: Pick<RequestDetail, 'submitter'>): string {
  if (submitter === null) return '–';
  if (submitter.kind === 'playground') return `${submitter.name} (playground)`;
  const { name, hint } = submitter;
  return hint === null ? `Key ${name}` : `Key ${name} (${hint})`;
}

/** As JSON, for who keeps books. null while it runs, and where the price is not known. */
export function formatReceipt(request: RequestDetail): string | null {
  const { id, deployment, model, modality, status, price, images, size, seconds } = request;
  const isRefunded = status === 'failed' || status === 'canceled';
  if (price === null || (status !== 'succeeded' && !isRefunded)) return null;
  const receipt = {
    request_id: id,
    deployment,
    model,
    status,
    submitted_by: request.submitter && describeSubmitter(request),
    cost: isRefunded ? '0' : price,
    refunded: isRefunded ? price : '0',
    modality,
    ...(images !== null && { images }),
    ...(seconds !== null && { seconds: Number(seconds) }),
    ...(size !== null && { size }),
    queued_at: request.queuedAt,
    started_at: request.startedAt,
    completed_at: request.completedAt,
  };
  return JSON.stringify(receipt, null, 2);
}
