--- @include "budget", "clock", "memory", "numbers", "stored-objects"
-- How a request ends, and the event that reports it.
-- The minimum that an end is counted as before the next one.
local ENDING_BYTES = 1024

-- Failures that no worker reports.
local TIMED_OUT = { status = 'failed', code = 'model_timeout', message = 'The request ran for longer than allowed.' }
local WORKER_LOST = { status = 'failed', code = 'worker_lost', message = 'The replica that ran the request was lost.' }
local DEPLOYMENT_LOST = { status = 'failed', code = 'worker_lost', message = 'The deployment was deleted.' }
local EXPIRED = { status = 'failed', code = 'expired', message = 'The request waited in the queue longer than allowed.' }

local EVENT_TYPES = { succeeded = 'request.completed', failed = 'request.failed', canceled = 'request.canceled' }

local function encode_text(text)
  return (text and text ~= '') and cjson.encode(text) or 'null'
end

-- The row of the outbox: callback, line break, body. Built as text, since cjson writes 14 digits and a
-- registration id may have 15, and in one step, since Lua hashes every long string.
local function encode_event(request, now, event, ending, payload)
  local seconds = digits(math.floor(now / SECOND_MS))
  return table.concat({
    request.webhook_url, '\n{"id":"', event, '","type":"', EVENT_TYPES[ending.status], '","created_at":', seconds,
    ',"data":{"id":"', request.id, '","status":"', ending.status, '","modality":"', request.modality,
    '","namespace_name":"', request.namespace, '","registration_id":', request.registration_id,
    ',"created_at":', digits(math.floor(request.queued_at / SECOND_MS)), ',"completed_at":', seconds,
    ',"output_object_key":', encode_text(ending.object_key), ',"output_bucket":', encode_text(ending.bucket),
    ',"result_payload":', payload, ',"error_code":', encode_text(ending.code),
    ',"error_message":', encode_text(ending.message), '}}',
  })
end

-- One event per request, with the digits of the request's id, so that there can never be a second one.
local function write_event(request, now, ending)
  local event = 'evt_' .. string.sub(request.id, 5)
  local payload = ending.payload and ending.payload ~= '' and ending.payload or '{}'
  local row = encode_event(request, now, event, ending, payload)
  if #row - #request.webhook_url - 1 > MAX_EVENT_BYTES then
    row = encode_event(request, now, event, ending, '{"_truncated":true}')
  end
  note_written(#row)
  redis.call('SET', event_key(request.namespace, event), row)
  redis.call('ZADD', outbox_key(request.namespace), digits(now), event)
  redis.call('PUBLISH', events_channel(request.namespace), '1')
end

-- Parameters, including the prompt, are removed at the end, or stay sealed for as long as the workspace keeps inputs.
local function end_params(request)
  local params = params_key(request.namespace, request.id)
  local keep_ms = tonumber(redis.call('HGET', config_workspace_key(request.namespace), 'keepInputsMs') or 0)
  if keep_ms and keep_ms > 0 then
    redis.call('PEXPIRE', params, digits(math.min(keep_ms, request.keep_ms)))
  else
    redis.call('UNLINK', params)
  end
end

-- Ends a request permanently: state, indexes, credit, inputs, event. The caller has removed it from queue or `again`.
-- `ending`: status, and as they apply code, message, by (the caller's token), output, bucket, object_key, payload.
local function end_request(request, now, ending)
  local namespace, id = request.namespace, request.id
  local at = digits(now)
  redis.call('ZREM', index_key(namespace, request.deployment, request.status), id)
  redis.call('ZADD', index_key(namespace, request.deployment, ending.status), request.order, id)
  if request.status == 'running' then
    redis.call('ZREM', leases_key(namespace), id)
  end
  redis.call('ZADD', ended_key(namespace), digits(now + request.keep_ms), id)
  redis.call('HSET', request.key, 'status', ending.status, 'completed_at', at, 'ended_by', ending.by or '',
    'error_code', ending.code or '')
  -- Apart from the record, which stays small and flat that way.
  local result = ending.output or ending.message
  if result then
    redis.call('SET', result_key(namespace, id), result)
  end
  end_params(request)
  local price = parse_number(request.price)
  if ending.status ~= 'succeeded' and price > 0 then
    add_number(credit_key(namespace), digits(-price))
    refund_budgets(namespace, request.budgets or '', price)
  end
  if request.inputs then
    note_written(WRITES_EACH * #request.inputs)
    for _, object in ipairs(decode_objects(request.inputs) or {}) do
      redis.call('ZADD', cleanup_key(namespace), at, object)
    end
  end
  write_event(request, now, ending)
end
