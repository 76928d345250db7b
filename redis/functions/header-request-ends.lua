-- How a request ends, and the event that tells of it.
local MAX_EVENT_BYTES = 65536
-- The event's body and the request's own callback: a longer row of the outbox was made by a tenant.
local MAX_ROW_BYTES = MAX_EVENT_BYTES + 8192
-- The minimum that an end is counted as before the next one.
local ENDING_BYTES = 1024
local DEADLINE_MESSAGE = 'The request ran for longer than allowed.'

local EVENT_TYPES = { succeeded = 'request.completed', failed = 'request.failed', canceled = 'request.canceled' }

local function encode_text(text)
  return (text and text ~= '') and cjson.encode(text) or 'null'
end

-- The row of the outbox: callback, line break, body. Built as text, since cjson writes 14 digits and a
-- registration id may have 15, and in one step, since Lua hashes every long string.
local function encode_event(request, now, ending, payload)
  local seconds = digits(math.floor(now / SECOND_MS))
  return table.concat({
    request.webhook_url, '\n{"id":"', ending.event, '","type":"', EVENT_TYPES[ending.status], '","created_at":', seconds,
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
  ending.event = 'evt_' .. string.sub(request.id, 5)
  local payload = ending.payload and ending.payload ~= '' and ending.payload or '{}'
  local row = encode_event(request, now, ending, payload)
  if #row - #request.webhook_url - 1 > MAX_EVENT_BYTES then
    row = encode_event(request, now, ending, '{"_truncated":true}')
  end
  note_written(#row)
  redis.call('SET', work_key(request.namespace, 'event:', ending.event), row)
  redis.call('ZADD', work_key(request.namespace, 'outbox'), digits(now), ending.event)
  redis.call('PUBLISH', 'n:{' .. request.namespace .. '}:events', '1')
end

-- Parameters, including the prompt, are removed at the end, or stay sealed for as long as the workspace keeps inputs.
local function end_params(request)
  local params = work_key(request.namespace, 'params:', request.id)
  local keep_ms = tonumber(redis.call('HGET', workspace_key(request.namespace), 'keepInputsMs') or 0)
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
    redis.call('ZREM', work_key(namespace, 'leases'), id)
  end
  redis.call('ZADD', work_key(namespace, 'ended'), digits(now + request.keep_ms), id)
  redis.call('HSET', request.key, 'status', ending.status, 'completed_at', at, 'ended_by', ending.by or '',
    'error_code', ending.code or '')
  -- Apart from the record, which stays small and flat that way.
  local result = ending.output or ending.message
  if result then
    redis.call('SET', work_key(namespace, 'result:', id), result)
  end
  end_params(request)
  local price = parse_number(request.price)
  if ending.status ~= 'succeeded' and price > 0 then
    add_number(work_key(namespace, 'credit'), digits(-price))
  end
  if request.inputs then
    note_written(WRITES_EACH * #request.inputs)
    for _, object in ipairs(decode_objects(request.inputs) or {}) do
      redis.call('ZADD', work_key(namespace, 'cleanup'), at, object)
    end
  end
  write_event(request, now, ending)
end
