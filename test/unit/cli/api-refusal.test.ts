import { expect } from 'chai';
import { explainRefusal } from '../../../cli/framework/api-refusal.ts';
import { KubeApiError } from '../../../kube/api-error.ts';

describe('a refusal of the API server', () => {
  const explain = (code: number, message: string) =>
    explainRefusal(new KubeApiError({ code, reason: '', call: 'list modeldeployments team' }, message), {
      where: 'the context prod',
      namespace: 'team',
    }) as Error & { kind?: string };

  it('says what to do, and by which context', () => {
    const cases: [number, string, string, RegExp][] = [
      [0, 'connect ECONNREFUSED', 'unreachable', /the context prod does not answer: .*ECONNREFUSED/],
      [401, 'Unauthorized', 'failed', /the context prod does not accept your credentials/],
      [403, 'no', 'failed', /what you may do by the context prod: kubectl auth can-i --list -n team$/],
      [
        404,
        'the server could not find the requested resource',
        'unreachable',
        /^Berth is not installed in the cluster of the context prod: see docs\/install\.md$/,
      ],
      [404, 'modeldeployments "x" not found', 'not_found', /"x" not found/],
    ];
    for (const [code, message, kind, words] of cases) {
      const error = explain(code, message);
      expect(error.kind).to.equal(kind);
      expect(error.message).to.match(words);
    }
  });
});
