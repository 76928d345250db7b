/** The event that a test sends (docs/api.md, "Webhook event"). Pure. */

/** All fields of a real one, so that a receiver's own reading is tried, and the marker that it is none. */
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
