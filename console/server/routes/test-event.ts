/** The payload of a test event (docs/api.md, "Webhook event"). Pure. */

/** All fields of a real event, to test the receiver's parsing, and a marker for test events. */
export const buildTestEvent = (event: { id: string; namespace: string; nowSeconds: number }): string =>
  JSON.stringify({
    id: event.id,
    type: 'webhook.test',
    created_at: event.nowSeconds,
    data: {
      id: event.id.replace(/^evt_/, 'req_'),
      status: 'succeeded',
      modality: 'image',
      namespace_name: event.namespace,
      registration_id: 0,
      created_at: event.nowSeconds,
      completed_at: event.nowSeconds,
      output_object_key: null,
      output_bucket: null,
      result_payload: {},
      error_code: null,
      error_message: null,
    },
    _service_test: true,
  });
